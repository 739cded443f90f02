"""Macro F1 against scikit-learn's over the items' labels."""

from __future__ import annotations

import warnings

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import f1_score

from tests.quality.scoring.scored import labels, value


@given(st.lists(st.tuples(labels, labels), min_size=1, max_size=30))
def test_it_is_scikit_learns(pairs: list[tuple[str, str]]) -> None:
    wanted, answers = [pair[1].strip() for pair in pairs], [pair[0].strip() for pair in pairs]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # scikit-learn on classes that nobody answered
        expected = f1_score(wanted, answers, labels=sorted(set(wanted)), average="macro")
    assert value("f1_macro", answers, [[label] for label in wanted]) == pytest.approx(expected, abs=1e-12)


def test_an_answer_that_is_no_label_makes_no_class() -> None:
    """Class a: 2/3 of one hit and one missed; class b: 1."""
    assert value("f1_macro", ["a", "rubbish", "b"], [["a"], ["a"], ["b"]]) == pytest.approx((2 / 3 + 1) / 2)
