"""comm_alone: a step's collectives with nothing else running, by the launches that calibrate communication. Worked out by hand."""

from __future__ import annotations

import pytest

from assay.estimates.estimate import Absent, Estimate
from assay.metrics.comm_alone import METRIC
from tests.handmade import Handmade
from tests.metrics.communication_made import calls, told
from tests.metrics.test_communication import RANKS, timed


def replays(made: Handmade, pairs_ms: list[tuple[float, float]], *, status: str = "ok") -> int:
    """A launch that calibrates communication, with replays that took so long on each of two ranks."""
    number = made.launch(workers=2, role="communication", status=status)
    for place, pair in enumerate(pairs_ms):
        for rank in RANKS:
            told(made, number, rank, 10 + 8 * place, "replay", None, total_ms=pair[rank])
    return number


def absent(made: Handmade, configuration: str = "workers=2") -> Absent:
    found = METRIC.compute(made.measured(), {})[configuration]
    assert isinstance(found, Absent), found
    return found


def test_the_mean_over_ranks_the_median_over_replays_the_mean_over_launches() -> None:
    """Replays of 48 and 50, 50 and 50, 70 and 90 ms: 49, 50, 80, the median 50. With a launch of 60: 55, -+ 12.706 * 5 ms (Student t, 1
    degree).
    """
    made, _ = timed()
    replays(made, [(48, 50), (50, 50), (70, 90)])
    replays(made, [(60, 60)])
    found = METRIC.compute(made.measured(), {})["workers=2"]
    assert isinstance(found, Estimate)
    assert found.value == pytest.approx(0.055)
    assert found.launch_values == pytest.approx((0.050, 0.060))
    assert (found.low, found.high) == (0.0, pytest.approx(0.055 + 12.706 * 0.005, rel=1e-3))
    assert (found.n_launches, found.n_trials) == (2, 4)
    assert "comm_alone|by:replay" in found.signature


def test_a_launch_that_failed_is_no_replay() -> None:
    made, _ = timed()
    made.experiment = made.experiment.model_copy(
        update={"workload": made.experiment.workload.model_copy(update={"calibrate_communication": 1})}
    )
    replays(made, [(50, 50)], status="failed")
    assert "no launch that calibrates its communication was made and succeeded" in absent(made).detail


def test_without_calibrating_it_is_absent_and_says_what_to_ask_for() -> None:
    made, _ = timed()
    found = absent(made)
    assert (found.reason, found.detail) == (
        "not_measured",
        "no launch calibrated its communication; ask for some: workload.calibrate_communication = 3",
    )
    assert absent(made, "workers=1").reason == "not_applicable"


def test_a_launch_whose_calls_cannot_be_made_again_says_so() -> None:
    made, _ = timed()
    replays(made, [])
    assert "were not made again alone" in absent(made).detail


def test_of_some_of_the_calls_no_time_alone_is_told() -> None:
    """The hooks see 1 call a step, torch lists 3: what was made again is a third of them."""
    made, (number,) = timed()
    replays(made, [(50, 50)])
    for rank in RANKS:
        for step in range(3):
            calls(made, number, rank, step, [(0, 10)])
            made.rows["inventory"].append((number, rank, 0, step, "0", "all_reduce", "float32", 2, 3, 3000, None))
    assert "lists 3 collectives a step and the hooks saw 1" in absent(made).detail
