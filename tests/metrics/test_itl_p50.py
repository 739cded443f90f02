"""itl_p50: gaps between chunks, divided by the tokens that they brought."""

from __future__ import annotations

import numpy as np
import pytest

from assay.estimates.estimate import Absent, Estimate
from assay.metrics.itl_p50 import METRIC
from tests.serving_made import ServingMade


def test_it_is_the_quantile_of_all_gaps_and_not_of_the_launches() -> None:
    """Gaps of 1 ... 3000 ms dealt out at random, six to an answer: the linear quantile is 1 + 0.5 x 2999 ms."""
    made, gaps = ServingMade(rate=(10.0,), blocks=5), np.random.default_rng(2).permutation(3000) + 1
    for block, own in enumerate(gaps.reshape(5, 100, 6) / 1e3):
        number = made.launch(block=block)
        for place, few in enumerate(own):
            made.request(number, place * 0.1, at_s=[0.1, *(0.1 + few.cumsum()).tolist()], tokens_out=7)
    value = METRIC.compute(made.measured(), {})["rate=10"]
    assert isinstance(value, Estimate)
    assert value.value == pytest.approx((1 + 0.5 * 2999) / 1e3)
    assert value.n_trials == 3000


def test_two_tokens_in_a_chunk_halve_its_gap_and_the_method_says_so() -> None:
    """Chunks every 0.2 s with two tokens each, of which nobody says which chunk brought how many."""
    made = ServingMade(rate=(10.0,), blocks=3)
    for block in range(3):
        number = made.launch(block=block)
        for place in range(400):
            made.request(number, place * 0.01, gap_s=0.2, chunks=5, tokens_out=10)
    value = METRIC.compute(made.measured(), {})["rate=10"]
    assert isinstance(value, Estimate)
    assert value.value == pytest.approx(0.1)
    assert "1,200 answers" in value.method


def test_without_a_count_of_tokens_there_is_none() -> None:
    made = ServingMade(rate=(10.0,), blocks=3)
    for block in range(3):
        number = made.launch(block=block)
        for place in range(40):
            made.request(number, place * 0.1, chunks=5, tokens_out=None)
    value = METRIC.compute(made.measured(), {})["rate=10"]
    assert isinstance(value, Absent)
    assert "tokenizer" in value.detail
