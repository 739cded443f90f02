"""Are sums answered right as often as the setting says, by steps taken?"""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fireassay.instruments.reference_server.settings import Settings
from fireassay.instruments.reference_server.solving import Sum, shares_of, sum_of

SHARES = (0.6, 0.75, 0.9)


def asked(text: str, *, earlier: int = 0, **body: object) -> Sum | None:
    turns = [{"role": "user", "content": text}, *[{"role": "assistant", "content": "7"}, {"role": "user", "content": "Sure?"}] * earlier]
    return sum_of({"messages": turns, **body}, [str(turn["content"]) for turn in turns])


@pytest.mark.parametrize(("step", "share"), [(0, 0.6), (1, 0.75), (2, 0.9), (5, 0.9)])
def test_the_share_of_right_sums_is_that_of_the_step(step: int, share: float) -> None:
    found = asked("what is 17 + 25?", earlier=step)
    assert found is not None
    assert (found.value, found.step) == (42, step)
    answers = [found.answer(SHARES, 0, number)[-1] for number in range(4000)]
    assert set(answers) == {"42", "43"}
    assert abs(answers.count("42") / 4000 - share) < 4.0 * math.sqrt(share * (1.0 - share) / 4000)


@pytest.mark.parametrize(("budget", "step", "words"), [(1, 0, 0), (64, 0, 8), (127, 0, 15), (128, 1, 16), (256, 2, 32), (10**9, 23, 4096)])
def test_a_budget_is_a_step_for_each_doubling(budget: int, step: int, words: int) -> None:
    for body in ({"thinking_budget": budget}, {"thinking": {"budget_tokens": budget}}):
        found = asked("3 + 4", **body)
        assert found is not None
        assert (found.step, found.reasoning) == (step, words)


@pytest.mark.parametrize("budget", [0, -5, True, "64", None, 1.5, {}])
def test_what_is_no_budget_is_ignored(budget: object) -> None:
    found = asked("3 + 4", thinking_budget=budget, thinking=budget)
    assert found is not None
    assert (found.step, found.reasoning) == (0, 0)


def test_other_seeds_and_requests_draw_otherwise() -> None:
    one, other = (asked("3 + 4", seed=seed) for seed in (1, 2))
    assert one is not None
    assert other is not None
    draws = [[found.answer((0.5,), seed, number)[-1] for number in range(64)] for found, seed in ((one, 0), (other, 0), (one, 1))]
    assert draws[0] != draws[1]
    assert draws[0] != draws[2]
    assert draws[0] == [one.answer((0.5,), 0, number)[-1] for number in range(64)]


@given(st.text(max_size=200))
def test_any_text_has_a_sum_or_none(text: str) -> None:
    found = asked(text)
    assert found is None or found.value >= 0


@pytest.mark.parametrize("text", ["1.5", "-0.1", "0.5,nan", "x"])
def test_what_is_no_probability_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"solves|could not convert"):
        Settings(solves=text)
    assert shares_of("") == ()
