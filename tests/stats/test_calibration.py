"""Do calibration errors agree with scikit-learn, with a case worked out by hand, and with a known truth?"""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from fireassay.stats.calibration import Binning, brier, calibration_error, reliability
from tests.tiers import some

Array = NDArray[np.float64]


def answers(rng: np.random.Generator, n: int, gap: float) -> tuple[Array, Array]:
    """Confidences from .5 to .95, of which `gap` too much is claimed: the error is `gap` in each bin."""
    stated = rng.uniform(0.5, 0.95, n)
    return stated, (rng.random(n) < stated - gap).astype(np.float64)


@pytest.mark.parametrize(("binning", "strategy"), [("width", "uniform"), ("mass", "quantile")])
def test_reliability_is_that_of_scikit_learn(binning: Binning, strategy: str) -> None:
    calibration = pytest.importorskip("sklearn.calibration")
    stated, right = answers(np.random.default_rng(1), 500, 0.1)
    stated[:3] = 0.6, 0.7, 0.9  # on edges
    found = reliability(stated, right, 0.95, binning=binning)
    shares, means = calibration.calibration_curve(right, stated, n_bins=10, strategy=strategy)
    assert [each.right.value for each in found] == pytest.approx(list(shares), abs=1e-12)
    assert [each.confidence for each in found] == pytest.approx(list(means), abs=1e-12)
    error = calibration_error(stated, right, 0.95, binning=binning)
    items = np.array([each.items for each in found])
    assert error.plain == pytest.approx(float(items @ np.abs(shares - means)) / 500, abs=1e-12)


def test_the_brier_score_is_that_of_scikit_learn() -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    stated, right = answers(np.random.default_rng(2), 300, 0.1)
    found = brier(stated, right, 0.95)
    assert found.value == pytest.approx(metrics.brier_score_loss(right, stated), abs=1e-12)
    assert found.low < found.value < found.high


def test_the_error_is_that_worked_out_by_hand() -> None:
    """Two bins: .9 x 4 with 2 right is off by .4, .3 x 6 with 3 right by .2: .4 x .4 + .6 x .2 = .28."""
    stated, right = np.array([0.9] * 4 + [0.3] * 6), np.array([1, 1, 0, 0, 1, 1, 1, 0, 0, 0], dtype=np.float64)
    found = calibration_error(stated, right, 0.95, bins=2)
    assert (found.plain, found.bins, found.units) == (pytest.approx(0.28, abs=1e-12), 2, 10)


@pytest.mark.parametrize("gap", some([0.05, 0.0, 0.2]))
@pytest.mark.deep
def test_the_estimate_is_less_biased_than_the_plain_formula(gap: float) -> None:
    """200 items in five bins: the plain error is about 5 points where the truth is 0."""
    rng = np.random.default_rng(3)
    found = [calibration_error(*answers(rng, 200, gap), 0.95) for _ in range(100)]
    plain, value = (float(np.mean(values)) for values in ([one.plain for one in found], [one.error.value for one in found]))
    assert gap - 0.01 < value <= plain
    assert abs(value - gap) < (plain - gap) * 0.75 or plain - gap < 0.01


@pytest.mark.parametrize("items", [50, 300])
@pytest.mark.parametrize("gap", some([0.1, 0.0, 0.3]))
@pytest.mark.parametrize("binning", some(["width", "mass"]))
@pytest.mark.deep
def test_intervals_hold_a_known_error(gap: float, binning: Binning, items: int) -> None:
    """95 % of 60 draws, less three errors; a bootstrap held an error of 0 in 82 % of 50 items."""
    rng, covered = np.random.default_rng(int(10 * gap)), 0
    for _ in range(60):
        error = calibration_error(*answers(rng, items, gap), 0.95, binning=binning).error
        covered += error.low <= gap <= error.high
    assert covered / 60 >= 0.935 - 3 * math.sqrt(0.05 * 0.95 / 60)


def test_one_bin_that_is_off_does_not_push_the_interval_beyond_the_truth() -> None:
    """Confidences from .8 on are .2 too high, and all others right: the error is .2 of a third of the items."""
    rng, covered, truth = np.random.default_rng(8), 0, 0.2 * 0.15 / 0.45
    for _ in range(60):
        stated = rng.uniform(0.5, 0.95, 400)
        right = rng.random(400) < np.where(stated > 0.8, stated - 0.2, stated)
        error = calibration_error(stated, right.astype(np.float64), 0.95).error
        covered += error.low <= truth <= error.high
    assert covered / 60 >= 0.935 - 3 * math.sqrt(0.05 * 0.95 / 60)


def test_a_perfect_sample_is_no_certainty() -> None:
    """54 of 60 right at a confidence of 0.9: the share may lie 0.08 off (Wilson's interval is 0.80 to 0.95)."""
    found = calibration_error(np.full(60, 0.9), np.r_[np.ones(54), np.zeros(6)], 0.95)
    assert found.plain == pytest.approx(0.0, abs=1e-12)
    assert found.error.low == 0.0
    assert 0.06 < found.error.high < 0.15


def test_clusters_count_as_units() -> None:
    stated, right = answers(np.random.default_rng(4), 100, 0.2)
    copied = calibration_error(np.repeat(stated, 5), np.repeat(right, 5), 0.95, clusters=[index // 5 for index in range(500)])
    as_items = calibration_error(np.repeat(stated, 5), np.repeat(right, 5), 0.95)
    assert copied.units == 100
    assert copied.error.high - copied.error.low > 1.5 * (as_items.error.high - as_items.error.low)


def test_few_units_have_no_interval() -> None:
    found = calibration_error(np.full(9, 0.7), np.ones(9), 0.95)
    assert found.plain == pytest.approx(0.3)
    assert math.isnan(found.error.low)
    assert math.isnan(found.error.high)


@pytest.mark.parametrize(("stated", "right"), [([], []), ([0.5], [0.5]), ([1.5], [1.0]), ([math.nan], [1.0]), ([0.5, 0.5], [1.0])])
def test_what_is_no_confidence_is_refused(stated: list[float], right: list[float]) -> None:
    with pytest.raises(ValueError, match="confidence"):
        reliability(np.array(stated), np.array(right), 0.95)
