"""Was a score held, where the two sides share their items but not their blocks of launches?

Two records that were not made in turn have launches that belong to nobody: pairing them by number would invent a design.
Items are paired by id, launches are not.  With item means over launches, mean difference m = mean_j (c_j - r_j):

    items      Student t on the n differences of item means (`paired_t`: sparse changes widened, exact rule without a flip)
    launches   A = var(launch means of c)/k_c + var(launch means of r)/k_r, Welch-Satterthwaite's degrees of freedom
    bounds     m -+ sqrt(half_items^2 + t^2 A)

What launches and items share is counted in both parts, so the bounds are on the safe side.  Sources: as
`assay.stats.noninferiority`; Welch, Biometrika 34, 1947.  Cannot tell: about a drift between the two sessions.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from assay.stats.intervals import t_quantile
from assay.stats.noninferiority import LEAST_LAUNCHES, Decision, Outcome, paired_t

Array = NDArray[np.float64]


def unpaired(
    reference: Array, candidate: Array, margin: float, confidence: float = 0.95, largest_change: float = 1.0
) -> Decision:
    """Decision over scores of shape [launches, items] on both sides, the same items in the same order, higher is better.

    Raises:
        ValueError: the items differ in number, or a score is not finite.
    """
    r, c = np.asarray(reference, dtype=np.float64), np.asarray(candidate, dtype=np.float64)
    if r.ndim != 2 or c.ndim != 2 or r.shape[1] != c.shape[1]:
        raise ValueError(f"both sides need scores [launches, items] of the same items, not shapes {r.shape}, {c.shape}")
    items = paired_t(c.mean(axis=0) - r.mean(axis=0), margin, confidence, largest_change)
    half = _launch_half(r.mean(axis=1), c.mean(axis=1), confidence)
    centre = (items.low + items.high) / 2.0
    reach = math.hypot((items.high - items.low) / 2.0, half)
    low, high = centre - reach, centre + reach
    few = min(len(r), len(c)) < LEAST_LAUNCHES
    verdict = _verdict(low, high, margin, few)
    return replace(
        items, low=low, high=high, verdict=verdict, worse_within_margin=high < 0.0 and verdict != "DEGRADED",
        launches_needed=LEAST_LAUNCHES if few else None, smallest_supported_margin=items.smallest_supported_margin + half,
        method=f"{items.method}; {len(r)} and {len(c)} launches, not paired (Welch)",
    )  # fmt: skip


def _verdict(low: float, high: float, margin: float, few: bool) -> Outcome:
    if few:
        return "INCONCLUSIVE"
    return "HELD" if low > -margin else "DEGRADED" if high < -margin else "INCONCLUSIVE"


def _launch_half(reference: Array, candidate: Array, confidence: float) -> float:
    """Half-width of the launches' part; infinite for a single launch, 0 where no launch differs."""
    parts = [
        (float(side.var(ddof=1)) / len(side) if len(side) > 1 else math.inf, len(side))
        for side in (reference, candidate)
    ]
    total = sum(part for part, _ in parts)
    if total == 0.0 or math.isinf(total):
        return total
    df = total**2 / sum(part**2 / (k - 1) for part, k in parts)
    return t_quantile(confidence, df) * math.sqrt(total)
