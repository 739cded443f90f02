"""May this build go on?  A record against a baseline or a history, decided so that a pipeline can act on one exit code.

    pass              a regression larger than the margin is excluded: the worse end of the interval lies inside it
    regression        the interval excludes no change, on the worse side; or quality is degraded, or a result is wrong
    improvement       the same on the better side: the baseline may be renewed
    inconclusive      neither; the minimum detectable effect says what could have been seen
    not_comparable    a condition that must be equal is not, or a record is inadmissible
    nothing_measured  the metric that decides has no value on one side

What a difference means depends on how the two were measured (`assay.verdict.comparison.sessions`, the rule that `compare` has too).  A
change that only the launches of two sessions carry is *suspected*, and stays inconclusive until launches in turn confirm it.  Against
a history alone: a certain change of level of interest, supported by 3 records or more and not older than 10; one that is not
certain yet makes a suspicion; else the prediction interval of one more record, which makes a suspicion and no finding.
Only the primary metric and quality decide, unless everything is asked for; the other p-values are corrected (Benjamini and
Hochberg).  Nothing is a pass that was not measured, failed, or is missing from the plan.
Sources: methodology 3.4 and 3.6; docs/decisions/0015-check.md.  Cannot tell: why something changed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import polars as pl

from assay.estimates.estimate import Absent
from assay.estimates.format import count, given, percent
from assay.metrics.base import Better
from assay.stats.comparing.between_records import LEAST_RECORDS, Level, against_history, detectable_with_days
from assay.stats.comparing.comparison import REASONS, Decision, Difference, decide
from assay.stats.comparing.multiplicity import benjamini_hochberg
from assay.stats.series.changes import Change as LevelChange
from assay.verdict.checking.history import History, histories, rates, worth_showing
from assay.verdict.checking.types import Check, Design, Row, RowState, State, concluded
from assay.verdict.comparison.change_phrases import difference_text
from assay.verdict.comparison.groups import Arm, in_turn, launch_values, quality
from assay.verdict.comparison.session_phrases import TWO_SESSIONS, occasion
from assay.verdict.comparison.sessions import DAYS, Days, Found, days_of, found_between, judged
from assay.verdict.comparison.types import Change, Comparison, Side

RECENT: Final = 10  # records; an older change of level is history and fails no build
QUALITY: Final = "quality"


def check(
    comparison: Comparison,
    baseline: Side,
    record: Side,
    *,
    past: Sequence[Side] = (),
    days: float = DAYS,
    margin: float | None = None,
    everything: bool = False,
) -> Check:
    """A record against a baseline, `comparison` being of the two; `past`: other comparable records, for their days.

    `days` is the day-to-day deviation assumed without 5 past records; `margin` replaces `comparison.equivalence` of the spec.
    """
    start = _started(comparison, baseline, record)
    if start.state != "pass":
        return start
    settings = _Settings(
        comparison=comparison,
        baseline=baseline,
        record=record,
        everything=everything,
        days=days_of(past, (baseline, record), days),
        margin=baseline.measured.experiment.comparison.equivalence if margin is None else margin,
    )
    rows = _rows(settings)
    design = _design(settings)
    notes = (*_own(comparison.notes), _sure(comparison.confidence), *_about_days(settings, design, rows))
    return concluded(replace(start, rows=(*_correctness(settings), *rows), design=design, notes=notes))


def check_history(
    comparison: Comparison, past: Sequence[Side], record: Side, *, margin: float | None = None, everything: bool = False
) -> Check:
    """A record against comparable earlier ones; `comparison` is of the last of them with the record."""
    start = _started(comparison, past[-1], record)
    if start.state != "pass":
        return start
    asked = record.measured.experiment.comparison
    pairs = list(worth_showing(record, comparison.primary))
    found = histories([*past, record], pairs)
    foretold = {(one.metric, one.configuration): _foretold(one, record) for one in found}
    others = {key: made.p_value for key, made in foretold.items() if made is not None and key != _at(comparison)}
    adjusted = dict(zip(others, benjamini_hochberg(list(others.values())), strict=True))
    limit = asked.equivalence if margin is None else margin
    rows = []
    for one in found:
        key = (one.metric, one.configuration)
        rows.append(_row_of_history(one, comparison, limit, everything, record, foretold[key], adjusted.get(key)))
    settings = _Settings(
        comparison=comparison, baseline=past[-1], record=record, days=Days(), everything=everything, margin=asked.equivalence
    )
    ordered = sorted(rows, key=lambda row: (not row.decides, not row.primary))
    decided = next((one for one in found if (one.metric, one.configuration) == _at(comparison)), None)
    before = _before_change(decided) if decided is not None else ""
    return concluded(
        replace(
            start,
            design="a history",
            rows=(*_correctness(settings), *ordered),
            histories=found,
            suspects_from=before,
            baseline=f"{count(len(past), 'records')} of the history",
            notes=(*_own(comparison.notes), _sure(record.measured.confidence), *_left_out(decided), rates(found)),
        )
    )


def alone(record: Side, place: str, left_out: int = 0) -> Check:
    """A record whose history holds no comparable record: nothing can be said. `left_out`: earlier ones that are not."""
    are = "is" if left_out == 1 else "are"
    more = f"; {count(left_out, 'earlier records')} there {are} not (see `assay compare`)" if left_out else ""
    told = f"INCONCLUSIVE: {place} holds no earlier record that is comparable with {record.label}{more}."
    return Check(
        state="inconclusive",
        design="none",
        baseline="",
        record=record.label,
        rows=(),
        confirmation="not needed",
        mismatches=(),
        refused=(),
        gaps=_gaps(record),
        notes=(),
        exploratory=False,
        sentence=told,
    )


# ---- before anything is compared -------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class _Settings:
    comparison: Comparison
    baseline: Side
    record: Side
    days: Days
    margin: float
    everything: bool

    def arm(self, side: Side, configuration: str) -> Arm:
        return Arm(label=side.label, side=side, configuration=configuration)


def _at(comparison: Comparison) -> tuple[str, str]:
    return comparison.primary, comparison.configuration


def _started(comparison: Comparison, baseline: Side, record: Side) -> Check:
    """An empty check, already decided where there is nothing to compare."""
    empty = Check(
        state="pass",
        design="none",
        baseline=baseline.label,
        record=record.label,
        rows=(),
        confirmation="not needed",
        mismatches=comparison.mismatches,
        refused=comparison.refused,
        gaps=_gaps(record),
        notes=comparison.notes,
        exploratory=comparison.state == "exploratory",
        sentence="",
    )
    for side in (record, baseline):
        if side.measured.timed.height == 0:
            why = f"{side.label} holds no successful timed launch"
            return _stopped(empty, "nothing_measured", why)
        if side.inadmissible(candidate=side is record):
            invalid = [f.evidence for f in side.judgement.verdict.findings if f.severity == "invalid"]
            return _stopped(empty, "not_comparable", f"{side.label} is inadmissible: {'; '.join(invalid[:1])}")
    if comparison.state == "incomparable":
        return _stopped(empty, "not_comparable", _refusal(comparison))
    for side in (record, baseline):
        value = Arm(label=side.label, side=side, configuration=comparison.configuration).value(comparison.primary)
        if isinstance(value, Absent):
            why = f"{comparison.primary} at {comparison.configuration} has no value in {side.label}: {value.detail}"
            return _stopped(empty, "nothing_measured", why)
    if comparison.state == "nothing_measured":
        return _stopped(empty, "nothing_measured", comparison.sentence)
    return empty


def _stopped(empty: Check, state: State, why: str) -> Check:
    words = {"nothing_measured": "NOTHING MEASURED", "not_comparable": "NOT COMPARABLE"}
    return replace(empty, state=state, sentence=f"{words[state]}: {why.rstrip('.')}.")


def _own(notes: Sequence[str]) -> tuple[str, ...]:
    """The comparison's notes without what a check says better: days, and that code may differ but does not."""
    return tuple(note for note in notes if "were not run in turn" not in note and not note.startswith("Declared as"))


