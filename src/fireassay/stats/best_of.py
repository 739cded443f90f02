"""How good is the best of k values, drawn without replacement from n that were seen?

Of the C(n, k) subsets C(i-1, k-1) have the i-th smallest value as their largest, so their mean maximum is sum over i of C(i-1, k-1) / C(n, k) x_(i).
It is unbiased for the expected maximum of k independent values, for every k up to n (a U-statistic: Hoeffding, Annals of Mathematical Statistics 19,
1948; of shares it is pass@k: Chen et al., arXiv:2107.03374). The largest of the n seen stands for k = n alone: it is no estimate for more.

What is another value of the one that is chosen? The same weights, by the rank of what chooses; of ties each is chosen alike.
Cannot tell: more than n values.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@lru_cache(maxsize=4096)
def weights(n: int, k: int) -> Array:
    """The probability that the i-th smallest of n values is the largest of k of them, shape [n].

    Raises:
        ValueError: k is not from 1 to n.
    """
    if not 1 <= k <= n:
        raise ValueError(f"the best of {k} needs as many values, not {n}")
    found = np.zeros(n)
    found[-1] = k / n
    for i in range(n - 1, k - 1, -1):  # C(i-1, k-1) / C(i, k-1) = (i-k+1) / i
        found[i - 1] = found[i] * (i - k + 1) / i
    found.setflags(write=False)
    return found


def expected_best(values: Array, k: int) -> float:
    """The expected largest of k of these values (shape [n])."""
    return float(np.sort(values) @ weights(len(values), k))


def expected_chosen(by: Array, of: Array, k: int) -> float:
    """The expected `of` of the one with the largest `by` among k (both of shape [n])."""
    order = np.argsort(by, kind="stable")
    _, member = np.unique(by[order], return_inverse=True)
    ranks = weights(len(by), k)
    even = np.bincount(member, weights=ranks) / np.bincount(member)  # of tied ones each has every rank alike
    return float(of[order] @ even[member])
