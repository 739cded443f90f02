"""The highest load that meets the objectives: known answers by hand and by M/M/1, refusals, and how often its interval is right."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fireassay.stats.models.capacity import Point, capacity
from tests.queues import mm1_quantile


def points(misses: dict[float, list[int]], total: int = 1000) -> list[Point]:
    """One launch per number of misses, in blocks."""
    return [
        Point(load=load, hits=float(total - missed), total=float(total), block=block)
        for load, own in misses.items()
        for block, missed in enumerate(own)
    ]


def test_the_crossing_is_on_the_line_between_the_log_odds() -> None:
    """Misses of 1 % at 10 and 10 % at 20, allowed 5 %: odds (30.5/2970.5), (300.5/2700.5), .05/.95 as logs."""
    found = capacity(points({10.0: [10, 10, 10], 20.0: [100, 100, 100]}), 0.95, 0.95)
    low, high = math.log(30.5 / 2970.5), math.log(300.5 / 2700.5)
    assert found.value == pytest.approx(10.0 + 10.0 * (math.log(0.05 / 0.95) - low) / (high - low))
    assert found.low < found.value < found.high
    assert not found.refused


def test_launches_that_differ_widen_it() -> None:
    alike = capacity(points({10.0: [10, 10, 10, 10], 20.0: [100, 100, 100, 100]}), 0.95, 0.95)
    differ = capacity(points({10.0: [5, 15, 8, 12], 20.0: [50, 150, 80, 120]}), 0.95, 0.95)
    assert differ.high - differ.low > alike.high - alike.low
    assert differ.value == pytest.approx(alike.value)


def test_loads_out_of_order_are_pooled() -> None:
    """Load 12 looks worse than 14 by chance: the line does not fall."""
    found = capacity(points({10.0: [10] * 3, 12.0: [45] * 3, 14.0: [35] * 3, 20.0: [100] * 3}), 0.95, 0.95)
    assert 14.0 < found.value < 20.0


@pytest.mark.parametrize(
    ("misses", "said"),
    [
        ({10.0: [0, 0, 0], 20.0: [1, 2, 0]}, "up to 20 at least 95 % of the requests meet the objectives; measure higher"),
        ({10.0: [100, 90, 95]}, "even at the lowest load, 10, fewer than 95 %"),
        ({10.0: [10, 10], 20.0: [100, 100]}, "need at least 3 launches each"),
    ],
)
def test_an_unbracketed_capacity_is_refused(misses: dict[float, list[int]], said: str) -> None:
    found = capacity(points(misses), 0.95, 0.95)
    assert said in found.refused
    assert math.isnan(found.value)


def test_a_lowest_load_whose_few_requests_all_meet_is_not_called_too_high() -> None:
    """10 of 10 is no evidence for 99 %, since half a miss in 11 would be 95 %; nor is it a miss."""
    found = capacity(points({1.0: [0, 0], 4.0: [0, 0]}, total=5), 0.99, 0.95)
    assert "10 of 10 requests at the lowest load, 1, meet" in found.refused
    assert "measure it for longer" in found.refused


def test_a_side_that_the_data_leave_open_is_open() -> None:
    """49 and 51 misses of 1000: nothing says that 20 is too much."""
    found = capacity(points({10.0: [10, 10, 10], 20.0: [45, 55, 60]}), 0.95, 0.95)
    assert found.high == math.inf
    assert found.low > 10.0


@pytest.mark.parametrize(
    ("points_", "target", "confidence"),
    [
        ([], 0.9, 0.95),
        ([Point(load=0.0, hits=1, total=1, block=0)], 0.9, 0.95),
        ([Point(load=1.0, hits=2, total=1, block=0)], 0.9, 0.95),
        ([Point(load=1.0, hits=1, total=1, block=0)], 1.0, 0.95),
        ([Point(load=1.0, hits=1, total=1, block=0)], 0.9, 0.0),
    ],
)
def test_nonsense_is_an_error(points_: list[Point], target: float, confidence: float) -> None:
    with pytest.raises(ValueError, match=r"launch|strictly"):
        capacity(points_, target, confidence)


@given(st.lists(st.tuples(st.integers(0, 100), st.integers(0, 100), st.integers(0, 100)), min_size=2, max_size=6), st.floats(0.5, 0.999))
def test_the_value_lies_between_measured_loads_and_inside_its_interval(rows: list[tuple[int, ...]], target: float) -> None:
    made = points({float(load + 1): list(own) for load, own in enumerate(rows)}, total=100)
    found = capacity(made, target, 0.95)
    if not found.refused:
        assert 1.0 <= found.value <= len(rows)
        assert found.low <= found.value <= found.high


def sojourns(rng: np.random.Generator, rate: float, service: float, n: int) -> np.ndarray:
    """Times in a stationary M/M/1 system, by Lindley's recursion."""
    gaps, served = rng.exponential(1 / rate, size=n), rng.exponential(1 / service, size=n)
    first = rng.exponential(1 / (service - rate)) if rng.random() < rate / service else 0.0
    walk = np.concatenate([[first], first + np.cumsum(served[:-1] - gaps[1:])])
    return walk - np.minimum(np.minimum.accumulate(walk), 0.0) + served


@pytest.mark.deep
@pytest.mark.slow
def test_it_finds_the_capacity_of_an_mm1_queue_as_often_as_it_says() -> None:
    """Service 10/s, 90 % within 0.6 s: mm1_quantile(.9, 6.162, 10) = .6. 5 launches of 100 s at 4 to 8/s, 200 times."""
    truth = 10.0 + math.log(0.1) / 0.6
    assert mm1_quantile(0.9, truth, 10.0) == pytest.approx(0.6)
    rng, held, rounds = np.random.default_rng(5), 0, 200
    for _ in range(rounds):
        made = []
        for block in range(5):
            for load in (4.0, 5.0, 6.0, 7.0, 8.0):
                times = sojourns(rng, load, 10.0, max(2, int(rng.poisson(load * 100))))
                made.append(Point(load=load, hits=float((times <= 0.6).sum()), total=float(len(times)), block=block))
        found = capacity(made, 0.9, 0.95)
        held += not found.refused and found.low <= truth <= found.high
    assert 0.92 <= held / rounds <= 0.99
