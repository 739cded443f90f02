"""comm_contention: what exposed communication takes beyond what is waited for, in one launch. Worked out by hand."""

from __future__ import annotations

import pytest

from assay.estimates.estimate import Absent, Estimate, Value
from assay.metrics.comm_contention import METRIC
from tests.handmade import Handmade
from tests.metrics.communication_made import told
from tests.metrics.test_communication import RANKS, in_turn, timed


def contention(made: Handmade, configuration: str = "workers=2") -> Value:
    return METRIC.compute(made.measured(), {})[configuration]


def waited(made: Handmade, number: int, pair_ms: tuple[float | None, float | None]) -> None:
    """What the thread of each rank waited for, in every step of the launch that synchronises."""
    free = {row[3] for row in made.rows["communication"] if row[0] == number and row[4] == "unsynchronised"}
    for row in [row for row in made.rows["steps"] if row[0] == number and row[3] not in free]:
        told(made, number, row[1], row[3], "group", pair_ms[row[1]])


def test_what_is_added_beyond_what_is_waited_for() -> None:
    """Steps of 100 ms with and 70 without, of the 30 ms the threads waited for 22 and 26: 6. What launches under another load waited for
    (99) is not subtracted."""
    made, (number,) = timed()
    for step in range(3):
        for rank in RANKS:
            told(made, number, rank, step, "group", 99.0)
    waited(made, in_turn(made, (100.0, 100.0), (70.0, 70.0)), (22.0, 26.0))
    found = contention(made)
    assert isinstance(found, Estimate)
    assert found.value == pytest.approx(0.006)
    assert found.n_launches == 1
    assert "comm_contention|by:unsynchronised" in found.signature
    assert "less what the threads waited for in the same launch" in found.method


def test_each_launch_is_its_own_and_less_than_nothing_is_nothing() -> None:
    """30 - 24 = 6 and 20 - 22 = -2 ms, which is nothing: the mean of 6 and 0 is 3, and half of the launches were raised."""
    made, _ = timed()
    waited(made, in_turn(made, (100.0, 100.0), (70.0, 70.0)), (24.0, 24.0))
    waited(made, in_turn(made, (90.0, 90.0), (70.0, 70.0)), (22.0, 22.0))
    found = contention(made)
    assert isinstance(found, Estimate)
    assert found.value == pytest.approx(0.003)
    assert found.launch_values == pytest.approx((0.006, 0.0))
    assert found.low == 0.0
    assert found.method.endswith("raised to 0 from below in 50.0% of them")


def test_where_a_gpu_computes_no_thread_waits() -> None:
    made, _ = timed()
    waited(made, in_turn(made, (100.0, 100.0), (70.0, 70.0)), (None, None))
    found = contention(made)
    assert isinstance(found, Absent)
    assert found.detail == "what its threads waited for in these steps was not seen, as where a GPU computes"


def test_without_calibrating_it_is_absent() -> None:
    made, _ = timed()
    found = contention(made)
    assert isinstance(found, Absent)
    assert "workload.calibrate_communication = 3" in found.detail
    nobody = contention(made, "workers=1")
    assert isinstance(nobody, Absent)
    assert nobody.reason == "not_applicable"
