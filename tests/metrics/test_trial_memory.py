"""trial_memory: the largest resident set of a call, the median of a launch, then over launches."""

from __future__ import annotations

import pytest

from assay.estimates.estimate import Absent, Estimate
from assay.metrics.trial_memory import METRIC
from tests.handmade import Handmade
from tests.metrics.trials_made import trials


def test_the_median_of_a_launch_then_the_geometric_mean() -> None:
    made = Handmade(levels=(1,), blocks=2)
    for block, size in enumerate((1_000_000, 4_000_000)):
        number = made.launch(workers=1, block=block)
        for rss in (size, size, 10 * size):
            trials(made, number, [1.0], rss=rss)
    value = METRIC.compute(made.measured(), {})["workers=1"]
    assert isinstance(value, Estimate)
    assert value.value == pytest.approx(2_000_000)


def test_what_the_system_did_not_say_is_not_zero() -> None:
    made = Handmade(levels=(1,), blocks=1)
    trials(made, made.launch(workers=1), [1.0])
    assert isinstance(METRIC.compute(made.measured(), {})["workers=1"], Absent)


@pytest.mark.parametrize(("size", "told"), [(10_000_000, False), (10_150_000, False), (20_000_000, True)])
def test_what_the_starter_holds_itself_is_a_bound_and_no_number(size: int, told: bool) -> None:
    made = Handmade(levels=(1,), blocks=2)
    for block in range(2):
        number = made.launch(workers=1, block=block)
        trials(made, number, [1.0], rss=size)
        made.rows["telemetry"].append((number, made.begin[number], "h", "spawn", "start_rss", 1e7, "B", "self"))
    value = METRIC.compute(made.measured(), {})["workers=1"]
    assert isinstance(value, Estimate) is told
    if isinstance(value, Absent):
        assert value.detail == "at most 10 MB, which is what assay's starter holds itself"
