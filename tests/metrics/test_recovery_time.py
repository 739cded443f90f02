"""recovery_time of a fault launch whose every instant was written by hand (tests/struck.py)."""

from __future__ import annotations

import pytest

from assay.metrics.estimate import Absent, Estimate
from assay.metrics.recovery_time import METRIC
from tests.handmade import Handmade
from tests.struck import struck


def test_it_is_read_off_the_timeline() -> None:
    value = METRIC.compute(struck().measured(), {})["workers=2"]
    assert isinstance(value, Estimate)
    assert value.value == pytest.approx(8.0)


def test_without_a_fault_launch_it_is_absent() -> None:
    made = Handmade(levels=(2,), blocks=1)
    made.launch(workers=2)
    assert isinstance(METRIC.compute(made.measured(), {})["workers=2"], Absent)


def test_a_job_that_never_trained_again_has_none() -> None:
    value = METRIC.compute(struck(recovers=False).measured(), {})["workers=2"]
    assert isinstance(value, Absent)
    assert value.reason == "undefined"


def test_its_four_parts_sum_to_it() -> None:
    from assay.metrics import time_to_detect, time_to_recompute, time_to_reload, time_to_restart

    measured = struck().measured()
    parts = [
        metric.METRIC.compute(measured, {})["workers=2"]
        for metric in (time_to_detect, time_to_restart, time_to_reload, time_to_recompute)
    ]
    assert sum(part.value for part in parts if isinstance(part, Estimate)) == pytest.approx(8.0)
