"""Training logs that follow the rules, and the thirty ways in which they are planted wrong: what `planted.toml` has verdicts for."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fireassay.record.mllog import MARK, Entry, event_type, written

Lines = list[Entry]
BEGIN_MS = 1_700_000_000_000.0
KEYS: Mapping[str, Mapping[str, Any]] = {
    "retinanet": {
        "gradient_accumulation_steps": 1, "global_batch_size": 256, "opt_name": "adam", "opt_base_learning_rate": 1e-4, "opt_weight_decay": 0.0,
        "opt_learning_rate_warmup_epochs": 1, "opt_learning_rate_warmup_factor": 0.001, "train_samples": 1170301, "eval_samples": 24781,
    },
    "llama2_70b_lora": {
        "gradient_accumulation_steps": 1, "global_batch_size": 8, "opt_base_learning_rate": 4e-4, "opt_learning_rate_training_steps": 1024,
        "opt_gradient_clip_norm": 0.3, "opt_adamw_weight_decay": 1e-4, "lora_alpha": 32, "lora_rank": 16, "train_samples": 3901, "eval_samples": 173,
    },
    "llama31_8b": {
        "gradient_accumulation_steps": 1, "global_batch_size": 32, "max_sequence_length": 8192, "opt_name": "adamw", "opt_base_learning_rate": 8e-4,
        "opt_end_learning_rate": 8e-5, "opt_learning_rate_warmup_steps": 256, "opt_learning_rate_decay_steps": 1199744,
        "opt_learning_rate_decay_schedule": "cosine with linear warmup", "opt_adamw_beta_1": 0.9, "opt_adamw_beta_2": 0.95, "opt_adamw_epsilon": 1e-5,
        "opt_adamw_weight_decay": 0.1, "opt_gradient_clip_norm": 1.0, "eval_samples": 1024, "train_samples": 1_000_000, "max_steps": 1200000,
    },
    "stable_diffusion": {
        "gradient_accumulation_steps": 1, "global_batch_size": 512, "opt_name": "adamw", "opt_adamw_beta_1": 0.9, "opt_adamw_beta_2": 0.999,
        "opt_adamw_epsilon": 1e-8, "opt_adamw_weight_decay": 0.01, "opt_base_learning_rate": 6.4e-5, "opt_learning_rate_warmup_steps": 1000,
        "train_samples": 6513144, "eval_samples": 30000,
    },
}  # fmt: skip
RUNS = {"retinanet": 5, "llama2_70b_lora": 10, "llama31_8b": 10, "stable_diffusion": 10}
SCORES: Mapping[str, Sequence[tuple[float, Mapping[str, float]]]] = {  # (epochs or samples, scores)
    "retinanet": [(4.0, {"": 0.33}), (5.0, {"": 0.345})],
    "llama2_70b_lora": [(2688, {"": 0.94}), (3072, {"": 0.92})],
    "llama31_8b": [(159744, {"": 3.5}), (180224, {"": 3.29})],
    "stable_diffusion": [(2048000, {"FID": 120.0, "CLIP": 0.12}), (3072000, {"FID": 85.0, "CLIP": 0.16})],
}


def run(benchmark: str, number: int, division: str = "closed") -> Lines:
    """The lines of one run that follows the rules."""
    entries: Lines = []
    now = BEGIN_MS

    def put(key: str, value: Any = None, after_s: float = 0.1, **metadata: Any) -> None:
        nonlocal now
        now += 1000.0 * after_s
        entries.append(Entry(key=key, value=value, metadata={"file": "train.py", "lineno": len(entries) + 1, **metadata}, time_ms=now))

    put("submission_org", "an organisation")
    put("submission_platform", "a platform")
    put("submission_division", division)
    put("submission_status", "onprem")
    put("submission_benchmark", benchmark)
    put("cache_clear", True)
    put("init_start")
    put("seed", 1000 + number)
    for key, value in KEYS[benchmark].items():
        put(key, value)
    put("init_stop", after_s=60.0)
    put("run_start", after_s=1.0)
    unit = "epoch_num" if benchmark == "retinanet" else "samples_count"
    for at, scores in SCORES[benchmark]:
        block = {"first_epoch_num": 0, "epoch_count": at} if unit == "epoch_num" else {unit: at}
        put("block_start", **block)
        put("block_stop", after_s=600.0 + number, **block)
        put("eval_start", **{unit: at})
        for name, score in scores.items():
            put("eval_accuracy", score, after_s=20.0, **{unit: at, **({"metric": name} if name else {})})
        put("eval_stop", **{unit: at})
    put("run_stop", status="success")
    return entries


Change = Callable[[list[Lines]], None]


@dataclass(frozen=True)
class Planted:
    """A submission: its benchmark, and what is wrong with it."""

    name: str
    benchmark: str
    change: Change
    round: str = "5.0"
    division: str = "closed"


def index_of(lines: Lines, key: str) -> int:
    return next(index for index, entry in enumerate(lines) if entry.key == key)


def replaced(entry: Entry, **changes: Any) -> Entry:
    return Entry(**{**{name: getattr(entry, name) for name in ("key", "value", "metadata", "time_ms", "file", "line")}, **changes})


def set_value(key: str, value: Any, runs: int = 99) -> Change:
    def change(logs: list[Lines]) -> None:
        for lines in logs[:runs]:
            lines[:] = [replaced(entry, value=value) if entry.key == key else entry for entry in lines]

    return change


def set_metadata(key: str, runs: int = 99, **metadata: Any) -> Change:
    def change(logs: list[Lines]) -> None:
        for lines in logs[:runs]:
            lines[:] = [replaced(entry, metadata={**entry.metadata, **metadata}) if entry.key == key else entry for entry in lines]

    return change


def without(key: str, runs: int = 99) -> Change:
    def change(logs: list[Lines]) -> None:
        for lines in logs[:runs]:
            lines[:] = [entry for entry in lines if entry.key != key]

    return change


def swapped(first: str, second: str, runs: int = 2) -> Change:
    def change(logs: list[Lines]) -> None:
        for lines in logs[:runs]:
            one, other = index_of(lines, first), index_of(lines, second)
            lines[one], lines[other] = (
                replaced(lines[other], time_ms=lines[one].time_ms),
                replaced(lines[one], time_ms=lines[other].time_ms),
            )

    return change


def repeated(key: str, value: Any, runs: int = 2) -> Change:
    def change(logs: list[Lines]) -> None:
        for lines in logs[:runs]:
            index = index_of(lines, key)
            lines.insert(index, replaced(lines[index], value=value))

    return change


def later(key: str, minutes: float, runs: int = 99) -> Change:
    """This line and all after it are later."""

    def change(logs: list[Lines]) -> None:
        for lines in logs[:runs]:
            index = index_of(lines, key)
            lines[index:] = [replaced(entry, time_ms=entry.time_ms + 60_000.0 * minutes) for entry in lines[index:]]

    return change


def faster(factor: float) -> Change:
    """Every evaluation comes after so much less training."""

    def change(logs: list[Lines]) -> None:
        units = ("epoch_num", "samples_count", "epoch_count")
        for lines in logs:
            lines[:] = [
                replaced(entry, metadata={name: value * factor if name in units else value for name, value in entry.metadata.items()})
                for entry in lines
            ]

    return change


def number_of_runs(count: int) -> Change:
    def change(logs: list[Lines]) -> None:
        while len(logs) < count:
            more = copy.deepcopy(logs[0])
            more[:] = [replaced(entry, value=5000 + len(logs)) if entry.key == "seed" else entry for entry in more]
            logs.append(more)
        del logs[count:]

    return change


def all_of(*changes: Change) -> Change:
    def change(logs: list[Lines]) -> None:
        for one in changes:
            one(logs)

    return change


def nothing(_: list[Lines]) -> None:
    """The submission follows the rules."""


PLANTED = (
    Planted("valid", "retinanet", nothing),
    Planted("key-missing-in-two", "retinanet", without("opt_weight_decay", 2)),
    Planted("key-missing-in-one", "retinanet", without("opt_weight_decay", 1)),
    Planted("run-before-set-up", "retinanet", swapped("init_stop", "run_start")),
    Planted("target-missed-in-two", "retinanet", set_value("eval_accuracy", 0.3399, 2)),
    Planted("target-missed-in-one", "retinanet", set_value("eval_accuracy", 0.3399, 1)),
    Planted("run-too-few", "retinanet", number_of_runs(4)),
    Planted("run-too-many", "retinanet", number_of_runs(6)),
    Planted("other-optimizer", "retinanet", set_value("opt_name", "sgd")),
    Planted("converges-too-fast", "retinanet", faster(0.6)),
    Planted("converges-faster-allowed", "llama2_70b_lora", faster(0.98)),
    Planted("lora-too-fast", "llama2_70b_lora", faster(0.95)),
    Planted("aborted-in-two", "retinanet", set_metadata("run_stop", 2, status="aborted")),
    Planted("aborted-in-one", "retinanet", set_metadata("run_stop", 1, status="aborted")),
    Planted("seeds-equal", "retinanet", set_value("seed", 7, 2)),
    Planted("seed-missing", "retinanet", without("seed", 1)),
    Planted("seed-no-number", "retinanet", set_value("seed", "random", 1)),
    Planted("set-up-of-31-minutes", "retinanet", later("init_stop", 31.0)),
    Planted("set-up-of-31-minutes-open", "retinanet", later("init_stop", 31.0), division="open"),
    Planted("batch-between", "retinanet", all_of(set_value("global_batch_size", 640), faster(1.2))),
    Planted("batch-beyond", "retinanet", all_of(set_value("global_batch_size", 8192), faster(3.0))),
    Planted("batch-below", "retinanet", set_value("global_batch_size", 64)),
    Planted("batches-differ", "retinanet", set_value("global_batch_size", 512, 1)),
    Planted("key-twice-differing", "retinanet", repeated("opt_base_learning_rate", 2e-4)),
    Planted("key-twice-equal", "retinanet", repeated("opt_base_learning_rate", 1e-4)),
    Planted("lora-rank", "llama2_70b_lora", set_value("lora_rank", 32)),
    Planted("diffusion", "stable_diffusion", nothing),
    Planted("diffusion-clip-low", "stable_diffusion", set_value("eval_accuracy", 0.1)),
    Planted("decay-steps", "llama31_8b", set_value("opt_learning_rate_decay_steps", 1_200_000), round="5.1"),
    Planted("llama31", "llama31_8b", nothing, round="5.1"),
    Planted("organisation-missing", "llama31_8b", without("submission_org"), round="5.1"),
    Planted("division-missing", "retinanet", without("submission_division")),
    Planted("open-target-missed", "retinanet", set_value("eval_accuracy", 0.1), division="open"),
    Planted("block-without-epochs", "retinanet", set_metadata("block_start", 2, epoch_count=0)),
    Planted("status-missing", "retinanet", all_of(set_value("run_stop", None, 0), without("run_stop", 2))),
    Planted("batch-is-text", "retinanet", set_value("gradient_accumulation_steps", "1", 2)),
)  # fmt: skip


def logs_of(planted: Planted) -> list[Lines]:
    """The lines of all runs of a planted submission."""
    logs = [run(planted.benchmark, number, planted.division) for number in range(RUNS[planted.benchmark])]
    planted.change(logs)
    return logs


def write(planted: Planted, folder: Path) -> Path:
    """The planted submission as result files."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, lines in enumerate(logs_of(planted)):
        (folder / f"result_{number}.txt").write_text(f"a line of the program\n{written(lines)}", encoding="utf-8")
    return folder


__all__ = ["MARK", "PLANTED", "Planted", "event_type", "logs_of", "write"]
