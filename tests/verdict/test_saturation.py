"""Up to which load the objectives are met: crossings worked out by hand, bounds where there is no crossing."""

from __future__ import annotations

import pytest

from assay.metrics.estimate import Absent, Estimate
from assay.spec.serving import Objectives
from assay.verdict.judge import judge
from assay.verdict.saturation import crossing, saturations
from tests.serving_made import ServingMade


@pytest.mark.parametrize(
    ("met", "expected"),
    [
        ((100, 100, 50), ("inside", 24.0)),  # from 1.0 at 20 to 0.5 at 40: 0.9 is a fifth of the way: 20 + 4
        ((100, 90, 50), ("inside", 20.0)),  # exactly met at 20
        ((95, 85, 50), ("inside", 15.0)),  # half of the way from 0.95 to 0.85
        ((80, 70, 50), ("below", 10.0)),
        ((100, 99, 95), ("above", 40.0)),
        ((88, 96, 50), ("inside", 20.0 + 20.0 * 0.02 / 0.42)),  # 0.88 and 0.96 are pooled to 0.92
        ((80, 96, 50), ("below", 10.0)),  # 0.80 and 0.96 are pooled to 0.88
    ],
)
def test_the_crossing_is_on_the_line_between_the_loads_beside_it(
    met: tuple[int, ...], expected: tuple[str, float]
) -> None:
    side, load = crossing((10.0, 20.0, 40.0), [float(one) for one in met], [100.0] * 3, 0.9)
    assert (side, load) == (expected[0], pytest.approx(expected[1]))


def test_more_requests_weigh_more() -> None:
    """80 of 100 and 391 of 400 are 471 of 500 = 0.942; alone the first would be below."""
    assert crossing((1.0, 2.0, 3.0), (80.0, 391.0, 0.0), (100.0, 400.0, 100.0), 0.9)[0] == "inside"


def loads(late: dict[float, tuple[int, ...]], attainment: float = 0.9) -> ServingMade:
    """Per rate the late ones of 100 requests, block by block."""
    blocks = len(next(iter(late.values())))
    made = ServingMade(
        rate=tuple(late), blocks=blocks, seconds=10.0, objectives=Objectives(ttft_s=0.5, attainment=attainment)
    )
    for block in range(blocks):
        for rate, missing in late.items():
            launch = made.launch(f"rate={rate:g}", block=block)
            for place in range(100):
                made.request(launch, 0.1 * place, ttft_s=1.0 if place < missing[block] else 0.1, replica=place % 2)
    return made


def test_the_value_is_the_mean_of_the_blocks_logarithms_with_students_interval() -> None:
    """Crossings at 24, 24 and 20 + 20 x .1/.4 = 25: the geometric mean is 24.33."""
    (found,) = saturations(loads({10.0: (0, 0, 0), 20.0: (0, 0, 0), 40.0: (50, 50, 40)}).measured())
    assert isinstance(found.value, Estimate)
    assert found.value.value == pytest.approx((24.0 * 24.0 * 25.0) ** (1 / 3))
    assert found.value.low < 24.0 < 25.0 < found.value.high
    assert (found.last, found.first) == ("rate=20", "rate=40")


@pytest.mark.parametrize(
    ("late", "words", "last"),
    [
        ({10.0: (0, 0, 0), 20.0: (1, 2, 3)}, "up to the largest load, 20", "rate=20"),
        ({10.0: (50, 50, 50), 20.0: (60, 60, 60)}, "not met at the smallest load, 10", None),
        ({10.0: (0, 0, 0), 20.0: (5, 20, 20)}, "in some blocks the objectives are met up to load 20", "rate=10"),
    ],
)
def test_where_no_block_or_not_every_block_crosses_there_is_a_bound(
    late: dict[float, tuple[int, ...]], words: str, last: str | None
) -> None:
    (found,) = saturations(loads(late).measured())
    assert isinstance(found.value, Absent)
    assert words in found.value.detail
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
    assert found.sentence.startswith("objectives are met up to 24.3 requests/s [")
    assert found.sentence.endswith("between rate=20 and rate=40, by a straight line")
