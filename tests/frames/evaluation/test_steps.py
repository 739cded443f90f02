"""Is what an item scores, takes and costs with so many steps folded by hand-made rules?"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fireassay.frames.evaluation.steps import curves
from tests.steps_made import Answer, stepped

A: Answer = ("7", 1.0)
B: Answer = ("8", 0.0)
C: Answer = ("9", 0.0)
NOTHING: Answer = (None, 0.0)


def scores(answers: list[list[Answer]], levels: tuple[int, ...]) -> list[list[float]]:
    (curve,) = curves(stepped({"levels": levels}, answers))
    return [level.scores.rows[:, 0].tolist() for level in curve.levels]


def test_votes_by_hand() -> None:
    """AAB: one of three subsets of two is AA, two are tied.  ABC: always tied.  A and two without an answer: those do not vote."""
    found = scores([[A, A, B], [A, B, C], [A, NOTHING, NOTHING]], (1, 2, 3))
    assert found[0] == pytest.approx([2 / 3, 1 / 3, 1 / 3])
    assert found[1] == pytest.approx([(1 + 0.5 + 0.5) / 3, 1 / 3, 2 / 3])
    assert found[2] == pytest.approx([1.0, 1 / 3, 1.0])


def test_an_item_without_enough_samples_is_in_no_level_and_counted() -> None:
    (curve,) = curves(stepped({"levels": (1, 3)}, [[A, A, B], [A, None, B]]))
    assert [level.scores.items for level in curve.levels] == [("i000",), ("i000",)]
    assert (curve.left, curve.tied) == (1, 0)


def test_an_interrupted_record_has_the_levels_that_were_reached() -> None:
    """Three of eight samples were asked: votes of one and two are known, of four and eight not; with one sample there is no curve."""
    (curve,) = curves(stepped({"levels": (1, 2, 4, 8)}, [[A, A, B], [B, A, B]]))
    assert ([level.steps for level in curve.levels], curve.unreached, curve.left) == ([1, 2], (4, 8), 0)
    assert curves(stepped({"levels": (1, 2, 4, 8)}, [[A], [B]])) == ()


def test_times_of_samples_add_up_or_run_at_once() -> None:
    """1, 2 and 3 seconds: two of them take 3 s one after another, 2 s at once."""
    (curve,) = curves(stepped({"levels": (2, 3)}, [[A, A, B]], seconds=lambda _, place: 1.0 + place))
    assert [level.session_s.tolist() for level in curve.levels] == [[pytest.approx(3.0)], [pytest.approx(6.0)]]
    assert [level.at_once_s.tolist() for level in curve.levels] == [[pytest.approx(2.0)], [pytest.approx(3.0)]]
    assert [level.sums["tokens_out"].tolist() for level in curve.levels] == [[8.0], [12.0]]


def test_a_session_lasts_from_its_first_turn_to_the_end_of_its_last() -> None:
    """Turns are due two seconds after each other and take half a second: 0.5, 2.5 and 4.5 s, of which tools take 1.5 s before each later turn."""
    turns = {"levels": (1, 2, 3), "what": "turns"}
    (curve,) = curves(stepped(turns, [[B, B, A]], seconds=lambda *_: 0.5, tool_s=1.5))
    assert [level.session_s[0] for level in curve.levels] == pytest.approx([0.5, 2.5, 4.5])
    assert [level.sums["tool_s"][0] for level in curve.levels] == [0.0, 1.5, 3.0]
    assert [level.sums["tokens_in"][0] for level in curve.levels] == [10.0, 30.0, 60.0]
    assert [level.scores.value for level in curve.levels] == [0.0, 0.0, 1.0]


def test_dollars_are_shared_by_time_and_add_up() -> None:
    """$36 an hour for 100 s is $1 a launch. Two items of 1 and 3 s share it: a quarter and three quarters, of each of three launches."""
    (curve,) = curves(stepped({"levels": (1, 3)}, [[A, A, A], [B, B, B]], seconds=lambda item, _: 1.0 + 2.0 * item, prices=36.0))
    assert curve.levels[0].sums["usd"].tolist() == pytest.approx([0.25, 0.75])
    assert curve.levels[1].sums["usd"].tolist() == pytest.approx([0.75, 2.25])


def test_without_a_price_dollars_are_unknown_and_not_zero() -> None:
    (curve,) = curves(stepped({"levels": (1, 2)}, [[A, A]]))
    assert np.isnan(curve.levels[0].sums["usd"]).all()


@settings(max_examples=25, deadline=None)
@given(st.lists(st.lists(st.sampled_from([A, B, C, NOTHING, None]), min_size=4, max_size=4), min_size=1, max_size=5))
def test_levels_share_their_items_and_one_sample_is_the_mean(answers: list[list[Answer]]) -> None:
    found = curves(stepped({"levels": (1, 2, 4)}, answers))
    samples = [sum(one is not None for one in given_answers) for given_answers in answers]
    reached = [level for level in (1, 2, 4) if max(samples) >= level]
    whole = [item for item, number in enumerate(samples) if number >= max(reached, default=9)]
    assert bool(found) == (len(reached) > 1)
    if found:
        assert [level.steps for level in found[0].levels] == reached
        assert {level.scores.items for level in found[0].levels} == {tuple(f"i{item:03}" for item in whole)}
        means = [float(np.mean([one[1] for one in answers[item] if one is not None])) for item in whole]
        assert found[0].levels[0].scores.rows[:, 0].tolist() == pytest.approx(means)
        assert all(0.0 <= level.scores.value <= 1.0 for level in found[0].levels)
