"""tpot_p50: the 0.5-quantile of all requests of all launches; what percentiles of requests share is in test_latencies.py."""

from __future__ import annotations

import numpy as np
import pytest

from assay.estimates.estimate import Absent, Estimate
from assay.metrics.tpot_p50 import METRIC
from tests.serving_made import ServingMade, serving_measured


def test_it_is_the_quantile_of_all_requests_and_not_of_the_launches() -> None:
    """1 ... 3000 ms dealt out at random to 5 launches: the linear quantile is 1 + 0.5 x 2999 ms."""
    made, times = ServingMade(rate=(100.0,), blocks=5), np.random.default_rng(2).permutation(3000) + 1
    for block, own in enumerate(np.split(times, 5)):
        number = made.launch(block=block)
        for place, milliseconds in enumerate(own.tolist()):
            made.request(number, place * 0.01, ttft_s=0.1, gap_s=milliseconds / 1e3, tokens_out=3)
    value = METRIC.compute(made.measured(), {})["rate=100"]
    assert isinstance(value, Estimate)
    assert value.value == pytest.approx((1 + 0.5 * 2999) / 1e3)
    assert value.low < value.value < value.high
    assert (value.n_trials, value.n_launches) == (3000, 5)


def test_it_is_absent_where_nothing_could_be_seen() -> None:
    measured = serving_measured([{"due_s": 0.0, "status": "5xx"}, {"due_s": 1.0, "status": "5xx"}], rate=(1.0,))
    value = METRIC.compute(measured, {})["rate=1"]
    assert isinstance(value, Absent)
    assert value.reason == "not_measured"


def test_answers_that_were_not_streamed_have_none() -> None:
    value = METRIC.compute(serving_measured([{"due_s": 0.0}], rate=(1.0,), stream=False), {})["rate=1"]
    assert isinstance(value, Absent)
    assert value.reason == "not_applicable"
