"""How do `:::MLLOG` lines of trainings become a record of a training?  Each result file is a launch.

A launch runs from its log's first line to its last, in the log's milliseconds.  Every line is kept as an event `mllog`, so that the record can be
checked against MLPerf's rules and written as lines again; run_start is the event `training_start`, and each evaluation an event `score`
with the samples trained so far (samples_count; else epoch_num times train_samples).  The benchmark's published target is the record's
`[target]`, so that time to quality is measured.  A launch without a successful run_stop has failed.
Files with equal benchmark, batch size and hyperparameters are launches of one record; others are refused, as their times do not belong together.
The lines name no steps, workers or machine: only times to train and scores can be measured from them.
Source: mlperf-logging 4.1.68, mllog; training_rules.adoc.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from fireassay.clock import Clock
from fireassay.importers.support.base import Imported, clean, new_record, record_name
from fireassay.importers.support.documents import Place, Words
from fireassay.importers.support.mllog import is_training, read_log
from fireassay.record import files
from fireassay.record.folder import launch_row, write_event, write_launch
from fireassay.record.mllog import EVENT, SCORES, Entry, Log, finite, kept, kept_broken
from fireassay.record.writer import StreamWriter
from fireassay.spec.experiment import Experiment
from fireassay.spec.mlperf.tables import latest_round, training_rules
from fireassay.spec.plan import PlannedLaunch, plan

NAME: Final = "mllog"
TITLE: Final = "MLPerf training logs (:::MLLOG)"
MS: Final = 1_000_000  # ns
OF_THE_RUN: Final = (
    "submission_benchmark",
    "submission_division",
    "submission_platform",
    "global_batch_size",
    "opt_base_learning_rate",
    "opt_name",
)
MISSING: Final = (
    "the steps: when each began, and what it did",
    "the number of workers, which the record takes for 1, and the machine, beyond the name of the platform",
    "the program, its data and their order",
)


def recognises(_: str, beginning: str) -> bool:
    """True if a file's beginning looks like a training's log."""
    return is_training(beginning)


def import_runs(chosen: Sequence[Path], root: Path, *, clock: Clock, name: str = "") -> tuple[Imported, ...]:
    """Write the runs in these files as one sealed record.

    Raises:
        SpecError: a file is invalid, or of another benchmark or batch size than the first; nothing is left behind.
        RecordError: the record cannot be written.
    """
    logs = [read_log(path) for path in sorted(chosen, key=lambda path: (len(path.name), path.name))]
    _refuse_others(logs)
    digests = {path.name: files.digest(path) for path in chosen}
    benchmark = clean(str(logs[0].value("submission_benchmark") or "training"), 40)
    return (_record(logs, record_name(name or f"mllog-{benchmark}", NAME, 0, 1), digests, root, clock),)


def _refuse_others(logs: Sequence[Log]) -> None:
    for log in logs:
        if not log.entries:
            raise Place(log.file).wrong(Words(f"{len(log.broken)} broken lines and no other"), "lines as MLPerf's logger writes them")
        for key in OF_THE_RUN:
            ours, theirs = log.value(key), logs[0].value(key)
            if str(ours) != str(theirs):
                fix = "Import the runs of one configuration at a time."
                raise Place(log.file).at(key).wrong(ours, f"{theirs}, as in {logs[0].file}", fix)


def _record(logs: Sequence[Log], name: str, digests: Mapping[str, str], root: Path, clock: Clock) -> Imported:
    experiment = _experiment(name, len(logs), _goal(str(logs[0].value("submission_benchmark"))))
    with new_record(root, experiment, clock) as record:
        planned = plan(experiment)
        failed = 0
        for number, log in enumerate(logs):
            failed += not _launch(record.writer(number), number, log, planned[number], record.path)
        doubts = (*_broken(logs), *([f"{failed} of {len(logs)} runs did not end with success: see their launches"] if failed else []))
        record.note(foreign=_manifest(logs, digests, doubts))
        record.finish("complete")
    return Imported(
        path=record.path,
        tool=NAME,
        title=TITLE,
        configurations=(planned[0].configuration,),
        launches=len(logs),
        requests=sum(len(log.entries) for log in logs),
        failed=0,
        has_requests=True,
        missing=MISSING,
        doubts=doubts,
        unit="lines",
    )


def _broken(logs: Sequence[Log]) -> Iterator[str]:
    for log in (log for log in logs if log.broken):
        yield f"{log.file}: {len(log.broken)} lines cannot be read, the first is line {log.broken[0].line}"


def _goal(benchmark: str) -> str:
    """The benchmark's published target in its newest round, as a goal; "": it is none of a single score, or not known."""
    rules = training_rules(latest_round(benchmark), benchmark, "closed") if latest_round(benchmark) else None
    if rules is None or len(rules.target) != 1:
        return ""
    ((name, bounds),) = rules.target.items()
    return next((f"{name} {sign} {bounds[bound]:g}" for bound, sign in (("at_least", ">="), ("at_most", "<=")) if bound in bounds), "")


