"""By how much can the share of right answers have changed, given each item's right or wrong before and after?

Tango's score test for paired differences (Statistics in Medicine 17, 1998), its restricted likelihood solved in closed form,
plus two exact rules: Clopper and Pearson bound flips that all go one way, and no bound is closer to the estimate than that of
n items without a flip, since observing flips does not make their rate more certain.  With these, a loss of the margin is
called held in at most 5.5 % of cases for margins that n items can show (`benchmarks/quality_held.py` sums over every table of
flips); Tango's test alone reaches 6.0 %.
Cannot tell: dependence between items, or differences between launches.
"""

from __future__ import annotations

import math

from fireassay.stats.intervals.intervals import t_quantile
from fireassay.stats.solvers import root


def tango_z(b: float, c: float, n: int, delta: float) -> float:
    """Tango's Z of H0: P(c) - P(b) <= delta.  Of `n` items `b` went from right to wrong, `c` from wrong to right.

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
    """One-sided lower bound of P(c) - P(b): the difference where Tango's Z equals the normal quantile.  In -1..1."""
    z, edge = t_quantile(confidence, math.inf), 1.0 - 1e-12
    if tango_z(b, c, n, -edge) <= z:
        return -1.0
    return root(lambda delta: tango_z(b, c, n, delta) - z, -edge, edge, tolerance=1e-12)


def flips_lower(b: int, c: int, n: int, confidence: float) -> float:
    """Tango's lower bound or an exact one, whichever is lower."""
    from scipy.special import betaincinv

    low = min(tango_lower(b, c, n, confidence), (c - b) / n - zero_flip_bound(n, confidence))
    if c > 0 or b == n:
        return low
    return min(low, -float(betaincinv(b + 1, n - b, confidence)))


def zero_flip_bound(n: int, confidence: float) -> float:
    """Largest flip probability compatible with none in `n` independent items: 1 - (1 - confidence)^(1/n)."""
    t_quantile(confidence, math.inf)
    if n < 1:
        raise ValueError(f"a bound on flips needs at least one item, not {n}")
    return -math.expm1(math.log1p(-confidence) / n)
