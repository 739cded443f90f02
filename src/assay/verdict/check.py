"""May this build go on?  A record against a baseline or a history, decided so that a pipeline can act on one exit code.

    pass              a regression larger than the margin is excluded: the worse end of the interval lies inside it
    regression        the interval excludes no change, on the worse side; or quality is degraded, or a result is wrong
    improvement       the same on the better side: the baseline may be renewed
    inconclusive      neither; the minimum detectable effect says what could have been seen
    not_comparable    a condition that must be equal is not, or a record is inadmissible
    nothing_measured  the metric that decides has no value on one side

What a difference means depends on how the two were measured.  In turn (one session, common blocks): as it is.  On two days:
with the variation between days in it, from a history of at least 5 comparable records, else with an assumed day-to-day
deviation; a change that only the launches of one day carry is *suspected*, and stays inconclusive until launches in turn
confirm it.  Against a history alone: a change of level of interest, supported by 3 records or more and not older than 10, else
the prediction interval of one more record, which makes a suspicion and no finding.
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

from assay.metrics.base import Better
from assay.metrics.estimate import Absent
from assay.metrics.format import count, given, percent
from assay.stats.between_records import (
    LEAST_RECORDS,
    Between,
    Level,
    against_history,
    assumed,
    detectable_with_days,
    level,
    widened,
)
from assay.stats.comparison import REASONS, Decision, Difference, decide
from assay.stats.multiplicity import benjamini_hochberg
from assay.verdict.arms import Arm, difference, in_turn, launch_values, quality
from assay.verdict.checked import Check, Design, Row, RowState, State, change_text, concluded
from assay.verdict.compared import Change, Comparison, Side
from assay.verdict.history import History, histories, worth_showing

DAYS: Final = 0.15  # day-to-day deviation that is assumed without a history; hosted machines reach it
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
        comparison=comparison, baseline=baseline, record=record, days=days, everything=everything,
        past=tuple(side for side in past if side.measured.manifest.get("id") not in _ids(baseline, record)),
        margin=baseline.measured.experiment.comparison.equivalence if margin is None else margin,
    )  # fmt: skip
    rows = _rows(settings)
    design = _design(settings)
    notes = (*_own(comparison.notes), _sure(comparison.confidence), *_about_days(settings, design, rows))
    return concluded(replace(start, rows=(*_correctness(settings), *rows), design=design, notes=notes))


def check_history(
    comparison: Comparison, past: Sequence[Side], record: Side,
    *, seed: int, margin: float | None = None, everything: bool = False,
) -> Check:  # fmt: skip
    """A record against comparable earlier ones; `comparison` is of the last of them with the record."""
    start = _started(comparison, past[-1], record)
    if start.state != "pass":
        return start
    asked = record.measured.experiment.comparison
    pairs = list(worth_showing(record, comparison.primary))
    found = histories([*past, record], pairs, seed)
    foretold = {(one.metric, one.configuration): _foretold(one, record) for one in found}
    others = {key: made.p_value for key, made in foretold.items() if made is not None and key != _at(comparison)}
    adjusted = dict(zip(others, benjamini_hochberg(list(others.values())), strict=True))
    limit = asked.equivalence if margin is None else margin
    rows = []
    for one in found:
        key = (one.metric, one.configuration)
        rows.append(_row_of_history(one, comparison, limit, everything, record, foretold[key], adjusted.get(key)))
    settings = _Settings(
        comparison=comparison, baseline=past[-1], record=record, days=0.0, everything=everything, past=tuple(past),
        margin=asked.equivalence,
    )  # fmt: skip
    ordered = sorted(rows, key=lambda row: (not row.decides, not row.primary))
    decided = next((one for one in found if (one.metric, one.configuration) == _at(comparison)), None)
    before = _before_change(decided) if decided is not None else ""
    return concluded(replace(
        start, design="a history", rows=(*_correctness(settings), *ordered), histories=found, suspects_from=before,
        baseline=f"{count(len(past), 'records')} of the history",
        notes=(*_own(comparison.notes), _sure(record.measured.confidence)),
    ))  # fmt: skip


def alone(record: Side, place: str, left_out: int = 0) -> Check:
    """A record whose history holds no comparable record: nothing can be said. `left_out`: earlier ones that are not."""
    are = "is" if left_out == 1 else "are"
    more = f"; {count(left_out, 'earlier records')} there {are} not (see `assay compare`)" if left_out else ""
    told = f"INCONCLUSIVE: {place} holds no earlier record that is comparable with {record.label}{more}."
    return Check(
        state="inconclusive", design="none", baseline="", record=record.label, rows=(), confirmation="not needed",
        mismatches=(), refused=(), gaps=_gaps(record), notes=(), exploratory=False, sentence=told,
    )  # fmt: skip


# ---- before anything is compared -------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class _Settings:
    comparison: Comparison
    baseline: Side
    record: Side
    past: tuple[Side, ...]
    days: float
    margin: float
    everything: bool

    def arm(self, side: Side, configuration: str) -> Arm:
        return Arm(label=side.label, side=side, configuration=configuration)

    def between(self, metric: str, configuration: str) -> tuple[History | None, Between | None]:
        """What the past says about days, for one metric."""
        if not self.past or metric not in self.record.judgement.metrics:
            return None, None
        one = histories(self.past, [(metric, configuration)], seed=0)[0]
        return one, one.days


def _ids(*sides: Side) -> set[object]:
    return {side.measured.manifest.get("id") for side in sides}


def _at(comparison: Comparison) -> tuple[str, str]:
    return comparison.primary, comparison.configuration


def _started(comparison: Comparison, baseline: Side, record: Side) -> Check:
    """An empty check, already decided where there is nothing to compare."""
    empty = Check(
        state="pass", design="none", baseline=baseline.label, record=record.label, rows=(), confirmation="not needed",
        mismatches=comparison.mismatches, refused=comparison.refused, gaps=_gaps(record), notes=comparison.notes,
        exploratory=comparison.state == "exploratory", sentence="",
    )  # fmt: skip
    for side in (record, baseline):
        if side.measured.timed.height == 0:
            why = f"{side.label} holds no successful timed launch"
            return _stopped(empty, "nothing_measured", why)
        invalid = [f for f in side.judgement.verdict.findings if f.severity == "invalid"]
        if invalid:
            return _stopped(empty, "not_comparable", f"{side.label} is inadmissible: {invalid[0].evidence}")
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
        "HELD": "pass", "DEGRADED": "regression", "INCONCLUSIVE": "inconclusive",
        "NOT_MEASURED": "inconclusive" if asked else "listed",
    }  # fmt: skip
    words = {
        "HELD": "quality is held", "DEGRADED": "quality is degraded", "INCONCLUSIVE": "whether quality is held is undecided",
        "NOT_MEASURED": "quality was not measured",
    }  # fmt: skip
    at = settings.comparison.configuration
    bounds = quality(settings.arm(settings.baseline, at), settings.arm(settings.record, at)).sentence
    rows = [_plain_row(settings, QUALITY, "Quality", at, states[held], f"{words[held]} ({bounds})")]
    known = {(f.rule, f.configuration) for f in settings.baseline.judgement.verdict.findings if f.severity == "fail"}
    for finding in settings.record.judgement.verdict.findings:
        if finding.severity == "fail" and (finding.rule, finding.configuration) not in known:
            where = finding.configuration or "all"
            told = f"new in this record: {finding.evidence}"
            rows.append(_plain_row(settings, finding.rule, finding.rule.replace("_", " "), where, "regression", told))
    return rows


def _plain_row(settings: _Settings, metric: str, title: str, at: str, state: RowState, told: str) -> Row:
    return Row(
        metric=metric, title=title, configuration=at, state=state, decides=state != "listed", primary=False, suspected=False,
        better="higher", baseline=None, value=None, difference=None, p_adjusted=None, margin=None, launches_needed=None,
        sentence=told,
    )  # fmt: skip


# ---- numbers ---------------------------------------------------------------------------------------------------------


def _rows(settings: _Settings) -> list[Row]:
    """Every metric that has a value on both sides, the primary first, the others with corrected p-values."""
    label = settings.record.label
    changes = [change for change in settings.comparison.changes if change.side == label and change.metric != QUALITY]
    raw = {_key(change): _raw(settings, change) for change in changes}
    wide = {key: _with_days(settings, key, found) for key, found in raw.items() if found is not None}
    others = [key for key in wide if key != _at(settings.comparison)]
    adjusted = dict(zip(others, benjamini_hochberg([wide[key].p_value for key in others]), strict=True))
    rows = [
        _row(settings, change, raw[_key(change)], wide.get(_key(change)), adjusted.get(_key(change)))
        for change in changes
    ]
    return sorted(rows, key=lambda row: (not row.primary, not row.decides))


def _key(change: Change) -> tuple[str, str]:
    return change.metric, change.configuration


def _raw(settings: _Settings, change: Change) -> Difference | None:
    a = settings.arm(settings.baseline, change.configuration)
    b = settings.arm(settings.record, change.configuration)
    if change.metric not in settings.record.judgement.metrics:
        return None
    asked = settings.baseline.measured
    if not all(math.isfinite(x) for arm in (a, b) for x in launch_values(arm.value(change.metric))):
        return None
    confidence = settings.comparison.confidence
    return difference(a, b, change.metric, confidence, asked.experiment.comparison.smallest_effect)


def _with_days(settings: _Settings, key: tuple[str, str], found: Difference) -> Difference:
    """With the variation between days in it, unless both were measured in turn, or launches vary not at all."""
    a, b = (settings.arm(side, key[1]) for side in (settings.baseline, settings.record))
    if in_turn(a, b):
        return found
    first, second = (level(launch_values(arm.value(key[0])), found.scale) for arm in (a, b))
    history, days = settings.between(*key)
    if days is not None and history is not None and history.scale == found.scale:
        return widened(found, first, second, days)
    # A count does not vary with the day, and a score has no relative deviation that could be assumed.
    if found.scale == "difference" or (first.variance == 0.0 and second.variance == 0.0):
        return found
    return assumed(found, first, second, settings.days)


def _row(settings: _Settings, change: Change, raw: Difference | None, wide: Difference | None, p: float | None) -> Row:
    described = settings.record.judgement.metrics.get(change.metric)
    primary = _key(change) == _at(settings.comparison)
    better: Better = described.better if described is not None else "neither"
    decides = primary or (settings.everything and better != "neither")
    title = described.title if described is not None else change.metric
    base = Row(
        metric=change.metric, title=title, configuration=change.configuration, state="listed", decides=decides,
        primary=primary, suspected=False, better=better, baseline=change.baseline, value=change.value, difference=None,
        p_adjusted=p, margin=None, launches_needed=None, sentence="",
    )  # fmt: skip
    if raw is None or wide is None:
        absent = change.value if isinstance(change.value, Absent) else change.baseline
        why = absent.detail if isinstance(absent, Absent) else "it has no value per launch on one side"
        return replace(base, state="nothing_measured" if decides else "listed", sentence=f"{title}: {why}")
    decision = _decided(settings, wide, better, p)
    state = _state(wide, decision, better)
    suspected = state != "regression" and _decided(settings, raw, better, p).change == "worse"
    state = "inconclusive" if suspected else state
    if wide is not raw:  # more launches of the same days do not make the days alike
        decision = replace(decision, launches_needed=None)
    if wide.standard_error != raw.standard_error:
        decision = replace(decision, minimum_detectable_effect=_seen(settings, wide))
    return replace(
        base, state=state, suspected=suspected, difference=wide, margin=decision.margin,
        launches_needed=decision.launches_needed,
        sentence=_said(title, change.configuration, wide, decision, state, suspected=suspected),
    )  # fmt: skip


def _seen(settings: _Settings, found: Difference) -> float:
    """What a difference with days in it could have shown: its degrees of freedom are those of the days, not of launches."""
    least = max(settings.baseline.measured.experiment.comparison.smallest_effect, settings.comparison.floor)
    return detectable_with_days(found, least)


def _decided(settings: _Settings, found: Difference, better: Better, p: float | None) -> Decision:
    return decide(
        found, better=better, margin=settings.margin if found.scale == "ratio" else None,
        smallest_effect=settings.baseline.measured.experiment.comparison.smallest_effect if found.scale == "ratio" else None,
        floor=settings.comparison.floor if found.scale == "ratio" else 0.0, p_adjusted=p,
    )  # fmt: skip


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
    at = settings.comparison.configuration
    if in_turn(settings.arm(settings.baseline, at), settings.arm(settings.record, at)):
        return "in turn"
    _, days = settings.between(*_at(settings.comparison))
    return "two records" if days is None else "two records and a history"


def _about_days(settings: _Settings, design: Design, rows: Sequence[Row]) -> list[str]:
    if design == "in turn":
        return []
    if design == "two records and a history":
        _, days = settings.between(*_at(settings.comparison))
        assert days is not None
        seen = f"{count(days.records, 'records')} of the history differ from day to day by {percent(days.deviation)}"
        return [f"the records are not of one session; {seen}, which is in the intervals"]
    needed = f"without {LEAST_RECORDS} comparable records of a history"
    mend = "measure both in turn (--baseline-folder), or give --history"
    return [
        f"the records are not of one session; {needed} a day-to-day deviation of {percent(settings.days)} is assumed; {mend}"
    ]


# ---- a history alone -------------------------------------------------------------------------------------------------


def _row_of_history(
    one: History, comparison: Comparison, margin: float, everything: bool, record: Side,
    found: Difference | None, p_adjusted: float | None,
) -> Row:  # fmt: skip
    primary = (one.metric, one.configuration) == _at(comparison)
    last, asked = one.points[-1], record.measured.experiment.comparison
    base = Row(
        metric=one.metric, title=one.title, configuration=one.configuration, state="inconclusive",
        decides=primary or everything, primary=primary, suspected=False, better=one.better, baseline=None,
        value=last.value, difference=None, p_adjusted=one.p_adjusted, margin=margin, launches_needed=None, sentence="",
    )  # fmt: skip
    recent = _recent_change(one)
    if recent is not None and _is_of_interest(one, recent, max(asked.smallest_effect, comparison.floor)):
        return _row_of_change(base, one, recent)
    if found is None:
        before = count(len(_reference(one)), "comparable records")
        told = f"{one.title} at {one.configuration}: {before} before this one; {LEAST_RECORDS} are needed"
        return replace(base, sentence=told)
    ratio = one.scale == "ratio"
    decision = decide(
        found, better=one.better, margin=margin if ratio else None, floor=comparison.floor if ratio else 0.0,
        smallest_effect=asked.smallest_effect if ratio else None, p_adjusted=p_adjusted,
    )  # fmt: skip
    least = max(asked.smallest_effect, comparison.floor)
    decision = replace(decision, minimum_detectable_effect=detectable_with_days(found, least))
    state = _state(found, decision, one.better)
    suspected = state == "regression"
    state = "inconclusive" if suspected else "pass" if state == "improvement" else state
    told = _said(one.title, one.configuration, found, decision, state, suspected=suspected, against="the history")
    return replace(base, state=state, suspected=suspected, difference=found, p_adjusted=p_adjusted, sentence=told)


def _row_of_change(base: Row, one: History, at: int) -> Row:
    worse = _is_worse(one, at)
    change = next(c for c in one.changes if c.index == at)
    told = (
        f"{one.title} at {one.configuration}: {one.moved(change)}, which is {'worse' if worse else 'better'}; "
        f"{count(len(one.points) - at, 'records')} carry it"
    )
    return replace(base, state="regression" if worse else "improvement", sentence=told)


def _foretold(one: History, record: Side) -> Difference | None:
    """The newest record against the prediction interval of those before it on its level; None where they are too few."""
    reference = _reference(one)
    if len(reference) < LEAST_RECORDS:
        return None
    return against_history(launch_values(one.points[-1].value), reference, record.measured.confidence, one.scale)


def _reference(one: History) -> list[Level]:
    return [point.level for point in one.points[one.levels[-1][0] : -1]]


def _is_of_interest(one: History, at: int, least: float) -> bool:
    """A certain change may be too small to matter, or to be more than this machine's noise; scores have no such limit."""
    before, after = one.around(at)
    return one.scale != "ratio" or abs(math.log(after / before)) > math.log1p(least)


