"""Percentiles of requests: pooled over launches, success only with failures beside, refused where the data cannot carry them."""

from __future__ import annotations

import math

import pytest

from assay import catalog
from assay.estimates.estimate import Absent, Estimate
from assay.metrics import e2e_p50, itl_p50, tpot_p50, ttft_p50
from assay.metrics.base import Metric
from tests.serving_made import ServingMade, serving_measured, simulated

METRICS = (ttft_p50.METRIC, tpot_p50.METRIC, itl_p50.METRIC, e2e_p50.METRIC)
BY_METRIC = pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)


@BY_METRIC
def test_a_percentile_of_requests_is_about_serving_only(metric: Metric) -> None:
    assert catalog.load("metrics", metric.name) is metric
    assert (metric.unit, metric.better, metric.dimension, metric.about) == ("s", "lower", "performance", ("serving",))


@BY_METRIC
def test_failures_are_reported_beside_and_are_in_no_percentile(metric: Metric) -> None:
    """Of 41 requests per launch one in 20 fails after a minute: 3 x 3 failures, and no minute in the median."""
    rows = [
        {"due_s": place * 0.1, "status": "timeout", "done_s": 60.0} if place % 20 == 0 else {"due_s": place * 0.1} for place in range(41)
    ]
    value = metric.compute(serving_measured(rows, rate=(10.0,)), {})["rate=10"]
    assert isinstance(value, Estimate)
    assert value.value < 1.0
    assert "9 requests of 123 that were due failed" in value.method
    assert "measured window" in value.method


@BY_METRIC
def test_one_launch_has_a_value_and_no_interval(metric: Metric) -> None:
    measured = serving_measured([{"due_s": place * 0.1} for place in range(50)], rate=(10.0,), blocks=1)
    value = metric.compute(measured, {})["rate=10"]
    assert isinstance(value, Estimate)
    assert (value.low, value.high, value.n_launches) == (-math.inf, math.inf, 1)


@BY_METRIC
def test_why_there_is_nothing_is_said(metric: Metric) -> None:
    made = ServingMade(rate=(10.0, 20.0), blocks=1, warm_up_s=2.0)
    made.request(made.launch("rate=10"), 1.0, phase="warm_up")
    made.launch("rate=20", status="failed")
    values = metric.compute(made.measured(), {})
    too_short, failed = values["rate=10"], values["rate=20"]
    assert isinstance(too_short, Absent)
    assert "duration_s" in too_short.detail
    assert isinstance(failed, Absent)
    assert "no timed launch of rate=20 succeeded" in failed.detail


def test_warm_up_and_cold_requests_are_in_no_percentile() -> None:
    measured = simulated(rate=(10.0,), blocks=3, seconds=20.0, warm_up_s=2.0, seed=2).measured()
    value = e2e_p50.METRIC.compute(measured, {})["rate=10"]
    main = measured.table("requests").filter(measured.table("requests")["phase"] == "main")
    assert isinstance(value, Estimate)
    assert value.n_trials == main.height
