"""Which of two sides wins, if anybody may look after every choice and stop?

A bet against "neither is better": with x = 1 for a win, 1/2 for a tie and 0 for a loss, the capital prod (1 + b (x - 1/2)) of a bettor who
stakes b in (0, 2) does not grow on average while E[x | the past] <= 1/2, whatever order or dependence the choices have otherwise.  So it passes 2 / risk
with probability risk / 2 at most, at any time (Ville 1939; Waudby-Smith & Ramdas, Journal of the Royal Statistical Society B 86, 2024); the capital is the mean
over `STAKES`, and both directions have half of the risk.  The null hypothesis may be another share than 1/2.

Whole items are the steps: the mean over their choices, in the order in which they were finished, since choices of one item depend on each other.
Cannot tell: other raters than these; with few raters the verdict over raters and items as samples (`crossed_raters`) is the wider one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
STAKES: Final = np.array([0.05, 0.1, 0.2, 0.4, 0.6, 0.9, 1.3, 1.8]) / 2.0  # shares of the largest stake that cannot go broke
WON: Final = "capital over all stakes, betting martingale"


@dataclass(frozen=True, kw_only=True)
class Stop:
    """What may be said at the last step, with the risk of ever saying it wrongly kept."""

    verdict: Literal["better", "worse", "go on"]
    steps: int  # seen
    decided_at: int | None  # the step at which the capital passed its bound first; None: not yet
    share: float  # mean of all steps; NaN of none
    capital: float  # the larger of both directions, against its bound `needed`
    needed: float


def stop(values: Sequence[float] | Array, risk: float, null: float = 0.5) -> Stop:
    """The verdict over `values` (shape [steps], each from 0 to 1), looked at after every step.

    Raises:
        ValueError: a value outside of 0 to 1, or a risk or null that is not strictly between 0 and 1.
    """
    data = np.asarray(values, dtype=np.float64)
    if not (0.0 < risk < 1.0 and 0.0 < null < 1.0) or not ((data >= 0.0) & (data <= 1.0)).all():
        raise ValueError("a sequence of wins needs values from 0 to 1, and a risk and a null strictly between 0 and 1")
    up, down = _capital(data, null), _capital(1.0 - data, 1.0 - null)
    needed = 2.0 / risk
    passed = np.maximum(up, down) >= math.log(needed)
    first = int(np.argmax(passed)) if passed.any() else None
    verdict: Literal["better", "worse", "go on"] = "go on" if first is None else "better" if up[first] >= down[first] else "worse"
    at = len(data) - 1 if first is None else first
    return Stop(
        verdict=verdict,
        steps=len(data),
        decided_at=None if first is None else first + 1,
        share=float(data.mean()) if len(data) else math.nan,
        capital=math.exp(min(700.0, float(max(up[at], down[at])))) if len(data) else 1.0,
        needed=needed,
    )


def _capital(values: Array, null: float) -> Array:
    """Logarithm of the mean capital after each step: grows where values exceed `null`, shape [steps]."""
    growth = np.cumsum(np.log1p(STAKES[:, None] / null * (values - null)[None, :]), axis=1)
    most = growth.max(axis=0, initial=-np.inf)
    return np.asarray(most + np.log(np.exp(growth - most).mean(axis=0))) if len(values) else np.empty(0)
