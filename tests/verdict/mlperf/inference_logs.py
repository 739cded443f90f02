"""Folders of a scenario from LoadGen's logs, and the ways in which they are planted wrong: what `planted_inference.toml` has verdicts for."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fireassay.record.mllog import MARK

LOGS = Path(__file__).parent / "loadgen"
SCORES = {"resnet": "accuracy=76.456%, good=38228, total=50000\nhash=ab12\n", "stable-diffusion-xl": ""}
Values = dict[str, Any]


@dataclass
class Folder:
    """What a scenario's folder will hold."""

    performance: list[Values]
    accuracy: list[Values]
    scores: str
    answers: str = "[]"
    tests: dict[str, dict[str, str | list[Values]]] = field(default_factory=dict)


@dataclass(frozen=True)
class Planted:
    """A scenario of a model, and what is wrong with it."""

    name: str
    source: str  # folder below LOGS
    change: Callable[[Folder], None]
    model: str = "resnet"
    scenario: str = ""
    division: str = "closed"


def lines(path: Path) -> list[Values]:
    """The JSON objects of a log."""
    return [json.loads(line.removeprefix(MARK)) for line in path.read_text(encoding="utf-8").splitlines()]


def text(rows: list[Values]) -> str:
    """A log's text."""
    return "".join(f"{MARK} {json.dumps(row)}\n" for row in rows)


def made(planted: Planted) -> Folder:
    """The folder, with what is planted in it."""
    source = LOGS / planted.source
    performance = lines(source / "performance.txt")
    accuracy = lines((source if (source / "accuracy.txt").is_file() else LOGS / "SingleStream") / "accuracy.txt")
    scores = source / "scores.txt"
    folder = Folder(performance, accuracy, scores.read_text(encoding="utf-8") if scores.is_file() else SCORES[planted.model])
    for name in ("TEST01", "TEST04"):
        test: dict[str, str | list[Values]] = {"verify_performance.txt": "TEST PASS\n", "performance": [dict(row) for row in performance]}
        if name == "TEST01":
            test |= {"verify_accuracy.txt": "TEST PASS\n", "accuracy/mlperf_log_accuracy.json": "[]", "accuracy/accuracy.txt": "x\n"}
        folder.tests[name] = test
    planted.change(folder)
    return folder


def write(planted: Planted, root: Path) -> Path:
    """The planted folder as the submission has it; it is called as its scenario, below its model."""
    folder, path = (
        made(planted),
        root / planted.model / (planted.scenario or planted.source.rsplit("/", maxsplit=1)[-1].replace("Late", "").replace("Short", "")),
    )
    contents: dict[str, str] = {}
    if folder.performance:
        contents["performance/run_1/mlperf_log_detail.txt"] = text(folder.performance)
    if folder.accuracy:
        contents |= {"accuracy/mlperf_log_detail.txt": text(folder.accuracy), "accuracy/accuracy.txt": folder.scores}
        contents["accuracy/mlperf_log_accuracy.json"] = folder.answers
    for name, files in folder.tests.items():
        for file, content in files.items():
            target = f"{name}/performance/run_1/mlperf_log_detail.txt" if file == "performance" else f"{name}/{file}"
            contents[target] = content if isinstance(content, str) else text(content)
        contents[f"{name}/performance/run_1/mlperf_log_summary.txt"] = "summary\n"
    for name, content in contents.items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_text(content, encoding="utf-8")
    return path


def put(rows: list[Values], key: str, value: Any) -> None:
    """Change a value."""
    for row in rows:
        if row["key"] == key:
            row["value"] = value


def performance(key: str, value: Any) -> Callable[[Folder], None]:
    return lambda folder: put(folder.performance, key, value)


def scores(old: str, new: str) -> Callable[[Folder], None]:
    def change(folder: Folder) -> None:
        assert old in folder.scores
        folder.scores = folder.scores.replace(old, new)

    return change


def error(folder: Folder) -> None:
    folder.performance.append(
        {"key": "error_runtime", "value": "lost a sample", "time_ms": 1.0, "metadata": {"is_error": True, "is_warning": False}}
    )


def no_accuracy(folder: Folder) -> None:
    folder.accuracy = []


def short_data_set(folder: Folder) -> None:
    put(folder.accuracy, "qsl_reported_total_count", 49_999)


