"""Do values rise or fall in the order in which they were measured, and by how much?

Mann and Kendall's test (Kendall's tau against the order; exact p-value for up to 33 values without ties) with the slope of
Theil and Sen (the median of all pairwise slopes), which a third of wild values does not move.  Sources: Mann, Econometrica
13, 1945; Sen, Journal of the American Statistical Association 63, 1968; computed by SciPy.
Assumes that without a trend every order of the values is equally likely: values that hang together from one to the
next give too small a p-value.  Cannot tell a trend from a single jump, nor see one that rises and falls again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

FEWEST: Final = 4  # fewer values give no p-value below 0.3


@dataclass(frozen=True, kw_only=True)
class Trend:
    """A monotone trend."""

    change: float  # from the first to the last place, in the values' unit: slope x (last place - first place)
    p: float  # two-sided
    n: int


def trend(places: Sequence[float], values: Sequence[float]) -> Trend | None:
    """The trend of values over their places (times, or numbers of blocks); None for fewer than `FEWEST` or equal values.

    Raises:
        ValueError: as many places as values are needed.
    """
    from scipy import stats

    if len(places) != len(values):
        raise ValueError(f"{len(places)} places for {len(values)} values")
    if len(values) < FEWEST or len(set(values)) == 1 or len(set(places)) < FEWEST:
        return None
    slope = float(stats.theilslopes(values, places).slope)
    p = float(stats.kendalltau(places, values).pvalue)
    return Trend(change=slope * (max(places) - min(places)), p=p, n=len(values))
