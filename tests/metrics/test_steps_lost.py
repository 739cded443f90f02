"""steps_lost of a fault launch whose every instant was written by hand (tests/struck.py)."""

from __future__ import annotations

import pytest

from assay.estimates.estimate import Absent, Estimate
from assay.metrics.steps_lost import METRIC
from tests.handmade import Handmade
from tests.struck import struck


def test_it_is_read_off_the_timeline() -> None:
    value = METRIC.compute(struck().measured(), {})["workers=2"]
    assert isinstance(value, Estimate)
    assert value.value == pytest.approx(3.0)


def test_without_a_fault_launch_it_is_absent() -> None:
    made = Handmade(levels=(2,), blocks=1)
    made.launch(workers=2)
    assert isinstance(METRIC.compute(made.measured(), {})["workers=2"], Absent)


def test_a_job_that_never_trained_again_has_none() -> None:
    value = METRIC.compute(struck(recovers=False).measured(), {})["workers=2"]
    assert isinstance(value, Absent)
    assert value.reason == "undefined"


def test_a_step_that_a_survivor_finished_before_the_engine_stopped_it_is_lost_too() -> None:
    """Its row died with it; the coordinator read 8 finished steps off its progress."""
    made = struck()
    made.event(0, "worker_gone", 10.5, rank=0, incarnation=0, step=8)
    value = METRIC.compute(made.measured(), {})["workers=2"]
    assert isinstance(value, Estimate)
    assert value.value == 4.0


def test_steps_whose_rows_died_with_the_victim_are_counted_from_what_the_coordinator_saw() -> None:
    made = struck(workers=1)
    made.rows["steps"] = [row for row in made.rows["steps"] if row[2] == 1 or row[3] < 5]  # steps 5 and 6 never got to the disk
    value = METRIC.compute(made.measured(), {})["workers=1"]
    assert isinstance(value, Estimate)
    assert value.value == 3.0
