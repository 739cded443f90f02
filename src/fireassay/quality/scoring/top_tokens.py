"""How far are two next-token distributions apart at least, of which only the most probable tokens are known?"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np


def kl_at_least(reference: Mapping[str, float], replica: Mapping[str, float]) -> float:
    """A lower bound of one position's KL, from the log probabilities of each side's most probable tokens.

    All tokens that both sides report stand for themselves, and the rest for one: merging outcomes never raises a KL (data processing
    inequality).  NaN: no common token.
    """
    common = sorted(reference.keys() & replica.keys())
    if not common:
        return math.nan
    p, q = (np.exp([side[token] for token in common]) for side in (reference, replica))
    rest_p, rest_q = max(0.0, 1.0 - float(p.sum())), max(0.0, 1.0 - float(q.sum()))
    bound = float((p * np.log(p / q)).sum())
    if rest_p > 0.0 and rest_q > 0.0:
        bound += rest_p * math.log(rest_p / rest_q)
    return max(0.0, bound)
