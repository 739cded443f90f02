"""Intervals of scores over items: what they hold, what they refuse, and that draws are repeatable."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import bootstrap

from fireassay.stats import calibration
from fireassay.stats.calibration import Items, Resampled, of_score
from fireassay.stats.intervals.item_means import Weighted, of_units

Array = NDArray[np.float64]


def mean_of(values: Array) -> Weighted:
    return lambda weights: (weights @ values) / weights.sum(axis=1)


def even(count: int) -> Items:
    return Items(weights=np.ones(count))


def test_it_is_scipys_bca_where_levels_are_hardly_widened_and_the_mean_is_skewed() -> None:
    """1,000 exponential items: within 5 % of the width of scipy's BCa, whose draws are others."""
    values = np.random.default_rng(5).exponential(size=1000)
    theirs = bootstrap((values,), np.mean, method="BCa", n_resamples=9999, rng=np.random.default_rng(1)).confidence_interval
    found = of_score(mean_of(values), even(1000), 0.95, draws=9999)
    width = theirs.high - theirs.low
    assert (found.low, found.high) == pytest.approx((theirs.low, theirs.high), abs=0.05 * width)
    assert found.error == pytest.approx(np.std(values) / math.sqrt(1000), rel=0.03)


def test_equal_seeds_give_equal_draws_however_many_are_held_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.random.default_rng(2).normal(size=37)
    whole = of_score(mean_of(values), even(37), 0.9, draws=500, seed=4)
    monkeypatch.setattr(calibration, "AT_ONCE", 37 * 7)
    assert of_score(mean_of(values), even(37), 0.9, draws=500, seed=4) == whole
    assert of_score(mean_of(values), even(37), 0.9, draws=500, seed=5) != whole


def test_clusters_are_drawn_whole() -> None:
    """30 clusters of 10 equal items: the standard error is that over clusters, three times that over items."""
    values = np.repeat(np.random.default_rng(3).normal(size=30), 10)
    labels = [index // 10 for index in range(300)]
    found = of_score(mean_of(values), Items(weights=np.ones(300), clusters=labels), 0.95, draws=4000)
    assert found.units == 30
    assert found.error == pytest.approx(of_units(values, np.ones(300), labels)[1] * math.sqrt(29 / 30), rel=0.05)
    assert found.error > 2.5 * of_score(mean_of(values), even(300), 0.95).error


def test_weights_of_items_count() -> None:
    values, weights = np.arange(40.0), np.linspace(0.1, 3.0, 40)
    assert of_score(mean_of(values), Items(weights=weights), 0.95).value == pytest.approx(np.average(values, weights=weights))


def test_a_score_that_no_draw_moves_is_not_bounded() -> None:
    found = of_score(mean_of(np.ones(50)), even(50), 0.95)
    assert found.value == 1.0
    assert found.reason == "the score is the same in every draw of items, which is no certainty"


def refused(found: Resampled) -> bool:
    return bool(found.reason) and math.isnan(found.low) and math.isnan(found.high)


def test_few_clusters_bound_nothing() -> None:
    found = of_score(mean_of(np.arange(90.0)), Items(weights=np.ones(90), clusters=[index // 10 for index in range(90)]), 0.95)
    assert refused(found)
    assert found.value == pytest.approx(44.5)
    assert "9 clusters of items bound nothing; 10 are needed" in found.reason


def test_undefined_draws_are_counted_and_too_many_refuse_the_interval() -> None:
    """A score that is undefined without item 0: of 40 items (39/40)^40 = 36 % of draws are without it; without 5 of them 0.5 %."""

    def needs(first: int) -> Weighted:
        values = np.random.default_rng(1).normal(size=40)
        return lambda weights: np.where(weights[:, :first].sum(axis=1) > 0.0, mean_of(values)(weights), np.nan)

    rare, often = of_score(needs(5), even(40), 0.95), of_score(needs(1), even(40), 0.95)
    assert not rare.reason
    assert rare.undefined == pytest.approx(2000 * (35 / 40) ** 40, abs=15)
    assert refused(often)
    assert often.undefined == pytest.approx(2000 * (39 / 40) ** 40, abs=120)
    assert refused(of_score(lambda weights: np.full(len(weights), np.nan), even(40), 0.95))


@pytest.mark.parametrize(("n", "least"), [(20, 0.91), (100, 0.92)])
def test_the_truth_of_a_skewed_ratio_is_held_as_often_as_promised(n: int, least: float) -> None:
    """Sums of lognormal lengths over others: truth 1; of 300 experiments at most 4 standard errors too few; `benchmarks/item_intervals.py` has more."""
    rng = np.random.default_rng(11)
    held = 0
    for number in range(300):
        rows = rng.lognormal(0.0, 0.5, (n, 2)) * rng.lognormal(0.0, 0.7, (n, 1))
        found = of_score(lambda weights, rows=rows: (weights @ rows[:, 0]) / (weights @ rows[:, 1]), even(n), 0.95, draws=400, seed=number)  # type: ignore[misc]
        held += found.low <= 1.0 <= found.high
    assert held / 300 >= least


def test_nothing_has_no_score() -> None:
    with pytest.raises(ValueError, match="at least one item"):
        of_score(mean_of(np.empty(0)), even(0), 0.95)
    with pytest.raises(ValueError, match="confidence"):
        of_score(mean_of(np.ones(20)), even(20), 1.0)
