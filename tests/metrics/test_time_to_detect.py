"""time_to_detect of a fault launch whose every instant was written by hand (tests/struck.py)."""

from __future__ import annotations

import pytest

from assay.estimates.estimate import Absent, Estimate
from assay.metrics.time_to_detect import METRIC
from tests.handmade import Handmade
from tests.struck import struck


def test_it_is_read_off_the_timeline() -> None:
    value = METRIC.compute(struck().measured(), {})["workers=2"]
    assert isinstance(value, Estimate)
    assert value.value == pytest.approx(0.5)


def test_without_a_fault_launch_it_is_absent() -> None:
    made = Handmade(levels=(2,), blocks=1)
    made.launch(workers=2)
    assert isinstance(METRIC.compute(made.measured(), {})["workers=2"], Absent)


def test_one_worker_has_no_peer_that_shows_the_detection() -> None:
    value = METRIC.compute(struck(workers=1).measured(), {})["workers=1"]
    assert isinstance(value, Absent)
    assert value.reason == "not_applicable"
