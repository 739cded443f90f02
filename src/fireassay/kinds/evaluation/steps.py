"""How good are answers with so many steps, how much do they take, and how many steps are enough?

A row for each number of steps of each curve (`fireassay.frames.evaluation.steps`), and the knee (`fireassay.stats.comparing.knee`): the smallest
number whose score is shown to be no worse than that of every other by more than the margin. The margin is quality.margin, else two points.
The bounds of a difference are those of `held`: the same items at both, whole clusters together. Times of an item have order-statistic intervals
(binomial), amounts those of means over items.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from fireassay.estimates.estimate import Absent, Estimate, Value
from fireassay.estimates.format import count, given, show
from fireassay.estimates.over_items import quantile
from fireassay.frames.evaluation.item_scores import matched, scores_elsewhere
from fireassay.frames.evaluation.steps import Curve, Level, curves, steps_of
from fireassay.frames.record_data import RecordData
from fireassay.kinds.evaluation.gates import POINTS, change_words, margin_words, rough
from fireassay.kinds.evaluation.held import Rule, changes, decided
from fireassay.kinds.evaluation.metrics import of_task, over_items
from fireassay.quality.scoring.text_metric import Array
from fireassay.spec.experiment import Quality
from fireassay.spec.sections.steps import MARGIN, Steps
from fireassay.stats.comparing.knee import Knee, knee, knee_of_rising
from fireassay.stats.comparing.noninferiority import Decision
from fireassay.stats.intervals.item_means import of_items
from fireassay.units import FRACTION, SCORE, TOKENS, USD_PER_ITEM
from fireassay.verdict.evidence.step_curve import KneeRow, StepRow

NAMES: Final = {"samples": "samples", "turns": "turns", "reasoning_tokens": "reasoning tokens", "candidates": "candidates"}
OF_GAIN: Final = 0.1  # the margin of candidates whose score has no scale, where none was given: a tenth of what the choice gains
UNKNOWN: Final = {
    "tokens_in": "prompt tokens are not known: the server reports none",
    "tokens_out": "output tokens are not known: the server reports none",
    "tokens_reasoning": "the server's usage reports no reasoning tokens",
    "usd": "no price was given, or the cost of a launch is not known",
}
UNTIMED: Final = Absent("not_measured", "no field of seconds was named: --seconds-field")
NO_TOOLS: Final = Absent("not_measured", "these items call no tools")


@dataclass(frozen=True, kw_only=True)
class Found:
    """A curve with its knee; `decisions`: (level, other level) -> the gain of the first over the second, indices in ascending order."""

    curve: Curve
    knee: Knee
    margin: float
    given: bool
    decisions: Mapping[tuple[int, int], Decision | Absent]

    @property
    def best(self) -> int:
        """The level with the best score, the smallest of equal ones; the largest where scores rise."""
        if self.curve.rises:
            return len(self.curve.levels) - 1
        scores = [level.scores.value for level in self.curve.levels]
        sign = 1.0 if self.curve.levels[0].scores.metric.better == "higher" else -1.0
        return int(np.argmax(sign * np.array(scores)))


def found(measured: RecordData) -> tuple[Found, ...]:
    """Every curve of a record with its knee."""
    quality = measured.experiment.quality
    return measured.once("knees over steps", lambda data: tuple(knee_of(curve, quality, data.confidence) for curve in curves(data)))


def knee_of(curve: Curve, quality: Quality | None, confidence: float) -> Found:
    """The knee of a curve, with the margin of `quality`, if it is given."""
    margin = quality.margin if quality is not None else _margin(curve)
    decisions: dict[tuple[int, int], Decision | Absent] = {}

    def lower(one: int, other: int, each: float) -> float | None:
        rule = Rule(margin=margin, confidence=each, largest_change=None if quality is None else quality.largest_change)
        pairs = matched(curve.levels[other].scores, curve.levels[one].scores)
        decision = decisions[one, other] = decided(pairs, changes(pairs), rule)
        return None if isinstance(decision, Absent) else decision.low

    result = (knee_of_rising if curve.rises else knee)(len(curve.levels), lower, margin, confidence)
    for one in range(len(curve.levels)):  # those that the knee needed no more
        for other in range(len(curve.levels)):
            if one != other and (one, other) not in decisions and (not curve.rises or len(curve.levels) - 1 in (one, other)):
                lower(one, other, result.confidence)
    return Found(curve=curve, knee=result, margin=margin, given=quality is not None, decisions=decisions)


def _margin(curve: Curve) -> float:
    """Where none was given: a part of the scale, or of what a choice gains on an unknown one."""
    low, high = curve.levels[0].scores.metric.scale
    if math.isfinite(high - low) or not curve.rises:
        return MARGIN * (high - low if math.isfinite(high - low) else 1.0)
    gain = abs(curve.levels[-1].scores.value - curve.levels[0].scores.value)
    return float(f"{OF_GAIN * gain:.2g}") or 1e-9


# ---- rows ------------------------------------------------------------------------------------------------------------


def step_rows(measured: RecordData) -> Iterator[StepRow]:
    """A row for each number of steps of each curve."""
    steps = steps_of(measured)
    for one in found(measured) if steps is not None else ():
        assert steps is not None
        for place, level in enumerate(one.curve.levels):
            yield _row(measured, steps, one, place, level)


def _row(measured: RecordData, steps: Steps, one: Found, place: int, level: Level) -> StepRow:
    confidence = measured.confidence
    other = (
        one.best if one.best != place else max((at for at in range(len(one.curve.levels)) if at != place), key=lambda at: _score(one, at))
    )
    return StepRow(
        task=one.curve.task,
        engine=one.curve.engine,
        steps=level.steps,
        sent=str(steps.sent(level.steps)) if steps.what == "reasoning_tokens" else str(level.steps),
        score=_scored(measured, level),
        time=_time(level.session_s, 0.5, confidence, "session time"),
        time_p95=_time(level.session_s, 0.95, confidence, "session time"),
        at_once=_time(level.at_once_s, 0.5, confidence, "time at once") if steps.what in ("samples", "candidates") else None,
        tokens_in=_mean(level, "tokens_in", TOKENS, confidence),
        tokens_out=_mean(level, "tokens_out", TOKENS, confidence),
        reasoning=_mean(level, "tokens_reasoning", TOKENS, confidence),
        tools=_tools(level, confidence),
        usd=_mean(level, "usd", USD_PER_ITEM, confidence),
        gain=_gain(one, place, other),
        enough=one.knee.enough[place],
        worse=_worse(one, place),
    )


def _time(seconds: Array, level: float, confidence: float, name: str) -> Value:
    return UNTIMED if bool(np.isnan(seconds).any()) else quantile(seconds, level, confidence, name=name)


def _score(one: Found, at: int) -> float:
    metric = one.curve.levels[at].scores.metric
    return one.curve.levels[at].scores.value * (1.0 if metric.better == "higher" else -1.0)


def _scored(measured: RecordData, level: Level) -> Value:
    value = of_task(measured, level.scores)
    steps = steps_of(measured)
    if isinstance(value, Absent) or steps is None or steps.what not in ("samples", "candidates"):
        return value
    of = f"{level.steps} of its {level.scores.repetitions}" if steps.what == "samples" else f"{level.steps} of its"
    what = f"score of a vote of {of} samples" if steps.what == "samples" else f"best of {of} candidates"
    signature = f"{value.signature}|{'vote' if steps.what == 'samples' else 'best'}:{level.steps} of {level.scores.repetitions}"
    return replace(value, method=f"{value.method}; each the expected {what}", signature=signature)


def _mean(level: Level, name: str, unit: str, confidence: float) -> Value:
    values = level.sums[name]
    if bool(np.isnan(values).any()):
        return Absent("not_measured", UNKNOWN[name])
    if len(values) < 2:
        return Absent("insufficient", "one item carries no interval")
    interval = of_items(values, level.scores.weights, level.scores.labels, (0.0, math.inf), confidence)
    method = f"mean over {count(len(values), 'items')} of all their requests"
    return over_items(interval, confidence, len(values), method=method, signature=f"{name}|items:{len(values)}|v:1", unit=unit)


def _tools(level: Level, confidence: float) -> Value:
    """Share of a session's time inside of tools."""
    inside = level.sums["tool_s"]
    if not inside.any():
        return NO_TOOLS
    share = inside / (level.session_s if level.session_s.any() else 1.0)
    interval = of_items(share, level.scores.weights, level.scores.labels, (0.0, 1.0), confidence)
    method = f"mean over {count(len(share), 'items')} of time inside tools / session time"
    return over_items(interval, confidence, len(share), method=method, signature=f"tool_share|items:{len(share)}|v:1", unit=FRACTION)


