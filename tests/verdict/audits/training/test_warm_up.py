"""warm_up: leading slow steps are left out and told; launches without a steady state are named."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.handmade import Handmade
from tests.verdict.claiming import NOTHING, claim, found
from tests.verdict.making import estimate, good, judged, rules

pytestmark = pytest.mark.slow


def lasting(seconds: Callable[[int], float], *, steps: int, launches: tuple[int, ...] | None = None) -> Handmade:
    """Step times by step, for some launches of workers=2; flat ones of 1 s and 0.6 s for the others."""
    made = good(leave_out=("steps", "samples"))
    for number, row in enumerate(made.rows["launches"]):
        workers = row[4]
        odd = workers == 2 and (launches is None or number in launches)
        for rank in range(workers):
            flat = 1.0 if workers == 1 else 0.6
            times = [seconds(step) if odd else flat for step in range(steps)]
            made.steps(number, rank=rank, seconds=times, items=8.0 / workers)
    return made


def test_a_flat_series_has_no_warm_up() -> None:
    assert rules(judged(lasting(lambda _: 0.6, steps=40))) == {}


def test_the_first_slow_steps_are_a_note_and_left_out_of_the_step_time() -> None:
    judgement = judged(lasting(lambda step: 6.0 if step < 3 else 0.6, steps=40))
    assert rules(judgement)["warm_up"] == [None]
    (finding,) = (one for one in judgement.verdict.findings if one.rule == "warm_up")
    assert finding.severity == "note"
    assert finding.evidence.startswith("up to 3 steps at the beginning of a launch")
    assert estimate(judgement, "step_time", 2).value == pytest.approx(0.6)


def test_a_level_that_still_changes_late_is_no_steady_state() -> None:
    """The level falls at step 32 of 40: what a longer launch would show is not known."""
    judgement = judged(lasting(lambda step: 1.0 if step < 32 else 0.5, steps=40))
    assert rules(judgement)["no_steady_state"] == ["workers=2"]
    assert judgement.verdict.status in ("PASS", "NO_GAIN")  # a warning alone forces no status


def test_a_level_that_rises_is_a_slow_down() -> None:
    judgement = judged(lasting(lambda step: 0.5 if step < 12 else 0.6, steps=40))
    assert rules(judgement)["slow_down"] == ["workers=2"]


def test_less_than_half_of_the_launches_is_not_worth_naming() -> None:
    """Launches 1 and 3 of the five with two workers (1, 3, 5, 7, 9); three would be named."""

    def slower(step: int) -> float:
        return 0.5 if step < 12 else 0.6

    assert "slow_down" not in rules(judged(lasting(slower, steps=40, launches=(1, 3))))
    assert rules(judged(lasting(slower, steps=40, launches=(1, 3, 5))))["slow_down"] == ["workers=2"]


@pytest.mark.parametrize(("said", "expected"), [(True, {}), (False, {"cold_start": "warning"}), (NOTHING, {"warm_up_unsaid": "note"})])
def test_a_claim_says_whether_the_cold_start_is_in_it(said: object, expected: dict[str, str]) -> None:
    assert found(claim({"warm_up_excluded": said})) == expected
