"""Up to which load the objectives are met: the number of the metric, bounds where there is no crossing."""

from __future__ import annotations

import pytest

from fireassay.estimates.estimate import Absent, Estimate
from fireassay.kinds.serving.judging import saturations
from fireassay.metrics.serving.objectives import CAPACITY
from fireassay.spec.sections.serving import Objectives
from fireassay.verdict.judge import judge
from tests.serving_made import ServingMade

pytestmark = pytest.mark.slow


def loads(late: dict[float, tuple[int, ...]], attainment: float = 0.9, requests: int = 100) -> ServingMade:
    """Per rate the late ones of so many requests, block by block."""
    blocks = len(next(iter(late.values())))
    made = ServingMade(rate=tuple(late), blocks=blocks, seconds=10.0, objectives=Objectives(ttft_s=0.5, attainment=attainment))
    for block in range(blocks):
        for rate, missing in late.items():
            launch = made.launch(f"rate={rate:g}", block=block)
            for place in range(requests):
                made.request(launch, 10.0 / requests * place, ttft_s=1.0 if place < missing[block] else 0.1, replica=place % 2)
    return made


def test_the_value_is_that_of_the_metric_and_not_of_a_line_through_the_shares() -> None:
    """Misses of an M/M/1 queue, exp(-10 (1 - load)): 9 in 1,000 at 0.53 and 135 at 0.8; 1 in 100 is missed at 0.5395.

    With half a miss in one request more, 27.5 and 405.5 of 3,001, ln odds -4.683 and -1.856, asked for -4.595:
    0.53 + 0.27 x 0.0882 / 2.827 = 0.5384; a line through the shares says 0.5321.
    """
    made = loads({0.53: (9, 9, 9), 0.8: (135, 135, 135)}, attainment=0.99, requests=1000)
    (found,) = saturations(made.measured())
    assert isinstance(found.value, Estimate)
    assert found.value.value == pytest.approx(0.5384, abs=1e-4)
    assert found.value == CAPACITY.compute(made.measured(), {})["all"]
    assert (found.last, found.first) == ("rate=0.53", "rate=0.8")


@pytest.mark.parametrize(
    ("late", "last"), [({10.0: (0, 0, 0), 20.0: (1, 2, 3)}, "rate=20"), ({10.0: (50, 50, 50), 20.0: (60, 60, 60)}, None)]
)
def test_where_no_load_or_every_load_meets_them_there_is_a_bound(late: dict[float, tuple[int, ...]], last: str | None) -> None:
    (found,) = saturations(loads(late).measured())
    assert isinstance(found.value, Absent)
    assert found.last == last


def test_one_load_or_no_objective_gives_nothing() -> None:
    assert saturations(loads({10.0: (0, 0)}).measured()) == ()
    made = ServingMade(rate=(1.0, 2.0))
    assert saturations(made.measured()) == ()


def test_a_load_that_no_block_holds_whole_says_so() -> None:
    (found,) = saturations(ServingMade(rate=(1.0, 2.0), objectives=Objectives(ttft_s=0.5)).measured())
    assert isinstance(found.value, Absent)
    assert (found.value.reason, found.last, found.first) == ("not_measured", None, "rate=1")


def test_the_verdict_says_it() -> None:
    verdict = judge(loads({10.0: (0, 0, 0), 20.0: (0, 0, 0), 40.0: (50, 50, 40)}).measured()).verdict
    (found,) = [one for one in verdict.recommendations if one.goal == "saturation"]
    assert found.configuration == "rate=20"
    assert found.sentence.startswith("objectives are met up to ")
    assert found.sentence.endswith("between rate=20 and rate=40, on a line through the log odds of a miss")
