"""Which law do the measured throughputs follow?

    Amdahl     X(N) = g N / (1 + a (N - 1))                         g: throughput of one worker, a: contention
    USL        X(N) = g N / (1 + a (N - 1) + b N (N - 1))           b: coherency; peak at sqrt((1 - a)/b)
    Gustafson  X(N) = g (N - s (N - 1))                             weak scaling: s, the serial share on N workers

Least squares on every launch, never on means, with 0 <= a, b, s <= 1 and g > 0; errors are constant in X, or proportional
(least squares on logarithms, where each block may have its own level).  Standard errors from the Jacobian, t intervals with
n - p degrees of freedom (R's `usl` uses n - 1; its 95 % intervals cover 86 %).  A parameter on its bound has no standard
error; its interval comes from the profile of the sum of squares.  The law is chosen by
AICc = n ln(RSS/n) + 2K + 2K(K+1)/(n-K-1), K = p + 1.
Sources: Amdahl (1967); Gustafson (1988); Gunther (1993, 2007); Hurvich & Tsai (1989).
Cannot tell: the cause, or effects that set in beyond the data (`scaling_predictions`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import combinations
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from fireassay.stats.intervals.intervals import Floats, t_quantile
from fireassay.stats.solvers import minimum, root

Law = Literal["amdahl", "usl", "gustafson"]
Errors = Literal["equal", "proportional"]
Array = NDArray[np.float64]

UNDETERMINED: Final = "these points do not determine a law"
LAW_NAMES: Final[dict[Law, str]] = {"amdahl": "Amdahl's law", "usl": "the Universal Scalability Law", "gustafson": "Gustafson's law"}
PARAMETERS: Final[dict[Law, tuple[str, ...]]] = {
    "amdahl": ("gamma", "alpha"),
    "usl": ("gamma", "alpha", "beta"),
    "gustafson": ("gamma", "serial"),
}
STRONG: Final[tuple[Law, ...]] = ("amdahl", "usl")  # simplest first: it wins a tie
WEAK: Final[tuple[Law, ...]] = ("gustafson", "usl")
NO_RESIDUAL: Final = 1e-20  # of the sum of squares: rounding error
PROFILE: Final = 1e-9  # of a parameter on its bound: where its interval ends


@dataclass(frozen=True, kw_only=True)
class Points:
    """Throughputs X (any unit, above 0) at N workers, one per launch, all of shape [n]; made by `points`.

    `blocks` (shape [n]): which launches ran together.  With proportional errors each block has its own level, which costs one
    degree of freedom per block but the first.  `weights` (shape [n]): 1 / variance, up to a common factor.
    """

    workers: Array
    throughputs: Array
    blocks: NDArray[np.int64] | None = None
    weights: Array | None = None
    errors: Errors = "equal"

    @property
    def levels(self) -> tuple[float, ...]:
        """The distinct N, ascending."""
        return tuple(float(n) for n in np.unique(self.workers))

    @property
    def spent(self) -> int:
        """Degrees of freedom spent on block levels."""
        return len(np.unique(self.blocks)) - 1 if self.blocks is not None and self.errors == "proportional" else 0

    def taken(self, rows: NDArray[np.bool_] | NDArray[np.int64]) -> Points:
        """The selected launches."""
        blocks = None if self.blocks is None else self.blocks[rows]
        weights = None if self.weights is None else self.weights[rows]
        return replace(self, workers=self.workers[rows], throughputs=self.throughputs[rows], blocks=blocks, weights=weights)


@dataclass(frozen=True, kw_only=True)
class Parameter:
    """A fitted parameter; `standard_error` is None if the value lies on its bound.

    The interval is computed when it is read: a profile takes a hundred fits, and few fits are asked for theirs.
    """

    name: str
    value: float
    standard_error: float | None
    ends: Callable[[], tuple[float, float]] = field(repr=False, compare=False)

    @cached_property
    def interval(self) -> tuple[float, float]:
        """The lowest and the highest value of the interval."""
        return self.ends()

    @property
    def low(self) -> float:
        """The lowest value of the interval."""
        return self.interval[0]

    @property
    def high(self) -> float:
        """The highest value of the interval."""
        return self.interval[1]

    @property
    def on_bound(self) -> bool:
        """True if the value lies on the bound of its range."""
        return self.standard_error is None


@dataclass(frozen=True, kw_only=True)
class Fit:
    """A fitted law.  `covariance` covers all parameters, zero for those on a bound; `df` = n - p - block levels."""

    law: Law
    parameters: tuple[Parameter, ...]
    covariance: Array
    residual_error: float  # sqrt(RSS / df), in X, or in log X for proportional errors
    df: int
    aicc: float  # inf with too few launches
    n: int
    levels: tuple[float, ...]
    errors: Errors
    confidence: float

    @property
    def values(self) -> tuple[float, ...]:
        """The parameters' values, gamma first."""
        return tuple(p.value for p in self.parameters)

    def parameter(self, name: str) -> Parameter:
        """A parameter by name; ValueError if the law has none of that name."""
        parameter = next((p for p in self.parameters if p.name == name), None)
        if parameter is None:
            raise ValueError(f"{LAW_NAMES[self.law]} has no parameter {name}, only {', '.join(PARAMETERS[self.law])}")
        return parameter

    def at(self, workers: float) -> float:
        """The fitted throughput at `workers`, without checking the range: see `predict`."""
        return float(throughput_curve(self.law, np.array([workers]), self.values)[0])

    def turning_point(self) -> float | None:
        """N at which the fitted curve is highest, None if it never turns.  Not yet a peak: see `peak`."""
        if self.law != "usl" or self.values[2] <= 0.0 or self.values[1] >= 1.0:
            return None
        return math.sqrt((1.0 - self.values[1]) / self.values[2])


