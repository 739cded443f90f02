"""Is the best of k what a hand makes of three prompts with nine candidates each, and is the choice judged by another score as it should be?"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fireassay.frames.evaluation.candidates import judged
from fireassay.frames.evaluation.steps import Curve, curves
from fireassay.frames.record_data import RecordData
from tests.answered import scored

Row = dict[str, Any]
# E[max of k of 1 ... 9] = 10 k / (k + 1); of one 1 among zeros k / 9; of nine fives 5
PROMPTS: dict[str, Sequence[float | None]] = {"a": [3, 1, 4, 9, 5, 8, 2, 6, 7], "b": [0, 0, 1, 0, 0, 0, 0, 0, 0], "c": [5] * 9}


def rows(prompts: dict[str, Sequence[float | None]], **more: Any) -> list[Row]:
    """A line for each candidate; further fields are numbers, or functions of the score."""
    return [
        {"id": name, "v": value, **{field: of(value) if callable(of) else of for field, of in more.items()}}
        for name, values in prompts.items()
        for value in values
    ]


def best(folder: Path, side: Sequence[Row], *, candidates: int = 9, given: Row | None = None, **more: Any) -> RecordData:
    best_of = {"candidates": candidates, **more.pop("amounts", {})}
    fields = {"fields": ["v"], "scales": {"*": "0,10"}} if given is None else given
    return scored(folder, {"a": side}, metrics=[], given=fields, best_of=best_of, **more)


def curve(folder: Path, side: Sequence[Row], **more: Any) -> Curve:
    (found,) = curves(best(folder, side, **more))
    return found


def test_three_prompts_with_nine_candidates_by_hand(tmp_path: Path) -> None:
    found = curve(tmp_path, rows(PROMPTS))
    assert [level.steps for level in found.levels] == list(range(1, 10))
    for level in found.levels:
        k = level.steps
        assert level.scores.items == ("a", "b", "c")
        assert level.scores.rows[:, 0] == pytest.approx([10 * k / (k + 1), k / 9, 5.0])
        assert level.scores.value == pytest.approx((10 * k / (k + 1) + k / 9 + 5.0) / 3)
    assert (found.left, found.short, found.unreached) == (0, 0, ())


def test_where_lower_is_better_the_best_is_the_least(tmp_path: Path) -> None:
    """The least of 4 of 1 ... 9 is 10 / 5 on average."""
    given = {"fields": ["v"], "lower_is_better": ["v"], "scales": {"v": "0,10"}}
    found = curve(tmp_path, rows({"a": PROMPTS["a"], "c": PROMPTS["c"]}), given=given)
    assert found.levels[3].scores.rows[:, 0] == pytest.approx([2.0, 5.0])


def test_every_item_carries_as_many_as_the_one_with_the_fewest(tmp_path: Path) -> None:
    """A candidate without a score counts for nothing; an item without any is left out."""
    found = curve(tmp_path, rows({**PROMPTS, "b": [1, None, 0, 1, None, 1, 1, 1, 1], "d": [None] * 9}))
    assert [level.steps for level in found.levels] == list(range(1, 8))
    assert (found.unreached, found.short, found.left) == ((8, 9), 1, 1)
    assert found.levels[-1].scores.items == ("a", "b", "c")


def test_one_candidate_of_some_item_makes_no_curve(tmp_path: Path) -> None:
    assert curves(best(tmp_path, rows({**PROMPTS, "d": [1.0]}))) == ()


def test_k_candidates_take_k_times_one_and_a_choice_its_scorer(tmp_path: Path) -> None:
    """2 s and $0.01 each; the scorer takes 0.5 s, $0.001 each from two candidates on."""
    amounts = {"seconds": ["s", "t"], "usd": ["d", "e"]}
    found = curve(tmp_path, rows(PROMPTS, s=2.0, t=0.5, d=0.01, e=0.001), amounts=amounts)
    for level in found.levels:
        k, choosing = level.steps, level.steps > 1
        assert level.session_s == pytest.approx(np.full(3, 2.0 * k + 0.5 * k * choosing))
        assert level.at_once_s == pytest.approx(np.full(3, 2.0 + 0.5 * k * choosing))
        assert level.sums["usd"] == pytest.approx(np.full(3, 0.01 * k + 0.001 * k * choosing))
        assert bool(np.isnan(level.sums["tokens_out"]).all())


def test_at_once_is_the_longest_of_k(tmp_path: Path) -> None:
    """Seconds equal to the scores 1 ... 9: the longest of four is 8 on average."""
    found = curve(tmp_path, rows({"a": PROMPTS["a"], "c": PROMPTS["c"]}, s=lambda value: value), amounts={"seconds": ["s"]})
    assert found.levels[3].at_once_s[0] == pytest.approx(8.0)


def test_without_fields_of_amounts_none_is_known(tmp_path: Path) -> None:
    level = curve(tmp_path, rows(PROMPTS)).levels[0]
    assert bool(np.isnan(level.session_s).all())
    assert bool(np.isnan(level.sums["usd"]).all())


# ---- another score ----


def test_the_other_score_of_the_chosen_by_hand(tmp_path: Path) -> None:
    """The other score is 10 less the first: of the best of k it is 10 - 10 k / (k + 1), of a random one 5, and its own best is as good as the first's."""
    given = {"fields": ["v", "w"], "scales": {"*": "0,10"}}
    side = rows({"a": PROMPTS["a"], "c": PROMPTS["c"]}, w=lambda value: 10 - value)
    for one in judged(best(tmp_path, side, given=given), (1, 4, 9)):
        k = one.k
        best_of_a = 10 * k / (k + 1)
        assert one.value.rows[:, 0] == pytest.approx([10 - best_of_a, 5.0])
        assert one.random.rows[:, 0] == pytest.approx([5.0, 5.0])
        assert one.own_best.rows[:, 0] == pytest.approx([best_of_a, 5.0])
        assert one.gain.rows[:, 0] == pytest.approx([5.0 - best_of_a, 0.0])
        assert one.optimism is not None
        assert one.optimism.rows[:, 0] == pytest.approx([2.0 * (best_of_a - 5.0), 0.0])


