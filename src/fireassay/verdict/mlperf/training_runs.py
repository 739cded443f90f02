"""Do the runs of a training together follow MLPerf's rules?  Their number, seeds, convergence, score.

Closed and open: an exact number of result files, of which one may break its rules or miss its target (olympic scoring drops the fastest
and the slowest).  Closed also: every run logs its own seed, and the runs do not converge faster than the reference allows
(`stats/models/mlperf_rcp.py`).  The score is the olympic mean of run_stop - run_start, times the factor of a convergence faster than the
reference's mean.  Source: mlperf-logging 4.1.68, package_checker, rcp_checker, result_summarizer.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Final

from fireassay.estimates.estimate import Estimate
from fireassay.estimates.format import count, given
from fireassay.printable import some
from fireassay.record.mllog import Log, finite
from fireassay.spec.mlperf.tables import TRAINING_SOURCE, TrainingRules
from fireassay.stats.intervals.means import trimmed_mean
from fireassay.stats.models.mlperf_rcp import Judged, Point, converged, olympic_mean
from fireassay.verdict.mlperf.training import benchmark_of, evaluations, file_rules, met
from fireassay.verdict.mlperf.types import MlperfCheck, Rule, Score, merged, rule, shown, unchecked

SYSTEM: Final = "systems/SYSTEM.json of the submission is not in the logs"
SOURCES: Final = "a log says what was set, not whether the program used it"
MAY_FAIL: Final = 1  # files
LEAST: Final = 3  # runs of an olympic mean
CONFIDENCE: Final = 0.95


def judge_training(
    logs: Sequence[Log], round_: str, division: str, benchmark: str, rules: TrainingRules | None, *, whole: bool
) -> MlperfCheck:
    """Judge result files.

    Args:
        logs: in the order of their names; of one configuration.
        round_: "5.0"
        division: "closed" or "open".
        benchmark: as the logs name it.
        rules: of the benchmark; None: the round does not have it.
        whole: whether these are all runs of the benchmark; a single file cannot show their number, seeds and convergence.
    """
    each = [file_rules(log, round_, division, rules) for log in logs]
    found = merged(_excused(each, whole=whole))
    judged = _convergence(logs, rules) if whole and rules is not None and division == "closed" else None
    together = tuple(_together(logs, division, rules, each, judged)) if whole else tuple(_unseen(rules, division))
    factor = judged.factor if isinstance(judged, Judged) and judged.passed else 1.0
    return MlperfCheck(
        suite="training",
        title=f"MLPerf Training {round_}, {benchmark or 'no benchmark'}, {division}",
        round=round_,
        division=division,
        benchmark=benchmark,
        files=len(logs),
        rules=(*together, *found, *_never(division)),
        score=_score(logs, factor),
    )


def _excused(each: Sequence[Sequence[Rule]], *, whole: bool) -> Iterator[Rule]:
    """The rules of every file; failures of a single one are excused among three runs or more, as the slowest is dropped anyway."""
    bad = [rules for rules in each if any(one.status == "fail" for one in rules)]
    forgiven = whole and len(each) >= LEAST and len(bad) <= MAY_FAIL
    for rules in each:
        for one in rules:
            yield replace(one, status="excused") if forgiven and one.status == "fail" else one


def _together(
    logs: Sequence[Log], division: str, rules: TrainingRules | None, each: Sequence[Sequence[Rule]], judged: Judged | Rule | None
) -> Iterator[Rule]:
    if rules is not None:
        yield rule("runs", len(logs) == rules.runs, count(rules.runs, "result files"), count(len(logs), "files"), source=TRAINING_SOURCE)
    bad = sum(any(one.status == "fail" for one in found) for found in each)
    yield rule("files that comply", bad <= MAY_FAIL, "all but one", f"{len(logs) - bad} of {len(logs)}", source=TRAINING_SOURCE)
    names = {benchmark_of(log) or f"none in {log.file}" for log in logs}
    yield rule("one benchmark", len(names) == 1, "the same in every file", some(sorted(names)), source=TRAINING_SOURCE)
    if division == "closed":
        yield from _seeds(logs)
        if isinstance(judged, Rule):
            yield judged
        elif judged is not None and rules is not None:
            yield _convergence_rule(judged, rules)


def _unseen(rules: TrainingRules | None, division: str) -> Iterator[Rule]:
    reason = "one file was given, not the folder of all runs"
    yield unchecked("runs", f"{rules.runs if rules else 'several'} result files", reason, TRAINING_SOURCE)
    if division == "closed":
        yield unchecked("seeds", "a seed of its own in every run", reason, TRAINING_SOURCE)
        yield unchecked("convergence", "not faster than the reference allows", reason, TRAINING_SOURCE)


def _never(division: str) -> Iterator[Rule]:
    yield unchecked("system", "a valid description of the system", SYSTEM, TRAINING_SOURCE)
    if division == "closed":
        yield unchecked("program", "model, data order and mathematics of the reference", SOURCES, "training_rules.adoc")


# ---- seeds -----------------------------------------------------------------------------------------------------------


def _seeds(logs: Sequence[Log]) -> Iterator[Rule]:
    """Every run logs a seed; no two log the same on the same line of the same source file."""
    used: dict[tuple[str, str, int], str] = {}
    wrong: list[Rule] = []
    required = "whole, and of its own in every run"
    for log in logs:
        entries = log.all("seed")
        if not entries:
            wrong.append(rule("seeds", False, required, "no seed logged", log.file, TRAINING_SOURCE, log.file))
        for entry in entries:
            seed = _seed(entry.value)
            known = "file" in entry.metadata and "lineno" in entry.metadata
            if seed is None or not known:
                found = f"{entry.value}, without file and lineno" if seed is not None else entry.value
                wrong.append(rule("seeds", False, required, found, entry.where, TRAINING_SOURCE, log.file))
                continue
            key = (str(entry.metadata["file"]), str(entry.metadata["lineno"]), seed)
            if key in used:
                wrong.append(rule("seeds", False, required, f"{seed}, also in {used[key]}", entry.where, TRAINING_SOURCE, log.file))
            used.setdefault(key, log.file)
    yield from wrong or [rule("seeds", True, required, f"{len(used)} different", source=TRAINING_SOURCE)]


def _seed(value: object) -> int | None:
    try:
        return int(value)  # type: ignore[call-overload, no-any-return]
    except (TypeError, ValueError, OverflowError):
        return None


# ---- convergence -----------------------------------------------------------------------------------------------------


def _convergence(logs: Sequence[Log], rules: TrainingRules) -> Judged | Rule:
    """The convergence of all runs against the reference; a rule that fails: it cannot be judged."""
    required = "not faster than the reference allows"

    def failed(found: object) -> Rule:
        return rule("convergence", False, required, found, source=TRAINING_SOURCE)

    batches = {"none" if value is None else str(value): value for log in logs for value in [_last(log, "global_batch_size")]}
    if len(batches) != 1:
        return failed(f"global_batch_size differs: {some(sorted(batches))}")
    (batch,) = batches.values()
    size = finite(batch)
    if size is None:
        return failed(f"global_batch_size is {'missing' if batch is None else shown(batch)}")
    amounts = [_amount(log, rules) for log in logs]
    if (lost := sum(map(math.isinf, amounts))) > MAY_FAIL:
        return failed(f"{lost} runs did not converge")
    if len(amounts) < LEAST:
        return failed(f"{count(len(amounts), 'runs')}, too few for an olympic mean")
    if rules.convergence is None:
        return failed("the round has no reference points")
    points = [Point(batch=b, mean=mean, deviation=deviation, runs=runs) for b, mean, deviation, runs in rules.convergence.points]
    return converged(points, size, amounts, rules.runs, rules.convergence.allowance)


def _last(log: Log, key: str) -> Any:
    entries = log.all(key)
    return entries[-1].value if entries else None


def _amount(log: Log, rules: TrainingRules) -> float:
    """Epochs or samples to converge: of the last evaluation before run_stop, of FID and CLIP the first that meets both; inf: not converged."""
    stop = log.first("run_stop")
    if stop is None or stop.metadata.get("status") != "success":
        return math.inf
    if "FID" in rules.target:
        points = evaluations(log, rules) or []
        return min((amount for at, scores, _ in points if met(scores, rules) and (amount := finite(at)) is not None), default=math.inf)
    until = replace(log, entries=log.entries[: log.entries.index(stop)])
    before = [amount for at, _, _ in evaluations(until, rules) or [] if (amount := finite(at)) is not None]
    if not before:
        return math.inf
    return round(before[-1], 3) if rules.unit == "epoch_num" else before[-1]


def _convergence_rule(judged: Judged, rules: TrainingRules) -> Rule:
    unit = "epochs" if rules.unit == "epoch_num" else "samples"
    where = judged.reference
    if where is None:
        found = f"{given(judged.mean, 5)} {unit}; no reference for so large a batch"
        return rule("convergence", False, "a reference point", found, source=TRAINING_SOURCE)
    how = {"found": "", "interpolated": ", interpolated", "smaller": ", the smallest reference"}.get(judged.how, "")
    required = f">= {given(judged.least, 5)} {unit} (reference {given(where.mean, 5)} at batch {given(where.batch, 7)}{how})"
    faster = f"; score times {given(judged.factor, 5)}" if judged.passed and judged.factor > 1.0 else ""
    return rule("convergence", judged.passed, required, f"{given(judged.mean, 5)} {unit}{faster}", source=TRAINING_SOURCE)


# ---- score -----------------------------------------------------------------------------------------------------------


def minutes(log: Log) -> float | None:
    """run_stop - run_start; None: one is missing, or the order is wrong."""
    start, stop = log.first("run_start"), log.first("run_stop")
    if start is None or stop is None or stop.time_ms <= start.time_ms:
        return None
    return (stop.time_ms - start.time_ms) / 60_000.0


def _score(logs: Sequence[Log], factor: float) -> Score | None:
    """The olympic mean; a run without both times is the slowest. None: nothing can be said."""
    times = [math.inf if (took := minutes(log)) is None else took * factor for log in logs]
    if len(times) < LEAST:
        known = [took for took in times if math.isfinite(took)]
        value = math.fsum(known) / len(known) if known else math.inf
        title = "time to train" if len(known) == 1 else f"mean time to train of {count(len(known), 'runs')}"
        return Score(title=title, text=_minutes(value), value=value, unit="min") if math.isfinite(value) else None
    value = olympic_mean(times)
    if not math.isfinite(value):
        return None
    if len(times) == LEAST:  # a single run is left, which has no spread
        return Score(title="the middle of three times to train", text=_minutes(value), value=value, unit="min")
    trimmed = trimmed_mean(times, CONFIDENCE, cut=1.5 / len(times))
    estimate = Estimate.of(
        replace(trimmed, low=max(0.0, trimmed.low)),  # no time is negative
        unit="min",
        confidence=CONFIDENCE,
        n_launches=len(times),
        n_trials=len(times),
        method="mean without the fastest and the slowest run; interval of a trimmed mean (Tukey and McLaughlin)",
        signature=f"mlperf_time_to_train|agg:olympic|k:{len(times)}|factor:{factor:.6g}|ci:trimmed|v:1",
    )
    return Score(title="olympic mean of the times to train", text=_minutes(value), value=value, unit="min", estimate=estimate)


def _minutes(value: float) -> str:
    return f"{given(value, 5)} min"
