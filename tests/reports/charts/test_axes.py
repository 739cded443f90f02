"""What all pictures share: how far an axis goes, and looks that differ."""

from __future__ import annotations

import math

from fireassay.reports.charts.axes import REACH, levels_axis, log_ticks, ticks, top_of
from fireassay.reports.charts.points import CATEGORIES, SHAPES, look
from tests.estimates.test_format import made


def test_an_interval_of_few_launches_does_not_squeeze_all_other_values() -> None:
    """Speedups 1 and 1.5, the latter [0.005, 40000] of two launches: the axis ends near 6, and the bar goes on beyond it."""
    values = [made(1.0, 1.0, 1.0, confidence=1.0), made(1.5, 0.005, 40_000.0, k=2)]
    top = top_of(values, 1.0, 1.0)
    assert top == REACH * 1.5


def test_an_ordinary_interval_decides_the_axis() -> None:
    assert top_of([made(1.5, 1.0, 2.0)], 1.0, 1.0) == 2.0
    assert top_of([made(1.5, 1.0, math.inf)], 1.0, 1.0) == 1.5
    assert top_of([], 1.0) == 1.0


def test_as_many_looks_differ_as_there_are_pairs() -> None:
    several = [look(place) for place in range(len(SHAPES) * len(CATEGORIES))]
    assert len(set(several)) == len(several)
    assert several[:6] == list(zip(SHAPES, CATEGORIES, strict=True))


def test_ticks_are_round_and_inside() -> None:
    assert [text for _, text in ticks(0.0, 2.7)] == ["0", "1", "2"]
    assert [value for value, _ in ticks(-0.013, 0.02)] == [-0.01, 0.0, 0.01, 0.02]
    assert [text for _, text in ticks(0.0, 4_200.0)] == ["0", "1,000", "2,000", "3,000", "4,000"]
    assert [value for value, _ in log_ticks(0.8, 8.0)] == [1.0, 2.0, 5.0]
    assert [value for value, _ in log_ticks(0.8, 120.0)] == [1.0, 3.0, 10.0, 30.0, 100.0]
    assert ticks(3.0, 3.0) == ((3.0, "3"),)


def test_wide_worker_counts_get_a_logarithmic_axis_and_labels_that_fit() -> None:
    assert not levels_axis((1, 2, 4, 8), "workers").log
    wide = levels_axis((1, 2, 4, 8, 16, 32), "workers")
    assert wide.log
    assert [value for value, _ in wide.ticks] == [1, 2, 4, 8, 16, 32]
    assert len(levels_axis(tuple(range(1, 200)), "workers").ticks) <= 20
    only = levels_axis((4,), "workers")
    assert (only.low, only.high) == (3.65, 4.35)
