"""Bounds of the change of a score that is no mean: equal to those of a mean where it is one, and never sure of what no item has shown."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from fireassay.stats.comparing import linearised, noninferiority
from fireassay.stats.comparing.linearised import Sides, of_sides
from fireassay.stats.comparing.noninferiority import Items
from fireassay.stats.intervals import bounded_mean
from fireassay.stats.intervals.bounded_mean import Units

Array = NDArray[np.float64]


def mean(rows: Array, weights: Array) -> Array:
    return np.asarray(weights @ rows[:, 0] / weights.sum(axis=1))


def f1(rows: Array, weights: Array) -> Array:
    """Columns: found, of the positive class, both."""
    said, sought, both = (weights @ rows).T
    with np.errstate(invalid="ignore"):
        return np.asarray(2.0 * both / (said + sought))


def of_two_classes(label: NDArray[np.bool_], said: NDArray[np.bool_]) -> Array:
    return np.stack([said, label, label & said], axis=1) * 1.0


def other_class(rows: Array) -> Array:
    return of_two_classes(rows[:, 1] > 0.5, rows[:, 1] < 0.5)


def zero(rows: Array) -> Array:
    return np.zeros_like(rows)


def sides(
    score: Callable[[Array, Array], Array],
    worst: Callable[[Array], Array] | None,
    rows: tuple[Array, Array],
    weights: Array | None = None,
    clusters: list[int] | None = None,
) -> Sides:
    n = len(rows[0])
    return Sides(
        score=score,
        worst=worst,
        reference=rows[0],
        candidate=rows[1],
        weights=np.ones(n) if weights is None else weights,
        clusters=clusters,
    )


def found(asked: Sides, confidence: float = 0.95) -> Items:
    items = of_sides(asked, confidence)
    assert isinstance(items, Items), items
    return items


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1), st.booleans(), st.booleans())
def test_of_a_mean_it_is_the_bound_of_the_mean(seed: int, weighted: bool, clustered: bool) -> None:
    """The pulls are the units' own sums, and the added item at the worst loses the highest reference score of the items tried."""
    rng = np.random.default_rng(seed)
    before, after = rng.random((2, 60, 1))
    before[0, 0] = 1.0
    weights = rng.choice([1.0, 2.0, 4.0], 60) if weighted else np.ones(60)
    clusters = [index // 3 for index in range(60)] if clustered else None
    items = found(sides(mean, zero, (before, after), weights, clusters))
    units = noninferiority.units_of((after - before)[:, 0], clusters, weights)
    assert items.mean == pytest.approx(units.mean)
    assert items.low == pytest.approx(bounded_mean.lower(units, -1.0, 0.95))
    assert items.high == pytest.approx(bounded_mean.upper(units, float(after.max()), 0.95))
    plain = noninferiority.of_items((after - before)[:, 0], 0.95, 1.0, clusters, fixed=False, weights=weights)
    assert items.error == pytest.approx(plain.error)
    assert (items.count, items.units, items.clusters) == (plain.count, plain.units, plain.clusters)


def test_equal_answers_bound_the_loss_by_the_exact_rule() -> None:
    """No item of n differs: more than a share 1 - 0.05^(1/n) of lost items would have shown one."""
    label = np.arange(200) % 2 == 0
    rows = of_two_classes(label, label)
    items = found(sides(f1, other_class, (rows, rows)))
    unlikely = 1.0 - 0.05 ** (1.0 / 200)
    costs = 200.0 * (1.0 - 2.0 * 100.0 / (2.0 * 100.0 + 1.0))  # one of them, per item
    assert items.mean == 0.0
    assert items.low == pytest.approx(-unlikely * costs, rel=0.02)


def test_equal_answers_to_a_score_without_a_worst_answer_bound_nothing() -> None:
    rows = np.random.default_rng(0).random((50, 1))
    assert of_sides(sides(mean, None, (rows, rows)), 0.95) == "nothing says how much a worse answer would cost"


def test_a_worst_answer_without_a_score_is_no_certainty() -> None:
    """Equal answers, and a score that no candidate with a worst answer has: of a loss nothing is known, of a gain something."""

    def fragile(rows: Array, weights: Array) -> Array:
        return np.where(weights @ (rows.sum(axis=1) == 0.0) > 0.0, np.nan, mean(rows, weights))

    reference, candidate = (np.column_stack([np.ones(50), np.full(50, mark)]) for mark in (0.0, 1.0))
    asked = sides(fragile, lambda rows: rows * [0.0, 1.0], (reference, candidate))
    assert of_sides(asked, 0.95) == "nothing says how much a worse answer would cost"


def test_without_a_worst_answer_the_tail_is_extrapolated() -> None:
    rng = np.random.default_rng(0)
    before = rng.random((200, 1))
    after = before + rng.normal(0.0, 0.1, (200, 1))
    items = found(sides(mean, None, (before, after)))
    off = (after - before)[:, 0] - items.mean
    units = Units(totals=off + items.mean, sizes=np.ones(200))
    assert items.low == pytest.approx(bounded_mean.lower(units, items.mean - bounded_mean.extrapolated(off), 0.95))


def test_a_score_that_one_item_carries_bounds_nothing() -> None:
    label = np.arange(40) == 7
    rows = of_two_classes(label, label)
    assert of_sides(sides(f1, other_class, (rows, rows)), 0.95) == "the score is undefined without one of the items"
    none = of_two_classes(label & False, label & False)
    assert of_sides(sides(f1, other_class, (none, none)), 0.95) == "the score is undefined for these items"


def test_many_items_are_left_out_in_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bounds of groups of five are about those of single items: one more item is still one."""
    rng = np.random.default_rng(3)
    label = rng.random(600) < 0.4
    rows = tuple(of_two_classes(label, label ^ (rng.random(600) < 0.15)) for _ in range(2))
    single = found(sides(f1, other_class, (rows[0], rows[1])))
    monkeypatch.setattr(linearised, "MAX_UNITS", 120)
    grouped = found(sides(f1, other_class, (rows[0], rows[1])))
    assert grouped.units == single.units == 600
    assert grouped.mean == single.mean
    assert grouped.mean - grouped.low == pytest.approx(single.mean - single.low, rel=0.1)


@pytest.mark.deep
def test_a_lost_margin_of_which_few_items_show_anything_is_rarely_held() -> None:
    """A tenth are positive and one in a hundred answers differs: a bootstrap held the lost margin in 12 % of such experiments."""
    rng, experiments, held, n = np.random.default_rng(1), 400, 0, 500
    margin = f1_of(0.15) - f1_of(0.19)
    for _ in range(experiments):
        label, fate = rng.random(n) < 0.1, rng.random(n)
        rows = [of_two_classes(label, label ^ (np.where(rng.random(n) < 0.99, fate, rng.random(n)) < wrong)) for wrong in (0.15, 0.19)]
        held += found(sides(f1, other_class, (rows[0], rows[1]))).low > -margin
    assert held / experiments <= 0.055 + 3.0 * math.sqrt(0.055 * 0.945 / experiments)


def f1_of(wrong: float) -> float:
    """Of very many items of which a tenth are positive."""
    hits, false, missed = 0.1 * (1.0 - wrong), 0.9 * wrong, 0.1 * wrong
    return 2.0 * hits / (2.0 * hits + false + missed)
