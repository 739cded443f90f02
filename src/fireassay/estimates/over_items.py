"""How is a quantile over items estimated, where the items and not the launches are the sample?

Items are independent, so the interval is that of order statistics (binomial; David & Nagaraja, Order Statistics, 7.1): it needs no distribution.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fireassay.estimates.estimate import Absent, Estimate, Value
from fireassay.estimates.format import count
from fireassay.stats.intervals.intervals import order_ranks
from fireassay.units import SECONDS


def quantile(values: NDArray[np.float64], p: float, confidence: float, *, name: str, things: str = "items", unit: str = SECONDS) -> Value:
    """The p-quantile (0..1) of independent values, shape [items]; Absent if one is NaN (unknown), or an end lies outside of them."""
    if not len(values) or bool(np.isnan(values).any()):
        return Absent("not_measured", f"{name} is not known of every one of the {things}")
    ordered = np.sort(values)
    low, high = order_ranks(len(ordered), p, confidence)
    if low is None or high is None:
        return Absent("insufficient", f"{count(len(ordered), things)} carry no interval of their p{100 * p:g}")
    return Estimate(
        value=float(np.quantile(ordered, p)),
        low=float(ordered[low - 1]),
        high=float(ordered[high - 1]),
        unit=unit,
        confidence=confidence,
        n_launches=1,
        n_trials=len(ordered),
        method=f"quantile of {count(len(ordered), things)}: order-statistic interval",
        signature=f"{name}|p:{p:g}|{things}:{len(ordered)}|ci:order-statistics|v:1",
    )
