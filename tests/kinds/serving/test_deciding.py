"""Do the requests that are advised decide as often as is said?"""

from __future__ import annotations

import math

import numpy as np
import pytest

from fireassay.kinds.serving.deciding import MIN_LAUNCHES, MOST_LAUNCHES, trials_beyond
from fireassay.stats.comparing.comparison import POWER
from fireassay.stats.intervals.means import share

CONFIDENCE = 0.95
RECORDS, LOADS = 100, 600


def advised(rng: np.random.Generator, truth: float, least: float, requests: int) -> list[float]:
    """By records of five launches that show about the true share, and leave it undecided."""
    found = []
    while len(found) < RECORDS:
        hits = rng.binomial(requests, truth, MIN_LAUNCHES).astype(float)
        seen = share(hits, np.full(MIN_LAUNCHES, float(requests)), CONFIDENCE)
        if abs(seen.value - truth) < 0.15 * abs(truth - least) and seen.low < least < seen.high:
            half, gap = max(seen.high - seen.value, seen.value - seen.low), abs(seen.value - least)
            found.append(trials_beyond(half, gap, MIN_LAUNCHES * requests, CONFIDENCE))
    return found


@pytest.mark.deep
@pytest.mark.parametrize(("truth", "least", "requests"), [(0.97, 0.95, 50), (0.93, 0.95, 100), (0.98, 0.99, 100), (0.6, 0.5, 20)])
def test_so_many_requests_decide_at_least_as_often_as_is_said(truth: float, least: float, requests: int) -> None:
    rng = np.random.default_rng(1)
    needed, decided = advised(rng, truth, least, requests), 0
    for _ in range(LOADS):
        launches = max(MIN_LAUNCHES, math.ceil(rng.choice(needed) / requests))
        each = requests if launches <= MOST_LAUNCHES else math.ceil(requests * launches / MIN_LAUNCHES)
        launches = launches if launches <= MOST_LAUNCHES else MIN_LAUNCHES
        seen = share(rng.binomial(each, truth, launches).astype(float), np.full(launches, float(each)), CONFIDENCE)
        decided += not seen.low <= least <= seen.high
    assert decided / LOADS > POWER
