"""Is every quantile of a sketch within its accuracy, and is a merged sketch that of all values?"""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.stats.sketch import bins_needed, merge, sketch

VALUES = st.lists(st.one_of(st.just(0.0), st.floats(1e-9, 1e9)), max_size=60)


def test_from_a_microsecond_to_a_thousand_seconds_there_are_1037_bins_at_one_percent() -> None:  # methodology T16
    assert bins_needed(1e-6, 1e3) == 1037
    assert len(sketch([1e-6, 1e3]).counts) in (1037, 1038)  # both ends lie inside a bin


@given(VALUES.filter(bool), st.floats(0, 1), st.sampled_from([0.001, 0.01, 0.1]))
def test_a_quantile_is_within_the_accuracy_of_the_value_at_its_rank(
    values: list[float], p: float, accuracy: float
) -> None:
    exact = sorted(values)[math.floor(p * (len(values) - 1))]
    assert sketch(values, accuracy).quantile(p) == pytest.approx(exact, rel=accuracy * (1 + 1e-9), abs=0)


@given(VALUES, VALUES, VALUES)
def test_merging_is_seeing_all_values_in_any_order(a: list[float], b: list[float], c: list[float]) -> None:
    whole = sketch(a + b + c)
    for merged in (merge(sketch(a), sketch(b), sketch(c)), merge(sketch(c), merge(sketch(b), sketch(a)))):
        assert (merged.n, merged.zeros) == (len(a + b + c), whole.zeros)
        assert merged.counts.tolist() == whole.counts.tolist()
        assert merged.first == whole.first


def test_the_mean_of_percentiles_is_not_the_percentile_of_the_merged() -> None:
    """One process in ten is ten times slower: the mean of the ten p99 is 18.8, of all requests 91 % of 0..10 are faster."""
    parts = [sketch(np.linspace(0.01, 10.0, 1000) * (10 if place == 0 else 1)) for place in range(10)]
    averaged = float(np.mean([part.quantile(0.99) for part in parts]))
    assert averaged == pytest.approx((9 * 9.9 + 99) / 10, rel=0.02)
    assert merge(*parts).quantile(0.99) == pytest.approx(
        90.0, rel=0.02
    )  # 1 % of all: the slowest tenth of the slow one


def test_counts_cannot_be_changed_and_one_sketch_merges_to_itself() -> None:
    one = sketch([1.0, 2.0, 0.0])
    with pytest.raises(ValueError, match="read-only"):
        one.counts[0] = 5
    assert merge(one) is one


def test_what_a_sketch_cannot_hold_or_say_is_refused() -> None:
    for call, words in (
        (lambda: sketch([-1.0]), "below 0"),
        (lambda: sketch([math.nan]), "finite"),
        (lambda: sketch([1.0], accuracy=1.0), "accuracy"),
        (lambda: sketch([]).quantile(0.5), "empty"),
        (lambda: sketch([1.0]).quantile(1.5), "between 0 and 1"),
        (lambda: merge(), "no sketch"),
        (lambda: merge(sketch([1.0]), sketch([1.0], 0.1)), "do not merge"),
        (lambda: bins_needed(0.0, 1.0), "above 0"),
    ):
        with pytest.raises(ValueError, match=words):
            call()
