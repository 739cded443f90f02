"""Is a convergence judged as MLPerf's rcp_checker judges it?  Expected values: published scores, and the checker's own numbers (4.1.68)."""

from __future__ import annotations

import math

import pytest
from scipy import stats

from fireassay.spec.mlperf.tables import training_rules
from fireassay.stats.models.mlperf_rcp import Point, between, converged, least_mean, olympic_mean, pruned

AMD = (3072.0, 3072.0, 3072.0, 3072.0, 3072.0, 3072.0, 3072.0, 2688.0, 2688.0, 3072.0)


def _points(round_: str, benchmark: str) -> tuple[list[Point], int]:
    rules = training_rules(round_, benchmark, "closed")
    assert rules is not None
    assert rules.convergence is not None
    return [Point(batch=b, mean=m, deviation=s, runs=n) for b, m, s, n in rules.convergence.points], rules.runs


def test_the_mean_leaves_out_the_fastest_and_the_slowest() -> None:
    assert olympic_mean([1.0, 100.0, 2.0, 3.0]) == 2.5
    with pytest.raises(ValueError, match="three"):
        olympic_mean([1.0, 2.0])


def test_the_least_mean_is_where_a_one_sided_t_test_gives_five_percent() -> None:
    """Against scipy's t-test from statistics, as the checker calls it."""
    point = Point(batch=1.0, mean=10.0, deviation=2.0, runs=18)
    least = least_mean(point, 8)
    p = stats.ttest_ind_from_stats(least, 2.0, 18, 10.0, 2.0, 8, equal_var=True).pvalue / 2.0
    assert p == pytest.approx(0.05, abs=1e-9)


def test_without_spread_the_reference_is_the_least() -> None:
    assert least_mean(Point(batch=1.0, mean=10.0, deviation=0.0, runs=18), 8) == 10.0


def test_a_point_above_the_line_between_its_neighbours_does_not_count() -> None:
    points = [Point(batch=b, mean=m, deviation=0.0, runs=10) for b, m in ((8, 30.0), (16, 10.0), (32, 50.0), (64, 20.0))]
    assert [point.batch for point in pruned(points, 5)] == [16, 64]


def test_between_two_batch_sizes_the_reference_is_on_the_line() -> None:
    low, high = (Point(batch=b, mean=m, deviation=s, runs=18) for b, m, s in ((100.0, 10.0, 1.0), (200.0, 20.0, 3.0)))
    found = between(125.0, low, high, 10)
    assert (found.mean, found.deviation, found.runs) == (12.5, 1.5, 20)


@pytest.mark.parametrize(
    ("benchmark", "batch", "mean", "least"),  # as rcp_checker prints: RCP Mean, Min Epochs (5.0.0)
    [
        ("retinanet", 256, 4.0, 4.0),
        ("llama2_70b_lora", 8, 3178.6666666666665, 2960.6339616775513),
        ("bert", 448, 2414421.3333333335, 2274732.0290379203),
    ],
)
def test_published_references_give_the_checkers_least_mean(benchmark: str, batch: int, mean: float, least: float) -> None:
    points, runs = _points("5.0", benchmark)
    point = next(point for point in points if point.batch == batch)
    assert point.mean == pytest.approx(mean, rel=1e-9)
    assert least_mean(point, runs - 2) == pytest.approx(least, rel=1e-9, abs=1e-4)  # the checker bisects to 1e-4


def test_a_published_score_was_scaled_by_this_factor() -> None:
    """Round 5.0, AMD, MI325X, llama2_70b_lora: samples to converge of its ten logs, and the factor in its scaling.json."""
    points, runs = _points("5.0", "llama2_70b_lora")
    judged = converged(points, 8, AMD, runs)
    assert judged.passed
    assert judged.factor == pytest.approx(1.0511463844797178, rel=1e-9)


def test_a_batch_beyond_every_reference_is_not_accepted_and_a_smaller_one_takes_the_smallest() -> None:
    points, runs = _points("5.0", "retinanet")
    assert converged(points, 8192, [5.0] * 5, runs).how == "missing"
    assert not converged(points, 8192, [5.0] * 5, runs).passed
    assert converged(points, 96, [5.0] * 5, runs).how == "smaller"


def test_one_run_that_did_not_converge_is_the_slowest() -> None:
    points, runs = _points("5.0", "retinanet")
    assert converged(points, 256, [5.0, 5.0, 5.0, 5.0, math.inf], runs).mean == 5.0