def _sure(confidence: float) -> str:
    """What the brackets behind a change mean, and how sure a pass is."""
    error = f"{given(100.0 * (1.0 - confidence), 3)} %"
    return f"intervals hold with {given(100.0 * confidence, 4)} % confidence; a pass is wrong about its margin in at most {error} of cases"


def _refusal(comparison: Comparison) -> str:
    shown = [f"{m.field} differs ({' against '.join(m.values)}); {m.override}" for m in comparison.refused]
    return "; ".join(shown) or comparison.sentence


def _gaps(record: Side) -> tuple[str, ...]:
    """What of the plan is missing: a pass would leave it out."""
    measured = record.measured
    launches = measured.table("launches")
    bad = launches.filter((pl.col("role") == "timed") & pl.col("status").is_in(["failed", "timeout", "skipped"])).height
    found = [f"{count(bad, 'launches')} of {record.label} did not end well"] if bad else []
    done = set(measured.timed["configuration"].to_list())
    missing = [name for name in measured.configurations if name not in done]
    return (*found, *(f"{record.label} holds no successful launch of {name}" for name in missing))


# ---- correctness first -----------------------------------------------------------------------------------------------


def _correctness(settings: _Settings) -> list[Row]:
    """Quality against the baseline, and results that are wrong now and were not then."""
    held = settings.comparison.quality.get(settings.record.label, "NOT_MEASURED")
    asked = settings.baseline.measured.experiment.quality is not None
    states: Mapping[str, RowState] = {
        "HELD": "pass",
        "DEGRADED": "regression",
        "INCONCLUSIVE": "inconclusive",
        "NOT_MEASURED": "inconclusive" if asked else "listed",
    }
    words = {
        "HELD": "quality is held",
        "DEGRADED": "quality is degraded",
        "INCONCLUSIVE": "whether quality is held is undecided",
        "NOT_MEASURED": "quality was not measured",
    }
    at = settings.comparison.configuration
    first, second = settings.arm(settings.baseline, at), settings.arm(settings.record, at)
    when = "" if in_turn(first, second) else f" {TWO_SESSIONS}"
    told = f"{words[held]}{when} ({quality(first, second).sentence})"
    rows = [_plain_row(settings, QUALITY, "Quality", at, states[held], told)]
    known = {(f.rule, f.configuration) for f in settings.baseline.judgement.verdict.findings if f.severity == "fail"}
    for finding in settings.record.judgement.verdict.findings:
        if finding.severity == "fail" and (finding.rule, finding.configuration) not in known:
            where = finding.configuration or "all"
            told = f"new in this record: {finding.evidence}"
            rows.append(_plain_row(settings, finding.rule, finding.rule.replace("_", " "), where, "regression", told))
    return rows


