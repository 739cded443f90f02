"""Which is the smallest level whose quality is not below the best by more than a margin?

A level is *enough* if it is shown to be no worse than every other level by more than the margin: each paired difference has its one-sided lower
bound above minus the margin. All must hold (an intersection-union test: Berger, Technometrics 24, 1982), so one level needs no correction for the
others it is compared with, and the best need not be known beforehand (Hsu, Annals of Statistics 12, 1984). Several levels are tried, of which at
least one, the best, is truly enough: the probability that any other is falsely called enough is kept by Bonferroni over the L - 1 others, so every
bound is at confidence 1 - (1 - c) / (L - 1). The knee is the smallest level that is enough. If only the largest is, no knee is shown.

Where no item is worse at a larger level (the best of k candidates), the largest level is the best, and each other one is compared with it alone, from
the largest downwards until one is not shown to be enough. Such a fixed sequence needs no correction (Maurer, Hothorn & Lehmacher, 1995): a level is
falsely called enough only if the largest one that is not enough is, which is one test.

Cannot tell: levels between those that were measured; a knee beyond the largest.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

Pair = Callable[[int, int, float], float | None]  # level, other level, confidence -> lower bound of the gain of the first over the second


@dataclass(frozen=True, kw_only=True)
class Knee:
    """The result over levels in ascending order; indices into them."""

    at: int | None  # the smallest level that is enough; None: none is shown to be, not even the largest
    enough: tuple[bool, ...]
    confidence: float  # of every one-sided bound


def confidence_of_each(levels: int, confidence: float) -> float:
    """That of one bound, for `confidence` that no level is falsely called enough."""
    return 1.0 - (1.0 - confidence) / max(1, levels - 1)


def knee(levels: int, lower: Pair, margin: float, confidence: float) -> Knee:
    """The knee of so many levels; `lower` is None where a pair has no bound, which shows nothing.

    Raises:
        ValueError: fewer than two levels, or a margin that is not above 0.
    """
    if levels < 2 or not margin > 0.0:
        raise ValueError(f"a knee needs two levels or more and a margin above 0, not {levels} and {margin}")
    each = confidence_of_each(levels, confidence)
    enough = tuple(_is_enough(one, levels, lower, margin, each) for one in range(levels))
    return Knee(at=next((one for one in range(levels) if enough[one]), None), enough=enough, confidence=each)


def knee_of_rising(levels: int, lower: Pair, margin: float, confidence: float) -> Knee:
    """The knee of levels of which none is worse than a smaller one for any item; the largest is enough.

    Raises:
        ValueError: as `knee`.
    """
    if levels < 2 or not margin > 0.0:
        raise ValueError(f"a knee needs two levels or more and a margin above 0, not {levels} and {margin}")
    at = levels - 1
    while at and (bound := lower(at - 1, levels - 1, confidence)) is not None and bound > -margin:
        at -= 1
    return Knee(at=at, enough=tuple(one >= at for one in range(levels)), confidence=confidence)


def _is_enough(one: int, levels: int, lower: Pair, margin: float, confidence: float) -> bool:
    others: Sequence[int] = [other for other in range(levels) if other != one]
    bounds = (lower(one, other, confidence) for other in others)
    return all(bound is not None and bound > -margin for bound in bounds)
