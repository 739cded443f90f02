"""What all pictures share: how far an axis goes, and looks that differ."""

from __future__ import annotations

import math

from fireassay.reports.charts.chart import CATEGORIES, REACH, SHAPES, interval_row, look, top_of
from tests.estimates.test_format import made


def test_an_interval_of_few_launches_does_not_squeeze_all_other_values() -> None:
    """Speedups 1 and 1.5, the latter [0.005, 40000] of two launches: the axis ends near 6, and the bar goes on beyond it."""
    values = [made(1.0, 1.0, 1.0, confidence=1.0), made(1.5, 0.005, 40_000.0, k=2)]
    top = top_of(values, 1.0, 1.0)
    assert top == REACH * 1.5
    row = interval_row(values[1], 1.0, 0.0, top)
    assert (row["high"], row["cut"]) == (top, True)
    assert interval_row(made(1.5, 1.4, 1.6), 1.0, 0.0, top)["cut"] is False


def test_an_ordinary_interval_decides_the_axis() -> None:
    assert top_of([made(1.5, 1.0, 2.0)], 1.0, 1.0) == 2.0
    assert top_of([made(1.5, 1.0, math.inf)], 1.0, 1.0) == 1.5
    assert top_of([], 1.0) == 1.0


def test_as_many_looks_differ_as_there_are_pairs() -> None:
    several = [look(place) for place in range(len(SHAPES) * len(CATEGORIES))]
    assert len(set(several)) == len(several)
    assert several[:6] == list(zip(SHAPES, CATEGORIES, strict=True))
