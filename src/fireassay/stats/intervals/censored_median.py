"""What is the median time until something happens, where some launches end before it does?

A launch without the event is right-censored at its own end: it counts as "longer than that", is never dropped and never infinite in a mean.
Point: Kaplan & Meier's estimate of the survival S (JASA 53, 1958), and the time at which it falls to 1/2; where it stays there, the middle
of that stretch, as R's `survfit` reports it. No value if it never falls to 1/2.

Interval: S just after the i-th event is a product of independent Beta(n, 1), n at risk at each event so far, if censoring is progressive;
its mean is the product of n / (n + 1), and with that of n / (n + 2) it is close to one Beta distribution (Fay, Brittain & Proschan,
Biostatistics 14, 2013). Without censoring this is exact: the Beta(n + 1 - i, i) of order statistics. An end lies between the events at
which P(S < 1/2) crosses the tail, interpolated on the logarithm of time by Hettmansperger and Sheather's weight (Statistics & Probability
Letters 4, 1986), which suits any smooth distribution. No distribution of the times is assumed.

Five launches bound a median by their smallest and largest time with 93.75 %, no more; 95 % needs a little beyond. The end then lies
outside by `BEYOND` times the missing fraction of a rank, in units of the outermost gap, and at most by `FARTHEST` gaps: beyond that the data
bound nothing on that side, unless every launch that lasts until the first event has one: then Student's t on their logarithms, which takes
them as normal. A launch censored before the first event is in no risk set, so the point ignores it too.
Coverage of 95 % intervals over simulated experiments: docs/methodology.md.
Cannot tell: the median beyond the last event; why a launch was censored (if slow launches crash more often, the median is too short).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from fireassay.stats.intervals.intervals import Floats, finite_vector, fraction, log_t
from fireassay.stats.solvers import root

BEYOND: Final = 3.0
FARTHEST: Final = 0.5
HALF: Final = 0.5


@dataclass(frozen=True, kw_only=True)
class CensoredMedian:
    """A median with its interval; `value` is None and `high` infinite where too few launches had the event."""

    value: float | None
    low: float
    high: float
    ranks: bool  # the interval is that of ranks; else Student's t on logarithms


@dataclass(frozen=True)
class _Rank:
    """An order statistic: its logarithm, the mean share outside of it, and the size of that share's Beta distribution (a + b)."""

    log: float
    outside: float
    size: float

    def miss(self, outside: float | None = None) -> float:
        """The chance that the median lies outside of it, or of a point with this share outside."""
        from scipy.special import betainc

        share = self.outside if outside is None else outside
        return float(betainc((1.0 - share) * self.size, share * self.size, HALF))


def censored_median(times: Floats, reached: Sequence[bool], confidence: float) -> CensoredMedian:
    """The median of times above 0 (shape [k], k >= 1), of which those not `reached` are censored: the event comes later, or never.

    Raises:
        ValueError: no times, a time not above 0 or not finite, or not as many flags.
    """
    data = finite_vector(times, "times")
    fraction(confidence, "confidence")
    if float(data.min()) <= 0.0 or len(data) != len(reached):
        raise ValueError(f"{len(data)} times above 0 are needed, each with a flag; the smallest is {data.min()}, flags: {len(reached)}")
    order = sorted(range(len(data)), key=lambda i: (data[i], not reached[i]))  # at equal times events come first
    logs, events = [math.log(data[i]) for i in order], [bool(reached[i]) for i in order]
    tail = (1.0 - confidence) / 2.0
    survival = _survival(events)
    ranks = _ranks(logs, events)
    open_ended = not events[-1]  # more events lie beyond the last
    few = sum(events) < 2
    low = _end(_ranks(logs, [True] * len(logs)) if few else ranks, tail)  # min(time, end of the launch) is below every time
    high = None if few and open_ended else _turned(_end(_mirrored(ranks), tail, beyond=not open_ended))
    value = _middle([float(data[i]) for i in order], events, survival)
    at_risk = events.index(True) if any(events) else len(events)
    if value is not None and all(events[at_risk:]) and (low is None or high is None):
        t = log_t([data[i] for i in order[at_risk:]], confidence)
        return CensoredMedian(value=value, low=min(t.low, value), high=max(t.high, value), ranks=False)
    lowest, highest = (0.0 if low is None else math.exp(low)), (math.inf if high is None else _exp(high))
    if value is None:
        return CensoredMedian(value=None, low=lowest, high=math.inf, ranks=True)
    return CensoredMedian(value=value, low=min(lowest, value), high=max(highest, value), ranks=True)


