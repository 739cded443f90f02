"""What is the centre of some differences, and how uncertain is it, if a few are far off?

The mean without the smallest and the largest quarter (midmean), with the interval s_w t[h - 1] sqrt(n) / h: s_w is the standard
deviation after winsorising the tails to the outermost kept values, h the number kept of n.  Robust to load bursts that lengthen
some steps, at little loss for well-behaved values.
Source: Tukey & McLaughlin (1963); Wilcox, "Introduction to Robust Estimation", 4.3; scipy.stats.mstats.trimmed_mean_ci.
Cannot tell: anything if more than a quarter of the values is off on one side.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from fireassay.stats.intervals.intervals import Floats, Interval, t_quantile

CUT: Final = 0.25


def trimmed_mean(values: Floats, confidence: float, *, cut: float = CUT) -> Interval:
    """The trimmed mean with its two-sided interval; a single value has no bounds.

    Raises:
        ValueError: there is no value.
    """
    ordered = np.sort(np.asarray(values, dtype=np.float64))
    n = len(ordered)
    if n == 0:
        raise ValueError("a trimmed mean needs at least one value")
    g = int(cut * n)
    kept = ordered[g : n - g]
    value = float(kept.mean())
    if n == 1:
        return Interval(value=value, low=-math.inf, high=math.inf)
    drawn_in = np.clip(ordered, kept[0], kept[-1])
    error = float(drawn_in.std(ddof=1)) * math.sqrt(n) / len(kept)
    half = t_quantile(0.5 + confidence / 2, len(kept) - 1) * error
    return Interval(value=value, low=value - half, high=value + half)