def test_a_score_against_itself_has_no_optimism(tmp_path: Path) -> None:
    given = {"fields": ["v", "w"], "scales": {"*": "0,10"}}
    for one in judged(best(tmp_path, rows(PROMPTS, w=lambda value: value), given=given), (1, 3, 9)):
        assert one.optimism is not None
        assert one.optimism.rows[:, 0] == pytest.approx(np.zeros(3), abs=1e-12)
        assert one.value.rows == pytest.approx(one.own_best.rows)


@pytest.mark.parametrize("scales", [{}, {"v": "0,10"}, {"v": "0,10", "w": "0,5"}, {"v": "0,10", "w": "0,10", "lower": "w"}])
def test_scores_of_two_scales_have_no_common_optimism(scales: dict[str, str], tmp_path: Path) -> None:
    lower = [name for key, name in scales.items() if key == "lower"]
    given = {"fields": ["v", "w"], "scales": {key: text for key, text in scales.items() if key != "lower"}, "lower_is_better": lower}
    found = list(judged(best(tmp_path, rows(PROMPTS, w=1.0), given=given), (1, 9)))
    assert [one.optimism for one in found] == [None, None]


def test_candidates_count_that_have_both_scores(tmp_path: Path) -> None:
    side = rows({"a": PROMPTS["a"], "c": PROMPTS["c"]}, w=lambda value: None if value == 9 else value)
    found = list(judged(best(tmp_path, side, given={"fields": ["v", "w"]}), (1, 8, 9)))
    assert [one.k for one in found] == [1, 8]
    assert found[-1].value.rows[:, 0] == pytest.approx([8.0, 5.0])


def test_a_minimum_that_chooses_gains_where_the_other_falls(tmp_path: Path) -> None:
    """Both are losses: the chosen one's is the least, and its gain is positive."""
    given = {"fields": ["v", "w"], "lower_is_better": ["v", "w"], "scales": {"*": "0,10"}}
    *_, last = judged(best(tmp_path, rows({"a": PROMPTS["a"], "c": PROMPTS["c"]}, w=lambda value: value), given=given), (9,))
    assert last.value.rows[:, 0] == pytest.approx([1.0, 5.0])
    assert last.gain.rows[:, 0] == pytest.approx([4.0, 0.0])
