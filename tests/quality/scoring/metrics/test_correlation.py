"""Correlations against scipy's."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.stats import pearsonr, spearmanr

from fireassay.errors import SpecError
from tests.quality.scoring.scored import items, metric, score, value

numbers = st.one_of(st.integers(-5, 5).map(float), st.floats(-1e6, 1e6).map(lambda number: round(number, 3)))

THEIRS = {"pearson": pearsonr, "spearman": spearmanr}
NAMED = pytest.mark.parametrize("name", THEIRS)


@NAMED
@given(pairs=st.lists(st.tuples(numbers, numbers), min_size=3, max_size=40))
def test_it_is_scipys(name: str, pairs: list[tuple[float, float]]) -> None:
    x, y = np.array(pairs).T
    assume(min(np.ptp(x), np.ptp(y)) > 0.0)
    found = value(name, [repr(number) for number in x.tolist()], [[repr(number)] for number in y.tolist()])
    assert found == pytest.approx(THEIRS[name](x, y).statistic, abs=1e-12)


@NAMED
def test_numbers_far_from_zero_lose_no_digits(name: str) -> None:
    x = 2_000_000.0 + np.random.default_rng(1).normal(size=200)
    y = x + np.random.default_rng(2).normal(size=200)
    found = value(name, [repr(number) for number in x.tolist()], [[repr(number)] for number in y.tolist()])
    assert found == pytest.approx(THEIRS[name](x, y).statistic, abs=1e-12)


@NAMED
def test_it_is_undefined_and_not_0_where_one_side_is_constant(name: str) -> None:
    declared, found = score(name, ["0.1", "0.1", "0.1"], [["1"], ["2"], ["3"]])
    assert math.isnan(declared.score(found.rows))
    assert "same number" in declared.undefined
    assert math.isnan(declared.score(found.rows[:1]))


@NAMED
def test_an_answer_that_is_no_number_has_no_score_or_that_of_another_number(name: str) -> None:
    answers, references = ["3", "three", "1e9999", "1_0", "nan", ""], [["2"]] * 6
    assert [math.isnan(one) for one in items(name, answers, references)] == [False, True, True, True, True, True]
    assert items(name, answers, references, otherwise=0) == [-1.0, -2.0, -2.0, -2.0, -2.0, -2.0]


@NAMED
def test_a_reference_that_is_no_number_is_refused(name: str) -> None:
    with pytest.raises(SpecError, match="finite number"):
        value(name, ["1"], [["one"]])
    with pytest.raises(SpecError, match=r"otherwise.*finite number"):
        metric(name, otherwise="one")