def _recent_change(one: History) -> int | None:
    """The first record of a new level that is young enough to fail a build."""
    found = [c.index for c in one.changes if c.kind == "change" and c.index is not None]
    return found[-1] if found and len(one.points) - found[-1] <= RECENT else None


def _is_worse(one: History, at: int) -> bool:
    before, after = one.around(at)
    return after < before if one.better == "higher" else after > before


def _before_change(one: History) -> str:
    """The last record of the level before: what a fresh measurement would be made against."""
    recent = _recent_change(one)
    place = (recent if recent is not None else len(one.points) - 1) - 1
    return one.points[place].label if place >= 0 else ""


def _said(
    title: str, at: str, found: Difference, decision: Decision, state: RowState,
    *, suspected: bool, against: str = "the baseline",
) -> str:  # fmt: skip
    """ "Throughput at workers=2: -12 % [-15, -9] against the baseline"."""
    shown = f"{title} at {at}: {change_text(found)} against {against}"
    if suspected:
        return f"{shown}; suspected to be worse, and launches of one day cannot carry that"
    if state == "pass" and decision.verdict != "equivalent":
        return f"{shown}; a regression beyond {percent(decision.margin or 0.0)} is excluded"
    if state == "inconclusive":
        needed = decision.launches_needed
        more = f"; {count(needed, 'launches')} on each side would decide" if needed else ""
        effect = decision.minimum_detectable_effect
        seen = (
            f", and only changes of {percent(effect)} or more would be seen"
            if math.isfinite(effect) and found.scale == "ratio"
            else ""
        )
        return f"{shown}; {REASONS[decision.reason]}{seen}{more}"
    return shown
