"""What would a score be without one of its units?

Cannot tell: how far it is from the truth; intervals take their skewness or their pulls from it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Weighted = Callable[[Array], Array]  # weights [resamples, items] -> score of each resample; NaN: undefined
AT_ONCE: Final = 1 << 21  # weights held at a time: 16 MiB


def leaving_out(weighted: Weighted, weights: Array, member: NDArray[np.intp]) -> Array:
    """The score without each unit, shape [units]; `member` is the unit of each item."""
    units, at_once = int(member.max()) + 1, max(1, AT_ONCE // len(weights))
    parts = [np.arange(begin, min(begin + at_once, units)) for begin in range(0, units, at_once)]
    return np.concatenate([weighted(np.where(member == part[:, None], 0.0, weights)) for part in parts])
