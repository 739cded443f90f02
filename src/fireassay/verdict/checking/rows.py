"""How do quality, results and every number compare with a baseline?"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from fireassay.estimates.estimate import Absent
from fireassay.estimates.format import count, percent
from fireassay.metrics.metric import Better
from fireassay.stats.comparing.between_records import LEAST_RECORDS
from fireassay.stats.comparing.comparison import REASONS, Decision, Difference
from fireassay.stats.comparing.multiplicity import benjamini_hochberg
from fireassay.verdict.checking.types import CheckRow, Design, RowState
from fireassay.verdict.comparison.change_phrases import difference_text
from fireassay.verdict.comparison.groups import Group, in_turn, launch_values, quality
from fireassay.verdict.comparison.session_phrases import TWO_SESSIONS, occasion
from fireassay.verdict.comparison.sessions import Days, Found, found_between, judged
from fireassay.verdict.comparison.types import Change, Comparison, Side

QUALITY: Final = "quality"


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
    sentence = f"{words[held]}{when} ({quality(first, second).sentence})"
    rows = [_plain_row(settings, QUALITY, "Quality", at, states[held], sentence)]
    known = {(f.rule, f.configuration) for f in settings.baseline.judgement.verdict.findings if f.severity == "fail"}
    for finding in settings.record.judgement.verdict.findings:
        if finding.severity == "fail" and (finding.rule, finding.configuration) not in known:
            where = finding.configuration or "all"
            sentence = f"new in this record: {finding.evidence}"
            rows.append(_plain_row(settings, finding.rule, finding.rule.replace("_", " "), where, "regression", sentence))
    return rows


def _plain_row(settings: Settings, metric: str, title: str, at: str, state: RowState, sentence: str) -> CheckRow:
    return CheckRow(
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
        sentence=sentence,
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
    decides = primary or (settings.everything and better != "neither")
    title = metric.title if metric is not None else change.metric
    base = CheckRow(
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
        return [f"the records are from different sessions; the intervals include the day-to-day deviation, {variation}"]
    needed = f"without {LEAST_RECORDS} comparable records in a history,"
    remedy = "interleave both (--baseline-folder), or give --history"
    deviation = percent(settings.days.assumed, 12)
    return [f"the records are from different sessions; {needed} a day-to-day deviation of {deviation} is assumed; {remedy}"]


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
