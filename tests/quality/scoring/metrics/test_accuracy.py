"""Accuracy against scikit-learn's."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score

from tests.quality.scoring.scored import items, labels, value


@given(st.lists(st.tuples(labels, labels), min_size=1, max_size=30))
def test_it_is_scikit_learns(pairs: list[tuple[str, str]]) -> None:
    answers, wanted = [pair[0].strip() for pair in pairs], [pair[1].strip() for pair in pairs]
    assert value("accuracy", *zip_up(pairs)) == pytest.approx(accuracy_score(wanted, answers), abs=1e-12)


def zip_up(pairs: list[tuple[str, str]]) -> tuple[list[str], list[list[str]]]:
    return [answer for answer, _ in pairs], [[wanted] for _, wanted in pairs]


def test_case_counts_unless_requested_otherwise() -> None:
    assert items("accuracy", ["Yes", "yes", "no"], [["yes"], ["no", "yes"], ["yes"]]) == [0.0, 1.0, 0.0]
    assert items("accuracy", ["Yes"], [["yes"]], lower=True) == [1.0]
