"""How far apart are two hosts' clocks, and which intervals between them are long enough to trust?

A ping leaves at t0 and returns at t3 on our clock; the other host's clock reads t1 on arrival and t2 on reply:
    offset = ((t1 - t0) + (t2 - t3))/2,  delay = (t3 - t0) - (t2 - t1),  |error of the offset| <= delay/2  (NTP, RFC 5905).
Of several pings the one with the least delay has the tightest bound.  With linear drift, each ping bounds the offset at its time
from above (t1 - t0) and from below (t2 - t3); a line below all upper bounds lies below their lower convex hull and above the
upper hull of the lower bounds, so the hulls bound it at every time in between.
Times are in any one unit; integer nanoseconds keep full precision.  Intervals between hosts shorter than 10 bounds are refused.
Cannot tell: a path asymmetry shared by every ping; it lies within the bound, and may fill it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

MIN_PINGS: Final = 20
TIMES_THE_BOUND: Final = 10  # minimum length of an interval between hosts, in bounds

ROUNDINGS: Final = 8  # roundings of the largest number in a bound, a sum of four

Points = list[tuple[float, float]]
Line = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Ping:
    """Four timestamps: sent and received back on our clock (t0, t3), received and answered on the other (t1, t2)."""

    t0: float
    t1: float
    t2: float
    t3: float


@dataclass(frozen=True, kw_only=True)
class Offset:
    """The other clock minus ours, and the bound of its error."""

    offset: float
    bound: float


@dataclass(frozen=True, kw_only=True)
class Drift:
    """The offset over time under linear drift; `slope` in time units per time unit, with its bound."""

    slope: float
    slope_bound: float
    begin: float  # on our clock; offsets are known from here ...
    end: float  # ... to here
    at: Callable[[float], Offset]  # the offset at a time on our clock


def offset(ping: Ping) -> Offset:
    """Offset and bound of one ping; ValueError if the reply took longer than the round trip."""
    if _delay(ping) < 0 or ping.t3 < ping.t0:
        raise ValueError(f"a ping that came back before it could (delay {_delay(ping)}) was timed by a clock that jumped: {ping}")
    return Offset(offset=((ping.t1 - ping.t0) + (ping.t2 - ping.t3)) / 2, bound=_delay(ping) / 2)


def linear_drift(pings: Iterable[Ping]) -> Drift:
    """Offset over time from at least 20 pings spread over it; ValueError if no straight line fits them all."""
    ordered = sorted(_enough(pings), key=lambda ping: ping.t0)
    origin, base = ordered[0].t0, ordered[0].t1 - ordered[0].t0
    for ping in ordered:
        offset(ping)
    above = _hull([(ping.t0 - origin, ping.t1 - ping.t0 - base) for ping in ordered], below=True)
    below = _hull([(ping.t3 - origin, ping.t2 - ping.t3 - base) for ping in ordered], below=False)
    first, last = float(max(above[0, 0], below[0, 0])), float(min(above[-1, 0], below[-1, 0]))
    if not first < last:
        raise ValueError("pings that all lie within the time of one cannot show a drift; spread them over the run")

    def at(time: float) -> Offset:
        if not first <= time - origin <= last:
            raise ValueError(f"the offset is known from {origin + first} to {origin + last}, not at {time}")
        top, bottom = (float(np.interp(time - origin, line[:, 0], line[:, 1])) for line in (above, below))
        return Offset(offset=base + (top + bottom) / 2, bound=max(top - bottom, 0.0) / 2)

    least, largest = _slopes(above, below, _rounding(ordered))
    if least > largest:
        raise ValueError("no straight line lies between all pings: a clock was set, or changed its rate; use shorter stretches")
    return Drift(slope=(least + largest) / 2, slope_bound=max(largest - least, 0.0) / 2, begin=origin + first, end=origin + last, at=at)


def _rounding(pings: Sequence[Ping]) -> float:
    """Rounding error of the bounds; integers subtract exactly."""
    times = [time for ping in pings for time in (ping.t0, ping.t1, ping.t2, ping.t3)]
    exact = all(isinstance(time, int) for time in times)
    largest = max(abs(time - times[0]) for time in times) if exact else max(abs(time) for time in times)
    return ROUNDINGS * float(np.spacing(float(largest)))


def _slopes(above: Line, below: Line, rounding: float) -> tuple[float, float]:
    """Least and largest slope of the straight lines between the hulls: a + b x <= y above, a + b x >= y below, a eliminated."""
    run = above[:, :1] - below[:, 0]
    rise = above[:, 1:] - below[:, 1] + rounding
    with np.errstate(over="ignore"):  # points almost at the same time allow any slope
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
    listed = list(pings)
    if len(listed) < MIN_PINGS:
        raise ValueError(f"a clock offset needs at least {MIN_PINGS} pings, of which the fastest counts; not {len(listed)}")
    return listed


def _hull(points: Points, *, below: bool) -> Line:
    """The lower (or upper) convex hull from the first to the last time (Andrew's monotone chain), shape [corners, 2]."""
    sign = 1.0 if below else -1.0
    corners: Points = []
    for x, y in sorted((x, sign * y) for x, y in points):
        if corners and corners[-1][0] == x:
            continue  # at equal times only the lower one bounds
        while len(corners) > 1 and _turns_right(corners[-2], corners[-1], (x, y)):
            corners.pop()
        corners.append((x, y))
    line = np.array(corners, dtype=np.float64)
    line[:, 1] *= sign
    return line


def _turns_right(a: tuple[float, float], b: tuple[float, float], c: tuple[float, float]) -> bool:
    """True if b lies on or above the line from a to c."""
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]) <= 0