def _plain_row(settings: _Settings, metric: str, title: str, at: str, state: RowState, told: str) -> Row:
    return Row(
        metric=metric,
        title=title,
        configuration=at,
        state=state,
        decides=state != "listed",
        primary=False,
        suspected=False,
        better="higher",
        baseline=None,
        value=None,
        difference=None,
        p_adjusted=None,
        margin=None,
        launches_needed=None,
        sentence=told,
    )


# ---- numbers ---------------------------------------------------------------------------------------------------------


def _rows(settings: _Settings) -> list[Row]:
    """Every metric that has a value on both sides, the primary first, the others with corrected p-values."""
    label = settings.record.label
    changes = [change for change in settings.comparison.changes if change.side == label and change.metric != QUALITY]
    found = {_key(change): _found(settings, change) for change in changes}
    others = {key: one.difference.p_value for key, one in found.items() if one is not None and key != _at(settings.comparison)}
    adjusted = dict(zip(others, benjamini_hochberg(list(others.values())), strict=True))
    rows = [_row(settings, change, found[_key(change)], adjusted.get(_key(change))) for change in changes]
    return sorted(rows, key=lambda row: (not row.primary, not row.decides))


def _key(change: Change) -> tuple[str, str]:
    return change.metric, change.configuration


def _found(settings: _Settings, change: Change) -> Found | None:
    a = settings.arm(settings.baseline, change.configuration)
    b = settings.arm(settings.record, change.configuration)
    if change.metric not in settings.record.judgement.metrics:
        return None
    if not all(math.isfinite(x) for arm in (a, b) for x in launch_values(arm.value(change.metric))):
        return None
    return found_between(
        a,
        b,
        change.metric,
        confidence=settings.comparison.confidence,
        days=settings.days,
        smallest_effect=settings.baseline.measured.experiment.comparison.smallest_effect,
    )


