"""When are the requests of an open loop due?

Times after the load's start, fixed in advance.  With cumulative rate L(t), the number of requests expected until t, and the arrivals s of
a process of rate 1 (cumulative unit gaps), requests are due at t = L^-1(s): s / rate at a constant rate, the root of a quadratic at a
linearly changing rate (Cinlar, Introduction to Stochastic Processes, 1975, section 4.7).  So arrivals at 10 per second are those at
5 per second, twice as fast: loads of one block share their randomness.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from fireassay.errors import refuse
from fireassay.traffic.arrivals.draws import Floats, Ints, exponential, gamma, source

if TYPE_CHECKING:
    from fireassay.spec.sections.serving import Arrivals

NS: Final = 1e9
MOST: Final = 100_000_000  # requests per launch


@dataclass(frozen=True, kw_only=True)
class Piece:
    """A part of the load with a linearly changing rate."""

    duration_s: float
    rate: float  # requests per second at its start
    rate_to: float  # and at its end

    @property
    def requests(self) -> float:
        """Requests expected in it."""
        return self.duration_s * (self.rate + self.rate_to) / 2.0


def due(arrivals: Arrivals, load: float | None, seed: int, steps: int = 1) -> Ints:
    """Due times in ns after the load's start, ascending, before its end; shape [conversations of `steps` requests]."""
    pieces = profile(arrivals, load)
    expected = sum(piece.requests for piece in pieces)
    _refuse_too_many(expected * steps)
    units = _units(arrivals, seed, expected)
    times = np.rint(_inverse(pieces, units) * NS).astype(np.int64)
    times = times[times < horizon_ns(arrivals)]
    return times if arrivals.requests is None else times[: -(-arrivals.requests // steps)]


def horizon_ns(arrivals: Arrivals) -> int:
    """How long requests become due, warm-up included, ns."""
    return round((arrivals.warm_up_s + arrivals.duration_s) * NS)


def profile(arrivals: Arrivals, load: float | None) -> tuple[Piece, ...]:
    """The rate over the load. Stages begin with the measured part; the warm-up runs at the first stage's initial rate."""
    if arrivals.process != "stages":
        rate = 0.0 if load is None else load
        return (Piece(duration_s=arrivals.warm_up_s + arrivals.duration_s, rate=rate, rate_to=rate),)
    times = 1.0 if load is None else load
    stages = [
        Piece(
            duration_s=stage.duration_s, rate=stage.rate * times, rate_to=(stage.rate if stage.rate_to is None else stage.rate_to) * times
        )
        for stage in arrivals.stages
    ]
    first = stages[0].rate if stages else 0.0
    return (Piece(duration_s=arrivals.warm_up_s, rate=first, rate_to=first), *stages)


def _units(arrivals: Arrivals, seed: int, expected: float) -> Floats:
    """Arrivals of the process at rate 1, up to `expected`."""
    if arrivals.process == "constant":
        return np.arange(int(np.ceil(expected)), dtype=np.float64)
    raw = source(seed, "gaps")
    if arrivals.process == "gamma":
        return _summed(lambda n: gamma(raw, n, arrivals.cv), expected, arrivals.cv)
    return _summed(lambda n: exponential(raw, n), expected, 1.0)


def _summed(draw: Callable[[int], Floats], limit: float, cv: float) -> Floats:
    """Cumulative gaps with mean 1, until beyond `limit`."""
    gaps = draw(int(limit + 6.0 * cv * limit**0.5) + 16)
    while gaps.sum() <= limit:
        gaps = np.concatenate([gaps, draw(len(gaps))])
    sums = np.cumsum(gaps)
    return np.asarray(sums[sums < limit])


def _inverse(pieces: tuple[Piece, ...], units: Floats) -> Floats:
    """Seconds at which the cumulative rate reaches each of `units`."""
    times = np.empty_like(units)
    begin_s, begin = 0.0, 0.0
    for piece in pieces:
        inside = (units >= begin) & (units < begin + piece.requests)
        times[inside] = begin_s + _inverse_within(piece, units[inside] - begin)
        begin_s, begin = begin_s + piece.duration_s, begin + piece.requests
    times[units >= begin] = begin_s  # the last arrival, if rounding put it at the end
    return times


def _inverse_within(piece: Piece, units: Floats) -> Floats:
    slope = (piece.rate_to - piece.rate) / piece.duration_s if piece.duration_s else 0.0
    if slope == 0.0:
        return units / piece.rate
    # rate t + slope t^2 / 2 = u, in the form that loses no precision for small slopes
    root = np.sqrt(np.maximum(piece.rate**2 + 2.0 * slope * units, 0.0))
    return np.asarray(2.0 * units / (piece.rate + root))


def _refuse_too_many(expected: float) -> None:
    if expected > MOST:
        found, fix = f"{expected:.3g} requests in a launch", "Lower the rate or serving.arrivals.duration_s."
        raise refuse("serving.rate", found, f"at most {MOST} in a launch", fix)
