"""missing_synchronisation: the signs of a queue that nobody waited for."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.handmade import Handmade
from tests.verdict.claiming import NOTHING, claim, found
from tests.verdict.making import judged, rules

pytestmark = pytest.mark.slow


RULES = {"steps_shorter_than_phases", "last_step_drains_queue", "time_outside_steps"}


def launches(
    seconds: Sequence[float], *, phases: dict[str, float] | None = None, gap_s: float = 0.0, evaluation_s: float | None = None
) -> Handmade:
    """Five launches of one worker with these steps; `gap_s` of nothing after half of them."""
    made = Handmade(levels=(1,), blocks=5)
    half = len(seconds) // 2
    for block in range(5):
        number = made.launch(workers=1, block=block, wall_s=500.0)
        made.steps(number, seconds=seconds[:half], items=8.0, phases_s=phases)
        pause = sum(seconds[:half]) + gap_s
        made.steps(number, seconds=seconds[half:], first=half, start_s=pause, items=8.0, phases_s=phases)
        if evaluation_s is not None:
            made.event(number, "evaluation", pause - evaluation_s, rank=0, incarnation=0, duration_s=evaluation_s)
    return made


def signs(made: Handmade) -> set[str]:
    return RULES & set(rules(judged(made)))


def test_even_steps_show_no_sign() -> None:
    assert signs(launches([1.0] * 10)) == set()
    assert signs(launches([1.0] * 10, phases={"forward": 0.4, "backward": 0.5, "optimizer": 0.1})) == set()


def test_steps_that_are_shorter_than_their_phases_did_not_wait_for_the_device() -> None:
    """0.4 + 0.6 + 0.2 s of phases in a step of 1 s: 20 % more than there is."""
    assert signs(launches([1.0] * 10, phases={"forward": 0.4, "backward": 0.6, "optimizer": 0.2})) == {"steps_shorter_than_phases"}


@pytest.mark.parametrize(("last", "named"), [(30.0, True), (9.0, False), (2.0, False)])
def test_a_last_step_in_which_the_queue_drains_is_named(last: float, named: bool) -> None:
    """9 steps of 1 s and one of 30 s: 30 medians, 77 % of the time."""
    assert signs(launches([*[1.0] * 9, last])) == ({"last_step_drains_queue"} if named else set())


def test_a_last_step_of_a_kind_that_came_before_is_none() -> None:
    """Local SGD's averages in every eighth step: 24 steps, of which three take 30 s."""
    assert signs(launches([*[1.0] * 7, 30.0] * 3)) == set()


def test_a_long_last_step_among_very_many_is_none() -> None:
    """200 steps of 1 s and one of 20 s: 9 % of the time."""
    assert signs(launches([*[1.0] * 200, 20.0])) == set()


@pytest.mark.parametrize(("gap", "named"), [(12.0, True), (8.0, False)])
def test_time_in_no_step_is_named_above_a_half(gap: float, named: bool) -> None:
    """10 s of steps and a gap: 12/22 = 55 %, 8/18 = 44 %."""
    assert signs(launches([1.0] * 10, gap_s=gap)) == ({"time_outside_steps"} if named else set())


def test_an_evaluation_between_the_steps_is_no_gap() -> None:
    assert signs(launches([1.0] * 10, gap_s=12.0, evaluation_s=12.0)) == set()


def test_seven_steps_show_nothing() -> None:
    assert signs(launches([*[1.0] * 6, 30.0])) == set()


def test_a_claim_that_says_that_nobody_waited_is_inadmissible() -> None:
    assert found(claim({"synchronised": False})) == {"clock_read_early": "invalid"}


def test_a_claim_about_a_device_must_say_it_and_one_about_processors_need_not() -> None:
    assert found(claim({"synchronised": NOTHING})) == {"synchronisation_unsaid": "note"}
    cpu = {"hardware": "two Xeons"}
    assert found(claim({"synchronised": NOTHING}, baseline=cpu, candidate=cpu)) == {}
