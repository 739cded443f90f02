"""How far do the launches behind a number lie apart?

    mean, standard deviation (n - 1), smallest, largest, and coefficient of variation = deviation / |mean|

over one value per launch; of a ratio, one per round.  A description, and no interval: five launches estimate a deviation to within a factor
of three.  Cannot tell: why they differ.
"""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass

from fireassay.estimates.estimate import Estimate, Value

MIN_VALUES = 2


@dataclass(frozen=True, kw_only=True)
class Dispersion:
    """In the unit of the number; `variation` is a ratio, None where the mean is 0."""

    count: int
    mean: float
    deviation: float
    smallest: float
    largest: float
    variation: float | None


def dispersion(value: Value) -> Dispersion | None:
    """The dispersion of a number's launches; None: fewer than two values, or one that is not finite."""
    values = value.launch_values if isinstance(value, Estimate) else ()
    if len(values) < MIN_VALUES or not all(map(math.isfinite, values)):
        return None
    mean, deviation = statistics.fmean(values), statistics.stdev(values)
    return Dispersion(
        count=len(values),
        mean=mean,
        deviation=deviation,
        smallest=min(values),
        largest=max(values),
        variation=deviation / abs(mean) if mean else None,
    )
