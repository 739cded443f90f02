"""Percentiles of steps: pooled steady steps, interval between launches, refused where the data cannot carry them."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import accumulate

import numpy as np
import pytest

from fireassay import catalog
from fireassay.estimates.estimate import Absent, Estimate, Value
from fireassay.frames.record_data import RecordData
from fireassay.metrics.metric import Metric
from fireassay.metrics.training.time import STEP_AUTOCORRELATION, STEP_TIME, STEP_TIME_P50, STEP_TIME_P95, STEP_TIME_P99, THROUGHPUT
from tests.handmade import Handmade

PERCENTILES = (STEP_TIME_P50, STEP_TIME_P95, STEP_TIME_P99)
BY_PERCENTILE = pytest.mark.parametrize("metric", PERCENTILES, ids=lambda metric: metric.name)


def computed(metric: Metric, measured: RecordData) -> Mapping[str, Value]:
    """The metric's values."""
    return metric.compute(measured, {})


def with_ramps(shift: float, blocks: int = 5) -> Handmade:
    """T17's ramps as steps in ms, shuffled: launch i holds j + shift i for j = 1 ... 1000."""
    made, rng = Handmade(levels=(1,), blocks=blocks), np.random.default_rng(7)
    for block in range(blocks):
        made.steps(made.launch(workers=1, block=block), seconds=list((rng.permutation(1000) + 1 + shift * block) / 1e3))
    return made


@BY_PERCENTILE
def test_a_percentile_of_steps_is_read_next_to_the_step_time(metric: Metric) -> None:
    assert STEP_TIME.rank < metric.rank < STEP_AUTOCORRELATION.rank < THROUGHPUT.rank
    assert catalog.load("metrics", metric.name) is metric
    assert (metric.unit, metric.better, metric.dimension, metric.primary) == ("s", "lower", "performance", False)


@BY_PERCENTILE
def test_a_script_without_marked_steps_has_no_percentile(metric: Metric) -> None:
    made = Handmade(levels=(1,), blocks=1)
    made.launch(workers=1)
    value = computed(metric, made.measured())["workers=1"]
    assert isinstance(value, Absent)
    assert (value.reason, "probe.steps" in value.detail) == ("not_measured", True)


@BY_PERCENTILE
def test_a_configuration_whose_launches_all_failed_says_so(metric: Metric) -> None:
    made = Handmade(levels=(1,), blocks=1)
    made.steps(made.launch(workers=1, status="failed"), seconds=[1.0] * 30)
    value = computed(metric, made.measured())["workers=1"]
    assert isinstance(value, Absent)
    assert "no timed launch of workers=1 succeeded" in value.detail


@BY_PERCENTILE
def test_one_long_launch_carries_no_percentile(metric: Metric) -> None:
    value = computed(metric, with_ramps(0, blocks=1).measured())["workers=1"]
    assert isinstance(value, Absent)
    assert value.reason == "insufficient"
    assert "at least 3 launches" in value.detail
    assert "a trial is a step" in value.detail


def test_the_method_says_how_dependent_the_steps_are() -> None:
    """p99 of ramps shifted by 2 is 994.01 in [991, 999], here in ms."""
    value = computed(STEP_TIME_P99, with_ramps(2).measured())["workers=1"]
    assert isinstance(value, Estimate)
    assert (value.value, value.low, value.high) == pytest.approx((0.99401, 0.991, 0.999))
    assert (value.n_launches, value.n_trials, value.confidence) == (5, 5000, 0.95)
    assert "5,000 steps of 5 launches" in value.method
    assert "autocorrelation time tau = 1" in value.method
    assert "n_eff = " in value.method
    # the linear 0.99-quantile of 1 ... 1000 is 990.01; launch i is shifted by 2 i
    assert value.launch_values == pytest.approx([0.99001, 0.99201, 0.99401, 0.99601, 0.99801])


def test_launches_that_differ_too_much_in_the_tail_leave_p99_open_and_p50_measured() -> None:
    measured = with_ramps(10).measured()
    tail, middle = (computed(metric, measured)["workers=1"] for metric in (STEP_TIME_P99, STEP_TIME_P50))
    assert isinstance(tail, Absent)
    assert "about 8 launches of this length" in tail.detail
    assert isinstance(middle, Estimate)
    assert middle.value == pytest.approx(0.5205)  # the median of 1 ... 1000 is 500.5, and the middle launch is shifted by 20
    # f = .48 ... .52 in steps of .01: sd .0158114, h = 2.776445 x .0158114/sqrt(5) = .0196324: a range of 40 ms, and ties
    assert middle.high - middle.low == pytest.approx(0.039, abs=0.0015)


def test_slow_neighbours_do_not_count_as_independent_steps() -> None:
    """AR(.95) round 10 s in 5 launches of 150 steps: in this order too dependent for p95, at random enough."""
    rng = np.random.default_rng(7)
    found = []
    for order in (np.arange(150), rng.permutation(150)):
        made, noise = Handmade(levels=(1,), blocks=5), np.random.default_rng(8)
        for block in range(5):
            steps = np.array(list(accumulate(noise.normal(0, 0.01, 150), lambda last, e: 0.95 * last + e)))
            made.steps(made.launch(workers=1, block=block), seconds=list(10.0 + steps[order]))
        found.append(computed(STEP_TIME_P95, made.measured())["workers=1"])
    in_order, at_random = found
    assert isinstance(in_order, Absent)
    assert "trials with an autocorrelation time of" in in_order.detail
    assert isinstance(at_random, Estimate)


def test_warm_up_is_no_tail() -> None:
    """The ten slow first steps of each launch would be one step in ten."""
    made, rng = Handmade(levels=(1,), blocks=5), np.random.default_rng(7)
    for block in range(5):
        seconds = rng.uniform(0.9, 1.1, 110)
        seconds[:10] += 5.0
        made.steps(made.launch(workers=1, block=block), seconds=list(seconds))
    value = computed(STEP_TIME_P95, made.measured())["workers=1"]
    assert isinstance(value, Estimate)
    assert value.high <= 1.1
