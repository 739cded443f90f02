"""How do quality, results and every number compare with a baseline?

What does a history alone say about a record's number?
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from fireassay.estimates.estimate import Absent
from fireassay.estimates.format import count, percent
from fireassay.metrics.metric import Better
from fireassay.stats.comparing.between_records import MIN_RECORDS, Level, against_history, detectable_with_days
from fireassay.stats.comparing.comparison import REASONS, Decision, Difference, decide
from fireassay.stats.comparing.multiplicity import benjamini_hochberg
from fireassay.stats.series.changes import Change as LevelChange
from fireassay.verdict.checking.history import History
from fireassay.verdict.checking.types import CheckRow, Design, RowState
from fireassay.verdict.comparison.groups import Group, in_turn, launch_values, quality
from fireassay.verdict.comparison.phrases import TWO_SESSIONS, difference_text, occasion
from fireassay.verdict.comparison.sessions import Days, Found, found_between, judged
from fireassay.verdict.comparison.types import Change, Comparison, Side
from fireassay.verdict.types import rule_words

QUALITY: Final = "quality"
SESSIONS: Final = "the records are from different sessions"  # start of the note on days


@dataclass(frozen=True, kw_only=True)
class Settings:
    comparison: Comparison
    baseline: Side
    record: Side
    days: Days
    margin: float
    everything: bool

    def group(self, side: Side, configuration: str) -> Group:
        return Group(label=side.label, side=side, configuration=configuration)


def primary_of(comparison: Comparison) -> tuple[str, str]:
    return comparison.primary, comparison.configuration


def correctness(settings: Settings) -> list[CheckRow]:
    """Quality against the baseline, and results that are newly wrong."""
    held = settings.comparison.quality.get(settings.record.label, "NOT_MEASURED")
    requested = settings.baseline.measured.experiment.quality is not None
    states: Mapping[str, RowState] = {
        "HELD": "pass",
        "DEGRADED": "regression",
        "INCONCLUSIVE": "inconclusive",
        "NOT_MEASURED": "inconclusive" if requested else "listed",
    }
    words = {
        "HELD": "quality is held",
        "DEGRADED": "quality is degraded",
        "INCONCLUSIVE": "quality is undecided",
        "NOT_MEASURED": "quality was not measured",
    }
    at = settings.comparison.configuration
    first, second = settings.group(settings.baseline, at), settings.group(settings.record, at)
    when = "" if in_turn(first, second) else f" {TWO_SESSIONS}"
    sentence = f"{words[held]}{when} ({quality(first, second).full})"
    rows = [_plain_row(settings, QUALITY, "Quality", at, states[held], sentence)]
    known = {(f.rule, f.configuration) for f in settings.baseline.judgement.verdict.findings if f.severity == "fail"}
    for finding in settings.record.judgement.verdict.findings:
        if finding.severity == "fail" and (finding.rule, finding.configuration) not in known:
            where = finding.configuration or "all"
            sentence = f"new in this record: {finding.evidence}"
            rows.append(_plain_row(settings, finding.rule, rule_words(finding.rule), where, "regression", sentence))
    return rows


def _plain_row(settings: Settings, metric: str, title: str, at: str, state: RowState, sentence: str) -> CheckRow:
    return CheckRow(
        metric=metric, title=title, configuration=at, state=state, decides=state != "listed", better="higher", sentence=sentence
    )


def rows_of(settings: Settings) -> list[CheckRow]:
    """Every metric with a value on both sides: the primary first, the others with corrected p-values."""
    label = settings.record.label
    changes = [change for change in settings.comparison.changes if change.side == label and change.metric != QUALITY]
    pairs = {_key(change): _found(settings, change) for change in changes}
    others = {key: pair.difference.p_value for key, pair in pairs.items() if pair is not None and key != primary_of(settings.comparison)}
    adjusted = dict(zip(others, benjamini_hochberg(list(others.values())), strict=True))
    rows = [_row(settings, change, pairs[_key(change)], adjusted.get(_key(change))) for change in changes]
    return sorted(rows, key=lambda row: (not row.primary, not row.decides))


def _key(change: Change) -> tuple[str, str]:
    return change.metric, change.configuration


def _found(settings: Settings, change: Change) -> Found | None:
    a = settings.group(settings.baseline, change.configuration)
    b = settings.group(settings.record, change.configuration)
    if change.metric not in settings.record.judgement.metrics:
        return None
    if not all(math.isfinite(x) for group in (a, b) for x in launch_values(group.value(change.metric))):
        return None
    return found_between(
        a,
        b,
        change.metric,
        confidence=settings.comparison.confidence,
        days=settings.days,
        smallest_effect=settings.baseline.measured.experiment.comparison.smallest_effect,
    )


def _row(settings: Settings, change: Change, result: Found | None, p: float | None) -> CheckRow:
    metric = settings.record.judgement.metrics.get(change.metric)
    primary = _key(change) == primary_of(settings.comparison)
    better: Better = metric.better if metric is not None else "neither"
    decides = primary or change.primary or (settings.everything and better != "neither")
    title = metric.title if metric is not None else change.metric
    base = CheckRow(
        metric=change.metric,
        title=title,
        configuration=change.configuration,
        state="listed",
        decides=decides,
        primary=primary,
        better=better,
        baseline=change.baseline,
        value=change.value,
        p_adjusted=p,
    )
    if result is None:
        absent = change.value if isinstance(change.value, Absent) else change.baseline
        why = absent.detail if isinstance(absent, Absent) else "it has no value per launch on one side"
        return replace(base, state="nothing_measured" if decides else "listed", sentence=f"{title}: {why}")
    judgement = judged(
        result,
        better=better,
        margin=settings.margin,
        floor=settings.comparison.floor,
        p_adjusted=p,
        smallest_effect=settings.baseline.measured.experiment.comparison.smallest_effect,
    )
    state = state_of(result.difference, judgement.decision, better)
    suspected = state != "regression" and judgement.suspected and judgement.alone.change == "worse"
    state = "inconclusive" if suspected else state
    where = ", ".join(filter(None, (f"{title} at {change.configuration}", occasion(result))))
    return replace(
        base,
        state=state,
        suspected=suspected,
        difference=result.difference,
        margin=judgement.decision.margin,
        launches_needed=judgement.decision.launches_needed,
        sentence=sentence_of(where, result.difference, judgement.decision, state, better, suspected=suspected),
    )


def state_of(found: Difference, decision: Decision, better: Better) -> RowState:
    """The state by the rules of `fireassay.verdict.checking.check`; a pass is one-sided: only a regression must be excluded."""
    if better == "neither":
        return "listed"
    if decision.change != "neither":
        return "regression" if decision.change == "worse" else "improvement"
    if decision.verdict == "equivalent" or (found.scale == "difference" and found.low == found.high == 0.0):
        return "pass"
    if decision.verdict == "insufficient" or decision.reason == "floor_above_margin" or decision.margin is None:
        return "inconclusive"
    if decision.floor >= decision.margin:
        return "inconclusive"
    low, high = decision.equivalence_low, decision.equivalence_high
    held = low > 1.0 / (1.0 + decision.margin) if better == "higher" else high < 1.0 + decision.margin
    return "pass" if held else "inconclusive"


def design_of(settings: Settings) -> Design:
    pair = _at_once(settings)
    designs: Mapping[str, Design] = {"in turn": "in turn", "alternating": "alternating sittings", "history": "two records and a history"}
    return designs.get(pair.evidence, "two records") if pair is not None else "two records"


def _at_once(settings: Settings) -> Found | None:
    """The primary change's numbers, if any."""
    deciding = [change for change in settings.comparison.changes if _key(change) == primary_of(settings.comparison)]
    return _found(settings, deciding[0]) if deciding else None