@dataclass(frozen=True, kw_only=True)
class Choice:
    """The law with the smallest AICc, and all fits; the first law if AICc is undefined."""

    chosen: Fit
    fits: tuple[Fit, ...]
    sentence: str


@dataclass(frozen=True, kw_only=True)
class Refused:
    """Why there is no such number, in one sentence."""

    reason: Literal["insufficient", "undefined", "refused"]
    sentence: str


def points(
    workers: Floats, throughputs: Floats, *, blocks: Sequence[int] | None = None, weights: Floats | None = None, errors: Errors = "equal"
) -> Points:
    """Validated points: equal lengths, N at least 1, X and weights finite and above 0, else ValueError."""
    n, x = np.asarray(workers, dtype=np.float64), np.asarray(throughputs, dtype=np.float64)
    w = None if weights is None else np.asarray(weights, dtype=np.float64)
    b = None if blocks is None else np.asarray(blocks, dtype=np.int64)
    if n.ndim != 1 or len(n) == 0 or any(other is not None and other.shape != n.shape for other in (x, w, b)):
        raise ValueError("workers, throughputs, rounds and weights must be lists of one length, of at least one launch")
    if not (np.all(np.isfinite(n)) and np.all(n >= 1.0)):
        raise ValueError("every worker count must be finite and at least 1")
    for name, values in (("throughput", x), ("weight", w)):
        if values is not None and not (np.all(np.isfinite(values)) and np.all(values > 0.0)):
            raise ValueError(f"every {name} must be finite and above 0")
    return Points(workers=n, throughputs=x, blocks=b, weights=w, errors=errors)