def long_answers(folder: Folder) -> None:
    folder.answers = "[" + " " * 10_240 + "]"


def no_test04(folder: Folder) -> None:
    del folder.tests["TEST04"]


def cached(folder: Folder) -> None:
    """The same sample again and again is a fifth faster: answers are cached."""
    test = folder.tests["TEST04"]
    rows = test["performance"]
    assert isinstance(rows, list)
    put(rows, "early_stopping_latency_ss", 15_000_000)
    test["verify_performance.txt"] = "TEST FAIL: Test score invalid\n"


def other_answers(folder: Folder) -> None:
    """TEST01's answers differ, and its scores by more than 1 %."""
    baseline = {"accuracy/baseline_accuracy.txt": "accuracy=76.0%\n", "accuracy/compliance_accuracy.txt": "accuracy=74.0%\n"}
    folder.tests["TEST01"] |= {"verify_accuracy.txt": "TEST FAIL\n", **baseline}


def near_answers(folder: Folder) -> None:
    """TEST01's answers differ, but its scores by 0.1 %: no determinism is required."""
    baseline = {"accuracy/baseline_accuracy.txt": "accuracy=76.0%\n", "accuracy/compliance_accuracy.txt": "accuracy=75.924%\n"}
    folder.tests["TEST01"] |= {"verify_accuracy.txt": "TEST FAIL\n", **baseline}


def wrong_seed_in_test(folder: Folder) -> None:
    rows = folder.tests["TEST01"]["performance"]
    assert isinstance(rows, list)
    put(rows, "effective_qsl_rng_seed", 1)


def nothing(_: Folder) -> None:
    """The submission follows the rules."""


SDXL: dict[str, Any] = {"source": "public/Server", "model": "stable-diffusion-xl"}
PLANTED = (
    Planted("single-stream", "SingleStream", nothing),
    Planted("multi-stream", "MultiStream", nothing),
    Planted("offline", "Offline", nothing),
    Planted("public-server", change=nothing, **SDXL),
    Planted("server-late", "ServerLate", nothing),
    Planted("single-stream-of-a-second", "SingleStreamShort", nothing),
    Planted("seed-of-another-round", "SingleStream", performance("effective_qsl_rng_seed", 6023615788873153749)),
    Planted("sample-seed", "MultiStream", performance("effective_sample_index_rng_seed", 0)),
    Planted("schedule-seed", change=performance("effective_schedule_rng_seed", 1), **SDXL),
    Planted("half-the-duration", "MultiStream", performance("effective_min_duration_ms", 300_000)),
    Planted("few-performance-samples", "SingleStream", performance("effective_performance_sample_count", 1023)),
    Planted("loose-target-latency", change=performance("effective_target_latency_ns", 20_000_000_001), **SDXL),
    Planted("early-stopping-not-met", "MultiStream", performance("early_stopping_met", False)),
    Planted("called-invalid", "SingleStream", performance("result_validity", "INVALID")),
    Planted("error-logged", "SingleStream", error),
    Planted("few-offline-samples", "Offline", performance("effective_samples_per_query", 24_575)),
    Planted("accuracy-run-missing", "SingleStream", no_accuracy),
    Planted("accuracy-missed", "SingleStream", scores("76.456", "75.6953")),
    Planted("accuracy-just-met", "SingleStream", scores("76.456", "75.6954")),
    Planted("hash-missing", "SingleStream", scores("hash=ab12", "")),
    Planted("fid-too-high", change=scores("23.90530037126598", "23.96"), **SDXL),
    Planted("clip-missing", change=scores("'CLIP_SCORE'", "'CLIP'"), **SDXL),
    Planted("data-set-cut", "SingleStream", short_data_set),
    Planted("answers-not-truncated", "SingleStream", long_answers),
    Planted("test04-missing", "SingleStream", no_test04),
    Planted("answers-cached", "SingleStream", cached),
    Planted("answers-differ", "SingleStream", other_answers),
    Planted("answers-nearly-equal", "SingleStream", near_answers),
    Planted("seed-in-test01", "SingleStream", wrong_seed_in_test),
    Planted("scenario-inferred", "SingleStream", nothing, scenario="MultiStream"),
    Planted("scenario-not-inferred", "MultiStream", nothing, scenario="SingleStream"),
    Planted("open-accuracy-missed", "SingleStream", scores("76.456", "60.0"), division="open"),
)  # fmt: skip
