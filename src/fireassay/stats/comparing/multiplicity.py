"""How likely is it that one of many comparisons comes out by chance, and what is each p-value after correction?

Holm: p(i) -> max over j <= i of (m - j + 1) p(j), p sorted: the chance of any false finding stays below the level under any
dependence.  Benjamini-Hochberg: p(i) -> min over j >= i of m p(j)/j: the expected share of false findings stays below the
level if the tests are independent or positively dependent (several metrics of one run mostly are).
Sources: Holm, Scandinavian Journal of Statistics 6, 1979; Benjamini & Hochberg, JRSS B 57, 1995.
Cannot tell: comparisons that were made but are not in the list.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def holm(p_values: Sequence[float]) -> tuple[float, ...]:
    """Adjusted p-values in input order; each compares with the level on its own."""
    p = _probabilities(p_values)
    order = np.argsort(p, kind="stable")
    stepped = np.maximum.accumulate((len(p) - np.arange(len(p))) * p[order])
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(stepped, 1.0)
    return tuple(float(x) for x in adjusted)


def benjamini_hochberg(p_values: Sequence[float]) -> tuple[float, ...]:
    """Adjusted p-values in input order; those at or below the level are the findings."""
    from scipy.stats import false_discovery_control

    p = _probabilities(p_values)
    return tuple(float(x) for x in false_discovery_control(p, method="bh")) if len(p) else ()


def _probabilities(p_values: Sequence[float]) -> NDArray[np.float64]:
    p = np.asarray(p_values, dtype=np.float64)
    if p.ndim != 1 or not np.all((p >= 0.0) & (p <= 1.0)):
        raise ValueError(f"p-values must be a list of numbers between 0 and 1, not {list(p_values)}")
    return p
