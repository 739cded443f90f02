"""The paired t-test against scipy's, and by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from fireassay.stats.comparing.paired_test import paired_t

SCORES = st.lists(st.tuples(st.integers(0, 10), st.integers(0, 10)), min_size=3, max_size=60)


@given(SCORES)
def test_t_and_p_are_those_of_scipy(pairs: list[tuple[int, int]]) -> None:
    before, after = (np.array(side, dtype=float) for side in zip(*pairs, strict=True))
    found, changes = paired_t(before, after), after - before
    if not changes.any():
        assert found is None
        return
    assert found is not None
    if np.ptp(changes) == 0.0:
        assert (found.p, abs(found.t)) == (0.0, math.inf)
        return
    theirs = stats.ttest_rel(after, before)
    assert (found.t, found.p) == (pytest.approx(theirs.statistic), pytest.approx(theirs.pvalue))


def test_one_flip_in_four_by_hand() -> None:
    """d = -1, 0, 0, 0: mean -.25, sd .5, t = -.25 / (.5 / 2) = -1; of a mean of 1, a quarter was lost."""
    found = paired_t(np.array([1.0, 1.0, 1.0, 1.0]), np.array([0.0, 1.0, 1.0, 1.0]))
    assert found is not None
    assert (found.t, found.relative_drop, found.significant) == (-1.0, 0.25, False)
    assert found.p == pytest.approx(0.391002, abs=1e-6)  # tables of t with 3 degrees of freedom


def test_a_loss_that_rises_is_a_drop() -> None:
    found = paired_t(np.array([2.0, 2.0, 2.0]), np.array([2.0, 2.5, 3.0]), lower=True)
    assert found is not None
    assert found.relative_drop == 0.25


@pytest.mark.parametrize(
    ("before", "after"), [([1.0], [0.0]), ([1.0, 0.0], [1.0, 0.0]), ([1.0, math.nan], [1.0, 1.0]), ([1.0, 0.0], [math.inf, 0.0])]
)
def test_without_a_difference_or_a_number_there_is_no_test(before: list[float], after: list[float]) -> None:
    assert paired_t(np.array(before), np.array(after)) is None


def test_a_reference_at_zero_has_no_relative_drop() -> None:
    found = paired_t(np.zeros(3), np.array([0.0, 1.0, 1.0]))
    assert found is not None
    assert found.relative_drop is None


def test_sides_of_other_items_are_an_error() -> None:
    with pytest.raises(ValueError, match="the same items"):
        paired_t(np.zeros(3), np.zeros(4))
