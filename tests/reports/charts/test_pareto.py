"""The frontier holds what nothing dominates; all else is hollow, and intervals are drawn in both directions."""

from __future__ import annotations

import math
import random

import pytest

from fireassay.estimates.estimate import Estimate
from fireassay.reports.charts.chart import Drawing, Missing
from fireassay.reports.charts.marks import Point
from fireassay.reports.charts.pareto import draw, frontier, inverse, operations
from tests.reports.conftest import judged
from tests.rivals_made import rivals
from tests.serving_made import ServingMade


def dominated(place: tuple[float, float], places: list[tuple[float, float]]) -> bool:
    """By the definition: another is at least as good in both, and better in one."""
    return any(x >= place[0] and y >= place[1] and (x, y) != place for x, y in places)


def test_the_frontier_is_what_no_other_place_dominates() -> None:
    rng = random.Random(5)
    for _ in range(200):
        places = [(float(rng.randrange(6)), float(rng.randrange(6))) for _ in range(8)]
        assert set(frontier(places)) == {place for place in places if not dominated(place, places)}


def test_it_runs_from_left_to_right_and_falls() -> None:
    assert frontier([(1.0, 3.0), (2.0, 2.0), (1.5, 1.0), (3.0, 2.0), (3.0, 2.0)]) == ((1.0, 3.0), (3.0, 2.0))
    assert frontier([]) == ()


def test_the_inverse_of_an_interval_holds_the_inverses_of_all_its_values() -> None:
    one = Estimate(value=0.02, low=0.01, high=0.04, unit="s", confidence=0.95, n_launches=3, n_trials=9, method="m", signature="s")
    speed = inverse(one)
    assert (speed.low, speed.value, speed.high) == (25.0, 50.0, 100.0)
    unbounded = inverse(Estimate(**{**vars(one), "low": -math.inf, "high": math.inf}))
    assert (unbounded.low, unbounded.high) == (-math.inf, math.inf)


@pytest.mark.slow
def test_every_load_is_a_point_with_both_intervals_and_hollow_if_dominated() -> None:
    view = judged(rivals({"a": {4: 0.01, 8: 0.012, 16: 0.03}, "b": {4: 0.013, 8: 0.0125, 16: 0.02}}))
    (drawing,) = draw(view)
    assert isinstance(drawing, Drawing)
    points = [mark for mark in drawing.panels[0].marks if isinstance(mark, Point)]
    found = operations(view, view.columns)
    places = [one.place for one in found.values()]
    assert sorted((point.x, point.y) for point in points) == sorted(places)
    assert [point.hollow for point in points] == [dominated((point.x, point.y), places) for point in points]
    assert any(point.hollow for point in points)
    assert not all(point.hollow for point in points)
    for point in points:
        assert point.left is not None
        assert point.right is not None
        assert point.low is not None
        assert point.high is not None
        assert point.left <= point.x <= point.right
        assert point.low <= point.y <= point.high


def test_without_tokens_it_says_why_there_is_no_chart() -> None:
    (missing,) = draw(judged(ServingMade(rate=(1.0,), blocks=1)))
    assert isinstance(missing, Missing)
