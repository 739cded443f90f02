"""What is the mean time until something happens, counted up to a horizon, where some launches end before it does?

The restricted mean, E min(T, horizon): the area under Kaplan and Meier's curve up to the horizon. It is finite, also where an event never comes.
Source: Royston & Parmar, BMC Medical Research Methodology 13 (2013).
Interval: Gaffke's bounds (`bounded_mean`) of values between 0 and the horizon, which assume no distribution; a launch censored before the
horizon counts as its own end for the low bound, and as the horizon for the high one. Wide for few launches, and never too narrow.
Cannot tell: anything beyond the horizon; two means compare only with one horizon.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fireassay.stats.intervals.bounded_mean import Units, lower, upper
from fireassay.stats.intervals.intervals import Floats, Interval, finite_vector, fraction


def restricted_mean(times: Floats, reached: Sequence[bool], horizon: float, confidence: float) -> Interval:
    """The mean of times above 0 (shape [k]), those not `reached` censored, up to a horizon not beyond the largest time if that is censored.

    Raises:
        ValueError: no times, a time that is not finite, or a horizon until which the curve is not known.
    """
    data, horizon = finite_vector(times, "times"), float(horizon)
    side = (1.0 + fraction(confidence, "confidence")) / 2.0  # confidence of one bound
    known = horizon <= float(data.max()) or all(flag for time, flag in zip(data, reached, strict=True) if time == data.max())
    if not (horizon > 0.0 and known):
        raise ValueError(f"a horizon of {horizon} is not above 0, or beyond the largest time, {data.max()}")
    capped = np.minimum(data, horizon)
    most = np.where(np.asarray(reached, dtype=bool), capped, horizon)
    low, high = (Units(totals=values, sizes=np.ones(len(data))) for values in (capped, most))
    return Interval(value=_area(data, reached, horizon), low=lower(low, 0.0, side), high=upper(high, horizon, side))


def _area(times: Floats, reached: Sequence[bool], horizon: float) -> float:
    """Under Kaplan and Meier's curve; at equal times events come first."""
    area, survival, before = 0.0, 1.0, 0.0
    for place, (time, censored) in enumerate(sorted(zip(times, (not flag for flag in reached), strict=True))):
        until = min(time, horizon)
        area += survival * (until - before)
        before = until
        survival *= 1.0 if censored else 1.0 - 1.0 / (len(times) - place)
    return float(area)
