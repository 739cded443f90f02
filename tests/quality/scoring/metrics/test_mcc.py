"""Matthews' correlation against scikit-learn's."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import matthews_corrcoef

from tests.quality.scoring.scored import labels, score, value


@given(st.lists(st.tuples(labels, labels), min_size=1, max_size=30))
def test_it_is_scikit_learns_and_undefined_where_one_side_is_constant(pairs: list[tuple[str, str]]) -> None:
    answers, wanted = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    found = value("mcc", answers, [[label] for label in wanted])
    if len({answer.strip() for answer in answers}) < 2 or len({label.strip() for label in wanted}) < 2:
        assert math.isnan(found)
    else:
        stripped = [label.strip() for label in wanted], [answer.strip() for answer in answers]
        assert found == pytest.approx(matthews_corrcoef(*stripped), abs=1e-12)


def test_binary_by_hand() -> None:
    """tp 6, tn 3, fp 1, fn 2: 16 / sqrt(7 * 8 * 4 * 5)."""
    answers, wanted = ["1"] * 6 + ["0"] * 3 + ["1"] + ["0"] * 2, ["1"] * 6 + ["0"] * 3 + ["0"] + ["1"] * 2
    assert value("mcc", answers, [[label] for label in wanted]) == pytest.approx(16 / math.sqrt(7 * 8 * 4 * 5), abs=1e-12)


def test_why_it_is_undefined_is_said() -> None:
    declared, found = score("mcc", ["1", "1"], [["0"], ["1"]])
    assert math.isnan(declared.score(found.rows))
    assert "one class" in declared.undefined


def test_an_answer_that_is_one_of_several_references_is_right() -> None:
    _, found = score("mcc", ["b", "c"], [["a", "b"], ["a", "b"]])
    assert found.rows[0, 1] == found.rows[0, 2] != found.rows[1, 1]
    assert list(found.scores) == [1.0, 0.0]


def test_repetitions_that_disagree_count_in_shares() -> None:
    """One of two answers to the first item is right: half an item right, half of no class.

    c 2.5, s 4, labels 2 and 2, answers 1.5, 2 and .5 of none: (2.5 * 4 - 7) / sqrt((16 - 6.5) (16 - 8)).
    """
    declared, found = score("mcc", ["1", "0", "0", "1", "x"], [["1"], ["1"], ["0"], ["1"], ["0"]])
    rows = np.vstack([found.rows[:2].mean(axis=0), found.rows[2:]])
    assert declared.score(rows) == pytest.approx((2.5 * 4 - (1.5 * 2 + 1 * 2)) / math.sqrt((16 - (1.5**2 + 1 + 0.5**2 + 1)) * 8))