def _gain(one: Found, place: int, other: int) -> Value:
    decision = one.decisions[place, other]
    if isinstance(decision, Absent):
        return decision
    return Estimate(
        value=decision.estimate,
        low=decision.low,
        high=decision.high,
        unit=SCORE,
        confidence=2.0 * one.knee.confidence - 1.0,  # of both one-sided bounds together
        n_launches=1,
        n_trials=decision.items,
        method=f"{decision.method}, against {one.curve.levels[other].steps}; one-sided bounds",
        signature=f"gain of {one.curve.levels[place].steps} over {one.curve.levels[other].steps} steps|paired:item|v:1",
    )


# ---- the knee in words -----------------------------------------------------------------------------------------------


def knee_rows(measured: RecordData) -> tuple[KneeRow, ...]:
    """One for each curve."""
    return measured.once("knees in words", lambda data: tuple(_knee_rows(data)))


def _knee_rows(measured: RecordData) -> Iterator[KneeRow]:
    steps, rows = steps_of(measured), list(step_rows(measured))
    for one in found(measured) if steps is not None else ():
        assert steps is not None
        mine = [row for row in rows if (row.task, row.engine) == (one.curve.task, one.curve.engine)]
        scores = one.curve.levels[0].scores
        share = scores.metric.scale == (0.0, 1.0) and scores.metric.name not in scores_elsewhere(measured)  # theirs are as they write them
        at = one.knee.at
        largest = len(one.curve.levels) - 1
        yield KneeRow(
            task=one.curve.task,
            engine=one.curve.engine,
            title=scores.metric.title,
            share=share,
            lower=scores.metric.better == "lower",
            what=NAMES[steps.what],
            margin=one.margin,
            given=one.given,
            at=None if at is None or (one.curve.rises and at == largest) else one.curve.levels[at].steps,  # the largest rises by itself
            status="MEASURED"
            if (at is not None and (at < largest or _all_worse(one))) or (one.curve.rises and not one.given)
            else "INCONCLUSIVE",
            sentence=of_candidates(one, mine, share)
            if one.curve.rises
            else f"{_sentence(one, mine, NAMES[steps.what], share)}{_unreached(one)}",
            longer="" if one.curve.rises else _longer(one, mine),
            more=_more(one),
            items=len(scores.items),
            confidence=one.knee.confidence,
            notes=tuple(_notes(one, steps)),
        )


