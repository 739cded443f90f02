"""The one rule of all peaks of memory, for the metric of each counter: the largest rank's, of every launch."""

from __future__ import annotations

import pytest

from assay.estimates.estimate import Absent, Estimate
from assay.metrics.base import Metric
from tests.handmade import Handmade


def check_that_the_rank_that_needed_most_counts(metric: Metric, counter: str) -> None:
    made = Handmade(levels=(2,), blocks=2)
    for most in (3e9, 4e9):
        number = made.launch(workers=2)
        for rank, peak in enumerate((1e9, most)):
            made.reading(number, f"rank-{rank}", counter, peak, unit="B", method="self")
    value = metric.compute(made.measured(), {})["workers=2"]
    assert isinstance(value, Estimate)
    assert value.launch_values == (3e9, 4e9)
    assert value.value == pytest.approx((3e9 * 4e9) ** 0.5)
    assert value.unit == "B"


def check_that_what_nobody_told_is_absent(metric: Metric) -> None:
    made = Handmade(levels=(1,), blocks=1)
    made.launch(workers=1)
    assert isinstance(metric.compute(made.measured(), {})["workers=1"], Absent)
