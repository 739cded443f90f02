"""Which logs are checked against MLPerf's rules?  Files, folders of result files or of LoadGen's runs, and records; judged, not printed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from fireassay.api.lookup import find
from fireassay.api.sides import opened
from fireassay.errors import did_you_mean, refuse
from fireassay.frames.record_data import RecordData
from fireassay.importers.support.documents import refuse_links
from fireassay.importers.support.mllog import is_loadgen_log, read_log
from fireassay.record.mllog import Log, written
from fireassay.record.unsealed import launch_name
from fireassay.spec.kind import kind_of
from fireassay.spec.mlperf.tables import (
    inference_models,
    inference_rounds,
    inference_rules,
    latest_round,
    round_of_seeds,
    training_benchmarks,
    training_rounds,
    training_rules,
)
from fireassay.verdict.mlperf.inference import SEEDS, ComplianceRun, Runs, judge_inference
from fireassay.verdict.mlperf.own_loads import judge_load
from fireassay.verdict.mlperf.own_runs import OURS, kept_logs, own_logs
from fireassay.verdict.mlperf.power import Samples, samples
from fireassay.verdict.mlperf.training import benchmark_of, division_of
from fireassay.verdict.mlperf.training_runs import judge_training
from fireassay.verdict.mlperf.types import MlperfCheck

RESULT_FILES: Final = "result_*.txt"
DETAIL: Final = "mlperf_log_detail.txt"
TESTS: Final = ("TEST01", "TEST04", "TEST06")
ALLOWED: Final = f"a folder with {RESULT_FILES}, or a scenario's with performance/ and accuracy/ of LoadGen; or such files"
MAX_TEXT: Final = 1 << 20  # bytes of accuracy.txt and verify_*.txt
MAX_METER: Final = 64 << 20  # bytes of spl.txt
MODELS: Final = {"resnet50": "resnet", "ssd-resnet34": "retinanet", "mobilenet": "resnet"}  # as submissions also call them
SOURCE: Final = "the command line"
SILENT: Final = (
    "the script logs none of the keys that only it knows (hyperparameters, data sizes, cleared caches): log them with mlperf-logging"
)


@dataclass(frozen=True, kw_only=True)
class Submission:
    """What is submitted, as far as the user states it; "": as the logs say."""

    round: str = ""
    division: str = ""
    benchmark: str = ""
    scenario: str = ""


def check(names: Sequence[str], submission: Submission, root: Path) -> MlperfCheck:
    """Judge files, folders of them, or a record below `root`. Raises SpecError, RecordError: there is nothing to judge."""
    paths = [Path(name) for name in names]
    submission = replace(submission, round=submission.round.removeprefix("v"))
    if all(path.exists() and not is_record(path) for path in paths):
        return check_files(paths, submission)
    return check_records(names, submission, root)


def is_record(path: Path) -> bool:
    """True if a folder is a record."""
    return (path / "manifest.json").is_file() or (path / "experiment.toml").is_file()


def check_records(names: Sequence[str], submission: Submission, root: Path) -> MlperfCheck:
    """Judge a record: the lines that it was imported from, else those that it can give. A load may have accuracy runs and others with it."""
    name, *more = names
    measured, logs = _logs_of(name, submission, root)
    kind = kind_of(measured.experiment).name
    others = [opened(find(other, root)) for other in more]
    if others and (logs or kind != "serving" or any(kind_of(one.experiment).name not in ("serving", "evaluation") for one in others)):
        raise refuse(
            "LOGS", ", ".join(names), "one record, or a load and its accuracy runs, or log files and folders that exist", source=SOURCE
        )
    if kind == "training":
        result = check_training(logs, submission, whole=True)
        silent = all(entry.metadata.get("file") == OURS for log in logs for entry in log.entries)
        return replace(result, notes=(*result.notes, SILENT)) if silent else result
    if kind == "serving":
        if logs:
            return check_inference(Runs(performance=logs[0], given=len(logs)), submission, ())
        if (judged := judge_load(measured, measured.experiment.name, others)) is not None:
            return judged
    allowed = (
        "a record of a training, of a load with arrivals single_stream, multi_stream, server or offline, or an import of MLPerf's logs"
    )
    raise refuse(name, f"a record of {kind}", allowed, source=SOURCE)


def lines_of(name: str, submission: Submission, root: Path) -> dict[str, str]:
    """The `:::MLLOG` lines of a record's launches, by file name. Raises SpecError: it has none; RecordError: no such record."""
    _, logs = _logs_of(name, submission, root)
    if not logs:
        raise refuse(name, "a record without such lines", "a record of a training, or an import of MLPerf's logs", source=SOURCE)
    return {f"result_{number}.txt": written(log.entries) for number, log in enumerate(logs)}


