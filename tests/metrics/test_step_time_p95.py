"""step_time_p95: the 0.95-quantile of the pooled steady steps; what all percentiles share is in test_tails.py."""

from __future__ import annotations

import numpy as np
import pytest

from assay.estimates.estimate import Estimate
from assay.metrics.step_time_p95 import METRIC
from tests.handmade import Handmade


def test_it_is_the_quantile_of_all_steps_and_not_of_the_launches() -> None:
    """Steps of 1 ... 2000 ms dealt out at random to 4 launches: the linear quantile is 1 + 0.95 x 1999 ms."""
    made, steps = Handmade(levels=(1,), blocks=4), np.random.default_rng(2).permutation(2000) + 1
    for block, own in enumerate(np.split(steps, 4)):
        made.steps(made.launch(workers=1, block=block), seconds=list(own / 1e3))
    value = METRIC.compute(made.measured(), {})["workers=1"]
    assert isinstance(value, Estimate)
    assert value.value == pytest.approx((1 + 0.95 * 1999) / 1e3)
    assert value.low < value.value < value.high
    assert value.signature.startswith("step_time_p95|agg:pooled|ci:cluster-woodruff|k:4|")
