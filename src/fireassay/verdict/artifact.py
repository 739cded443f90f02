"""Which fields does a paper's artifact form require, and what does the record answer?

Fields: those of the NeurIPS paper checklist (error bars, compute resources, settings, seeds), and those needed to apply for ACM artifact
badges.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from fireassay import catalog
from fireassay.estimates.estimate import Estimate
from fireassay.estimates.format import count, given, show
from fireassay.estimates.price_words import price_words
from fireassay.frames.record_data import RecordData
from fireassay.metrics.metric import Results
from fireassay.units import NS_PER_S
from fireassay.verdict.judging import Judging, Methods


@dataclass(frozen=True, kw_only=True)
class ArtifactField:
    """One field of a paper's checklist, filled in as far as the record allows."""

    name: str
    text: str
    known: bool


def artifact(measured: RecordData) -> tuple[ArtifactField, ...]:
    """Fields of the NeurIPS checklist and the artifact description, filled in as far as the record allows."""
    return tuple(ArtifactField(name=name, text=text or missing, known=bool(text)) for name, text, missing in _fields(measured))


def _fields(measured: RecordData) -> Iterator[tuple[str, str, str]]:
    experiment, launches = measured.experiment, measured.table("launches")
    before, methods = measured.before, _methods(measured)
    yield (
        "Error bars",
        (
            f"{given(100 * measured.confidence, 4)} % Student t intervals on logarithms; the source of variation is the launch: "
            f"{methods.launches}"
        ),
        "",
    )
    if methods.seeded:
        yield "Seeds", f"launches.seed = {experiment.launches.seed} fixes order and training seeds", ""
    yield "Settings", _settings(measured), ""
    yield "Code", _code(before), "no commit was recorded: the script is not in a git repository"
    yield "Processors", _text(before, "cpu", "model"), "not recorded"
    yield "Accelerators", _gpus(before), "none detected"
    yield "Memory", _bytes(before), "not recorded"
    if methods.run_times != "none":
        yield "Run time", _times(measured, methods), "no launch succeeded"
    seconds = float(((launches["end_ns"] - launches["begin_ns"]) / NS_PER_S).sum()) if launches.height else 0.0
    yield (
        "Total compute",
        (f"{count(launches.height, 'launches')}, failed and fault launches included: {given(seconds, 4)} s of wall time"),
        "",
    )
    yield "Energy and cost", _spent(measured), "no price was given"
    yield "Environment", _software(before), "not recorded"
    yield "Reproduction", "assay reproduce runs the same plan again and compares metric by metric", ""


def _methods(measured: RecordData) -> Methods:
    judging: Judging = catalog.part("kinds", measured.kind.name, "judging", "JUDGING")
    return judging.methods


def _settings(measured: RecordData) -> str:
    """The workload's arguments, or the load."""
    serving, workload = measured.experiment.serving, measured.experiment.workload
    if serving is None:
        return " ".join((workload.script, *workload.arguments))
    arrivals = serving.arrivals
    words = [
        f"{serving.task} with {serving.model or 'the model of the server'}",
        f"lengths {', '.join(serving.scenarios)}",
        f"{arrivals.process} arrivals for {given(arrivals.duration_s)} s after {given(arrivals.warm_up_s)} s",
        f"loads {', '.join(given(load) for load in (*serving.concurrency, *serving.rate))}" if serving.concurrency or serving.rate else "",
        f"temperature {given(serving.temperature)}",
        f"prompts {serving.prompts.source}",
    ]
    return "; ".join(word for word in words if word)


def environment_facts(measured: RecordData) -> str:
    """How many facts of the environment were recorded; empty for none."""
    known, missing = count_facts(measured.before)
    if not known:
        return ""
    return f"{known} facts about machine and software are in the record; {missing} could not be read, each with a reason"


def count_facts(value: object) -> tuple[int, int]:
    """Number of facts recorded in an environment, and number marked absent."""
    if isinstance(value, Mapping):
        if set(value) == {"absent"}:
            return 0, 1
        parts = [count_facts(inner) for inner in value.values()]
        return sum(known for known, _ in parts), sum(missing for _, missing in parts)
    return 1, 0


def _text(before: Mapping[str, Any], group: str, name: str) -> str:
    value = (before.get(group) or {}).get(name)
    return value if isinstance(value, str) else ""


def _code(before: Mapping[str, Any]) -> str:
    git = (before.get("workload") or {}).get("git") or {}
    commit = git.get("commit") if isinstance(git, Mapping) else None
    if not isinstance(commit, str):
        return ""
    return f"commit {commit[:12]}{', with uncommitted changes' if git.get('dirty') is True else ''}"


def _gpus(before: Mapping[str, Any]) -> str:
    devices = ((before.get("gpu") or {}).get("nvidia") or {}).get("devices") or ()
    names = [device.get("name") for device in devices if isinstance(device, Mapping)]
    models = [name for name in names if isinstance(name, str)]
    return ", ".join(f"{models.count(name)} x {name}" for name in dict.fromkeys(models))


def _bytes(before: Mapping[str, Any]) -> str:
    total = (before.get("memory") or {}).get("total_bytes")
    return f"{total / 2**30:.0f} GiB" if isinstance(total, int) else ""


def _software(before: Mapping[str, Any]) -> str:
    software = before.get("software") or {}
    python, torch = software.get("python") or {}, software.get("torch") or {}
    words = [_text(before, "host", "os"), _text(before, "host", "kernel")]
    words += [f"Python {python['version']}"] if isinstance(python.get("version"), str) else []
    words += [f"torch {torch['version']}"] if isinstance(torch.get("version"), str) else []
    packages = software.get("packages")
    words += [f"{len(packages)} packages with their versions"] if isinstance(packages, Mapping) and "absent" not in packages else []
    return ", ".join(word for word in words if word)


def _times(measured: RecordData, methods: Methods) -> str:
    wall = measured.timed.with_columns(seconds=(pl.col("end_ns") - pl.col("begin_ns")) / NS_PER_S)
    if methods.run_times == "per launch":
        return f"{given(float(wall['seconds'].median()), 3)} s per launch" if wall.height else ""  # type: ignore[arg-type]
    medians = dict(wall.group_by("workers").agg(pl.col("seconds").median()).sort("workers").iter_rows())
    return ", ".join(f"{given(seconds, 3)} s on {count(workers, 'workers')}" for workers, seconds in medians.items())


def _spent(measured: RecordData) -> str:
    prices = measured.experiment.prices
    if prices is None:
        return ""
    return price_words(prices)


def first_value(results: Results, names: tuple[str, ...], configuration: str) -> str | None:
    for name in names:
        value = results.get(name, {}).get(configuration)
        if isinstance(value, Estimate):
            return f"{show(value).full} ({name.replace('_', ' ')})"
    return None
