"""The timeline of a fault launch: the coordinator's moments and the workers' steps, on one clock or not drawn."""

from __future__ import annotations

import pytest

from fireassay.reports.build_view import build
from fireassay.reports.charts.faults import FaultTimeline, fault_timelines
from fireassay.verdict.judge import judge
from tests.handmade import Handmade
from tests.metrics.clocks_made import on_two_hosts, run_from_there
from tests.metrics.training.test_faults import twice
from tests.struck import struck

pytestmark = pytest.mark.slow


def fault(made: Handmade) -> FaultTimeline:
    measured = made.measured()
    (found,) = fault_timelines(build(measured, judge(measured)))
    return found


@pytest.mark.parametrize("there_s", [0.004, 5.0, -300.0])
def test_steps_of_a_host_with_another_clock_stand_where_they_were(there_s: float) -> None:
    """As on one host, within the bound: the last rank finishes step 0 at 4 s, and step 6 again at 18 s."""
    one, two = fault(struck()), fault(on_two_hosts(there_s, looks=40))
    assert [(incarnation, steps) for incarnation, _, steps in two.progress] == [(i, n) for i, _, n in one.progress]
    assert [at for _, at, _ in two.progress] == pytest.approx([at for _, at, _ in one.progress], abs=2e-4)
    assert [phase.name for phase in two.phases] == ["detect", "restart", "reload", "recompute"]
    assert two.phases[-1].end_s == pytest.approx(18.0, abs=2e-4)


def test_seconds_since_the_launch_began_are_told_where_assay_ran_beside_rank_1() -> None:
    """Its launch began by that host's clock, which is 5 s ahead; the steps and the fault are drawn by rank 0's."""
    found = fault(run_from_there(on_two_hosts(5.0, looks=40), 5.0))
    assert found.fault_s == pytest.approx(10.0, abs=2e-4)
    assert found.progress[0][1] == pytest.approx(4.0, abs=2e-4)
    assert found.phases[-1].end_s == pytest.approx(18.0, abs=2e-4)


def test_steps_on_a_clock_that_nobody_compared_are_not_drawn_beside_the_fault() -> None:
    found = fault(on_two_hosts(-300.0, looks=0))
    assert found.progress == ()
    assert "not on the fault's clock (the clock of there:" in found.absent[-1]


def test_each_of_two_strikes_has_its_phases() -> None:
    found = fault(twice())
    assert (found.fault_s, found.again_s) == (10.0, (pytest.approx(17.2),))
    assert [phase.name for phase in found.phases] == ["detect", "restart", "reload", "recompute"] * 2
    assert [round(phase.end_s, 3) for phase in found.phases] == [10.5, 14.0, 15.0, 21.0, 17.5, 18.0, 19.0, 20.0]


def test_a_strike_that_missed_is_not_drawn() -> None:
    made = struck()
    made.rows["events"] = [row for row in made.rows["events"] if row[6] != "fault"]
    made.event(0, "fault", 10.0, rank=1, incarnation=0, step=7, detail={"pid": 42})
    made.event(0, "fault_missed", 10.0, rank=1, detail={"pid": 42})
    assert fault(made).fault_s is None
