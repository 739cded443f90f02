"""How much of a step is serial work and how much communication, and where does adding workers stop paying?

    T(p) = m(p) (A + B / p) + max(0, c(p) - H / p),    T1 = A + B,  s = A / T1            (strong scaling)
    T(p) = m(p) (A + B) + max(0, c(p) - H)             which cannot separate A from B    (weak scaling)

c(p) is not fitted but predicted from the alpha and beta of the same record (`fireassay.frames.links.network_probe`), so network time is
removed before the serial fraction is fitted.  H is how much computation can hide communication, in seconds of one worker (0: all
of it is exposed); m(p) is how much slower than the mean the slowest worker is, if measured (else 1), extended to other p as the
largest of lognormals (`fireassay.stats.groups.stragglers`).
A and B by least squares on relative errors, both at least 0, per block.  Prediction intervals are Student's t on logarithms, from
three variances with their degrees of freedom (Welch, Satterthwaite): the fits of the blocks, launch-to-launch variation of a new
launch, and the model's misfit at the measured p beyond that variation.
Sources: Amdahl (1967); Hockney (1994); Karp & Flatt (1990); Gustafson (1988); Satterthwaite (1946).
Cannot tell: whether alpha and beta hold beyond the measured workers (other switches, other algorithms).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from fireassay.stats.groups.stragglers import slowest_of
from fireassay.stats.intervals.intervals import Floats, Interval, t_quantile

Array = NDArray[np.float64]
Seconds = Callable[[float], float]  # workers -> seconds of communication

MIN_POINTS: Final = 2  # worker counts: two parameters, A and B
FARTHEST: Final = 1_000_000.0  # workers: end of the search for the shortest step
GRID: Final = 400  # points of that search, log-spaced
RISE: Final = 0.20  # of the mean of a Karp-Flatt series: a larger rise over the range counts as rising
SHARE: Final = 0.10  # of a step: a smaller loss is no limit
BOTH: Final = 0.5  # of the larger part: a larger second part is named too


@dataclass(frozen=True, kw_only=True)
class Curve:
    """The model with all parameters set.  Times in seconds."""

    serial_s: float  # A
    parallel_s: float  # B
    total: Seconds = field(repr=False)  # c(p)
    hideable_s: float = 0.0  # H
    spread: float = 0.0  # of the workers: see `slowest_of`
    weak: bool = False
    free_serial: float | None = None  # s without the bound at 0: if the true s is 0, half of the fits fall below

    @property
    def one_s(self) -> float:
        """T1: a step on one worker."""
        return self.serial_s + self.parallel_s

    @property
    def serial(self) -> float:
        """s: the serial share of T1."""
        return self.serial_s / self.one_s

    @property
    def free(self) -> float:
        """s, fitted without the bound at 0."""
        return self.serial if self.free_serial is None else self.free_serial

    def compute_s(self, workers: float) -> float:
        """Computation of the slowest worker."""
        share = 1.0 if self.weak else workers
        return slowest_of(workers, self.spread) * (self.serial_s + self.parallel_s / share)

    def exposed_s(self, workers: float) -> float:
        """Communication that lengthens the step."""
        return max(0.0, self.total(workers) - self.hideable_s / (1.0 if self.weak else workers))

    def at(self, workers: float) -> float:
        """T(p)."""
        return self.compute_s(workers) + self.exposed_s(workers)

    def speedup(self, workers: float) -> float:
        """T1 / T(p); for weak scaling p T1 / T(p)."""
        return (workers if self.weak else 1.0) * self.one_s / self.at(workers)

    def scaled(self, workers: float) -> float:
        """Scaled speedup, (s + (1 - s) p) T1 / (m T1 + exposed); Gustafson's law without communication."""
        exposed = max(0.0, self.total(workers) - self.hideable_s)
        grown = self.serial + (1.0 - self.serial) * workers
        return grown * self.one_s / (slowest_of(workers, self.spread) * self.one_s + exposed)

    def fastest(self, limit: float = FARTHEST) -> int | None:
        """Number of workers with the shortest step: one more makes it longer.  None: not below `limit`."""
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
    """One curve per block, and the residuals.  `times` and `residuals` (of logarithms) of shape [blocks, points]."""

    workers: Array
    times: Array
    curves: tuple[Curve, ...]

    @property
    def blocks(self) -> int:
        """Number of blocks."""
        return len(self.curves)

    @property
    def residuals(self) -> Array:
        """ln measured - ln model."""
        model = np.array([[curve.at(float(p)) for p in self.workers] for curve in self.curves])
        return np.asarray(np.log(self.times) - np.log(model))

    @property
    def middle(self) -> Curve:
        """The geometric mean of the blocks' curves, for drawing."""
        first = self.curves[0]
        serial, one_s = (np.mean([c.serial for c in self.curves]), np.exp(np.mean([math.log(c.one_s) for c in self.curves])))
        return Curve(
            serial_s=float(serial * one_s),
            parallel_s=float((1.0 - serial) * one_s),
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
    `spread`, which also extends it to other p).  Weak scaling: all work counts as parallel.

    Raises:
        ValueError: fewer than two different worker counts, or a time that is not above 0.
    """
    p, t = np.asarray(workers, dtype=np.float64), np.asarray(times, dtype=np.float64)
    if t.ndim != 2 or t.shape != (len(totals), len(p)):
        raise ValueError(f"times must have one row per round and one column per worker count, not the shape {t.shape}")
    if len(np.unique(p)) < (1 if weak else MIN_POINTS):
        raise ValueError(f"separating serial and parallel work needs {MIN_POINTS} worker counts, not {len(p)}")
    if not (np.all(np.isfinite(t)) and np.all(t > 0.0)):
        raise ValueError("every time must be finite and above 0")
    m = np.array([slowest_of(x, spread) for x in p]) if slowest is None else np.asarray(slowest, dtype=np.float64)
    hidden = np.broadcast_to(np.asarray(hideable_s, dtype=np.float64), (len(totals),))
    curves = []
    for row, total, h in zip(t, totals, hidden.tolist(), strict=True):
        exposed = np.array([max(0.0, total(float(x)) - h / (1.0 if weak else float(x))) for x in p])
        a, b, free = _parts(p, row, row - exposed, m, weak=weak)
        curves.append(Curve(serial_s=a, parallel_s=b, total=total, hideable_s=h, spread=spread, weak=weak, free_serial=free))
    return Fitted(workers=p, times=t, curves=tuple(curves))


def _parts(p: Array, t: Array, left: Array, m: Array, *, weak: bool) -> tuple[float, float, float | None]:
    """A and B of `left` = m (A + B / p), by errors relative to t; both at least 0, not both 0.  And A / (A + B) without bounds."""
    columns = [m / t] if weak else [m / t, m / p / t]
    coefficients, *_ = np.linalg.lstsq(np.column_stack(columns), left / t, rcond=None)
    if weak:
        return 0.0, max(float(coefficients[0]), 1e-9 * float(t.min())), None
    free = float(coefficients[0] / coefficients.sum()) if coefficients.sum() > 0.0 else None
    if min(coefficients) >= 0.0:
        return float(coefficients[0]), float(coefficients[1]), free
    alone = [max(0.0, float((column @ (left / t)) / (column @ column))) for column in columns]
    misses = [float(np.sum((left / t - value * column) ** 2)) for value, column in zip(alone, columns, strict=True)]
    if max(alone) <= 0.0:  # all time is communication
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
    """T(p) of the mean of `launches` further launches (0: of the curve itself), with its interval; one block is unbounded.

    `others`: the same fits with the alpha and beta of one launch each, if these are not per block; adds their scatter.
    `what`: another positive function of a curve at `workers`, instead of T.
    """
    value, parts = _of_curves(fitted, others, lambda curve: math.log(what(curve, workers)))
    if fitted.blocks < 2:
        return Interval(value=math.exp(value), low=0.0, high=math.inf)
    half = _half([*parts, *_luck(fitted, launches), *_misfit(fitted)], confidence)
    with np.errstate(over="ignore"):
        return Interval(value=math.exp(value), low=math.exp(value - half), high=float(np.exp(value + half)))


def parameter(fitted: Fitted, confidence: float, what: Callable[[Curve], float], others: Sequence[Fitted] = ()) -> Interval:
    """A property of the curves, with the interval of its mean over blocks; one block is unbounded."""
    value, parts = _of_curves(fitted, others, what)
    half = _half(parts, confidence) if fitted.blocks > 1 else math.inf
    return Interval(value=value, low=value - half, high=value + half)


def _of_curves(fitted: Fitted, others: Sequence[Fitted], quantity: Callable[[Curve], float]) -> tuple[float, list[Part]]:
    values = [quantity(curve) for curve in fitted.curves]
    parts = [(float(np.var(values, ddof=1)) / len(values), float(len(values) - 1))] if len(values) > 1 else []
    if len(others) > 1:
        means = [float(np.mean([quantity(curve) for curve in other.curves])) for other in others]
        parts.append((float(np.var(means, ddof=1)) / len(means), float(len(means) - 1)))
    return float(np.mean(values)), parts


def _luck(fitted: Fitted, launches: int) -> list[Part]:
    """Variance of the mean of `launches` launches."""
    if not launches:
        return []
    variance = float(np.mean(np.var(np.log(fitted.times), axis=0, ddof=1)))
    return [(variance / launches, float(len(fitted.workers) * (fitted.blocks - 1)))]


def _misfit(fitted: Fitted) -> list[Part]:
    """Model misfit at the measured p beyond launch-to-launch variation."""
    unknown = len(fitted.workers) - (1 if fitted.curves[0].weak else 2)
    if unknown < 1:
        return []
    means = fitted.residuals.mean(axis=0)
    within = float(np.mean(np.var(fitted.residuals, axis=0, ddof=1))) / fitted.blocks
    return [(max(0.0, float(means @ means) / unknown - within), float(unknown))]


def _half(parts: Sequence[Part], confidence: float) -> float:
    """Half-width of a t interval of a sum of variances (Welch, Satterthwaite)."""
    variance = sum(part for part, _ in parts)
    if variance <= 0.0:
        return 0.0
    df = variance**2 / sum(part**2 / free for part, free in parts if part > 0.0)
    return t_quantile((1.0 + confidence) / 2.0, df) * math.sqrt(variance)


# ------------------------------------------------------------------------------------------------ what is it that limits?

Limit = Literal["nothing", "serial", "communication", "slowest", "serial and communication", "unexplained"]


@dataclass(frozen=True, kw_only=True)
class Division:
    """Where the time of a step at p workers goes, beyond T1 / p.  Seconds; the parts add up to `lost_s`."""

    workers: float
    lost_s: float  # T(p) - T1 / p
    serial_s: float
    communication_s: float
    slowest_s: float  # waiting for the slowest worker
    rest_s: float  # measured less model
    limit: Limit


def divide(curve: Curve, workers: float, measured_s: float) -> Division:
    """Split the time of a step at p workers beyond T1 / p into the model's parts and a remainder."""
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


def _limit(lost: float, total: float, serial: float, communication: float, slowest: float, rest: float) -> Limit:
    if lost <= SHARE * total:
        return "nothing"
    parts: dict[Limit, float] = {"serial": serial, "communication": communication, "slowest": slowest, "unexplained": rest}
    largest: Limit = max(parts, key=lambda name: parts[name])
    if largest in ("serial", "communication") and min(serial, communication) > BOTH * max(serial, communication):
        return "serial and communication"
    return largest


def trend(workers: Floats, fractions: Floats) -> Literal["flat", "rising", "falling", "unknown"]:
    """Direction of a Karp-Flatt series: slope over ln p, times the range of ln p, relative to the mean.  Needs three points."""
    p, e = np.asarray(workers, dtype=np.float64), np.asarray(fractions, dtype=np.float64)
    if len(np.unique(p)) < 3:
        return "unknown"
    x = np.log(p)
    slope = float(np.polyfit(x, e, 1)[0]) * float(np.ptp(x))
    level = max(float(np.mean(np.abs(e))), 1e-6)
    if abs(slope) <= RISE * level:
        return "flat"
    return "rising" if slope > 0 else "falling"