def of_candidates(one: Found, rows: list[StepRow], share: bool) -> str:
    """ "best of 9: 0.62 [0.60, 0.64] to 0.71 [0.69, 0.73] for 9 x the cost; the knee is at 4: 0.70 [0.68, 0.72], within 0.02 of 9"."""
    margin = margin_words(one.margin, share).removeprefix("margin ")
    first, last = rows[0], rows[-1]
    gained = f"best of {last.sent}{_fewer(one)}: {_shown(first.score, share)} to {_shown(last.score, share)} for {_factor(one)}"
    if one.knee.at is not None and one.knee.at < len(rows) - 1:
        row = rows[one.knee.at]
        return f"{gained}; the knee is at {row.sent}: {_shown(row.score, share)}, within {margin} of {last.sent}"
    if _all_worse(one):
        return f"{gained}; no knee: every smaller number is worse by more than {margin}"
    return f"{gained}; no knee: no smaller number is shown to be within {margin} of {last.sent}"


def _fewer(one: Found) -> str:
    """ " (9 requested, 1 of 29 items has fewer)": why the curve ends before."""
    if not one.curve.unreached:
        return ""
    items = len(one.curve.levels[0].scores.items)
    return f" ({max(one.curve.unreached)} requested, {one.curve.short:,} of {count(items, 'items')} {'has' if one.curve.short == 1 else 'have'} fewer)"


