"""outage_time: how long the struck replica was away."""

from __future__ import annotations

import pytest

from assay.estimates.estimate import Absent, Estimate
from assay.metrics.outage_time import METRIC
from tests.metrics.outages_made import outage


def test_it_is_between_the_probes_that_saw_it() -> None:
    """Down at 10.1 s, up at 14.5 s."""
    value = METRIC.compute(outage().measured(), {})["rate=10"]
    assert isinstance(value, Estimate)
    assert value.value == pytest.approx(4.4)


def test_a_replica_that_never_came_back_has_none() -> None:
    value = METRIC.compute(outage(up_s=None).measured(), {})["rate=10"]
    assert isinstance(value, Absent)
    assert value.reason == "undefined"


def test_without_a_fault_there_is_none() -> None:
    value = METRIC.compute(outage(struck=False).measured(), {})["rate=10"]
    assert isinstance(value, Absent)
    assert "[[faults]]" in value.detail


def test_what_assay_took_to_start_it_again_is_not_the_engines() -> None:
    """Struck at 10.05 s for 3 s, but the process was there only at 13.45 s: 0.4 s of 4.4 s are assay's."""
    value = METRIC.compute(outage(for_s=3.0, started_s=13.45).measured(), {})["rate=10"]
    assert isinstance(value, Estimate)
    assert value.value == pytest.approx(4.0)
    assert "less 400 ms by which assay was late to start it again" in value.method


@pytest.mark.parametrize("how", [{"for_s": 3.0}, {"started_s": 13.45}, {"for_s": 3.0, "started_s": 13.0}])
def test_without_a_delay_that_is_known_nothing_is_taken_off(how: dict[str, float]) -> None:
    value = METRIC.compute(outage(**how).measured(), {})["rate=10"]  # type: ignore[arg-type]
    assert isinstance(value, Estimate)
    assert value.value == pytest.approx(4.4)
    assert "assay" not in value.method
