"""Which random numbers does a schedule use, and why are they the same on every machine?

Every purpose (gaps, lengths, canaries ...) has its own stream, seeded by the launch's seed and the purpose's name, so enabling canaries
moves no arrival.  Only the raw output of PCG64 and SeedSequence is used, which numpy guarantees to keep (NEP 19); it does not guarantee
`Generator`'s distributions.  Logarithms use only additions, multiplications and divisions, which IEEE 754 rounds exactly, because
math libraries differ between machines.
The gamma distribution's inverse comes from scipy: its last digits may differ between scipy versions.

When are the requests of an open loop due?

Times after the load's start, fixed in advance.  With cumulative rate L(t), the number of requests expected until t, and the arrivals s of
a process of rate 1 (cumulative unit gaps), requests are due at t = L^-1(s): s / rate at a constant rate, the root of a quadratic at a
linearly changing rate (Cinlar, Introduction to Stochastic Processes, 1975, section 4.7).  So arrivals at 10 per second are those at
5 per second, twice as fast: loads of one block share their randomness.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt

from fireassay.errors import refuse

if TYPE_CHECKING:
    from fireassay.spec.sections.serving import Arrivals

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

HALF_ROOT: Final = 0.7071067811865476  # sqrt(1/2): the mantissa lies within this factor of 1
LN_2_HIGH: Final = 0.693147180369123816490  # 32 trailing zero bits, so that multiples up to 2**31 are exact
LN_2_LOW: Final = 1.90821492927058770002e-10  # the remainder (as in fdlibm's e_log.c)
TERMS: Final = 12  # of the series of atanh; for mantissas this close to 1 the 13th is below 1e-19
SEEDS: Final = 2**53  # text seeds are smaller, so JSON represents them exactly


def source(seed: int, purpose: str) -> np.random.PCG64:
    """Raw random numbers for one purpose in one launch."""
    word = int.from_bytes(hashlib.sha256(purpose.encode()).digest()[:16], "little")
    return np.random.PCG64(np.random.SeedSequence([seed % 2**64, word]))


def generator(seed: int, purpose: str) -> np.random.Generator:
    """The same as a numpy generator, for drawing lengths."""
    return np.random.Generator(source(seed, purpose))


def uniform(raw: np.random.PCG64, n: int) -> Floats:
    """`n` numbers uniform on the multiples of 2**-53 in [0, 1); shape [n]."""
    return np.asarray(raw.random_raw(n) >> np.uint64(11), dtype=np.float64) * 2.0**-53


def exponential(raw: np.random.PCG64, n: int) -> Floats:
    """`n` exponential numbers with mean 1, by inversion; shape [n]."""
    return -logarithm(1.0 - uniform(raw, n))


def gamma(raw: np.random.PCG64, n: int, cv: float) -> Floats:
    """`n` gamma numbers with mean 1 and coefficient of variation `cv`, by inversion; shape [n]."""
    from scipy.special import gammaincinv

    shape = cv**-2
    return np.asarray(gammaincinv(shape, uniform(raw, n)) / shape, dtype=np.float64)


def text_seeds(seed: int, purpose: str, n: int) -> Ints:
    """Seeds of `n` texts: consecutive from a random start, so that all differ and compress well."""
    begin = int(source(seed, purpose).random_raw() >> 11)
    return (begin + np.arange(n, dtype=np.int64)) % SEEDS


def logarithm(values: Floats) -> Floats:
    """Natural logarithms of positive numbers, identical on every machine; relative error below 1e-15."""
    mantissa, exponent = np.frexp(values)
    low = mantissa < HALF_ROOT
    mantissa = np.where(low, 2.0 * mantissa, mantissa)
    exponent = np.asarray(exponent - low, dtype=np.float64)
    ratio = (mantissa - 1.0) / (mantissa + 1.0)
    square = ratio * ratio
    series = np.full_like(ratio, 1.0 / (2 * TERMS - 1))
    for term in range(TERMS - 2, -1, -1):
        series = series * square + 1.0 / (2 * term + 1)
    return np.asarray(exponent * LN_2_HIGH + (exponent * LN_2_LOW + 2.0 * ratio * series))


NS: Final = 1e9
MAX_REQUESTS: Final = 100_000_000  # requests per launch


@dataclass(frozen=True, kw_only=True)
class Piece:
    """A part of the load with a linearly changing rate."""

    duration_s: float
    rate: float  # requests per second at its start
    rate_to: float  # and at its end

    @property
    def requests(self) -> float:
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
    if expected > MAX_REQUESTS:
        found, fix = f"{expected:.3g} requests in a launch", "Lower the rate or serving.arrivals.duration_s."
        raise refuse("serving.rate", found, f"at most {MAX_REQUESTS} in a launch", fix)