def fit(law: Law, data: Points, confidence: float = 0.95) -> Fit:
    """Least squares within the bounds, with t intervals.

    Raises:
        ValueError: fewer distinct N than parameters, or no degree of freedom left (n - p - block levels < 1).
    """
    names = PARAMETERS[law]
    if len(data.levels) < len(names):
        raise ValueError(f"{LAW_NAMES[law]} needs {len(names)} different worker counts, not {len(data.levels)}")
    df = len(data.workers) - len(names) - data.spent
    if df < 1:
        raise ValueError(f"{LAW_NAMES[law]} needs at least {len(names) + data.spent + 1} launches")
    values, free, rss = _solve(law, data)
    variance = rss / df
    covariance = np.zeros((len(names), len(names)))
    jacobian = _residual_jacobian(law, data, values)[:, free]
    covariance[np.ix_(free, free)] = _inverse_square(jacobian) * variance
    t = t_quantile((1.0 + confidence) / 2.0, df)
    limit = rss + variance * t**2 + NO_RESIDUAL
    errors = {i: math.sqrt(float(covariance[i, i])) for i in free}
    parameters = (
        Parameter(
            name=name,
            value=values[i],
            standard_error=errors.get(i),
            ends=partial(_student, i, values[i], t * errors[i]) if i in errors else partial(_profile, law, data, i, values[i], limit),
        )
        for i, name in enumerate(names)
    )
    return Fit(
        law=law,
        parameters=tuple(parameters),
        covariance=covariance,
        residual_error=math.sqrt(variance),
        df=df,
        aicc=_aicc(rss, len(data.workers), len(names) + 1 + data.spent),
        n=len(data.workers),
        levels=data.levels,
        errors=data.errors,
        confidence=confidence,
    )


def _student(index: int, value: float, margin: float) -> tuple[float, float]:
    """A t interval, cut to the parameter's range: gamma, the first, has no upper bound."""
    return max(value - margin, 0.0), value + margin if index == 0 else min(value + margin, 1.0)


def choose(data: Points, laws: Sequence[Law] = STRONG, confidence: float = 0.95) -> Choice | Refused:
    """Fit every law that the points can contradict (more distinct N than parameters) and take the smallest AICc."""
    able = [law for law in laws if len(data.levels) > len(PARAMETERS[law])]
    able = [law for law in able if len(data.workers) - len(PARAMETERS[law]) - data.spent >= 1]
    if not able:
        least = min(len(PARAMETERS[law]) for law in laws) + 1
        return Refused(reason="insufficient", sentence=f"a law can be checked with at least {least} worker counts, not {len(data.levels)}")
    try:
        fits = tuple(fit(law, data, confidence) for law in able)
    except np.linalg.LinAlgError:
        return Refused(reason="refused", sentence=UNDETERMINED)
    except ValueError as error:
        return Refused(reason="refused", sentence=str(error))
    best = min(fits, key=lambda fitted: fitted.aicc)  # min keeps the first of equals, the simplest
    return Choice(chosen=best, fits=fits, sentence=_choice_sentence(best, fits, laws))


def _choice_sentence(best: Fit, fits: Sequence[Fit], laws: Sequence[Law]) -> str:
    others = [law for law in laws if law not in {fitted.law for fitted in fits}]
    missing = "".join(f"; {LAW_NAMES[law]} needs at least {len(PARAMETERS[law]) + 1} worker counts" for law in others)
    if len(fits) == 1:
        return f"{LAW_NAMES[best.law]}, the only one that {len(best.levels)} worker counts can check{missing}"
    if math.isinf(best.aicc) and best.aicc > 0:
        return f"{LAW_NAMES[best.law]}, the simplest: {best.n} points are too few for AICc{missing}"
    scores = ", ".join(f"{fitted.law} {_score(fitted.aicc)}" for fitted in fits)
    few = "; with fewer than 10 points the penalty decides" if best.n < 10 else ""
    return f"{LAW_NAMES[best.law]}, by AICc ({scores}; {best.n} points{few}){missing}"


def _score(aicc: float) -> str:
    return "too few points" if math.isinf(aicc) and aicc > 0 else "exact" if math.isinf(aicc) else f"{aicc:.2f}"


def throughput_curve(law: Law, n: Array, values: Sequence[float]) -> Array:
    """X(N) of shape [n]."""
    if law == "gustafson":
        return np.asarray(values[0] * (n - values[1] * (n - 1.0)), dtype=np.float64)
    return np.asarray(values[0] * n / _denominator(n, values), dtype=np.float64)


