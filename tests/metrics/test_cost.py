"""cost: workers x price x wall time."""

from __future__ import annotations

from assay.estimates.estimate import Absent, Estimate
from assay.metrics.cost import METRIC
from tests.handmade import Handmade


def test_the_reference_table_gives_its_documented_dollars() -> None:
    """METRICS.md: 32 workers at 1 dollar an hour each for 250 s cost 2.22 dollars, 2 for 1880 s cost 1.04."""
    made = Handmade(levels=(2, 32), blocks=1, prices=1.0)
    made.launch(workers=2, wall_s=1880.0)
    made.launch(workers=32, wall_s=250.0)
    values = METRIC.compute(made.measured(), {})
    dollars = {name: round(value.value, 2) for name, value in values.items() if isinstance(value, Estimate)}
    assert dollars == {"workers=2": 1.04, "workers=32": 2.22}


def test_a_price_of_nothing_costs_exactly_nothing_and_no_price_is_absent() -> None:
    free = Handmade(levels=(1,), blocks=1, prices=0.0)
    free.launch(workers=1)
    value = METRIC.compute(free.measured(), {})["workers=1"]
    assert isinstance(value, Estimate)
    assert (value.value, value.low, value.high) == (0.0, 0.0, 0.0)
    unpriced = Handmade(levels=(1,), blocks=1)
    unpriced.launch(workers=1)
    absent = METRIC.compute(unpriced.measured(), {})["workers=1"]
    assert isinstance(absent, Absent)
    assert "usd_per_worker_hour" in absent.detail