def median_of_bounded(lows: Sequence[float], highs: Sequence[float], confidence: float) -> CensoredMedian:
    """The median of logarithms each known to lie between two bounds, infinite ones included; the result is no logarithm.

    Each end is that of complete data at the bounds of its side, so its coverage is at least that of complete data, however the bounds came
    about. `value` is None unless both sides have the same median.
    """
    tail, everything = (1.0 - fraction(confidence, "confidence")) / 2.0, [True] * len(lows)
    low = _end(_ranks(sorted(lows), everything), tail)
    high = _turned(_end(_mirrored(_ranks(sorted(highs), everything)), tail))
    below, above = float(np.median(lows)), float(np.median(highs))
    value = _exp(below) if below == above and math.isfinite(below) else None
    lowest, highest = (0.0 if low is None else _exp(low)), (math.inf if high is None else _exp(high))
    if value is not None:
        lowest, highest = min(lowest, value), max(highest, value)
    return CensoredMedian(value=value, low=lowest, high=highest, ranks=True)


def _survival(events: Sequence[bool]) -> list[float]:
    """Kaplan and Meier's estimate after each time."""
    survival, now = [], 1.0
    for place, event in enumerate(events):
        left = len(events) - place
        now *= (left - 1) / left if event else 1.0
        survival.append(now)
    return survival


def _middle(times: Sequence[float], events: Sequence[bool], survival: Sequence[float]) -> float | None:
    """The time at which the survival falls to 1/2."""
    for place, now in enumerate(survival):
        if not events[place] or now > HALF + 1e-12:
            continue
        if now < HALF - 1e-12:
            return times[place]
        later = next((i for i in range(place + 1, len(times)) if events[i]), None)
        return times[place] if later is None else (times[place] + times[later]) / 2.0
    return None


def _ranks(logs: Sequence[float], events: Sequence[bool]) -> list[_Rank]:
    """The events in order, with the share of launches before them."""
    mean = square = 1.0
    ranks = []
    for place, event in enumerate(events):
        left = len(events) - place
        if event:
            mean, square = mean * left / (left + 1), square * left / (left + 2)
            ranks.append(_Rank(logs[place], 1.0 - mean, (mean - square) / (square - mean * mean)))
    return ranks


def _mirrored(ranks: Sequence[_Rank]) -> list[_Rank]:
    """The same from the other side: the last first, with the share after it; logarithms with their sign turned."""
    return [_Rank(-rank.log, 1.0 - rank.outside, rank.size) for rank in reversed(ranks)]


def _end(ranks: Sequence[_Rank], tail: float, *, beyond: bool = True) -> float | None:
    """The lower end on the logarithm (of mirrored ranks the upper); None: unbounded. `beyond`: nothing lies outside of the outermost."""
    if not ranks:
        return None
    misses = [rank.miss() for rank in ranks]
    first = ranks[0]
    if misses[0] > tail:
        if not beyond or len(ranks) < 2 or not math.isfinite(first.log):
            return None
        share = root(lambda outside: first.miss(outside) - tail, 1e-12, first.outside, tolerance=1e-12)
        far = BEYOND * (first.outside - share) / (ranks[1].outside - first.outside)
        return first.log - far * (ranks[1].log - first.log) if far <= FARTHEST and math.isfinite(ranks[1].log) else None
    place = max(i for i, miss in enumerate(misses) if miss <= tail)
    outer = ranks[place]
    if place + 1 == len(ranks) or not math.isfinite(outer.log):
        return outer.log if math.isfinite(outer.log) else None
    inner = ranks[place + 1]
    n, outside = outer.size - 1.0, outer.outside * outer.size
    part = (tail - misses[place]) / (misses[place + 1] - misses[place])
    weight = (n - outside) * part / (outside + (n - 2.0 * outside) * part)
    return outer.log + weight * (inner.log - outer.log) if math.isfinite(inner.log) else outer.log


def _turned(log: float | None) -> float | None:
    return None if log is None else -log


def _exp(log: float) -> float:
    return math.exp(log) if log < 700.0 else math.inf