def _denominator(n: Array, values: Sequence[float]) -> Array:
    beta = values[2] if len(values) > 2 else 0.0
    return np.asarray(1.0 + values[1] * (n - 1.0) + beta * n * (n - 1.0), dtype=np.float64)


def curve_jacobian(law: Law, n: Array, values: Sequence[float]) -> Array:
    """dX/d(parameter), shape [n, p]."""
    if law == "gustafson":
        return np.column_stack([n - values[1] * (n - 1.0), -values[0] * (n - 1.0)])
    d = _denominator(n, values)
    by_alpha = -values[0] * n * (n - 1.0) / d**2
    return np.column_stack([n / d, by_alpha, by_alpha * n][: len(values)])


def block_levels(data: Points, of: Points) -> Array:
    """Divisors that bring the throughputs of `of` to one level over all blocks of `data`: 1 without blocks.

    Blocks must hold the same N; only then is a block's mean logarithm its level and not its choice of N.
    """
    if data.blocks is None or of.blocks is None or data.errors != "proportional":
        return np.ones(len(of.workers))
    logs = np.log(data.throughputs)
    level = {int(b): float(logs[data.blocks == b].mean()) for b in np.unique(data.blocks)}
    whole = float(np.mean(list(level.values())))
    return np.exp([level.get(int(b), whole) - whole for b in of.blocks])


def _target(data: Points) -> tuple[Array, Array]:
    """The fitted quantity (X, or log X with block levels removed) and the square roots of the weights."""
    x = data.throughputs / block_levels(data, data)
    y = np.log(x) if data.errors == "proportional" else x
    return y, np.ones(len(y)) if data.weights is None else np.sqrt(data.weights / data.weights.mean())


def _fitted(law: Law, data: Points, values: Sequence[float]) -> Array:
    curve = throughput_curve(law, data.workers, values)
    return np.log(np.maximum(curve, 1e-300)) if data.errors == "proportional" else curve


def _residual_jacobian(law: Law, data: Points, values: Sequence[float]) -> Array:
    """Derivatives of the weighted fitted values, shape [n, p]."""
    jacobian = curve_jacobian(law, data.workers, values)
    if data.errors == "proportional":
        jacobian = jacobian / np.maximum(throughput_curve(law, data.workers, values), 1e-300)[:, np.newaxis]
    return np.asarray(jacobian * _target(data)[1][:, np.newaxis], dtype=np.float64)


def _inverse_square(jacobian: Array) -> Array:
    """(J'J)^-1, from columns scaled to length 1, as they differ by many powers of ten."""
    lengths = np.linalg.norm(jacobian, axis=0)
    lengths = np.where(lengths > 0.0, lengths, 1.0)
    inverse = np.linalg.pinv(jacobian / lengths)
    return np.asarray(inverse @ inverse.T / np.outer(lengths, lengths), dtype=np.float64)


def _solve(law: Law, data: Points) -> tuple[tuple[float, ...], list[int], float]:
    """Values, indices of the free ones (not on a bound), and the weighted residual sum of squares.

    The unbounded optimum if allowed; else the best with some parameters fixed on a bound, so that a parameter is either exactly
    on its bound or clearly off it; an interior-point solver cannot tell.
    """
    p = len(PARAMETERS[law])
    inner = _on(law, data, dict[int, float]())
    if inner is not None and _allowed(inner[0]):
        return inner[0], list(range(p)), inner[1]
    optima = []
    for count in range(1, p):
        for fixed in combinations(range(1, p), count):
            for ends in np.ndindex(*(2,) * count):
                bounded = {i: float(end) for i, end in zip(fixed, ends, strict=True)}
                optimum = _on(law, data, bounded)
                if optimum is not None and _allowed(optimum[0]):
                    optima.append((optimum[1], tuple(i for i in range(p) if i not in bounded), optimum[0]))
    if not optima:  # too badly scaled for any search to converge
        raise ValueError(
            f"{LAW_NAMES[law]} cannot be fitted to throughputs from {data.throughputs.min():.3g} to {data.throughputs.max():.3g}"
        )
    rss, free, values = min(optima)
    return values, list(free), rss