def _experiment(name: str, launches: int, goal: str) -> Experiment:
    return Experiment.model_validate(
        {
            "name": name,
            "workload": {"runner": "training", "script": "as-logged.py"},
            "factor": {"levels": [1]},
            "launches": {"per_configuration": launches},
            "gates": {"efficiency": "none"},
            **({"target": {"goal": goal}} if goal else {}),
        }
    )


def _launch(writer: StreamWriter, number: int, log: Log, planned: PlannedLaunch, path: Path) -> bool:
    """Write a run; true if it ended with success."""
    base = min(entry.time_ms for entry in log.entries)

    def ns(entry: Entry) -> int:
        return round((entry.time_ms - base) * MS)

    for entry in log.entries:
        write_event(writer, number, EVENT, ns(entry), kept(entry))
    for broken in log.broken:
        write_event(writer, number, EVENT, 0, kept_broken(broken))
    start, stop = log.first("run_start"), log.first("run_stop")
    if start is not None:
        write_event(writer, number, "training_start", ns(start), {"key": "run_start"})
    for entry, value, detail in _scores(log):
        write_event(writer, number, "score", ns(entry), detail, value=value, step=_step(entry), rank=0, incarnation=0)
    ended = stop is not None and stop.metadata.get("status") == "success"
    reason = "" if ended else "no run_stop in the log" if stop is None else clean(f"run_stop says {stop.metadata.get('status')}", 80)
    last = max(ns(entry) for entry in log.entries)
    outcome = {"status": "ok" if ended else "failed", "reason": reason, "begin_ns": 0, "end_ns": last}
    write_launch(writer, launch_row(planned, launch=number, **outcome), path)
    return ended


def _scores(log: Log) -> Iterator[tuple[Entry, float, dict[str, Any]]]:
    """The evaluations with a finite number."""
    in_epoch = finite(log.value("train_samples"))
    for entry in (entry for key in SCORES for entry in log.all(key)):
        value = finite(entry.value)
        if value is None:
            continue
        metric = entry.metadata.get("metric")
        detail: dict[str, Any] = {"name": clean(metric, 80) if isinstance(metric, str) and metric else entry.key, "source": NAME}
        samples, epoch = (finite(entry.metadata.get(key)) for key in ("samples_count", "epoch_num"))
        if samples is None and epoch is not None and in_epoch is not None:
            samples = epoch * in_epoch
        yield entry, value, detail if samples is None else {**detail, "samples": samples}


def _step(entry: Entry) -> int | None:
    step = entry.metadata.get("step_num")
    return step if isinstance(step, int) and not isinstance(step, bool) and 0 <= step < 2**62 else None


def _manifest(logs: Sequence[Log], digests: Mapping[str, str], doubts: Sequence[str]) -> dict[str, Any]:
    """The manifest's `foreign`: the record's origin, the meaning of its numbers and the unknowns."""
    stated = {key: clean(str(value), 80) for key in OF_THE_RUN if (value := logs[0].value(key)) is not None}
    main = logs[0].file
    return {
        "tool": NAME,
        "title": TITLE,
        "version": None,
        "file": main,
        "sha256": digests[main],
        "files": dict(digests),
        "requests": True,  # not totals only: metrics are computed from its rows
        "meanings": {
            "time": "from run_start, in the milliseconds of the log",
            "samples": "samples_count, else epoch_num times train_samples",
        },
        "stated": stated,
        "missing": list(MISSING),
        "doubts": list(doubts),
    }
