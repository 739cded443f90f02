"""slo_attainment: requests that met every objective over those that were due."""

from __future__ import annotations

import pytest

from assay.metrics.estimate import Absent, Estimate
from assay.metrics.slo_attainment import METRIC
from assay.spec.serving import Objectives
from tests.serving_made import ServingMade


def test_every_request_that_was_due_is_in_the_denominator() -> None:
    """8 of 10 in each of two launches, as one was slow and one never sent."""
    made = ServingMade(rate=(1.0,), blocks=2, objectives=Objectives(e2e_s=1.0))
    for block in range(2):
        number = made.launch(block=block)
        for second in range(10):
            if second == 3:
                made.request(number, float(second), status="unsent", lag_s=None)
            else:
                made.request(number, float(second), at_s=[2.0 if second == 5 else 0.5], tokens_out=1)
    value = METRIC.compute(made.measured(), {})["rate=1"]
    assert isinstance(value, Estimate)
    assert (value.value, value.n_trials) == (pytest.approx(0.8), 20)
    # Clopper and Pearson, 16 of 20: [0.5634, 0.9427]
    assert (value.low, value.high) == pytest.approx((0.5634, 0.9427), abs=1e-4)


def test_without_objectives_there_is_none() -> None:
    made = ServingMade(rate=(1.0,), blocks=1)
    made.request(made.launch(), 0.0)
    assert isinstance(METRIC.compute(made.measured(), {})["rate=1"], Absent)