def _row(settings: _Settings, change: Change, found: Found | None, p: float | None) -> Row:
    described = settings.record.judgement.metrics.get(change.metric)
    primary = _key(change) == _at(settings.comparison)
    better: Better = described.better if described is not None else "neither"
    decides = primary or (settings.everything and better != "neither")
    title = described.title if described is not None else change.metric
    base = Row(
        metric=change.metric,
        title=title,
        configuration=change.configuration,
        state="listed",
        decides=decides,
        primary=primary,
        suspected=False,
        better=better,
        baseline=change.baseline,
        value=change.value,
        difference=None,
        p_adjusted=p,
        margin=None,
        launches_needed=None,
        sentence="",
    )
    if found is None:
        absent = change.value if isinstance(change.value, Absent) else change.baseline
        why = absent.detail if isinstance(absent, Absent) else "it has no value per launch on one side"
        return replace(base, state="nothing_measured" if decides else "listed", sentence=f"{title}: {why}")
    made = judged(
        found,
        better=better,
        margin=settings.margin,
        floor=settings.comparison.floor,
        p_adjusted=p,
        smallest_effect=settings.baseline.measured.experiment.comparison.smallest_effect,
    )
    state = _state(found.difference, made.decision, better)
    suspected = state != "regression" and made.suspected and made.alone.change == "worse"
    state = "inconclusive" if suspected else state
    where = ", ".join(filter(None, (f"{title} at {change.configuration}", occasion(found))))
    return replace(
        base,
        state=state,
        suspected=suspected,
        difference=found.difference,
        margin=made.decision.margin,
        launches_needed=made.decision.launches_needed,
        sentence=_said(where, found.difference, made.decision, state, better, suspected=suspected),
    )


def _state(found: Difference, decision: Decision, better: Better) -> RowState:
    """The rule of this module's first lines; a pass is one-sided: only a regression must be excluded."""
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


def _design(settings: _Settings) -> Design:
    found = _at_once(settings)
    designs: Mapping[str, Design] = {"in turn": "in turn", "alternating": "alternating sittings", "history": "two records and a history"}
    return designs.get(found.evidence, "two records") if found is not None else "two records"


def _at_once(settings: _Settings) -> Found | None:
    """What decides."""
    deciding = [change for change in settings.comparison.changes if _key(change) == _at(settings.comparison)]
    return _found(settings, deciding[0]) if deciding else None


def _about_days(settings: _Settings, design: Design, rows: Sequence[Row]) -> list[str]:
    found = _at_once(settings)
    if design in ("in turn", "alternating sittings"):
        return []
    if found is not None and found.days is not None:
        seen = f"{count(found.days.records, 'records')} of the history differ from day to day by {percent(found.days.deviation, way='up')}"
        return [f"the records are not of one session; {seen}, which is in the intervals"]
    needed = f"without {LEAST_RECORDS} comparable records of a history"
    mend = "measure both in turn (--baseline-folder), or give --history"
    deviation = percent(settings.days.assumed, 12)
    return [f"the records are not of one session; {needed} a day-to-day deviation of {deviation} is assumed; {mend}"]


# ---- a history alone -------------------------------------------------------------------------------------------------


def _row_of_history(
    one: History, comparison: Comparison, margin: float, everything: bool, record: Side, found: Difference | None, p_adjusted: float | None
) -> Row:
    primary = (one.metric, one.configuration) == _at(comparison)
    last, asked = one.points[-1], record.measured.experiment.comparison
    base = Row(
        metric=one.metric,
        title=one.title,
        configuration=one.configuration,
        state="inconclusive",
        decides=primary or everything,
        primary=primary,
        suspected=False,
        better=one.better,
        baseline=None,
        value=last.value,
        difference=None,
        p_adjusted=one.p_adjusted,
        margin=margin,
        launches_needed=None,
        sentence="",
    )
    least = max(asked.smallest_effect, comparison.floor)
    recent = _recent(one, one.certain)
    if recent is not None and _is_of_interest(one, recent, least):
        return _row_of_change(base, one, recent)
    doubtful = _recent(one, [one.suspected] if one.suspected is not None and one.suspected.p_value is not None else [])
    if doubtful is not None and _is_worse(one, doubtful) and _is_of_interest(one, doubtful, least):
        return replace(_row_of_change(base, one, doubtful), state="inconclusive", suspected=True)
    if found is None:
        before = count(len(_reference(one)), "comparable records")
        told = f"{one.title} at {one.configuration}: {before} before this one; {LEAST_RECORDS} are needed"
        return replace(base, sentence=told)
    ratio = one.scale == "ratio"
    decision = decide(
        found,
        better=one.better,
        margin=margin if ratio else None,
        floor=comparison.floor if ratio else 0.0,
        smallest_effect=asked.smallest_effect if ratio else None,
        p_adjusted=p_adjusted,
    )
    decision = replace(decision, minimum_detectable_effect=detectable_with_days(found, least))
    state = _state(found, decision, one.better)
    suspected = state == "regression"
    state = "inconclusive" if suspected else "pass" if state == "improvement" else state
    where = f"{one.title} at {one.configuration}"
    told = _said(where, found, decision, state, one.better, suspected=suspected, against="the history")
    return replace(base, state=state, suspected=suspected, difference=found, p_adjusted=p_adjusted, sentence=told)


