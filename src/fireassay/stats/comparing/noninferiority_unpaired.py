"""Was a score held, if the two sides share items but not blocks of launches?

Launches of records made separately have no natural pairs, and pairing them by number would invent a design.
Items are paired by id, launches are not.  With item means over launches, mean difference m = mean_j (c_j - r_j):

    items      bounds of the mean of the n differences of item means (`of_items`: Tango, or Gaffke on items or clusters)
    launches   A = var(launch means of c)/k_c + var(launch means of r)/k_r, Welch-Satterthwaite degrees of freedom
    bounds     m -+ sqrt(items^2 + t^2 A)

Variation that launches and items share counts in both parts, so the bounds are conservative.  Sources: as
`fireassay.stats.comparing.noninferiority`; Welch, Biometrika 34, 1947.  Cannot tell: a drift between the two sessions.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from fireassay.stats.comparing.noninferiority import Decision, Labels, Launches, decision, of_items
from fireassay.stats.intervals.intervals import t_quantile

Array = NDArray[np.float64]


def unpaired(
    reference: Array, candidate: Array, margin: float, confidence: float = 0.95, largest_change: float = 1.0, clusters: Labels | None = None
) -> Decision:
    """Decision over scores of shape [launches, items] for each side, same items in the same order, higher is better.

    Raises:
        ValueError: item counts differ, a score is not finite, or the labels do not fit the items.
    """
    r, c = np.asarray(reference, dtype=np.float64), np.asarray(candidate, dtype=np.float64)
    if r.ndim != 2 or c.ndim != 2 or r.shape[1] != c.shape[1] or r.shape[1] < 2:
        raise ValueError(f"both sides need scores [launches, items] of the same items, not shapes {r.shape}, {c.shape}")
    if not (np.isfinite(r).all() and np.isfinite(c).all()):
        raise ValueError("a score is not a finite number")
    fixed = all(float(np.ptp(side, axis=0).max()) == 0.0 for side in (r, c))
    means = c[0] - r[0] if fixed else c.mean(axis=0) - r.mean(axis=0)
    items = of_items(means, confidence, largest_change, clusters, fixed=fixed)
    return decision(items, _launches(r.mean(axis=1), c.mean(axis=1), confidence, fixed=fixed), margin, confidence)


def _launches(reference: Array, candidate: Array, confidence: float, *, fixed: bool) -> Launches:
    """The launches' part; infinite for a single launch, 0 if no launch differs."""
    sides = (reference, candidate)
    counts = tuple(len(side) for side in sides)
    method = f"{counts[0]} and {counts[1]} launches, not paired (Welch)"
    parts = [(float(side.var(ddof=1)) / len(side) if len(side) > 1 else math.inf, len(side)) for side in sides]
    total = 0.0 if fixed and min(counts) > 1 else sum(part for part, _ in parts)
    half = total
    if 0.0 < total < math.inf:
        df = total**2 / sum(part**2 / (k - 1) for part, k in parts)
        half = t_quantile(confidence, df) * math.sqrt(total)
    return Launches(count=min(counts), half=half, error=math.sqrt(total), method=method)
