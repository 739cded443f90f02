"""slo_attainment: requests that met every objective over those that were due."""

from __future__ import annotations

import pytest

from assay.estimates.estimate import Absent, Estimate
from assay.metrics.slo_attainment import METRIC
from assay.spec.sections.serving import Objectives
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


@pytest.mark.parametrize("asked", [Objectives(tpot_s=0.01), Objectives(itl_s=0.01)])
def test_a_time_per_token_of_answers_that_nobody_counted_is_not_met_unseen(asked: Objectives) -> None:
    """Ten chunks 50 ms apart, no usage, no tokenizer: 10 ms per token may be broken or not, and 100 % would be a guess."""
    made = ServingMade(rate=(1.0,), blocks=3, objectives=asked)
    for block in range(3):
        number = made.launch(block=block)
        for second in range(10):
            made.request(number, float(second), ttft_s=0.1, gap_s=0.05, tokens_out=None, chunks=10)
    value = METRIC.compute(made.measured(), {})["rate=1"]
    assert isinstance(value, Absent)
    assert value.reason == "not_measured"
    assert "nobody says how many tokens 30 answers had" in value.detail


def test_an_answer_of_one_chunk_leaves_the_time_per_token_open_whoever_counted() -> None:
    made = ServingMade(rate=(1.0,), blocks=1, objectives=Objectives(tpot_s=0.01))
    number = made.launch()
    for second in range(10):
        made.request(number, float(second), ttft_s=0.1, tokens_out=None, chunks=1)
    value = METRIC.compute(made.measured(), {})["rate=1"]
    assert isinstance(value, Estimate)
    assert value.value == 1.0
