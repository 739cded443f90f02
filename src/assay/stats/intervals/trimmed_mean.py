"""What is the middle of some differences, and how sure is that, where a few of them are far off?

The mean without the smallest and the largest quarter (the midmean), and its interval: s_w t[h - 1] sqrt(n) / h, with s_w the standard
deviation of
the values whose tails are drawn in to the outermost kept ones, h of the n values kept.  A burst of load that lengthens some steps moves
neither much, and of well-behaved values little is lost.
Source: Tukey & McLaughlin (1963); Wilcox, "Introduction to Robust Estimation", 4.3; scipy.stats.mstats.trimmed_mean_ci.
Cannot tell: anything where more than a quarter of the values is off on one side.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from assay.stats.intervals.intervals import Floats, Interval, t_quantile

CUT: Final = 0.25


def trimmed_mean(values: Floats, confidence: float, *, cut: float = CUT) -> Interval:
    """The trimmed mean with its two-sided interval; a single value has no bounds.

    Raises:
        ValueError: there is no value.
    """
    ordered = np.sort(np.asarray(values, dtype=np.float64))
    n = len(ordered)
    if n == 0:
        raise ValueError("a trimmed mean needs at least one value, found none")
    g = int(cut * n)
    kept = ordered[g : n - g]
    value = float(kept.mean())
    if n == 1:
        return Interval(value=value, low=-math.inf, high=math.inf)
    drawn_in = np.clip(ordered, kept[0], kept[-1])
    error = float(drawn_in.std(ddof=1)) * math.sqrt(n) / len(kept)
    half = t_quantile(0.5 + confidence / 2, len(kept) - 1) * error
    return Interval(value=value, low=value - half, high=value + half)
