"""How far apart are two hosts' clocks, and which intervals between them can be believed?

A ping leaves at t0 and comes back at t3 on our clock; the other host's clock reads t1 when it arrives and t2 when it answers:
    offset = ((t1 - t0) + (t2 - t3))/2,  delay = (t3 - t0) - (t2 - t1),  |error of the offset| <= delay/2  (NTP, RFC 5905).
Over several pings the one with the least delay has the least bound.  Where the clocks drift apart linearly, every ping bounds
the offset at its time from above (t1 - t0) and from below (t2 - t3); a straight line below all upper bounds lies below
their lower convex hull, and above the upper hull of the lower bounds, so the two hulls bound it at every moment between.
Times are in any one unit; whole nanoseconds keep their digits.  An interval between hosts shorter than 10 bounds is refused.
Cannot tell: an asymmetry of the way that every ping shares; it is inside the bound, and may fill it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

LEAST_PINGS: Final = 20
TIMES_THE_BOUND: Final = 10  # an interval between two hosts must be at least so many bounds long

ROUNDINGS: Final = 8  # of the largest number, by which a bound may be off: it is a sum of four

Points = list[tuple[float, float]]
Line = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Ping:
    """Four timestamps: sent and received back on our clock (t0, t3), received and answered on the other's (t1, t2)."""

    t0: float
    t1: float
    t2: float
    t3: float


@dataclass(frozen=True, kw_only=True)
class Offset:
    """The other clock minus ours, and how far that can be off."""

    offset: float
    bound: float


@dataclass(frozen=True, kw_only=True)
class Drift:
    """The offset over time, for clocks that drift apart linearly; `slope` in time units per time unit, with its bound."""

    slope: float
    slope_bound: float
    begin: float  # of our clock; offsets are known from here ...
    end: float  # ... to here
    at: Callable[[float], Offset]  # the offset at a time of our clock


def offset(ping: Ping) -> Offset:
    """Offset and bound of one ping; ValueError where the answer took longer than the whole way, which cannot be."""
    if _delay(ping) < 0 or ping.t3 < ping.t0:
        raise ValueError(f"a ping that came back before it could (delay {_delay(ping)}) was timed by a clock that jumped: {ping}")
    return Offset(offset=((ping.t1 - ping.t0) + (ping.t2 - ping.t3)) / 2, bound=_delay(ping) / 2)


def linear_drift(pings: Iterable[Ping]) -> Drift:
    """Offset over time from at least 20 pings spread over it; ValueError where no straight line fits all of them."""
    found = sorted(_enough(pings), key=lambda ping: ping.t0)
    origin, base = found[0].t0, found[0].t1 - found[0].t0
    for ping in found:
        offset(ping)
    above = _hull([(ping.t0 - origin, ping.t1 - ping.t0 - base) for ping in found], below=True)
    below = _hull([(ping.t3 - origin, ping.t2 - ping.t3 - base) for ping in found], below=False)
    first, last = float(max(above[0, 0], below[0, 0])), float(min(above[-1, 0], below[-1, 0]))
    if not first < last:
        raise ValueError("pings that all lie within the time of one cannot show a drift; spread them over the run")

    def at(time: float) -> Offset:
        if not first <= time - origin <= last:
            raise ValueError(f"the offset is known from {origin + first} to {origin + last}, not at {time}")
        top, bottom = (float(np.interp(time - origin, line[:, 0], line[:, 1])) for line in (above, below))
        return Offset(offset=base + (top + bottom) / 2, bound=max(top - bottom, 0.0) / 2)

    least, largest = _slopes(above, below, _rounding(found))
    if least > largest:
        raise ValueError("no straight line lies between all pings: a clock was set, or changed its rate; use shorter stretches")
    return Drift(slope=(least + largest) / 2, slope_bound=max(largest - least, 0.0) / 2, begin=origin + first, end=origin + last, at=at)


def _rounding(pings: Sequence[Ping]) -> float:
    """By how much the bounds may be off since numbers have so many digits; whole numbers are subtracted exactly."""
    times = [time for ping in pings for time in (ping.t0, ping.t1, ping.t2, ping.t3)]
    exact = all(isinstance(time, int) for time in times)
    largest = max(abs(time - times[0]) for time in times) if exact else max(abs(time) for time in times)
    return ROUNDINGS * float(np.spacing(float(largest)))


def _slopes(above: Line, below: Line, rounding: float) -> tuple[float, float]:
    """Least and largest slope of the straight lines between the hulls: a + b x <= y above, a + b x >= y below, a eliminated."""
    run = above[:, :1] - below[:, 0]
    rise = above[:, 1:] - below[:, 1] + rounding
    with np.errstate(over="ignore"):  # next to no time apart, whatever rise there is allows any slope
        return float((rise[run < 0] / run[run < 0]).max()), float((rise[run > 0] / run[run > 0]).min())


def too_short(interval: float, bound: float) -> str:
    """Why an interval between two hosts is refused; empty if it is at least 10 bounds long."""
    if not bound >= 0.0:
        raise ValueError(f"the bound of a clock offset must be at least 0, not {bound}")
    if abs(interval) >= TIMES_THE_BOUND * bound:
        return ""
    return (
        f"the interval of {interval} between two hosts is shorter than {TIMES_THE_BOUND} times the bound of their clock "
        f"offset, {bound}; synchronise the clocks better or measure on one host"
    )


def _delay(ping: Ping) -> float:
    return (ping.t3 - ping.t0) - (ping.t2 - ping.t1)


def _enough(pings: Iterable[Ping]) -> Sequence[Ping]:
    found = list(pings)
    if len(found) < LEAST_PINGS:
        raise ValueError(f"a clock offset needs at least {LEAST_PINGS} pings, of which the fastest counts; not {len(found)}")
    return found


def _hull(points: Points, *, below: bool) -> Line:
    """The lower (or upper) convex hull from the first to the last time (Andrew's monotone chain), shape [corners, 2]."""
    sign = 1.0 if below else -1.0
    corners: Points = []
    for x, y in sorted((x, sign * y) for x, y in points):
        if corners and corners[-1][0] == x:
            continue  # the higher one of the same moment bounds nothing
        while len(corners) > 1 and _turns_right(corners[-2], corners[-1], (x, y)):
            corners.pop()
        corners.append((x, y))
    line = np.array(corners, dtype=np.float64)
    line[:, 1] *= sign
    return line


def _turns_right(a: tuple[float, float], b: tuple[float, float], c: tuple[float, float]) -> bool:
    """Whether b lies on or above the line from a to c."""
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]) <= 0
