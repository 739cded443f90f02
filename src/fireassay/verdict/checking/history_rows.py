"""What does a history alone say about a record's number?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from fireassay.estimates.format import count
from fireassay.stats.comparing.between_records import LEAST_RECORDS, Level, against_history, detectable_with_days
from fireassay.stats.comparing.comparison import Difference, decide
from fireassay.stats.series.changes import Change as LevelChange
from fireassay.verdict.checking.history import History
from fireassay.verdict.checking.rows import primary_of, sentence_of, state_of
from fireassay.verdict.checking.types import CheckRow
from fireassay.verdict.comparison.groups import launch_values
from fireassay.verdict.comparison.types import Comparison, Side

RECENT: Final = 10  # records; an older change of level fails no build


def row_of_history(
    history: History,
    comparison: Comparison,
    margin: float,
    everything: bool,
    record: Side,
    difference: Difference | None,
    p_adjusted: float | None,
) -> CheckRow:
    primary = (history.metric, history.configuration) == primary_of(comparison)
    last, requested = history.points[-1], record.measured.experiment.comparison
    base = CheckRow(
        metric=history.metric,
        title=history.title,
        configuration=history.configuration,
        state="inconclusive",
        decides=primary or everything,
        primary=primary,
        suspected=False,
        better=history.better,
        baseline=None,
        value=last.value,
        difference=None,
        p_adjusted=history.p_adjusted,
        margin=margin,
        launches_needed=None,
        sentence="",
    )
    least = max(requested.smallest_effect, comparison.floor)
    recent = _recent(history, history.certain)
    if recent is not None and _is_of_interest(history, recent, least):
        return _row_of_change(base, history, recent)
    doubtful = _recent(history, [history.suspected] if history.suspected is not None and history.suspected.p_value is not None else [])
    if doubtful is not None and _is_worse(history, doubtful) and _is_of_interest(history, doubtful, least):
        return replace(_row_of_change(base, history, doubtful), state="inconclusive", suspected=True)
    if difference is None:
        before = count(len(_reference(history)), "comparable records")
        sentence = f"{history.title} at {history.configuration}: {before} before this one; at least {LEAST_RECORDS} are needed"
        return replace(base, sentence=sentence)
    ratio = history.scale == "ratio"
    decision = decide(
        difference,
        better=history.better,
        margin=margin if ratio else None,
        floor=comparison.floor if ratio else 0.0,
        smallest_effect=requested.smallest_effect if ratio else None,
        p_adjusted=p_adjusted,
    )
    decision = replace(decision, minimum_detectable_effect=detectable_with_days(difference, least))
    state = state_of(difference, decision, history.better)
    suspected = state == "regression"
    state = "inconclusive" if suspected else "pass" if state == "improvement" else state
    where = f"{history.title} at {history.configuration}"
    sentence = sentence_of(where, difference, decision, state, history.better, suspected=suspected, against="the history")
    return replace(base, state=state, suspected=suspected, difference=difference, p_adjusted=p_adjusted, sentence=sentence)


def _row_of_change(base: CheckRow, history: History, change: LevelChange) -> CheckRow:
    worse = _is_worse(history, change)
    sentence = (
        f"{history.title} at {history.configuration}: {history.moved(change)}, which is {'worse' if worse else 'better'}; "
        f"{count(len(history.points) - change.index, 'records')} support it"
    )
    return replace(base, state="regression" if worse else "improvement", sentence=sentence)


def left_out_of(history: History | None) -> list[str]:
    wild = [history.points[index].label for index in history.outliers] if history is not None else []
    if not wild:
        return []
    return [f"{count(len(wild), 'outlying records')} left out: {', '.join(wild)}"]


def prediction_of(history: History, record: Side) -> Difference | None:
    """The newest record against the prediction interval of its level's earlier records; None if too few."""
    reference = _reference(history)
    if len(reference) < LEAST_RECORDS:
        return None
    return against_history(launch_values(history.points[-1].value), reference, record.measured.confidence, history.scale)


def _reference(history: History) -> list[Level]:
    """Records of the newest level before the last one; a single outlying day among them would hide every change."""
    first, last = history.levels[-1][0], len(history.points) - 1
    return [history.points[index].level for index in range(first, last) if index not in history.outliers]


def _is_of_interest(history: History, change: LevelChange, least: float) -> bool:
    """Whether a certain change is large enough to matter and above the machine's noise; scores have no such limit."""
    before, after = history.around(change)
    return history.scale != "ratio" or abs(math.log(after / before)) > math.log1p(least)


def _recent(history: History, changes: Sequence[LevelChange]) -> LevelChange | None:
    """The last change, if recent enough to fail a build."""
    return changes[-1] if changes and len(history.points) - changes[-1].index <= RECENT else None


def _is_worse(history: History, change: LevelChange) -> bool:
    before, after = history.around(change)
    return after < before if history.better == "higher" else after > before


def before_change(history: History) -> str:
    """Last record of the previous level: the baseline for a fresh measurement."""
    recent = _recent(history, history.changes)
    index = (recent.index if recent is not None else len(history.points) - 1) - 1
    return history.points[index].label if index >= 0 else ""