def _logs_of(name: str, submission: Submission, root: Path) -> tuple[RecordData, Sequence[Log]]:
    """A record with the lines that it was imported from, else of a training those that its script printed and those that the record knows."""
    path = find(name, root)
    measured = opened(path)
    logs = kept_logs(measured)
    if logs or kind_of(measured.experiment).name != "training":
        return measured, logs
    printed = {number: _printed(path / "logs" / f"{launch_name(number)}.log") for number in measured.table("launches")["launch"].to_list()}
    return measured, own_logs(measured, printed, submission.benchmark, submission.division)


def _printed(path: Path) -> Log:
    """The lines with the marker in a launch's output."""
    name = "/".join(path.parts[-2:])
    return read_log(path, name, least=0) if path.is_file() else Log(file=name)


def check_files(paths: Sequence[Path], submission: Submission) -> MlperfCheck:
    """Judge log files. Raises SpecError: no such files, or of no known benchmark or round."""
    for path in paths:
        refuse_links(path)
    results = [file for path in paths for file in _results(path)]
    details = [file for path in paths if path.is_dir() or is_loadgen_log(path) for file in _details(path)]
    if results and (details := details + [file for file in results if is_loadgen_log(file)]):
        found = f"logs of a training and of LoadGen ({details[0]})"
        raise refuse(", ".join(map(str, paths)), found, "logs of one of them", "Check them apart.", source=SOURCE)
    if results:
        whole = len(results) > 1 or any(path.is_dir() for path in paths)
        return check_training([read_log(file) for file in results], submission, whole=whole)
    runs = _runs(paths)
    if not runs.given:
        raise refuse(", ".join(map(str, paths)), f"no {RESULT_FILES} and no {DETAIL}", ALLOWED, source=SOURCE)
    return check_inference(runs, submission, paths)


def _results(path: Path) -> list[Path]:
    """The result files of a training."""
    if not path.is_dir():
        return [] if path.name == DETAIL or is_loadgen_log(path) else [path]
    return sorted((file for file in path.glob(RESULT_FILES) if file.is_file()), key=_natural)


def _natural(path: Path) -> list[tuple[int, str]]:
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d{1,9})", path.name)]


# ---- training --------------------------------------------------------------------------------------------------------


def check_training(logs: Sequence[Log], submission: Submission, *, whole: bool) -> MlperfCheck:
    """Judge the logs of a training. Raises SpecError: the round or the benchmark is none with rules here."""
    benchmark = submission.benchmark or next((name for log in logs if (name := benchmark_of(log))), "")
    division = submission.division or next((name for log in logs if (name := division_of(log)) in ("closed", "open")), "closed")
    _known("--round", submission.round, training_rounds())
    round_ = submission.round or latest_round(benchmark) or training_rounds()[-1]
    _known("--benchmark", submission.benchmark, training_benchmarks(round_))
    rules = training_rules(round_, benchmark, "open" if division == "open" else "closed")
    result = judge_training(logs, round_, division, benchmark, rules, whole=whole)
    return result if submission.round else replace(result, notes=(f"round {round_} is assumed, as the logs name none: --round",))


def _known(flag: str, value: str, allowed: Sequence[str]) -> None:
    if value and value not in allowed:
        raise refuse(flag, value, f"one of {', '.join(allowed)}", did_you_mean(value, allowed), source=SOURCE)


# ---- inference -------------------------------------------------------------------------------------------------------


