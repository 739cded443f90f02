"""On which scale is a score, as a fraction of 1 or in points of 100, and is a higher one better?

A bounded score (accuracy, F1, BLEU ...) above 1 is in points. A margin uses the scale of the scores, or the claim confuses the two.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

from fireassay.verdict.claims.stated.kinds import BOUNDED, PROPORTIONS, WORSE_IF_HIGHER, has_word
from fireassay.verdict.claims.stated.units import parse

if TYPE_CHECKING:
    from fireassay.spec.claim import ClaimedQuality, Number

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