def _factor(one: Found) -> str:
    """What the largest number takes against one candidate; without times and prices the number itself."""
    ends = one.curve.levels[0], one.curve.levels[-1]
    for word, values in (("cost", [level.sums["usd"] for level in ends]), ("time", [level.session_s for level in ends])):
        first, last = (float(each.mean()) for each in values)
        if first > 0.0 and last > 0.0:  # NaN: not known
            return f"{last / first:.3g} x the {word}"
    return f"{ends[1].steps / ends[0].steps:.3g} x the candidates"


def _all_worse(one: Found) -> bool:
    """True if every smaller number is shown to be worse by more than the margin, than some other."""
    return all(_worse(one, place) for place in range(len(one.curve.levels) - 1))


def _worse(one: Found, place: int) -> bool:
    others = (decision for (level, _), decision in one.decisions.items() if level == place)
    return any(not isinstance(decision, Absent) and decision.high < -one.margin for decision in others)


def _sentence(one: Found, rows: list[StepRow], what: str, share: bool) -> str:
    margin = margin_words(one.margin, share).removeprefix("margin ")
    if one.knee.at is None:
        best = rows[one.best]
        return f"no number of {what} is shown to be within {margin} of the best: {best.sent} has {_shown(best.score, share)}"
    row = rows[one.knee.at]
    fewest = f"{row.sent} {what.removesuffix('s') if row.sent == '1' else what}: {_shown(row.score, share)}"
    larger = [place for place in range(len(rows)) if place > one.knee.at]
    if not larger:
        return f"{fewest}; {_smaller(one, rows, margin, share)}"
    other = max(larger, key=lambda place: _score(one, place))
    more = rows[other]
    decision = one.decisions[other, one.knee.at]
    gain = _change(decision, share)
    if not isinstance(decision, Absent) and decision.high < -one.margin:
        return f"{fewest}; {more.sent} are worse by more than {margin} ({gain})"
    return f"{fewest}; {more.sent} are no better by more than {margin} ({gain})"


def _unreached(one: Found) -> str:
    """Which numbers are missing."""
    return f"; {', '.join(map(str, one.curve.unreached))} not reached" if one.curve.unreached else ""


def _longer(one: Found, rows: list[StepRow]) -> str:
    """ " and take 1.9 times as long": the larger number with the best score; empty where no time is known."""
    larger = [place for place in range(len(rows)) if one.knee.at is not None and place > one.knee.at]
    if one.knee.at is None or not larger:
        return ""
    times = _times(rows[max(larger, key=lambda place: _score(one, place))].time, rows[one.knee.at].time)
    return f" and take {times} times as long" if times else ""


def _smaller(one: Found, rows: list[StepRow], margin: str, share: bool) -> str:
    """What is known of the next smaller number, where only the largest is enough."""
    place = len(rows) - 2
    change = _change(one.decisions[place, len(rows) - 1], share)
    if _all_worse(one):
        return f"every smaller number is worse by more than {margin} ({rows[place].sent}: {change})"
    return f"no smaller number is shown to be within {margin} of the best ({rows[place].sent}: {change})"


