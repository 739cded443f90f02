"""F1 of the positive class against scikit-learn's."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import f1_score

from tests.quality.scoring.scored import items, labels, score, value


@given(st.lists(st.tuples(labels, labels), min_size=1, max_size=30))
def test_it_is_scikit_learns_and_undefined_without_a_positive(pairs: list[tuple[str, str]]) -> None:
    positive = [[side.strip() == "1" for side in pair] for pair in pairs]
    found = value("f1_binary", [pair[0] for pair in pairs], [[pair[1]] for pair in pairs])
    if not any(any(pair) for pair in positive):
        assert math.isnan(found)
    else:
        assert found == pytest.approx(f1_score([pair[1] for pair in positive], [pair[0] for pair in positive]), abs=1e-12)


def test_the_positive_label_is_an_option() -> None:
    """One hit, one false, one missed: 2 / (2 + 1 + 1)."""
    answers, wanted = ["yes", "yes", "no", "no"], [["yes"], ["no"], ["yes"], ["no"]]
    assert value("f1_binary", answers, wanted, positive="yes") == 0.5
    assert items("f1_binary", answers, wanted, positive="yes") == [1.0, 0.0, 0.0, 1.0]
    assert value("f1_binary", ["1", "0"], [["1"], ["1"]], positive=1) == pytest.approx(2 / 3)


def test_why_it_is_undefined_is_said() -> None:
    declared, found = score("f1_binary", ["0"], [["0"]])
    assert math.isnan(declared.score(found.rows))
    assert "positive class" in declared.undefined
