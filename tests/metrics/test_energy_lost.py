"""energy_lost: the power while the job was broken, for the rank-seconds that were lost."""

from __future__ import annotations

import pytest

from assay.estimates.estimate import Absent, Estimate
from assay.metrics.energy_lost import METRIC
from tests.handmade import Handmade
from tests.metrics.clocks_made import on_two_hosts, run_from_there
from tests.struck import struck


def test_power_of_the_broken_time_only() -> None:
    """See `struck`: broken from 10 s to 18 s, 16 rank-seconds lost. 100 W before, 10 W meanwhile: 10 x 16 / 2 joules."""
    value = METRIC.compute(_read(struck()).measured(), {})["workers=2"]
    assert isinstance(value, Estimate)
    assert value.value == pytest.approx(80.0)


def _read(made: Handmade) -> Handmade:
    for second in range(21):
        joules = 100.0 * min(second, 10) + 10.0 * max(second - 10, 0)
        made.reading(0, "package-0", "energy", joules, at_s=float(second), unit="J")
    return made


@pytest.mark.parametrize("there_s", [5.0, -300.0])
def test_counters_are_read_by_the_clock_of_the_host_that_assay_runs_on(there_s: float) -> None:
    """assay beside rank 1, whose clock is not rank 0's: the broken time was looked up in other seconds of the counter."""
    made = run_from_there(_read(on_two_hosts(there_s, looks=40)), there_s)
    value = METRIC.compute(made.measured(), {})["workers=2"]
    assert isinstance(value, Estimate)
    assert value.value == pytest.approx(80.0, rel=1e-3)


def test_clocks_that_are_not_known_give_no_joules() -> None:
    made = run_from_there(_read(on_two_hosts(0.0, looks=40)), 7.0, host="third")
    value = METRIC.compute(made.measured(), {})["workers=2"]
    assert isinstance(value, Absent)
    assert "third" in value.detail


def test_too_few_readings_while_it_was_broken_give_no_power() -> None:
    made = struck()
    for second in (0.0, 9.0, 20.0):
        made.reading(0, "package-0", "energy", second, at_s=second, unit="J")
    value = METRIC.compute(made.measured(), {})["workers=2"]
    assert isinstance(value, Absent)
    assert "sample_every_s" in value.detail


def test_without_counters_it_is_absent() -> None:
    assert isinstance(METRIC.compute(struck().measured(), {})["workers=2"], Absent)
