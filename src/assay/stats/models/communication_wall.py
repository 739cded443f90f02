"""What part of a step that does not get shorter is serial work and what part communication, and where does adding workers end?

    T(p) = m(p) (A + B / p) + max(0, c(p) - H / p),    T1 = A + B,  s = A / T1            (strong scaling)
    T(p) = m(p) (A + B) + max(0, c(p) - H)             which cannot tell A from B        (weak scaling)

c(p) is not fitted: it is predicted from the alpha and beta of the same record (`metrics.bandwidth`), so that what the workers wait
for one another on the network is taken out before the serial fraction is fitted.  H is how much computing may hide communication,
in seconds of one worker (0: all of it is exposed); m(p) is how much slower than the mean the slowest worker is, as far as that was
seen (1: not seen), carried to other p as the largest of lognormals (`stats.slowest`).
A and B by least squares on relative errors, both at least 0, block by block; the interval of a prediction is Student's t on the
logarithms, of three parts added up with their degrees of freedom (Welch, Satterthwaite): the fits of the blocks, a new launch's own
luck, and what the model misses at the measured p beyond the launches' luck.
Sources: Amdahl (1967); Hockney (1994); Karp & Flatt (1990); Gustafson (1988); Satterthwaite (1946).
Cannot tell: whether alpha and beta stay what they are beyond the workers that were measured (other switches, other algorithms).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from assay.stats.groups.expected_maximum import slowest_of
from assay.stats.intervals.intervals import Floats, Interval, t_quantile

Array = NDArray[np.float64]
Seconds = Callable[[float], float]  # seconds of communication at so many workers

LEAST_POINTS: Final = 2  # worker counts: A and B are two
FARTHEST: Final = 1_000_000.0  # workers up to which a shortest step is looked for
GRID: Final = 400  # places of that search, equally far apart as logarithms
RISE: Final = 0.20  # of the mean of a Karp-Flatt series, from which on it counts as rising over the measured range
SHARE: Final = 0.10  # of a step: with less lost, nothing limits
BOTH: Final = 0.5  # of the larger part, from which on the smaller one is named too


@dataclass(frozen=True, kw_only=True)
class Curve:
    """The model with everything known. Times in seconds."""

    serial_s: float  # A
    parallel_s: float  # B
    total: Seconds = field(repr=False)  # c(p)
    hideable_s: float = 0.0  # H
    spread: float = 0.0  # of the workers: see `slowest_of`
    weak: bool = False
    free_serial: float | None = None  # s as a fit finds it that may fall below 0: where the truth is 0 half of them do

    @property
    def one_s(self) -> float:
        """T1: a step on one worker."""
        return self.serial_s + self.parallel_s

    @property
    def serial(self) -> float:
        """s: the share of T1 that does not get shorter."""
        return self.serial_s / self.one_s

    @property
    def free(self) -> float:
        """s, where it was fitted without being held above 0."""
        return self.serial if self.free_serial is None else self.free_serial

    def compute_s(self, workers: float) -> float:
        """What the slowest worker computes."""
        share = 1.0 if self.weak else workers
        return slowest_of(workers, self.spread) * (self.serial_s + self.parallel_s / share)

    def exposed_s(self, workers: float) -> float:
        """Communication that lengthens the step."""
        return max(0.0, self.total(workers) - self.hideable_s / (1.0 if self.weak else workers))

    def at(self, workers: float) -> float:
        """T(p)."""
        return self.compute_s(workers) + self.exposed_s(workers)

    def speedup(self, workers: float) -> float:
        """T1 / T(p); of weak scaling the work of p workers in the time of one's, p T1 / T(p)."""
        return (workers if self.weak else 1.0) * self.one_s / self.at(workers)

    def scaled(self, workers: float) -> float:
        """Were the work to grow with the workers: (s + (1 - s) p) T1 / (m T1 + exposed); Gustafson's without communication."""
        exposed = max(0.0, self.total(workers) - self.hideable_s)
        grown = self.serial + (1.0 - self.serial) * workers
        return grown * self.one_s / (slowest_of(workers, self.spread) * self.one_s + exposed)

    def fastest(self, limit: float = FARTHEST) -> int | None:
        """The whole number of workers at which a step is shortest: one more makes it longer.  None: not below `limit`."""
        if self.weak:
            return None
        places = np.unique(np.round(np.geomspace(1.0, limit, GRID)))
        times = [self.at(float(p)) for p in places]
        best = int(np.argmin(times))
        if best == len(places) - 1:
            return None
        low, high = int(places[max(best - 1, 0)]), int(places[best + 1])
        while high - low > 2:  # T falls, then rises, between the two
            third = (high - low) // 3
            left, right = low + third, high - third
            low, high = (low, right) if self.at(left) <= self.at(right) else (left, high)
        return min(range(low, high + 1), key=self.at)


