"""The parts of a step that a perfect split would not need: by hand, and as a sum for any record."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fireassay.estimates.estimate import Absent, Estimate
from fireassay.metrics.metric import Results
from fireassay.metrics.training.lost_time import METRICS
from fireassay.metrics.training.time import STEP_TIME_MEAN
from tests.handmade import Handmade

MS = 1_000_000


def results(made: Handmade) -> Results:
    data = made.measured()
    found = {STEP_TIME_MEAN.name: STEP_TIME_MEAN.compute(data, {})}
    for metric in METRICS:
        found[metric.name] = metric.compute(data, found)
    return found


def lost(found: Results, part: str, name: str = "workers=2") -> float:
    value = found[f"lost_{part}"][name]
    assert isinstance(value, Estimate)
    return value.value


def by_hand(*, blocks: int = 3, phases: bool = True, waits: tuple[int, int] | None = None) -> Handmade:
    """A base of 100 ms, of which 80 compute and 4 wait for data; two ranks of 70 and 60 ms in turn, 55 ms of it in backward, 5 for data."""
    made = Handmade(levels=(1, 2), blocks=blocks)
    for block in range(blocks):
        base = made.launch(workers=1, block=block)
        made.steps(
            base, seconds=[0.1] * 20, phases_s={"data": 0.004, "forward": 0.02, "backward": 0.05, "optimizer": 0.01} if phases else {}
        )
        pair = made.launch(workers=2, block=block)
        for rank in (0, 1):
            seconds = [0.07 if (step + rank) % 2 else 0.06 for step in range(20)]
            parts = {"data": 0.005, "forward": 0.0, "backward": 0.055, "optimizer": 0.0} if phases else {}
            made.steps(pair, rank=rank, seconds=seconds, phases_s=parts)
    return made


def test_every_part_is_that_of_the_hand() -> None:
    """Computing 55 - 80/2, data 5 - 4/2, and the rest of 65 - 100/2: 5 ms in no phase less half of the base's 16. Both ranks advance by 65 ms."""
    found = results(by_hand())
    assert lost(found, "computing") == pytest.approx(0.015)
    assert lost(found, "data") == pytest.approx(0.003)
    assert lost(found, "uneven") == pytest.approx(0.0)
    assert lost(found, "unexplained") == pytest.approx(0.005 - 0.008)


def test_without_marks_computing_is_all_but_the_wait_for_data() -> None:
    found = results(by_hand(phases=False))
    assert lost(found, "computing") == pytest.approx(0.065 - 0.05)
    assert lost(found, "unexplained") == pytest.approx(0.0, abs=1e-9)
    data = found["lost_data"]["workers=2"]
    assert isinstance(data, Absent)
    assert data.reason == "not_measured"


def test_communication_that_nobody_measured_is_no_zero() -> None:
    found = results(by_hand())
    for part in ("transfer", "waiting"):
        value = found[f"lost_{part}"]["workers=2"]
        assert isinstance(value, Absent)
        assert "one part" in value.detail


def test_the_base_loses_nothing_against_itself() -> None:
    value = results(by_hand())["lost_computing"]["workers=1"]
    assert isinstance(value, Absent)
    assert value.reason == "not_applicable"


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.floats(0.01, 10.0), min_size=2, max_size=5), st.lists(st.floats(0.01, 10.0), min_size=2, max_size=5), st.floats(0.0, 0.9)
)
def test_the_parts_add_up_to_the_lost_time(base: list[float], pair: list[float], share: float) -> None:
    """Whatever the launches, the parts with a number are step_time_mean - step_time_mean(base) / 2."""
    made = Handmade(levels=(1, 2), blocks=5)
    for levels, values in ((1, base), (2, pair)):
        for block, value in enumerate(values):
            number = made.launch(workers=levels, block=block)
            for rank in range(levels):
                own = [value * (1.0 - 0.1 * rank), value] * 10
                made.steps(
                    number,
                    rank=rank,
                    seconds=own,
                    phases_s={"data": 0.0, "forward": share * value * 0.9, "backward": 0.0, "optimizer": 0.0},
                )
    found = results(made)
    times = [found["step_time_mean"][name] for name in ("workers=1", "workers=2")]
    assert isinstance(times[0], Estimate)
    assert isinstance(times[1], Estimate)
    parts = [value.value for metric in METRICS if isinstance(value := found[metric.name]["workers=2"], Estimate)]
    assert sum(parts) == pytest.approx(times[1].value - times[0].value / 2, rel=1e-9, abs=1e-12)


def test_a_rank_that_nobody_waits_for_is_uneven() -> None:
    """Steps of 80 and 60 ms: the slower rank takes 80, the mean rank 70."""
    made = Handmade(levels=(1, 2), blocks=2)
    for block in range(2):
        made.steps(made.launch(workers=1, block=block), seconds=[0.1] * 20)
        pair = made.launch(workers=2, block=block)
        for rank in (0, 1):
            made.steps(pair, rank=rank, seconds=[0.08 - 0.02 * rank] * 20)
    found = results(made)
    assert lost(found, "uneven") == pytest.approx(0.01)
    assert lost(found, "computing") == pytest.approx(0.07 - 0.05)
