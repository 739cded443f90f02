"""What does a service objective limit: which metric and statistic, from which side, at what value and unit?

Taken from the keys of [slo] or else from its words: "p99 TTFT of at most 300 ms", "at least 30 tokens/s per user".
A percentile below the limit meets an objective on any lower percentile; a mean or a lower percentile cannot show that it is met.

On which scale is a score, as a fraction of 1 or in points of 100, and is a higher one better?

A bounded score (accuracy, F1, BLEU ...) above 1 is in points. A margin uses the scale of the scores, or the claim confuses the two.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Literal

from fireassay.spec.claim import Claim, ClaimedQuality, Number, Objective
from fireassay.spec.scores import BOUNDED, PROPORTIONS, WORSE_IF_HIGHER, has_word
from fireassay.verdict.claims.stated import kinds
from fireassay.verdict.claims.stated.kinds import LEVELS, metric_name, statistic, statistic_in
from fireassay.verdict.claims.stated.units import convertible, parse

FLOOR: Final = r"at least|no less than|not less than|minimum|≥|>=|>|above|more than|over \d|exceed"
CEILING: Final = r"at most|no more than|not more than|maximum|≤|<=|<|below|under|less than|within|up to"
QUANTITY: Final = (
    r"(\d+(?:[.,]\d+)?)\s*(ms|milliseconds?|µs|us|s|sec|seconds?|minutes?|min|h|hours?|(?:output )?tok(?:ens?)?/s|requests?/s|req/s)\b"
)
Evidence = Literal["met", "broken", "undecided", "weaker", "nothing"]


@dataclass(frozen=True, kw_only=True)
class Limit:
    """The limit set by an objective."""

    statistic: str | None  # None: the objective does not say
    floor: bool  # a minimum, not a maximum
    value: float | None  # in its kind's base unit if `unit_factor` is known
    unit_factor: float | None  # None: in the unit of the limited number
    unit_name: str | None = None  # as written in the objective


def limit_of(slo: Objective) -> Limit:
    """What the objective limits."""
    words = slo.objective.casefold()
    value, factor, name = _quantity(slo, words)
    return Limit(
        statistic=slo.statistic or statistic_in(slo.metric or "") or statistic_in(slo.objective) or _share(words),
        floor=_is_floor(slo, words),
        value=value,
        unit_factor=factor,
        unit_name=name,
    )


def _share(words: str) -> str | None:
    """ "99 % of requests within 300 ms" is an objective on the p99."""
    match = re.search(r"(\d+(?:\.\d+)?)\s*(?:%|percent)\s+(?:of\b|within\b)", words)
    return next((name for name, level in LEVELS.items() if match and _close(100.0 * level, float(match[1]))), None)


def _is_floor(slo: Objective, words: str) -> bool:
    if re.search(FLOOR, words):
        return True
    if re.search(CEILING, words):
        return False
    return slo.metric is not None and has_word(slo.metric, kinds.RATES)


def _quantity(slo: Objective, words: str) -> tuple[float | None, float | None, str | None]:
    """The limit, its unit's factor and name: from `unit`, or from the objective's words for the same number."""
    if slo.unit is not None and slo.limit is not None:
        return slo.limit, parse(slo.unit).factor, slo.unit
    match = re.search(QUANTITY, words)
    if match is None:
        return slo.limit, None, None
    amount, unit = float(match[1].replace(",", ".")), parse(match[2])
    if slo.limit is None or _close(slo.limit, amount):
        return amount, unit.factor, match[2]
    return slo.limit, None, None


def _close(first: float, second: float) -> bool:
    return abs(first - second) <= 1e-9 * max(abs(first), abs(second), 1e-300)


def limited(said: Claim) -> list[Number]:
    """The numbers to which the objective applies."""
    assert said.slo is not None
    numbers = [n for n in said.number if not kinds.unit_of(n).is_change]
    if said.slo.metric is not None:
        return [n for n in numbers if n.metric == said.slo.metric or metric_name(n.metric) == metric_name(said.slo.metric)]
    words = metric_name(said.slo.objective)
    return [n for n in numbers if kinds.is_wait(n) and re.search(rf"(^|_){re.escape(metric_name(n.metric))}(_|$)", _with_synonyms(words))]


def _with_synonyms(words: str) -> str:
    spelt = {"time_to_first_token": "ttft", "time_per_output_token": "tpot", "inter_token_latency": "itl", "end_to_end": "e2e"}
    for long, short in spelt.items():
        words = words.replace(long, f"{short}_{long}")
    return words + "_e2e" if re.search(r"(^|_)(latency|response_time)(_|$)", words) else words


def evidence(limit: Limit, number: Number) -> Evidence:
    """The evidence of one published number on the objective."""
    if limit.value is None:
        return "nothing"
    unit = kinds.unit_of(number)
    factor = 1.0 if limit.unit_factor is None else (unit.factor if unit.kind is not None else limit.unit_factor)
    bound = limit.value * (limit.unit_factor or 1.0)
    value = number.value * factor
    kept = value >= bound if limit.floor else value <= bound
    if limit.floor:
        return _sure(number, factor, bound, kept, floor=True)
    return _by_statistic(limit.statistic, statistic(number), kept, _sure(number, factor, bound, kept, floor=False))


def _by_statistic(required: str | None, given: str | None, kept: bool, sure: Evidence) -> Evidence:
    if required is None or required == given or given in (None, "single"):
        return sure
    required_level, level = LEVELS.get(required), LEVELS.get(given)
    if required_level is None:  # an objective on the mean: a tail below the limit implies it
        return sure if kept and level is not None and level >= LEVELS["p99"] else "nothing"
    if level is None:
        return "weaker" if kept else "broken"  # a mean above the limit makes a tail below it implausible
    if level >= required_level:
        return sure if kept else "nothing" if level > required_level else "broken"
    return "weaker" if kept else "broken"


def _sure(number: Number, factor: float, bound: float, kept: bool, *, floor: bool) -> Evidence:
    """Met or broken; undecided if the value keeps the limit but its interval crosses it."""
    if not kept:
        return "broken"
    interval = number.interval
    if interval is None or interval.kind != "confidence":
        return "met"
    end = interval.low if floor else interval.high
    over = end is not None and (end * factor < bound if floor else end * factor > bound)
    return "undecided" if over else "met"


def same_unit(slo: Objective, number: Number) -> bool:
    """True if the limit's unit, if stated, is compatible with the number's."""
    unit, number_unit = parse(slo.unit), kinds.unit_of(number)
    return unit.kind is None or number_unit.kind is None or convertible(unit, number_unit)


Scale = Literal["fraction", "points"]
WIDEST_FRACTION: Final = 0.2  # a larger margin between scores in fractions is in points
NARROWEST_POINTS: Final = 0.05  # a smaller margin between scores in points is a fraction


def is_bounded(metric: str) -> bool:
    """True if a score lies between 0 and 1, or 0 and 100."""
    return has_word(metric, (*PROPORTIONS, *BOUNDED), ("accurac",))


def is_proportion(metric: str) -> bool:
    """True if a score is the share of correct items."""
    return has_word(metric, PROPORTIONS, ("accurac",)) and not _is_error(metric)


def scale_of(score: float) -> Scale:
    """The scale of a bounded score."""
    return "points" if abs(score) > 1.0 else "fraction"


def scale(quality: ClaimedQuality) -> Scale | None:
    """The common scale of scores and margin; None if unknown or inconsistent."""
    scores = [score for score in (quality.baseline, quality.candidate) if score is not None]
    if not is_bounded(quality.metric) or confusion(quality):
        return None
    known = {scale_of(score) for score in scores if score != 0.0}
    if known:
        return known.pop()
    return None if quality.margin is None else "points" if quality.margin > WIDEST_FRACTION else "fraction"


def confusion(quality: ClaimedQuality) -> str:
    """Which of its numbers is on another scale, or ""."""
    if not is_bounded(quality.metric):
        return ""
    scores = {"baseline": quality.baseline, "candidate": quality.candidate}
    known = {name: scale_of(score) for name, score in scores.items() if score is not None and score != 0.0}
    if len(set(known.values())) > 1:
        return f"quality.baseline = {quality.baseline:g} is in {known['baseline']}, quality.candidate = {quality.candidate:g} in {known['candidate']}"
    if not known or quality.margin is None:
        return ""
    (unit,) = set(known.values())
    if unit == "fraction" and quality.margin > WIDEST_FRACTION:
        return f"the scores are fractions of 1, and quality.margin = {quality.margin:g} would allow {100 * quality.margin:g} points"
    if quality.margin > 100.0 * WIDEST_FRACTION:
        return f"quality.margin = {quality.margin:g} would allow a loss of {quality.margin:g} points of 100"
    if unit == "points" and quality.margin < NARROWEST_POINTS:
        return f"the scores are in points of 100, and quality.margin = {quality.margin:g} is {quality.margin:g} points"
    return ""


def of_number(number: Number, margin: float | None = None) -> ClaimedQuality | None:
    """A score given as a number with its baseline's, both in points if their units say so."""
    if number.baseline is None or number.baseline.value is None:
        return None
    points = {parse(unit).kind in ("percent", "points") for unit in (number.unit, number.baseline.unit or number.unit)}
    candidate, base = number.value, number.baseline.value
    if points == {True, False} and number.baseline.unit is not None and number.unit is not None:
        candidate, base = (candidate, 100.0 * base) if parse(number.unit).kind in ("percent", "points") else (100.0 * candidate, base)
    from fireassay.spec.claim import ClaimedQuality  # deferred: judging a record loads this module and needs no claim

    return ClaimedQuality(metric=number.metric, baseline=base, candidate=candidate, margin=margin)


def lower_score_is_better(quality: ClaimedQuality) -> bool:
    """True if lower is better: as stated, or from the metric's name."""
    if quality.direction is not None:
        return quality.direction == "lower"
    return _is_error(quality.metric)


def _is_error(metric: str) -> bool:
    return has_word(metric, (*WORSE_IF_HIGHER, "error", "error_rate"), ("perplexit",))


def direction_contradicts(quality: ClaimedQuality) -> bool:
    """True if the stated direction contradicts the score's usual one."""
    worse = _is_error(quality.metric)
    return (quality.direction == "higher" and worse) or (quality.direction == "lower" and is_proportion(quality.metric) and not worse)
