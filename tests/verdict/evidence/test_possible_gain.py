"""What would be gained if a part of the step were free, worked out by hand."""

from __future__ import annotations

import pytest

from fireassay.estimates.estimate import Estimate
from fireassay.verdict.evidence.affected import gain_words, share
from tests.builders import estimate
from tests.handmade import Handmade
from tests.verdict.judging import concluded

pytestmark = pytest.mark.slow


ONE = "workers=1"


def of(value: float, half: float = 0.0, unit: str = "s") -> dict[str, Estimate]:
    return {ONE: estimate(value, half, unit)}


def test_a_fifth_of_the_step_is_a_quarter_more_speed() -> None:
    found = share({"step_time": of(1.0), "data_time": of(0.2)}, "data_time", ONE)
    assert found is not None
    assert found == pytest.approx((0.2, 0.2, 0.2))
    assert gain_words(found) == "without it a step would be at most 1.25 times as fast"
    assert gain_words((0.2, 0.1, 0.5)) == "without it a step would be at most 1.25 times as fast [1.11, 2.00]"
    assert gain_words((1.0, 0.9, 1.0)) == "nearly the whole step"


def bottlenecks(phases: dict[str, float], workers: int = 2) -> list[tuple[str, str]]:
    """Which bottlenecks a whole judgement tells of steps of 100 ms with these phases on each of two ranks."""
    made = Handmade(levels=(1, workers), blocks=3)
    for block in range(3):
        for level in (1, workers):
            number = made.launch(workers=level, block=block, wall_s=6.2)
            for rank in range(level):
                made.steps(number, rank=rank, seconds=[0.1] * 60, items=4, phases_s=phases, start_s=0.1)
    found = concluded(made.measured()).verdict.findings
    return [(one.rule, one.configuration or "") for one in found if one.rule.startswith("bottleneck")]


def test_a_loader_that_holds_every_step_up_is_told_by_the_whole_judgement_and_a_good_one_is_not() -> None:
    working = {"forward": 0.03, "backward": 0.05, "optimizer": 0.01}
    assert bottlenecks({"data": 0.04, "forward": 0.02, "backward": 0.03, "optimizer": 0.01}) == [
        ("bottleneck_data", "workers=1"),
        ("bottleneck_data", "workers=2"),
    ]
    assert bottlenecks({"data": 0.002, **working}) == []
