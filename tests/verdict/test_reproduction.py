"""Is agreement shown and not assumed, on both sides of no difference, and never below what the machine can show?"""

from __future__ import annotations

import pytest

from fireassay.verdict.comparison.compare import compare
from fireassay.verdict.comparison.types import Side
from fireassay.verdict.reproduction import Reproduction, reproduction
from tests.verdict.comparing import with_manifest
from tests.verdict.sides import made, side

pytestmark = pytest.mark.slow


def again(first: Side, second: Side) -> Reproduction:
    return reproduction(compare([first, second], force=True), first, second)


def quality_of(found: Reproduction) -> tuple[str, str]:
    row = next(row for row in found.rows if row.metric == "quality")
    return row.agreement, row.sentence


@pytest.mark.parametrize(("right", "agreement"), [(360, "agrees"), (320, "differs"), (400, "differs"), (366, "undecided")])
def test_quality_agrees_only_where_neither_is_worse_by_the_margin(right: int, agreement: str) -> None:
    """360 of 400 right at first, margin 8 of 400.  320 and 400 are 40 away; 366 is 6, and -+ t SE of 6 flips (2.5 and
    more widened) reaches beyond 8.  A second run that is better by more than the margin is no reproduction either."""
    first, second = side("first", made(right=360, day=1)), side("again", made(right=right, day=2))
    assert quality_of(again(first, second))[0] == agreement


def test_two_sessions_that_may_be_two_days_are_no_difference() -> None:
    """5 % between launches that scatter by 1.6 % is certain between the two, and what a day may do; 0.5 % is the same number."""
    first = side("first", made(10.0, day=1))
    apart = again(first, side("again", made(10.5, day=2)))
    assert apart.state == "undecided"
    assert "between these two sessions" in apart.sentence
    assert "variation between the two sessions may explain it" in apart.sentence
    alike = again(first, side("again", made(10.02, day=2)))
    assert alike.state == "reproduced"
    assert "between these two sessions" in alike.sentence


def test_a_difference_below_the_noise_floor_is_undecided() -> None:
    """20 s for 10 s differ by 100 %; on a machine whose doctor found a floor of 150 % that says nothing."""
    first, second = side("first", made(10.0, day=1)), side("again", made(20.0, day=2))
    assert again(first, second).state == "differs"
    doctor = {"before": {"doctor": {"noise_floor": 1.5}}}
    noisy = with_manifest(second, "again", "environment", doctor)
    found = again(first, noisy)
    assert found.state == "undecided"
    assert "noise floor of this machine" in found.sentence
