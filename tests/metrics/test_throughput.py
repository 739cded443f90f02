"""throughput: items of all ranks over the time of the steps; a ratio of sums, never a mean of rates."""

from __future__ import annotations

import pytest

from assay.estimates.estimate import Absent, Estimate
from assay.metrics.throughput import METRIC
from tests.handmade import Handmade


def test_rates_are_summarised_by_sums_and_not_by_their_mean() -> None:
    """Hoefler & Belli rule 3: 10, 100 and 40 s for 100 each is 300 / 150 = 2 per second, not 4.5."""
    made = Handmade(levels=(1,), blocks=1)
    made.steps(made.launch(workers=1), seconds=[10.0, 100.0, 40.0], items=100)
    value = METRIC.compute(made.measured(), {})["workers=1"]
    assert isinstance(value, Estimate)
    assert value.value == pytest.approx(2.0)


def test_items_of_all_ranks_count() -> None:
    made = Handmade(levels=(2,), blocks=1)
    number = made.launch(workers=2)
    for rank in range(2):
        made.steps(number, rank=rank, seconds=[2.0, 2.0, 2.0], items=5)
    value = METRIC.compute(made.measured(), {})["workers=2"]
    assert isinstance(value, Estimate)
    assert value.value == pytest.approx(5.0)


def test_items_of_one_rank_unknown_makes_the_step_unknown() -> None:
    made = Handmade(levels=(2,), blocks=1)
    number = made.launch(workers=2)
    made.steps(number, rank=0, seconds=[2.0, 2.0], items=5)
    made.steps(number, rank=1, seconds=[2.0, 2.0])
    assert isinstance(METRIC.compute(made.measured(), {})["workers=2"], Absent)
