"""Do stated confidences mean what they say: of answers given with 80 % confidence, are 80 % right?

Reliability: items in bins of equal width or of equal number, each with its mean confidence and share right (Murphy & Winkler, Applied Statistics
26, 1977).  Expected calibration error: the mean distance of the two, weighted by items (Naeini et al., AAAI 2015).  Of n items per bin it is too
large by up to sqrt(2 p (1 - p) / (pi n)) although nothing is wrong, so the estimate takes off what a normal error of each bin adds on average
(Kumar, Liang & Ma, NeurIPS 2019, appendix); what the plain formula gives is kept beside it.  Brier score: mean squared distance of confidence and
outcome (Monthly Weather Review 78, 1950), with the interval of a mean over items.

The interval of the error is the basic bootstrap over units, whole clusters together (Davison & Hinkley, 1997, 5.2), bins fixed: the deviations of
resampled estimates from the plain error are those of the estimate from the truth.  It reaches down to 0 where bins that are all right would be
off as far by chance, by the resampled deviations of each; without that it holds a truth of 0 in two of three cases only.
Cannot tell: errors that cancel within a bin, so the error is that of these bins; whether the items stand for real use.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from fireassay.stats.intervals.intervals import Interval, fraction
from fireassay.stats.intervals.item_bootstrap import FEWEST, drawn
from fireassay.stats.intervals.item_means import Labels, members, of_items, wilson

Array = NDArray[np.float64]
Binning = Literal["width", "mass"]
BINS: Final = 10
DRAWS: Final = 2000


@dataclass(frozen=True, kw_only=True)
class Bin:
    """The items of one range of confidence."""

    items: int
    confidence: float  # mean
    right: Interval  # share, with the interval of a mean over items, whole clusters together


@dataclass(frozen=True, kw_only=True)
class CalibrationError:
    """Expected calibration error: less its bias, with an interval, and as the plain formula gives it."""

    error: Interval  # bounds of NaN: too few units
    plain: float
    bins: int  # that hold items
    units: int


def reliability(
    confidences: Array, right: Array, confidence: float, *, bins: int = BINS, binning: Binning = "width", clusters: Labels | None = None
) -> tuple[Bin, ...]:
    """The bins that hold items, from low to high; both of shape [items], `right` 0 or 1.

    Raises:
        ValueError: no item, shapes that differ, or values outside of 0..1.
    """
    member = _bins(confidences, right, bins, binning)
    return tuple(
        Bin(
            items=int(own.sum()),
            confidence=float(confidences[own].mean()),
            right=_share(right[own], None if clusters is None else [clusters[index] for index in np.flatnonzero(own).tolist()], confidence),
        )
        for own in (member == index for index in np.unique(member))
    )


def _share(right: Array, clusters: Labels | None, confidence: float) -> Interval:
    """Of right ones: Wilson's interval of independent items; of fewer than two clusters nothing is known."""
    if clusters is None:
        return wilson(float(right.sum()), float(len(right)), confidence)
    return of_items(right, np.ones(len(right)), clusters, (0.0, 1.0), confidence)


def brier(confidences: Array, right: Array, confidence: float, clusters: Labels | None = None) -> Interval:
    """Mean of (confidence - right)^2."""
    _checked(confidences, right)
    return of_items((confidences - right) ** 2, np.ones(len(right)), clusters, (0.0, 1.0), confidence)


def calibration_error(
    confidences: Array,
    right: Array,
    confidence: float,
    *,
    bins: int = BINS,
    binning: Binning = "width",
    clusters: Labels | None = None,
    draws: int = DRAWS,
    seed: int = 0,
) -> CalibrationError:
    """Expected calibration error of items; fewer than ten units have no interval."""
    fraction(confidence, "confidence")
    member = _bins(confidences, right, bins, binning)
    known, member = np.unique(member, return_inverse=True)
    of_bin = (member[:, None] == np.arange(len(known))).astype(np.float64)
    unit = members(len(right), clusters)
    units = int(unit.max()) + 1

    def sums(weights: Array) -> tuple[Array, Array, Array]:
        """Items, confidences and right answers of each bin, of each row of weights."""
        return weights @ of_bin, weights @ (of_bin * confidences[:, None]), weights @ (of_bin * right[:, None])

    once = sums(np.ones((1, len(right))))
    plain, value = (float(one[0]) for one in _errors(*once))
    low = high = math.nan
    if units >= FEWEST:
        again = [sums(part) for part in drawn(np.ones(len(right)), unit, units, draws, seed)]
        below, above = np.quantile(
            np.concatenate([_errors(*part)[1] for part in again]), [(1.0 - confidence) / 2.0, (1.0 + confidence) / 2.0]
        )
        low, high = (min(1.0, max(0.0, value - (float(end) - plain))) for end in (above, below))
        chance = np.concatenate([(part[0] * np.abs(_gaps(*part) - _gaps(*once))).sum(axis=1) / part[0].sum(axis=1) for part in again])
        low = 0.0 if plain <= float(np.quantile(chance, confidence)) else low
    value = max(0.0, value)
    return CalibrationError(
        error=Interval(value=value, low=min(low, value), high=max(high, value)), plain=plain, bins=len(known), units=units
    )


def _gaps(counts: Array, stated: Array, right: Array) -> Array:
    """Share right less mean confidence."""
    return (right - stated) / np.maximum(counts, 1.0)


def _errors(counts: Array, stated: Array, right: Array) -> tuple[Array, Array]:
    """Plain error and the one less its bias; sums of shape [resamples, bins]."""
    from scipy.special import ndtr

    some = np.maximum(counts, 1.0)
    share, gap = right / some, np.abs(_gaps(counts, stated, right))
    spread = np.sqrt(share * (1.0 - share) / np.maximum(some - 1.0, 1.0))
    scaled = gap / np.where(spread > 0.0, spread, 1.0)
    folded = spread * math.sqrt(2.0 / math.pi) * np.exp(-0.5 * scaled**2) + gap * (1.0 - 2.0 * ndtr(-scaled))
    excess = np.where(spread > 0.0, folded - gap, 0.0)
    part = counts / counts.sum(axis=1, keepdims=True)
    return (part * gap).sum(axis=1), (part * (gap - excess)).sum(axis=1)


def _bins(confidences: Array, right: Array, bins: int, binning: Binning) -> NDArray[np.intp]:
    """Each item's bin; an item on an edge belongs to the lower one."""
    _checked(confidences, right)
    if bins < 1:
        raise ValueError(f"there must be at least one bin, not {bins}")
    inner = np.linspace(0.0, 1.0, bins + 1)[1:-1]
    edges = inner if binning == "width" else np.quantile(confidences, inner)
    return np.searchsorted(edges, confidences)


def _checked(confidences: Array, right: Array) -> None:
    if confidences.ndim != 1 or confidences.shape != right.shape or not len(right):
        raise ValueError(f"every item needs a confidence and an outcome, not shapes {confidences.shape} and {right.shape}")
    if not (((confidences >= 0.0) & (confidences <= 1.0)).all() and np.isin(right, (0.0, 1.0)).all()):
        raise ValueError("confidences must lie in 0..1 and outcomes be 0 or 1")
