"""Where do the measured throughputs peak, and how far can their law be extrapolated?

A peak is reported only if at least two measured N lie beyond it and X is significantly lower at the largest N; nothing is
predicted beyond twice the largest N, nor if the fit without the largest N misses it by more than 20 %.
The laws and their fit: `fireassay.stats.models.scaling_laws`.
Cannot tell: whether a law that fits holds beyond the data; its interval excludes effects that set in later.

How well does a job scale with its workers, and where is its ceiling?

S(p) = T(base)/T(p);  E = S/p (strong), T(base)/T(p) (weak);  Karp-Flatt e = (1/S - 1/p)/(1 - 1/p);
Amdahl's serial fraction s by least squares through the origin of (1/S - 1/p) = s (1 - 1/p);
Amdahl's speedup S(p) = 1/(s + (1 - s)/p), never above 1/s;  Gustafson's p - s (p - 1).
`p` is the number of workers relative to the base (1 for one worker or one node).
Sources: Amdahl (1967); Gustafson (1988); Karp & Flatt (1990).
Cannot tell: the cause.  Amdahl's fit attributes every loss to serial work; only a rising Karp-Flatt series points to
communication or imbalance.  A fit says nothing about worker counts far beyond the measured ones.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from fireassay.stats.intervals.intervals import Floats, Interval, mean_t, t_quantile
from fireassay.stats.models.scaling_laws import (
    LAW_NAMES,
    STRONG,
    UNDETERMINED,
    Choice,
    Fit,
    Law,
    Points,
    Refused,
    block_levels,
    choose,
    curve_jacobian,
    fit,
    throughput_curve,
)

FARTHEST: Final = 2.0  # times the largest measured N
WORST_MISS: Final = 0.20  # relative, of the largest N predicted from the smaller ones
MIN_BEYOND: Final = 2  # measured N beyond a peak
MIN_BESIDES: Final = 3  # measured N used to predict the largest


@dataclass(frozen=True, kw_only=True)
class Peak:
    """The number of workers with the highest throughput, and the significance of the fall beyond it."""

    workers: Interval
    p_value: float
    sentence: str


@dataclass(frozen=True, kw_only=True)
class HeldOut:
    """How well the other N predict the largest.

    `error` = predicted / measured - 1, with a t interval over the fit's error and that of the launches there.
    """

    law: Law
    workers: float
    predicted: float
    measured: float
    error: Interval
    sentence: str  # how the law was chosen


@dataclass(frozen=True, kw_only=True)
class Prediction:
    """The throughput of one more launch at `workers`, with its prediction interval."""

    workers: float
    throughput: Interval
    held_out: HeldOut | None  # None within the measured range


def peak(fitted: Fit, data: Points) -> Peak | Refused:
    """The peak of a USL fit to `data` if the data show it; otherwise the reason.

    The fall is tested one-sidedly between the launches at the largest N and those at the measured N nearest the fitted peak:
    paired in blocks, else Welch's t on logarithms.  Interval: t on the logarithm of the peak, by the delta method.
    """
    largest, turn = max(data.levels), fitted.turning_point()
    none = f"no peak up to N = {largest:g}"
    if turn is None:
        return Refused(reason="undefined", sentence=f"{none}: the fitted curve does not turn")
    beyond = [n for n in data.levels if n > turn]
    if len(beyond) < MIN_BEYOND:
        return Refused(
            reason="refused", sentence=f"{none}: fewer than {MIN_BEYOND} measured worker counts lie beyond where the fit would turn"
        )
    nearest = min((n for n in data.levels if n < largest), key=lambda n: abs(math.log(n / turn)))
    p_value = _fall(data, nearest, largest)
    if p_value is None:
        return Refused(
            reason="refused",
            sentence=f"no peak is shown up to N = {largest:g}: one launch for each worker count cannot show that "
            f"throughput at {largest:g} is lower than at {nearest:g}; measure more launches",
        )
    if p_value > 1.0 - fitted.confidence:
        return Refused(
            reason="refused",
            sentence=f"{none}: throughput there is not significantly lower than at {nearest:g} (one-sided p = {p_value:.2g})",
        )
    return Peak(
        workers=_peak_interval(fitted, turn),
        p_value=p_value,
        sentence=f"{len(beyond)} measured worker counts lie beyond it, and throughput at {largest:g} is lower than at "
        f"{nearest:g} (one-sided p = {p_value:.2g})",
    )


def held_out(data: Points, law: Law | None = None, laws: Sequence[Law] = STRONG, confidence: float = 0.95) -> HeldOut | Refused:
    """Fit without the largest N and predict it; without a `law`, use the one AICc prefers on the others."""
    largest = max(data.levels)
    rest, last = data.taken(data.workers < largest), data.taken(data.workers == largest)
    if len(rest.levels) < MIN_BESIDES:
        return Refused(
            reason="insufficient",
            sentence=f"predicting the largest worker count needs at least {MIN_BESIDES} smaller ones, not {len(rest.levels)}",
        )
    try:
        chosen = choose(rest, laws, confidence) if law is None else fit(law, rest, confidence)
    except np.linalg.LinAlgError:
        return Refused(reason="insufficient", sentence=UNDETERMINED)
    except ValueError as error:
        return Refused(reason="insufficient", sentence=str(error))
    if isinstance(chosen, Refused):
        return chosen
    fitted = chosen.chosen if isinstance(chosen, Choice) else chosen
    predicted = fitted.at(largest)
    measurements = last.throughputs / block_levels(rest, last)
    measured = float(np.exp(np.mean(np.log(measurements))) if data.errors == "proportional" else np.mean(measurements))
    return HeldOut(
        law=fitted.law,
        workers=largest,
        predicted=predicted,
        measured=measured,
        error=_miss(fitted, largest, measured, len(measurements)),
        sentence=chosen.sentence if isinstance(chosen, Choice) else LAW_NAMES[fitted.law],
    )


def _miss(fitted: Fit, workers: float, measured: float, launches: int) -> Interval:
    """predicted / measured - 1, where `measured` is the mean of `launches` launches."""
    mean = _prediction_interval(fitted, workers, launches)
    return Interval(value=mean.value / measured - 1.0, low=mean.low / measured - 1.0, high=mean.high / measured - 1.0)


def predict(fitted: Fit, data: Points, workers: float) -> Prediction | Refused:
    """Throughput of one more launch at `workers` with its prediction interval, or the reason for refusing.

    Refused beyond twice the largest measured N.  Beyond the largest, also refused if the fit without that N misses it by more
    than 20 % or is impossible, or beyond a peak that the data do not show.
    """
    if not (math.isfinite(workers) and workers >= 1.0):
        raise ValueError(f"the number of workers must be finite and at least 1, not {workers}")
    largest, held = max(fitted.levels), None
    if workers > FARTHEST * largest:
        return Refused(
            reason="refused",
            sentence=f"no prediction for N = {workers:g}: it lies beyond {FARTHEST * largest:g}, twice the largest "
            f"measured N = {largest:g}; measure closer to it",
        )
    if workers > largest:
        left_out = held_out(data, fitted.law, confidence=fitted.confidence)
        if isinstance(left_out, Refused):
            return Refused(reason="refused", sentence=f"no prediction for N = {workers:g}: {left_out.sentence}")
        if abs(left_out.error.value) > WORST_MISS:
            return Refused(
                reason="refused",
                sentence=f"no prediction for N = {workers:g}: without N = {largest:g} the fit misses it by "
                f"{abs(left_out.error.value):.0%}, more than {WORST_MISS:.0%}",
            )
        turn = fitted.turning_point()
        if turn is not None and workers > turn * (1.0 + 1e-9) and isinstance(peak(fitted, data), Refused):
            return Refused(
                reason="refused",
                sentence=f"no prediction for N = {workers:g}: there the fitted curve would fall, and the measured worker "
                "counts do not show that it does",
            )
        held = left_out
    return Prediction(workers=workers, throughput=_prediction_interval(fitted, workers), held_out=held)


def relative_curve(fitted: Fit, workers: Floats, base: float) -> tuple[Interval, ...]:
    """X(N) / X(base) of the fit for each N, with a t interval on its logarithm (gamma cancels)."""
    n = np.asarray(workers, dtype=np.float64)
    both = np.append(n, base)
    logs = np.log(throughput_curve(fitted.law, both, fitted.values))
    slopes = curve_jacobian(fitted.law, both, fitted.values) / np.exp(logs)[:, np.newaxis]
    slopes = slopes[:-1] - slopes[-1]
    error = np.sqrt(np.maximum(np.einsum("ij,jk,ik->i", slopes, fitted.covariance, slopes), 0.0))
    half = t_quantile((1.0 + fitted.confidence) / 2.0, fitted.df) * error
    middle = logs[:-1] - logs[-1]
    return tuple(
        Interval(value=math.exp(m), low=math.exp(m - h), high=math.exp(m + h)) for m, h in zip(middle.tolist(), half.tolist(), strict=True)
    )


def _peak_interval(fitted: Fit, turn: float) -> Interval:
    """log N* = (log(1 - a) - log b) / 2; its variance from the covariance of a and b."""
    _, a, b = fitted.values
    slopes = np.array([0.0, -0.5 / (1.0 - a), -0.5 / b])
    error = math.sqrt(max(float(slopes @ fitted.covariance @ slopes), 0.0))
    half = t_quantile((1.0 + fitted.confidence) / 2.0, fitted.df) * error
    return Interval(value=turn, low=turn * math.exp(-half), high=turn * math.exp(half))


def _prediction_interval(fitted: Fit, workers: float, launches: int = 1) -> Interval:
    """Interval including the error of the curve and that of the mean of `launches` launches."""
    n = np.array([workers])
    value, slopes = fitted.at(workers), curve_jacobian(fitted.law, n, fitted.values)[0]
    if fitted.errors == "proportional":
        slopes = slopes / value
    variance = float(slopes @ fitted.covariance @ slopes) + fitted.residual_error**2 / launches
    half = t_quantile((1.0 + fitted.confidence) / 2.0, fitted.df) * math.sqrt(variance)
    if fitted.errors == "proportional":
        return Interval(value=value, low=value * math.exp(-half), high=value * math.exp(half))
    return Interval(value=value, low=value - half, high=value + half)


def _fall(data: Points, high: float, low: float) -> float | None:
    """One-sided p for X being lower at `low` workers than at `high`; None with fewer than two launches."""
    from scipy.stats import ttest_1samp, ttest_ind

    there, here = data.workers == low, data.workers == high
    logs = np.log(data.throughputs)
    if data.blocks is not None:
        above = dict(zip(data.blocks[here].tolist(), logs[here].tolist(), strict=True))
        below = dict(zip(data.blocks[there].tolist(), logs[there].tolist(), strict=True))
        differences = [below[b] - above[b] for b in sorted(above.keys() & below.keys())]
        return _one_sided_p(ttest_1samp, differences, 0.0) if len(differences) > 1 else None
    if min(int(there.sum()), int(here.sum())) < 2:
        return None
    return _one_sided_p(ttest_ind, logs[there], logs[here], equal_var=False)


def _one_sided_p(test: Callable[..., object], *samples: object, **options: object) -> float:
    """One-sided p-value of a SciPy test; constant samples, which SciPy cannot handle, are decided by their values."""
    with np.errstate(all="ignore"):
        outcome = test(*samples, alternative="less", **options)
    p = float(getattr(outcome, "pvalue"))  # noqa: B009  (SciPy has no type for it)
    if math.isnan(p):
        return 0.0 if float(np.mean(np.asarray(samples[0]))) < float(np.mean(np.asarray(samples[1]))) else 1.0
    return p


def speedup(base_time: float, time: float) -> float:
    """Speedup over the base; both times in the same unit and above 0."""
    return _positive(base_time, "the base's time") / _positive(time, "the time")


def slower_than_base(serial: float) -> str:
    """Why a serial fraction above 1 is none: more workers took longer than one."""
    return f"slower than the base: no serial fraction explains it (s = {serial:.4g} is above 1)" if serial > 1.0 else ""


def karp_flatt(speedup: float, p: float) -> float:
    """The serial fraction that would alone explain this speedup; negative above linear speedup.  Needs p > 1."""
    if not p > 1.0:
        raise ValueError(f"the Karp-Flatt fraction needs more than one worker, not {p}")
    return (1.0 / _positive(speedup, "the speedup") - 1.0 / p) / (1.0 - 1.0 / p)


def amdahl_fit(workers: Floats, speedups: Floats) -> float:
    """Serial fraction s by least squares; `workers` and `speedups` of shape [points], one or more above 1 worker.

    The base (1 worker) carries no information and may be included.  A negative value means more than linear speedup.
    """
    p, s = np.asarray(workers, dtype=np.float64), np.asarray(speedups, dtype=np.float64)
    if p.shape != s.shape or p.ndim != 1:
        raise ValueError(f"each worker count needs one speedup: shapes {p.shape} and {s.shape}")
    return float(_fits(p, s[np.newaxis, :])[0])


def amdahl_fit_interval(workers: Floats, speedups_per_block: NDArray[np.float64], confidence: float) -> Interval:
    """Serial fraction with its t interval over blocks: one fit per block (row), shape [blocks, points].

    A block's points share their base and time of day, so the block is the unit, not the point.  One block: -inf..inf.
    """
    p, s = np.asarray(workers, dtype=np.float64), np.asarray(speedups_per_block, dtype=np.float64)
    if p.ndim != 1 or s.ndim != 2 or s.shape[1] != len(p) or s.shape[0] == 0:
        raise ValueError(f"speedups must have one row per round and one column per worker count: {s.shape}, {p.shape}")
    return mean_t(_fits(p, s), confidence)


def amdahl_speedup(s: float, p: float) -> float:
    """Amdahl's speedup at `p` workers for serial fraction `s`; s <= 0 is taken as 0 (linear)."""
    return 1.0 / (max(s, 0.0) + (1.0 - max(s, 0.0)) / _positive(p, "the number of workers"))