def _row_of_change(base: Row, one: History, change: LevelChange) -> Row:
    worse = _is_worse(one, change)
    told = (
        f"{one.title} at {one.configuration}: {one.moved(change)}, which is {'worse' if worse else 'better'}; "
        f"{count(len(one.points) - change.index, 'records')} carry it"
    )
    return replace(base, state="regression" if worse else "improvement", sentence=told)


def _left_out(one: History | None) -> list[str]:
    wild = [one.points[place].label for place in one.outliers] if one is not None else []
    if not wild:
        return []
    words = "record far off its level is" if len(wild) == 1 else "records far off their level are"
    return [f"{len(wild)} {words} left out: {', '.join(wild)}"]


def _foretold(one: History, record: Side) -> Difference | None:
    """The newest record against the prediction interval of those before it on its level; None where they are too few."""
    reference = _reference(one)
    if len(reference) < LEAST_RECORDS:
        return None
    return against_history(launch_values(one.points[-1].value), reference, record.measured.confidence, one.scale)


def _reference(one: History) -> list[Level]:
    """The records on the newest level before the last one; one wild day among them would hide every change."""
    first, last = one.levels[-1][0], len(one.points) - 1
    return [one.points[place].level for place in range(first, last) if place not in one.outliers]


def _is_of_interest(one: History, change: LevelChange, least: float) -> bool:
    """A certain change may be too small to matter, or to be more than this machine's noise; scores have no such limit."""
    before, after = one.around(change)
    return one.scale != "ratio" or abs(math.log(after / before)) > math.log1p(least)


def _recent(one: History, changes: Sequence[LevelChange]) -> LevelChange | None:
    """The last of the changes, if its level is young enough to fail a build."""
    return changes[-1] if changes and len(one.points) - changes[-1].index <= RECENT else None


def _is_worse(one: History, change: LevelChange) -> bool:
    before, after = one.around(change)
    return after < before if one.better == "higher" else after > before


def _before_change(one: History) -> str:
    """The last record of the level before: what a fresh measurement would be made against."""
    recent = _recent(one, one.changes)
    place = (recent.index if recent is not None else len(one.points) - 1) - 1
    return one.points[place].label if place >= 0 else ""


def _said(
    where: str, found: Difference, decision: Decision, state: RowState, better: Better, *, suspected: bool, against: str = "the baseline"
) -> str:
    """ "Throughput at workers=2, between these two sessions: −12.0 % [−15.1, −8.8] against the baseline"."""
    shown = f"{where}: {difference_text(found)} against {against}"
    if suspected:
        return f"{shown}; suspected to be worse, and launches of one day cannot carry that"
    if state == "pass" and found.scale == "ratio":
        margin = decision.margin or 0.0
        worse = decision.equivalence_low if better == "higher" else decision.equivalence_high
        bound = percent(worse - 1.0, 3, way="down" if better == "higher" else "up", beside=(0.0, margin, -margin))
        beyond = f"a regression beyond {percent(margin, 12)} is excluded"
        return f"{shown}; {beyond}: the one-sided bound is {bound}"
    if state == "inconclusive":
        needed = decision.launches_needed
        more = f"; {count(needed, 'launches')} on each side would decide" if needed else ""
        effect = decision.minimum_detectable_effect
        seen = (
            f", and only changes of {percent(effect, way='up')} or more would be seen"
            if math.isfinite(effect) and found.scale == "ratio"
            else ""
        )
        return f"{shown}; {REASONS[decision.reason]}{seen}{more}"
    return shown
