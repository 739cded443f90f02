"""By how much can the share of right answers have changed, where each item was right or wrong before and is now?

Tango's score test of a paired difference (Statistics in Medicine 17, 1998), its restricted likelihood solved in closed form.
Beside it the exact rules that a score test leaves out: flips that all go one way are bounded by Clopper and Pearson, and no bound is
nearer to the estimate than that of n items without a flip, because to have seen flips makes their number no surer.  With these two
a loss of the margin is called held in at most 5.5 % of cases for margins that n items can show (`benchmarks/quality_held.py`
sums every table of flips); Tango's test alone reaches 6.0 %.
Cannot tell: anything where items share their fate, or where launches differ.
"""

from __future__ import annotations

import math

from assay.stats.intervals.intervals import t_quantile


def tango_z(b: float, c: float, n: int, delta: float) -> float:
    """Tango's Z of H0: P(c) - P(b) <= delta.  `b` items were right before and wrong now, `c` the other way round, of `n`.

    Raises:
        ValueError: the flips do not fit into n items.
    """
    if not (b >= 0 and c >= 0 and n >= 1 and b + c <= n):
        raise ValueError(f"flips must be at least 0 and together at most the number of items: b={b}, c={c}, n={n}")
    linear = b * (1.0 - 3.0 * delta) + c * (1.0 - delta) - 2.0 * (n - b - c) * delta
    root = math.sqrt(max(linear**2 + 8.0 * n * b * delta * (1.0 - delta), 0.0))
    p = min(max((linear + root) / (4.0 * n), 0.0, -delta), (1.0 - delta) / 2.0)
    variance, gap = n * (2.0 * p + delta - delta**2), c - b - n * delta
    if variance <= 0.0:
        return math.copysign(math.inf, gap) if gap else 0.0
    return gap / math.sqrt(variance)


def tango_lower(b: float, c: float, n: int, confidence: float) -> float:
    """One-sided lower bound of P(c) - P(b): the difference at which Tango's Z is the normal quantile.  In -1..1."""
    from scipy.optimize import brentq

    z, edge = t_quantile(confidence, math.inf), 1.0 - 1e-12
    if tango_z(b, c, n, -edge) <= z:
        return -1.0
    return float(brentq(lambda delta: tango_z(b, c, n, delta) - z, -edge, edge, xtol=1e-12))


def flips_lower(b: int, c: int, n: int, confidence: float) -> float:
    """Tango's lower bound or an exact one, whichever is lower."""
    from scipy.special import betaincinv

    low = min(tango_lower(b, c, n, confidence), (c - b) / n - zero_flip_bound(n, confidence))
    if c > 0 or b == n:
        return low
    return min(low, -float(betaincinv(b + 1, n - b, confidence)))


def zero_flip_bound(n: int, confidence: float) -> float:
    """Largest probability of a flip that is compatible with none in `n` independent items: 1 - (1 - confidence)^(1/n)."""
    t_quantile(confidence, math.inf)
    if n < 1:
        raise ValueError(f"a bound on flips needs at least one item, not {n}")
    return -math.expm1(math.log1p(-confidence) / n)