def ceiling(s: float) -> float:
    """The limit of the speedup: 1/s; infinite for s <= 0."""
    return 1.0 / s if s > 0.0 else math.inf


def half_efficiency_workers(s: float) -> float:
    """Workers at which Amdahl's efficiency falls to one half: (1 + s)/s; infinite for s <= 0."""
    return (1.0 + s) / s if s > 0.0 else math.inf


def gustafson(s: float, p: float) -> float:
    """Scaled speedup p - s (p - 1): here `s` is the serial share of the time on p workers, not on one."""
    return p - s * (p - 1.0)


def _fits(workers: NDArray[np.float64], speedups: NDArray[np.float64]) -> NDArray[np.float64]:
    """One serial fraction per row of `speedups` [blocks, points]."""
    if not (np.all(np.isfinite(speedups)) and np.all(speedups > 0.0)):
        raise ValueError("every speedup must be finite and above 0")
    if not (np.all(np.isfinite(workers)) and np.all(workers >= 1.0)):
        raise ValueError("every worker count must be finite and at least 1 (relative to the base)")
    x = 1.0 - 1.0 / workers
    if not np.any(x > 0.0):
        raise ValueError("a serial fraction needs at least one point with more workers than the base")
    y = 1.0 / speedups - 1.0 / workers
    return np.asarray(y @ x / (x @ x), dtype=np.float64)


def _positive(value: float, name: str) -> float:
    if not (math.isfinite(value) and value > 0.0):
        raise ValueError(f"{name} must be a finite number above 0, not {value}")
    return value


SUPERLINEAR: Final = 1.01  # an efficiency above this is superlinear, beyond rounding
BANDS: Final = ((0.7, "good"), (0.5, "moderate"), (0.0, "poor"))  # least efficiency of each; above 0.9: excellent
EXCELLENT: Final = 0.9


def band(efficiency: float) -> str:
    """The word for a parallel efficiency: above 90 % excellent, from 70 % good, from 50 % moderate, below poor.

    The bands of textbooks on distributed training (handbook of genai-bench, chapter 10). A word for a number, and no verdict.
    """
    if efficiency > SUPERLINEAR:
        return "superlinear"
    if efficiency > EXCELLENT * (1.0 + 1e-9):
        return "excellent"
    return next((word for least, word in BANDS if efficiency >= least * (1.0 - 1e-9)), "poor")
