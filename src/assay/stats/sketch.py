"""How can the percentiles of more values than fit in memory be kept, and merged over processes, with a known error?

A histogram with logarithmic bins (DDSketch; Masson, Rim & Lee, VLDB 12, 2019): bin i holds (g^(i-1), g^i], g = (1 + a)/(1 - a),
and answers with 2 g^i/(g + 1), so every quantile is within the share a of the value at that rank, whatever the shape.
Two sketches of the same accuracy merge by adding their counts, exactly as if one had seen all values; percentiles of parts
are never averaged.  Bins between least and largest: ceil(ln(max/min)/ln g), 1037 from 1 us to 1000 s at 1 %.
Cannot tell: the order of the values, hence nothing about their dependence; an interval needs the series themselves.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from assay.stats.intervals import Floats


@dataclass(frozen=True, kw_only=True, eq=False)
class Sketch:
    """Counts of values of at least 0: `counts[j]` in bin `first + j`, `zeros` apart.  `accuracy` is the relative error a."""

    accuracy: float
    first: int
    counts: NDArray[np.int64]  # read-only
    zeros: int

    @property
    def n(self) -> int:
        """How many values were seen."""
        return int(self.counts.sum()) + self.zeros

    def quantile(self, p: float) -> float:
        """The value at rank floor(p (n - 1)) of the sorted values (0-based), within the relative accuracy."""
        if not 0.0 <= p <= 1.0:
            raise ValueError(f"the probability of a quantile must lie between 0 and 1, not {p}")
        if self.n == 0:
            raise ValueError("an empty sketch has no quantile")
        rank = math.floor(p * (self.n - 1)) - self.zeros
        if rank < 0:
            return 0.0
        place = int(np.searchsorted(np.cumsum(self.counts), rank, side="right"))
        growth = _growth(self.accuracy)
        return 2.0 * math.exp((self.first + place) * math.log(growth)) / (growth + 1.0)


def sketch(values: Floats, accuracy: float = 0.01) -> Sketch:
    """The sketch of values of at least 0 (shape [n], finite); an empty list gives an empty sketch."""
    data = np.asarray(values, dtype=np.float64)
    if data.ndim != 1 or not np.all(np.isfinite(data)):
        raise ValueError(f"values must be a list of finite numbers, not an array of shape {data.shape} with gaps")
    if len(data) and float(data.min()) < 0.0:
        raise ValueError(f"a sketch with logarithmic bins holds no value below 0; the least is {float(data.min())}")
    positive = data[data > 0.0]
    places = np.ceil(np.log(positive) / math.log(_growth(accuracy))).astype(np.int64)
    first = int(places.min()) if len(places) else 0
    return _frozen(accuracy, first, np.bincount(places - first), len(data) - len(positive))


def merge(*sketches: Sketch) -> Sketch:
    """The sketch of all values of sketches of one accuracy."""
    if not sketches:
        raise ValueError("there is no sketch to merge")
    accuracies = {one.accuracy for one in sketches}
    if len(accuracies) > 1:
        raise ValueError(f"sketches of different accuracy do not merge: {sorted(accuracies)}")
    return reduce(_merged, sketches)


def bins_needed(least: float, largest: float, accuracy: float = 0.01) -> int:
    """How many bins lie between two values above 0."""
    if not 0.0 < least <= largest:
        raise ValueError(
            f"bins lie between two values above 0, the first not the larger; not between {least} and {largest}"
        )
    return math.ceil(math.log(largest / least) / math.log(_growth(accuracy)))


def _merged(a: Sketch, b: Sketch) -> Sketch:
    if len(a.counts) == 0 or len(b.counts) == 0:
        full = a if len(b.counts) == 0 else b
        return _frozen(a.accuracy, full.first, full.counts, a.zeros + b.zeros)
    first = min(a.first, b.first)
    counts = np.zeros(max(s.first + len(s.counts) for s in (a, b)) - first, dtype=np.int64)
    for one in (a, b):
        counts[one.first - first : one.first - first + len(one.counts)] += one.counts
    return _frozen(a.accuracy, first, counts, a.zeros + b.zeros)


def _frozen(accuracy: float, first: int, counts: NDArray[np.int64], zeros: int) -> Sketch:
    kept = counts.astype(np.int64, copy=True)
    kept.setflags(write=False)
    return Sketch(accuracy=accuracy, first=first, counts=kept, zeros=zeros)


def _growth(accuracy: float) -> float:
    """g: the ratio of the ends of a bin."""
    if not 0.0 < accuracy < 1.0:
        raise ValueError(f"the relative accuracy must lie strictly between 0 and 1, not {accuracy}")
    return (1.0 + accuracy) / (1.0 - accuracy)
