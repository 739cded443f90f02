"""Do the values of a few launches form one group, or does the interval of their mean describe none of them?

Student's t on k launches holds its coverage if the launches scatter around one value.  If they fall into two modes (a turbo
state, a lucky placement), or one is an outlier, the mean lies between the modes, and 95 % intervals of 5 launches cover it in
only 49 to 89 % of experiments (benchmarks/results/launch_groups.md).  Such launches are detectable:

    C = max over the cuts of the sorted values of SSB / SSW,

the sum of squares between the two groups over that within them, compared with its distribution for k normal values
(Engelman & Hartigan, JASA 64, 1969; simulated here with a fixed seed, 20,000 samples).  A group of one is an outlying launch.
Cannot tell: a mode that no launch hit.  In k launches, a mode with a share of up to 1 - 0.05^(1/k) stays unobserved in one of
twenty experiments: 45 % for 5, 26 % for 10, 14 % for 20.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from fireassay.stats.intervals.intervals import Floats

Array = NDArray[np.float64]

SURE: Final = 0.01  # share of normal samples that show two groups
MIN_VALUES: Final = 3  # fewest values that can show groups
DRAWS: Final = 20_000
MAX_VALUES: Final = 200  # values; simulating the reference for more takes too long


@dataclass(frozen=True, kw_only=True)
class Groups:
    """Two groups of positive values, by index; `low` and `high` are their geometric means."""

    lower: tuple[int, ...]
    upper: tuple[int, ...]
    low: float
    high: float
    p: float  # share of normal samples that split at least as clearly

    @property
    def outlying(self) -> int | None:
        """Index of the only value in its group if the other group has several."""
        alone = [group[0] for group in (self.lower, self.upper) if len(group) == 1]
        return alone[0] if len(alone) == 1 else None


def groups(values: Floats, *, smallest_effect: float = 0.0) -> Groups | None:
    """The two groups of positive `values` (shape [k]); None if they form one, or differ by at most `smallest_effect`.

    `smallest_effect` is relative: 0.01 ignores groups whose geometric means differ by up to 1 %.
    """
    data = np.asarray(values, dtype=np.float64)
    if not MIN_VALUES <= len(data) <= MAX_VALUES or not bool(np.all(np.isfinite(data) & (data > 0.0))):
        return None
    logs = np.log(data)
    order = np.argsort(logs, kind="stable")
    clarity, cut = _clearest(logs[order][None, :])
    p = _p_value(float(clarity[0]), len(data))
    lower, upper = order[: int(cut[0]) + 1], order[int(cut[0]) + 1 :]
    low, high = float(np.exp(logs[lower].mean())), float(np.exp(logs[upper].mean()))
    if p >= SURE or high / low - 1.0 <= smallest_effect:
        return None
    return Groups(lower=_indices(lower), upper=_indices(upper), low=low, high=high, p=p)


def unseen_share(k: int, confidence: float = 0.95) -> float:
    """The largest share of launches that a mode can have and still be missed by all `k`, at this confidence."""
    if k < 1 or not 0.0 < confidence < 1.0:
        raise ValueError(f"needs at least one launch and a confidence between 0 and 1, not {k} and {confidence}")
    return -math.expm1(math.log1p(-confidence) / k)


def _clearest(ordered: Array) -> tuple[Array, NDArray[np.intp]]:
    """C and the index of the last value of the lower group, per row of sorted values (shape [rows, k])."""
    k = ordered.shape[1]
    centred = ordered - ordered.mean(axis=1, keepdims=True)
    below = np.arange(1, k)
    sums = np.cumsum(centred, axis=1)[:, :-1]
    between = sums**2 * k / (below * (k - below))
    total = np.sum(centred**2, axis=1)
    cut = np.argmax(between, axis=1)
    best = between[np.arange(len(between)), cut]
    with np.errstate(divide="ignore", invalid="ignore"):
        clarity = np.where(best > 0.0, best / np.maximum(total - best, 0.0), 0.0)
    return clarity, cut


def _p_value(clarity: float, k: int) -> float:
    reference = _reference(k)
    beyond = len(reference) - int(np.searchsorted(reference, clarity, side="left"))
    return (1 + beyond) / (1 + len(reference))


@lru_cache(maxsize=64)
def _reference(k: int) -> Array:
    """C of normal samples of size k, sorted."""
    rng = np.random.default_rng([20261123, k])
    drawn = np.sort(rng.normal(size=(DRAWS, k)), axis=1)
    return np.sort(_clearest(drawn)[0])


def _indices(indices: NDArray[np.intp]) -> tuple[int, ...]:
    return tuple(sorted(int(index) for index in indices))