def _shown(value: Value, share: bool) -> str:
    """A share in percent: "71.2 % [66, 76]"."""
    if isinstance(value, Absent):
        return value.detail
    return show(replace(value, unit=FRACTION) if share else value).full


def _change(decision: Decision | Absent, share: bool) -> str:
    if isinstance(decision, Absent):
        return decision.detail
    value = Estimate(
        value=decision.estimate,
        low=decision.low,
        high=decision.high,
        unit=SCORE,
        confidence=0.95,  # is not shown
        n_launches=1,
        n_trials=decision.items,
        method=decision.method,
        signature="",
    )
    return change_words(value, share).replace(POINTS.after, "") if share else change_words(value, share)


def _times(more: Value, less: Value) -> str:
    known = isinstance(more, Estimate) and isinstance(less, Estimate) and less.value > 0.0
    return f"{more.value / less.value:.2g}" if known and isinstance(more, Estimate) and isinstance(less, Estimate) else ""


def _more(one: Found) -> str:
    """How many items would show the largest number smaller than the knee to be within the margin, for the changes that were seen."""
    if one.knee.at is not None and one.knee.at < len(one.curve.levels) - 1:
        return ""
    open_ = [place for place in range(len(one.curve.levels) - 1) if not _worse(one, place)]
    if not open_:
        return ""
    place = open_[-1]
    needed = [
        decision.items_as_seen
        for (at, _), decision in one.decisions.items()
        if at == place and not isinstance(decision, Absent) and decision.verdict == "INCONCLUSIVE" and decision.items_as_seen is not None
    ]
    steps = one.curve.levels[place].steps
    return (
        f"about {rough(max(needed))} items would decide {steps} with 80 % probability, if the changes are those that were seen"
        if needed
        else ""
    )


def _of_choice(one: Found) -> Iterator[str]:
    """How the curve of candidates is made, and which numbers every item can carry."""
    levels = one.curve.levels
    items, last = count(len(levels[0].scores.items), "items"), levels[-1].steps
    chosen = "" if one.given else " (no margin given: --margin)"
    yield (
        f"Expected best of k of each item's candidates, without bias, over the same {items}; enough: not worse than the best of {last} by more than "
        f"{given(one.margin)}{chosen}, one-sided bounds at {100.0 * one.knee.confidence:.4g} %."
    )
    if one.curve.unreached:
        yield (
            f"Every item carries k up to {last}: {count(one.curve.short, 'items')} of {len(levels[0].scores.items):,} have fewer scored candidates than "
            f"{max(one.curve.unreached)}."
        )
    if one.curve.left:
        yield f"{count(one.curve.left, 'items')} have no scored candidate, and are not counted."


def _notes(one: Found, steps: Steps) -> Iterator[str]:
    if one.curve.rises:
        yield from _of_choice(one)
        return
    if one.curve.unreached:
        yield f"No item has {', '.join(map(str, one.curve.unreached))} {NAMES[steps.what]}: the record ended before."
    given_or_not = "" if one.given else " (no margin given: --margin)"
    yield (
        f"Enough: no worse than any other number by more than {given(one.margin)}{given_or_not}, the same "
        f"{count(len(one.curve.levels[0].scores.items), 'items')} paired, each one-sided bound at {100.0 * one.knee.confidence:.4g} % so that none of "
        f"{len(one.curve.levels)} is falsely called so."
    )
    if steps.what == "samples":
        most = one.curve.levels[-1].scores.repetitions
        yield (
            f"A vote of k is the expected score of the majority of k of the {most} samples; of a tie each tied answer counts alike, and a sample "
            "without an answer does not vote. Time: the first k one after another; at once: the longest of them."
        )
    if one.curve.tied:
        yield f"{count(one.curve.tied, 'items')} of {len(one.curve.levels[0].scores.items):,} have a tied vote of all their samples."
    if one.curve.left:
        yield f"{count(one.curve.left, 'items')} lack an answer or a score at some number of steps, and are in none."