def check_inference(runs: Runs, submission: Submission, paths: Sequence[Path]) -> MlperfCheck:
    """Judge the runs of a scenario. Raises SpecError: the model is not known, or not of the round."""
    log = runs.performance or runs.accuracy or next((test.performance for test in runs.tests.values() if test.performance), None)
    seeds = {name: log.value(f"effective_{name}") for name in SEEDS} if log else {}
    _known("--round", submission.round, inference_rounds())
    round_ = submission.round or round_of_seeds(seeds) or inference_rounds()[-1]
    models = inference_models(round_)
    model = submission.benchmark or next((name for name in _names(paths) if name in models), "")
    _known("--benchmark", model, models)
    if not model:
        fix = f"Name it, one of {', '.join(models)}: --benchmark NAME."
        raise refuse("--benchmark", "nothing", "the model, which LoadGen's logs do not name; or a folder called as it", fix, source=SOURCE)
    rules = inference_rules(round_, model)
    assert rules is not None  # of the round's models
    scenario = submission.scenario or next((name for path in paths for name in path.resolve().parts[::-1] if name in rules.scenarios), "")
    _known("--scenario", submission.scenario, ("SingleStream", "MultiStream", "Server", "Offline", "Interactive"))
    result = judge_inference(runs, rules, submission.division or "closed", scenario, folder=any(path.is_dir() for path in paths))
    assumed = () if submission.round or round_of_seeds(seeds) else (f"round {round_} is assumed, as the seeds are of none: --round",)
    return replace(
        result, notes=(*assumed, *(() if submission.division else ("division closed is assumed, as the logs name none: --division",)))
    )


def _names(paths: Sequence[Path]) -> Iterator[str]:
    """What the folders are called, innermost first, as models are called."""
    for path in paths:
        for part in path.resolve().parts[::-1]:
            name = part.replace("llama3_1", "llama3.1")
            yield MODELS.get(name, name)


def _runs(paths: Sequence[Path]) -> Runs:
    """The runs below the folders, or in the files, distinguished by the folder of a test and by LoadGen's mode."""
    runs, tests = Runs(), {name: ComplianceRun() for name in TESTS}
    found: set[str] = set()
    for file in (file for path in paths for file in _details(path)):
        log = read_log(file, "/".join(file.parts[-3:]) if len(file.parts) > 2 else file.name)
        runs = replace(runs, given=runs.given + 1)
        mode = str(log.value("effective_test_mode") or "")
        test = next((part for part in file.parts if part in TESTS), "")
        if test:
            found.add(test)
            tests[test] = replace(tests[test], performance=tests[test].performance or log)
        elif "accuracy" in file.parts[-2:-1] or ("Accuracy" in mode and "performance" not in file.parts[-3:-1]):
            runs = _with_accuracy(runs, log, file)
        else:
            runs = replace(runs, performance=runs.performance or log, power=runs.power or _meter(file.parent / "spl.txt"))
    for path in (path for path in paths if path.is_dir()):
        for name in TESTS:
            if (folder := path / name).is_dir():
                found.add(name)
                tests[name] = _verified(tests[name], folder)
    return replace(runs, tests={name: tests[name] for name in sorted(found)})


def _details(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    places = ("", "performance", "performance/run_1", "accuracy", *(f"{test}/performance/run_1" for test in TESTS))
    return [file for place in places if (file := path / place / DETAIL).is_file()]


def _with_accuracy(runs: Runs, log: Log, file: Path) -> Runs:
    answers = file.parent / "mlperf_log_accuracy.json"
    size = answers.stat().st_size if answers.is_file() else None
    return replace(runs, accuracy=runs.accuracy or log, accuracy_text=_text(file.parent / "accuracy.txt"), accuracy_bytes=size)


def _verified(test: ComplianceRun, folder: Path) -> ComplianceRun:
    return replace(
        test,
        verify_performance=_text(folder / "verify_performance.txt"),
        verify_accuracy=_text(folder / "verify_accuracy.txt"),
        baseline=_text(folder / "accuracy/baseline_accuracy.txt"),
        compliance=_text(folder / "accuracy/compliance_accuracy.txt"),
    )


def _text(path: Path, most: int = MAX_TEXT) -> str | None:
    """The text of a small file; None: there is none. Raises SpecError: it is too large."""
    if not path.is_file():
        return None
    if path.stat().st_size > most:
        raise refuse(path.name, f"{path.stat().st_size:,} bytes", f"at most {most:,}", source="the checked logs")
    return path.read_text(encoding="utf-8", errors="replace")


def _meter(path: Path) -> Samples | None:
    text = _text(path, MAX_METER)
    return None if text is None else samples(path.name, text.splitlines())