def _allowed(values: Sequence[float]) -> bool:
    return values[0] > 0.0 and all(0.0 <= v <= 1.0 for v in values[1:])


def _on(law: Law, data: Points, bounded: dict[int, float]) -> tuple[tuple[float, ...], float] | None:
    """The optimum with some parameters fixed, and its residual sum of squares; None if the search fails."""
    y, weights = _target(data)
    p = len(PARAMETERS[law])
    free = [i for i in range(p) if i not in bounded]

    def whole(part: Array) -> list[float]:
        values = [bounded.get(i, 0.0) for i in range(p)]
        for i, value in zip(free, part, strict=True):
            values[i] = float(value)
        return values

    start = _start(law, data)
    with np.errstate(all="ignore"):
        part = minimum(
            lambda part: (_fitted(law, data, whole(part)) - y) * weights,
            lambda part: _residual_jacobian(law, data, whole(part))[:, free],
            np.array([start[i] for i in free]),
        )
    if part is None:
        return None
    values = whole(part)
    residuals = (y - _fitted(law, data, values)) * weights
    rss = float(residuals @ residuals)
    return (tuple(values), rss) if math.isfinite(rss) else None


def _start(law: Law, data: Points) -> list[float]:
    """N/X is linear in (1, N - 1, N(N - 1)) / gamma, X itself for Gustafson: a linear fit starts near the optimum."""
    n, x = data.workers, data.throughputs / block_levels(data, data)
    if law == "gustafson":
        (g, slope), *_ = np.linalg.lstsq(np.column_stack([np.ones_like(n), n - 1.0]), x, rcond=None)
        g = max(float(g), 1e-3 * float(x[0]))
        return [g, min(max(1.0 - float(slope) / g, 0.0), 0.9)]
    columns = np.column_stack([np.ones_like(n), n - 1.0, n * (n - 1.0)])[:, : len(PARAMETERS[law])]
    scale = x / n  # relative errors of N/X
    c, *_ = np.linalg.lstsq(columns * scale[:, np.newaxis], np.ones_like(n), rcond=None)
    g = 1.0 / float(c[0]) if c[0] > 0.0 else float(np.max(x / n))
    return [g, *(min(max(float(value) * g, 0.0), 0.9) for value in c[1:])]


def _profile(law: Law, data: Points, index: int, value: float, limit: float) -> tuple[float, float]:
    """How far a parameter on its bound can move until the best sum of squares exceeds `limit`."""

    def excess(other: float) -> float:
        return _best_rss(law, data, {index: other}) - limit

    far = 1.0 - value
    if excess(far) <= 0.0 or excess(value) > 0.0:  # nothing is excluded, or no search converges
        return 0.0, 1.0
    end = root(excess, value, far, tolerance=PROFILE)
    return min(value, end), max(value, end)


def _best_rss(law: Law, data: Points, bounded: dict[int, float]) -> float:
    """The smallest sum of squares with some parameters fixed and the others within their bounds."""
    p = len(PARAMETERS[law])
    rest = [i for i in range(1, p) if i not in bounded]
    tries = [bounded, *({**bounded, i: end} for i in rest for end in (0.0, 1.0))]
    optima = [optimum for optimum in (_on(law, data, each) for each in tries) if optimum is not None]
    allowed = [rss for values, rss in optima if _allowed(values)]
    return min(allowed, default=math.inf)


def _aicc(rss: float, n: int, k: int) -> float:
    """Infinite where n - K - 1 < 1; minus infinity for a perfect fit."""
    if n - k - 1 < 1:
        return math.inf
    if rss <= NO_RESIDUAL:
        return -math.inf
    return n * math.log(rss / n) + 2.0 * k + 2.0 * k * (k + 1) / (n - k - 1)
