"""What do MLPerf's tables say of a benchmark in a round?  Read once from `training.toml` and `inference.toml`."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final, Literal

Division = Literal["closed", "open"]
HERE: Final = Path(__file__).parent
TRAINING_SOURCE: Final = "mlperf-logging 4.1.68"
INFERENCE_SOURCE: Final = "mlcommons/inference b66003e1"


# ---- training --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Convergence:
    """The reference convergence points of a benchmark: (global batch size, mean, standard deviation, runs), by batch size."""

    points: tuple[tuple[float, float, float, int], ...]
    allowance: float = 0.0


@dataclass(frozen=True, kw_only=True)
class TrainingRules:
    """What a round requires of a benchmark's result files in a division."""

    round: str
    benchmark: str
    division: Division
    runs: int
    unit: str  # metadata of an evaluation that says how much was trained
    target: Mapping[str, Mapping[str, float]]  # score -> its bounds
    keys: Mapping[str, Sequence[Any]]  # key -> (count, operator, value), or (count,)
    convergence: Convergence | None


@cache
def _training() -> dict[str, Any]:
    return tomllib.loads((HERE / "training.toml").read_text(encoding="utf-8"))


def training_rounds() -> tuple[str, ...]:
    """The rounds with rules, oldest first."""
    return tuple(_training()["rounds"])


def training_benchmarks(round_: str) -> tuple[str, ...]:
    """The benchmarks of a round."""
    return tuple(_training()["rounds"][round_])


def latest_round(benchmark: str) -> str:
    """The newest round that has the benchmark; "" if none has."""
    return next((one for one in reversed(training_rounds()) if benchmark in training_benchmarks(one)), "")


def training_rules(round_: str, benchmark: str, division: Division) -> TrainingRules | None:
    """The rules of a benchmark; None: the round does not have it."""
    tables = _training()
    if benchmark not in tables["rounds"].get(round_, ()):
        return None
    rows = tables[division] + [row for row in tables["closed"] if row.get("open")]
    row = next(row for row in rows if benchmark in row["benchmarks"])
    points = next((one for one in tables["rcp"] if benchmark in one["benchmarks"] and round_ in one.get("rounds", [round_])), None)
    convergence = None
    if points is not None:
        rows = tuple((float(batch), mean, deviation, runs) for batch, mean, deviation, runs in points["points"])
        convergence = Convergence(points=rows, allowance=points.get("allowance", 0.0))
    keys = dict.fromkeys(row.get("one", ()), ("one",)) | {
        key: tuple(rule) for key, rule in (row.get("keys", {}) | row.get(round_, {})).items()
    }
    return TrainingRules(
        round=round_,
        benchmark=benchmark,
        division=division,
        runs=tables["runs"][benchmark],
        unit=row["unit"],
        target=row["target"],
        keys=dict(sorted(keys.items())),
        convergence=convergence,
    )


# ---- inference -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class InferenceRules:
    """What a round requires of a model's runs."""

    round: str
    model: str
    scenarios: tuple[str, ...]
    performance_samples: int
    dataset: int
    offline_samples: int
    accuracy: Mapping[str, Sequence[float]]  # score -> (least,) or (least, most)
    server_ns: float | None
    tokens: Mapping[str, Sequence[float]] | None  # scenario -> (TTFT, TPOT), ns; None: no language model
    tests: tuple[str, ...]
    metric: Mapping[str, str]  # scenario -> key of its score
    seeds: Mapping[str, int]
    min_duration_ms: float


@cache
def _inference() -> dict[str, Any]:
    return tomllib.loads((HERE / "inference.toml").read_text(encoding="utf-8"))


def inference_rounds() -> tuple[str, ...]:
    """The rounds with rules, oldest first."""
    return tuple(_inference()["seeds"])


def inference_models(round_: str) -> tuple[str, ...]:
    """The models of a round."""
    return tuple(name for row in _inference()["models"] if round_ in row["rounds"] for name in row["accuracy"])


def round_of_seeds(seeds: Mapping[str, object]) -> str:
    """The round whose seeds these are; "" if none."""
    return next((one for one, known in _inference()["seeds"].items() if dict(seeds) == known), "")


def inference_rules(round_: str, model: str) -> InferenceRules | None:
    """The rules of a model; None: the round does not have it."""
    tables = _inference()
    row = next((row for row in tables["models"] if model in row["accuracy"] and round_ in row["rounds"]), None)
    if row is None:
        return None
    performance, dataset, offline = row["samples"] if isinstance(row["samples"], list) else [row["samples"]] * 3
    return InferenceRules(
        round=round_,
        model=model,
        scenarios=tuple(sorted(row["scenarios"] + row.get("added", {}).get(round_, []))),
        performance_samples=performance,
        dataset=dataset,
        offline_samples=offline,
        accuracy=row["accuracy"][model],
        server_ns=row.get("server_ns"),
        tokens=row.get("tokens"),
        tests=tuple(row["tests"]),
        metric={**tables["metric"], **row.get("metric", {})},
        seeds=tables["seeds"][round_],
        min_duration_ms=tables["minutes"] * 60_000.0,
    )