@dataclass(frozen=True, kw_only=True)
class Fitted:
    """One curve per block, and what they leave over. `times` and `residuals` (of logarithms) of shape [blocks, points]."""

    workers: Array
    times: Array
    curves: tuple[Curve, ...]

    @property
    def blocks(self) -> int:
        """How many."""
        return len(self.curves)

    @property
    def residuals(self) -> Array:
        """ln measured - ln model."""
        model = np.array([[curve.at(float(p)) for p in self.workers] for curve in self.curves])
        return np.asarray(np.log(self.times) - np.log(model))

    @property
    def middle(self) -> Curve:
        """The blocks' curves in one: geometric means of their parts, for drawing."""
        first = self.curves[0]
        serial, one = (np.mean([c.serial for c in self.curves]), np.exp(np.mean([math.log(c.one_s) for c in self.curves])))
        return Curve(
            serial_s=float(serial * one),
            parallel_s=float((1.0 - serial) * one),
            hideable_s=first.hideable_s,
            spread=first.spread,
            weak=first.weak,
            total=lambda p: float(np.mean([c.total(p) for c in self.curves])),
        )


def fit(
    workers: Floats,
    times: Array,
    totals: Sequence[Seconds],
    *,
    hideable_s: Floats | float = 0.0,
    slowest: Floats | None = None,
    spread: float = 0.0,
    weak: bool = False,
) -> Fitted:
    """Fit A and B of every block.

    `times` [blocks, points]: seconds of a step; `totals`: c(p) of each block; `slowest` [points]: m(p) as measured (default: from
    `spread`, which also carries it to other p).  Weak scaling: everything is counted as parallel.

    Raises:
        ValueError: fewer than two different worker counts, or a time that is not above 0.
    """
    p, t = np.asarray(workers, dtype=np.float64), np.asarray(times, dtype=np.float64)
    if t.ndim != 2 or t.shape != (len(totals), len(p)):
        raise ValueError(f"times must have one row per block and one column per worker count, not the shape {t.shape}")
    if len(np.unique(p)) < (1 if weak else LEAST_POINTS):
        raise ValueError(f"serial and parallel work can be told apart with {LEAST_POINTS} worker counts, not {len(p)}")
    if not (np.all(np.isfinite(t)) and np.all(t > 0.0)):
        raise ValueError("every time must be finite and above 0")
    m = np.array([slowest_of(x, spread) for x in p]) if slowest is None else np.asarray(slowest, dtype=np.float64)
    hidden = np.broadcast_to(np.asarray(hideable_s, dtype=np.float64), (len(totals),))
    curves = []
    for own, total, h in zip(t, totals, hidden.tolist(), strict=True):
        exposed = np.array([max(0.0, total(float(x)) - h / (1.0 if weak else float(x))) for x in p])
        a, b, free = _parts(p, own, own - exposed, m, weak=weak)
        curves.append(Curve(serial_s=a, parallel_s=b, total=total, hideable_s=h, spread=spread, weak=weak, free_serial=free))
    return Fitted(workers=p, times=t, curves=tuple(curves))


def _parts(p: Array, t: Array, left: Array, m: Array, *, weak: bool) -> tuple[float, float, float | None]:
    """A and B of `left` = m (A + B / p), by errors relative to t; neither below 0, not both 0.  And A / (A + B) were there no bounds."""
    columns = [m / t] if weak else [m / t, m / p / t]
    found, *_ = np.linalg.lstsq(np.column_stack(columns), left / t, rcond=None)
    if weak:
        return 0.0, max(float(found[0]), 1e-9 * float(t.min())), None
    free = float(found[0] / found.sum()) if found.sum() > 0.0 else None
    if min(found) >= 0.0:
        return float(found[0]), float(found[1]), free
    alone = [max(0.0, float((column @ (left / t)) / (column @ column))) for column in columns]
    misses = [float(np.sum((left / t - value * column) ** 2)) for value, column in zip(alone, columns, strict=True)]
    if max(alone) <= 0.0:  # all of it would be communication
        return 0.0, 1e-9 * float(t.max()), free
    return (alone[0], 0.0, free) if misses[0] < misses[1] else (0.0, alone[1], free)


# ---------------------------------------------------------------------------------------------------------- predictions


Part = tuple[float, float]  # a variance and its degrees of freedom


def predict(
    fitted: Fitted,
    workers: float,
    confidence: float,
    *,
    launches: int = 1,
    others: Sequence[Fitted] = (),
    what: Callable[[Curve, float], float] = Curve.at,
) -> Interval:
    """T(p) of the mean of so many further launches (0: of the curve itself), with its interval.  One block bounds nothing.

    `others`: the same fits with the alpha and beta of one launch each, where these are not the blocks' own: their scatter is added.
    `what`: another positive function of a curve than T, at `workers`.
    """
    value, parts = _of_curves(fitted, others, lambda curve: math.log(what(curve, workers)))
    if fitted.blocks < 2:
        return Interval(value=math.exp(value), low=0.0, high=math.inf)
    half = _half([*parts, *_luck(fitted, launches), *_misfit(fitted)], confidence)
    with np.errstate(over="ignore"):
        return Interval(value=math.exp(value), low=math.exp(value - half), high=float(np.exp(value + half)))


