"""overlap: 1 - exposed / total, both by the same way."""

from __future__ import annotations

import pytest

from assay.estimates.estimate import Absent, Estimate
from assay.metrics.overlap import METRIC
from tests.handmade import Handmade
from tests.metrics.communication_made import calls, told
from tests.metrics.test_communication import in_turn


def made_with(exposed_ms: float, span: tuple[float, float] | None, method: str = "group") -> Handmade:
    made = Handmade(levels=(2,), blocks=1)
    number = made.launch(workers=2)
    for rank in (0, 1):
        made.steps(number, rank=rank, seconds=[0.1] * 3)
        for step in range(3):
            calls(made, number, rank, step, [span or (0, 0)])
            told(made, number, rank, step, method, exposed_ms)
    return made


@pytest.mark.parametrize(("exposed", "share"), [(0.0, 1.0), (10.0, 0.75), (40.0, 0.0), (50.0, 0.0)])
def test_what_is_not_exposed_is_hidden(exposed: float, share: float) -> None:
    """Of 40 ms of communication."""
    found = METRIC.compute(made_with(exposed, (20, 60)).measured(), {})["workers=2"]
    assert isinstance(found, Estimate)
    assert found.value == pytest.approx(share)
    assert "overlap|by:group" in found.signature


def test_of_no_communication_no_share_is_hidden() -> None:
    found = METRIC.compute(made_with(0.0, None).measured(), {})["workers=2"]
    assert isinstance(found, Absent)
    assert found.reason == "undefined"


def test_by_steps_in_turn_the_total_is_of_the_same_launch() -> None:
    """30 ms of its own 40 are exposed, whatever the timed launches had."""
    made = made_with(1.0, (20, 60))
    number = in_turn(made, (100.0, 100.0), (70.0, 70.0))
    free = {row[3] for row in made.rows["communication"] if row[0] == number}
    for row in [row for row in made.rows["steps"] if row[0] == number and row[3] not in free]:
        calls(made, number, row[1], row[3], [(10, 50)], step_s=0.0)
    found = METRIC.compute(made.measured(), {})["workers=2"]
    assert isinstance(found, Estimate)
    assert found.value == pytest.approx(0.25)
    assert "overlap|by:unsynchronised" in found.signature


def test_one_way_without_totals_is_absent() -> None:
    made = Handmade(levels=(2,), blocks=1)
    number = made.launch(workers=2)
    for rank in (0, 1):
        made.steps(number, rank=rank, seconds=[0.1] * 3)
        told(made, number, rank, 1, "ddp_logging", 5.0)
    found = METRIC.compute(made.measured(), {})["workers=2"]
    assert isinstance(found, Absent)
    assert found.reason == "not_measured"