def about_days(settings: Settings, design: Design, rows: Sequence[CheckRow]) -> list[str]:
    pair = _at_once(settings)
    if design in ("in turn", "alternating sittings"):
        return []
    if pair is not None and pair.days is not None:
        variation = f"{percent(pair.days.deviation, way='up')} over {count(pair.days.records, 'records')} of the history"
        return [f"{SESSIONS}; the intervals include the day-to-day deviation, {variation}"]
    needed = f"without {MIN_RECORDS} comparable records in a history,"
    remedy = "interleave both (--baseline-folder), or give --history"
    deviation = percent(settings.days.assumed, 12)
    return [f"{SESSIONS}; {needed} a day-to-day deviation of {deviation} is assumed; {remedy}"]


def sentence_of(
    where: str, found: Difference, decision: Decision, state: RowState, better: Better, *, suspected: bool, against: str = "the baseline"
) -> str:
    """ "Throughput at workers=2, between these two sessions: −12.0 % [−15.1, −8.8] against the baseline"."""
    shown = f"{where}: {difference_text(found)} against {against}"
    if suspected:
        return f"{shown}; suspected to be worse, which launches of one day cannot establish"
    if state == "pass" and found.scale == "ratio":
        margin = decision.margin or 0.0
        worse = decision.equivalence_low if better == "higher" else decision.equivalence_high
        bound = percent(worse - 1.0, 3, way="down" if better == "higher" else "up", beside=(0.0, margin, -margin))
        beyond = f"a regression beyond {percent(margin, 12)} is excluded"
        return f"{shown}; {beyond}: the one-sided bound is {bound}"
    if state == "inconclusive":
        needed = decision.launches_needed
        more = f"; {count(needed, 'launches')} per side would decide" if needed else ""
        effect = decision.minimum_detectable_effect
        seen = (
            f", and only changes of {percent(effect, way='up')} or more would be detected"
            if math.isfinite(effect) and found.scale == "ratio"
            else ""
        )
        return f"{shown}; {REASONS[decision.reason]}{seen}{more}"
    return shown


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
        better=history.better,
        value=last.value,
        p_adjusted=history.p_adjusted,
        margin=margin,
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
        sentence = f"{history.title} at {history.configuration}: {before} before this one; at least {MIN_RECORDS} are needed"
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
    if len(reference) < MIN_RECORDS:
        return None
    return against_history(launch_values(history.points[-1].value), reference, record.measured.confidence, history.scale)


def _reference(history: History) -> list[Level]:
    """Records of the newest level before the last one; a single outlying day among them would hide every change."""
    first, last = history.levels[-1][0], len(history.points) - 1
    return [history.points[index].level for index in range(first, last) if index not in history.outliers]


def _is_of_interest(history: History, change: LevelChange, least: float) -> bool:
    """True if a certain change is large enough to matter and above the machine's noise; scores have no such limit."""
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