def parameter(fitted: Fitted, confidence: float, what: Callable[[Curve], float], others: Sequence[Fitted] = ()) -> Interval:
    """A property of the curves, with the interval of its mean over the blocks.  One block bounds nothing."""
    value, parts = _of_curves(fitted, others, what)
    half = _half(parts, confidence) if fitted.blocks > 1 else math.inf
    return Interval(value=value, low=value - half, high=value + half)


def _of_curves(fitted: Fitted, others: Sequence[Fitted], what: Callable[[Curve], float]) -> tuple[float, list[Part]]:
    own = [what(curve) for curve in fitted.curves]
    parts = [(float(np.var(own, ddof=1)) / len(own), float(len(own) - 1))] if len(own) > 1 else []
    if len(others) > 1:
        means = [float(np.mean([what(curve) for curve in one.curves])) for one in others]
        parts.append((float(np.var(means, ddof=1)) / len(means), float(len(means) - 1)))
    return float(np.mean(own)), parts


def _luck(fitted: Fitted, launches: int) -> list[Part]:
    """How much the mean of so many launches scatters."""
    if not launches:
        return []
    own = float(np.mean(np.var(np.log(fitted.times), axis=0, ddof=1)))
    return [(own / launches, float(len(fitted.workers) * (fitted.blocks - 1)))]


def _misfit(fitted: Fitted) -> list[Part]:
    """What the model misses at the measured p, beyond the luck of the launches there."""
    unknown = len(fitted.workers) - (1 if fitted.curves[0].weak else 2)
    if unknown < 1:
        return []
    means = fitted.residuals.mean(axis=0)
    within = float(np.mean(np.var(fitted.residuals, axis=0, ddof=1))) / fitted.blocks
    return [(max(0.0, float(means @ means) / unknown - within), float(unknown))]


def _half(parts: Sequence[Part], confidence: float) -> float:
    """Half the width of a t interval of a sum of variances, by Welch and Satterthwaite."""
    variance = sum(part for part, _ in parts)
    if variance <= 0.0:
        return 0.0
    df = variance**2 / sum(part**2 / free for part, free in parts if part > 0.0)
    return t_quantile((1.0 + confidence) / 2.0, df) * math.sqrt(variance)


# ------------------------------------------------------------------------------------------------ what is it that limits?

Limit = Literal["nothing", "serial", "communication", "slowest", "serial and communication", "unexplained"]


@dataclass(frozen=True, kw_only=True)
class Division:
    """Where the time of a step goes at p workers, beyond T1 / p.  Seconds; they add up to `lost_s`."""

    workers: float
    lost_s: float  # T(p) - T1 / p
    serial_s: float
    communication_s: float
    slowest_s: float  # waiting for the slowest worker
    rest_s: float  # measured less model
    limit: Limit


def divide(curve: Curve, workers: float, measured_s: float) -> Division:
    """Divide what a step at p workers takes beyond T1 / p into the model's parts and what it does not explain."""
    ideal = curve.one_s / (1.0 if curve.weak else workers)
    serial = 0.0 if curve.weak else curve.serial_s * (1.0 - 1.0 / workers)
    communication = curve.exposed_s(workers)
    even = curve.serial_s + curve.parallel_s / (1.0 if curve.weak else workers)
    slowest = curve.compute_s(workers) - even
    lost = measured_s - ideal
    rest = lost - serial - communication - slowest
    return Division(
        workers=workers,
        lost_s=lost,
        serial_s=serial,
        communication_s=communication,
        slowest_s=slowest,
        rest_s=rest,
        limit=_limit(lost, measured_s, serial, communication, slowest, rest),
    )


def _limit(lost: float, whole: float, serial: float, communication: float, slowest: float, rest: float) -> Limit:
    if lost <= SHARE * whole:
        return "nothing"
    parts: dict[Limit, float] = {"serial": serial, "communication": communication, "slowest": slowest, "unexplained": rest}
    largest: Limit = max(parts, key=lambda name: parts[name])
    if largest in ("serial", "communication") and min(serial, communication) > BOTH * max(serial, communication):
        return "serial and communication"
    return largest


def trend(workers: Floats, fractions: Floats) -> Literal["flat", "rising", "falling", "unknown"]:
    """How a Karp-Flatt series goes: the slope over ln p, times the range of ln p, against the mean.  Needs three points."""
    p, e = np.asarray(workers, dtype=np.float64), np.asarray(fractions, dtype=np.float64)
    if len(np.unique(p)) < 3:
        return "unknown"
    x = np.log(p)
    slope = float(np.polyfit(x, e, 1)[0]) * float(np.ptp(x))
    level = max(float(np.mean(np.abs(e))), 1e-6)
    if abs(slope) <= RISE * level:
        return "flat"
    return "rising" if slope > 0 else "falling"
