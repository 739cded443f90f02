"""cost_lost: the rank-seconds that a fault cost, at the price of a worker."""

from __future__ import annotations

from datetime import date

import pytest

from assay.estimates.estimate import Absent, Estimate
from assay.metrics.cost_lost import METRIC
from assay.spec.sections.costs import Prices
from tests.handmade import Handmade
from tests.metrics.clocks_made import on_two_hosts
from tests.struck import struck


def priced(made: Handmade) -> Handmade:
    prices = Prices(usd_per_worker_hour=3600.0, as_of=date(2026, 1, 1), source="test")
    made.experiment = made.experiment.model_copy(update={"prices": prices})
    return made


def test_detection_restart_reload_and_what_was_done_again_at_a_dollar_a_second() -> None:
    """See `struck`: on two ranks detect .5 each, restart 2.5 and 3.5, reload 2 and 1, three steps of 1 s done again: 16 rank-seconds."""
    value = METRIC.compute(priced(struck()).measured(), {})["workers=2"]
    assert isinstance(value, Estimate)
    assert value.value == pytest.approx(16.0)


def test_a_stop_costs_what_it_added_to_the_steps() -> None:
    made = priced(Handmade(levels=(2,), blocks=1))
    made.launch(workers=2, role="fault", wall_s=12.0)
    for rank in (0, 1):
        made.steps(0, rank=rank, seconds=[1.0, 1.0, 4.0, 1.0, 1.0])
    made.event(0, "fault", 2.5, rank=1, incarnation=0)
    made.event(0, "fault_end", 5.5, rank=1, incarnation=0)
    value = METRIC.compute(made.measured(), {})["workers=2"]
    assert isinstance(value, Estimate)
    assert value.value == pytest.approx(6.0)  # both ranks stood still for 3 s


def test_without_prices_or_without_a_fault_it_is_absent() -> None:
    assert isinstance(METRIC.compute(struck().measured(), {})["workers=2"], Absent)
    made = priced(Handmade(levels=(2,), blocks=1))
    made.launch(workers=2)
    assert isinstance(METRIC.compute(made.measured(), {})["workers=2"], Absent)


def test_what_nobody_knows_costs_no_zero_dollars() -> None:
    """Hosts whose clocks nobody compared, and a script of which no step was seen: where the rank-seconds went is not known."""
    apart = METRIC.compute(priced(on_two_hosts(-300.0, looks=0)).measured(), {})["workers=2"]
    assert isinstance(apart, Absent)
    assert apart.reason == "refused"
    assert "clock of there" in apart.detail
    unmarked = priced(struck())
    unmarked.rows["steps"].clear()
    value = METRIC.compute(unmarked.measured(), {})["workers=2"]
    assert isinstance(value, Absent)
    assert "did not mark its steps" in value.detail
