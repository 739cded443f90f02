"""How much slower than the mean is the slowest of many workers that differ only by chance?

Mean of the largest of p lognormals with mean 1 and standard deviation `spread` of the logarithm: the integral of
exp(spread z - spread^2/2) p phi(z) Phi(z)^(p-1), which grows like exp(spread sqrt(2 ln p)).
Source: David & Nagaraja, "Order Statistics", 3.1.  Cannot tell: the effect of a worker that is always slow.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Final

import numpy as np

QUADRATURE: Final = 1001  # points of the integral


@lru_cache(maxsize=16_384)
def slowest_of(workers: float, spread: float) -> float:
    """Mean of the largest of `workers` lognormals with mean 1 and standard deviation `spread` of the logarithm.

    `workers` may be any number of at least 1.
    """
    if workers < 1 or spread < 0.0:
        raise ValueError(f"at least one worker and a spread of at least 0, not {workers} and {spread}")
    if spread == 0.0 or workers == 1:
        return 1.0
    from scipy.special import log_ndtr

    z = np.linspace(-10.0, 10.0 + spread, QUADRATURE)
    density = np.exp(-(z**2) / 2.0 + spread * z - spread**2 / 2.0 + (workers - 1.0) * log_ndtr(z))
    return float(workers * np.trapezoid(density, z) / math.sqrt(2.0 * math.pi))


def spread_of(workers: int, slowest: float) -> float:
    """The spread at which the slowest of `workers` averages `slowest` times the mean; 0 if `slowest` is at most 1."""
    if workers < 2 or not slowest > 1.0:
        return 0.0
    low, high = 0.0, 1.0
    while slowest_of(workers, high) < slowest and high < 4.0:
        low, high = high, 2.0 * high
    for _ in range(40):
        middle = (low + high) / 2.0
        low, high = (middle, high) if slowest_of(workers, middle) < slowest else (low, middle)
    return (low + high) / 2.0
