"""Do alpha and kappa have the published values, and those of other programs?"""

from __future__ import annotations

import math
from importlib.util import find_spec

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

from fireassay.stats.people.agreement import Level, Table, Weighting, alpha, weighted_kappa

# Krippendorff, "Computing Krippendorff's Alpha-Reliability", 2011, section C: four observers, twelve units
OBSERVERS = (
    (1, 2, 3, 3, 2, 1, 4, 1, 2, None, None, None),
    (1, 2, 3, 3, 2, 2, 4, 1, 2, 5, None, 3),
    (None, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, None),
    (1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, None),
)


def table(rows: tuple[tuple[float | None, ...], ...]) -> Table:
    cells = [(value, item, rater) for rater, row in enumerate(rows) for item, value in enumerate(row) if value is not None]
    values, items, raters = (np.array(column) for column in zip(*cells, strict=True))
    return Table.of(values.astype(float), items, raters)


@pytest.mark.parametrize(("level", "published"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849)])
def test_alpha_is_the_published_one(level: Level, published: float) -> None:
    found = alpha(table(OBSERVERS), level, 0.95)
    assert round(found.interval.value, 3) == published
    assert (found.items, found.raters) == (11, 4)  # the last unit has one value, which pairs with nothing
    assert found.interval.low < found.interval.value < found.interval.high <= 1.0


@pytest.mark.skipif(find_spec("krippendorff") is None, reason="the program krippendorff is not installed")
@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval"])
def test_alpha_is_that_of_the_program_krippendorff(level: Level) -> None:
    import krippendorff

    rng = np.random.default_rng(3)
    truth = rng.integers(1, 6, 60)
    grid = np.clip(truth + rng.integers(-1, 2, (6, 60)), 1, 5).astype(float)
    grid[rng.random(grid.shape) < 0.3] = np.nan
    rows = tuple(tuple(None if math.isnan(value) else value for value in row) for row in grid)
    theirs = krippendorff.alpha(reliability_data=grid, level_of_measurement=level)
    assert alpha(table(rows), level, 0.95).interval.value == pytest.approx(theirs, abs=1e-12)


@pytest.mark.parametrize("weighting", ["linear", "quadratic"])
def test_weighted_kappa_is_that_of_scikit_learn(weighting: Weighting) -> None:
    rng = np.random.default_rng(0)
    first = rng.integers(1, 6, 80)
    second = np.clip(first + rng.integers(-1, 2, 80), 1, 5)
    found = weighted_kappa(table((tuple(first), tuple(second))), weighting, 0.95)
    assert found.interval.value == pytest.approx(cohen_kappa_score(first, second, weights=weighting), abs=1e-12)


def test_of_three_raters_kappa_is_the_mean_over_pairs_on_common_items() -> None:
    rows = ((1, 2, 3, 1, 2, None), (1, 2, 2, 1, 3, 1), (1, 3, 3, 1, 2, 1))
    pairs = [(rows[a], rows[b]) for a, b in ((0, 1), (0, 2), (1, 2))]
    both = [[(x, y) for x, y in zip(*pair, strict=True) if x is not None] for pair in pairs]
    theirs = [cohen_kappa_score(*zip(*pair, strict=True), weights="quadratic", labels=[1, 2, 3]) for pair in both]
    assert weighted_kappa(table(rows), "quadratic", 0.95).interval.value == pytest.approx(np.mean(theirs))


def test_what_cannot_be_told_is_no_number() -> None:
    assert math.isnan(alpha(table(((2, 2, 2), (2, 2, 2))), "ordinal", 0.95).interval.value)
    assert math.isnan(alpha(table(((1, None), (None, 3))), "ordinal", 0.95).interval.value)
    assert math.isnan(weighted_kappa(table(((1, None), (None, 3))), "linear", 0.95).interval.value)
    perfect = alpha(table(((1, 2, 3), (1, 2, 3))), "interval", 0.95).interval
    assert (perfect.value, perfect.low) == (1.0, -math.inf)


@pytest.mark.slow
def test_intervals_of_alpha_hold_its_value_for_all_raters_and_items() -> None:
    """Interval alpha of y = item + noise is var(item) / (var(item) + var(noise)), the intraclass correlation: 0.5 here."""
    rng, covered, runs = np.random.default_rng(5), 0, 300
    for _ in range(runs):
        values = np.round(rng.normal(0, 1, (60, 1)) + rng.normal(0, 1, (60, 8)), 1)
        rows = tuple(tuple(row) for row in values.T)
        interval = alpha(table(rows), "interval", 0.95).interval
        covered += interval.low <= 0.5 <= interval.high
    assert covered / runs > 0.92
