"""Is the knee the smallest level that is shown to be within the margin of every other?"""

from __future__ import annotations

import numpy as np
import pytest

from fireassay.stats.comparing.knee import confidence_of_each, knee, knee_of_rising
from fireassay.stats.intervals.intervals import t_quantile


def of(scores: list[float], half: float) -> list[list[float]]:
    """Lower bounds of the gains, all with the same half-width."""
    return [[mine - other - half for other in scores] for mine in scores]


@pytest.mark.parametrize(
    ("scores", "half", "at", "enough"),
    [
        ([0.60, 0.70, 0.71, 0.712], 0.005, 1, (False, True, True, True)),
        ([0.60, 0.70, 0.75, 0.80], 0.005, 3, (False, False, False, True)),
        ([0.60, 0.70, 0.71, 0.60], 0.005, 1, (False, True, True, False)),  # more steps may be worse
        ([0.70, 0.70, 0.70, 0.70], 0.005, 0, (True, True, True, True)),
        ([0.70, 0.70, 0.70, 0.70], 0.03, None, (False, False, False, False)),  # too few items for any
    ],
)
def test_the_knee_by_hand(scores: list[float], half: float, at: int | None, enough: tuple[bool, ...]) -> None:
    bounds = of(scores, half)
    found = knee(len(scores), lambda one, other, _: bounds[one][other], 0.02, 0.95)
    assert (found.at, found.enough) == (at, enough)


def test_each_bound_leaves_a_third_of_the_risk_with_four_levels() -> None:
    asked: list[float] = []

    def lower(one: int, other: int, confidence: float) -> float:
        asked.append(confidence)
        return 1.0

    assert knee(4, lower, 0.02, 0.95).confidence == pytest.approx(1.0 - 0.05 / 3.0)
    assert asked == pytest.approx([1.0 - 0.05 / 3.0] * 12)
    assert confidence_of_each(2, 0.95) == pytest.approx(0.95)


def test_a_pair_without_a_bound_shows_nothing() -> None:
    assert knee(2, lambda one, other, _: None if one == 0 else 1.0, 0.02, 0.95).enough == (False, True)


@pytest.mark.parametrize(("levels", "margin"), [(1, 0.02), (2, 0.0), (2, -1.0), (2, float("nan"))])
def test_what_has_no_knee_is_refused(levels: int, margin: float) -> None:
    with pytest.raises(ValueError, match="a knee needs"):
        knee(levels, lambda *_: 1.0, margin, 0.95)


def test_a_level_that_is_worse_by_the_margin_is_hardly_ever_called_enough() -> None:
    """Known truth: three levels lie exactly one margin below the best, normal differences of known spread. At most 5 % of draws may err."""
    rng, draws, items, margin = np.random.default_rng(7), 2000, 400, 0.02
    errors = 0
    for _ in range(draws):
        means = np.array([0.0, 0.0, 0.0, margin]) + rng.normal(0.0, 0.3 / np.sqrt(items), 4)

        def lower(one: int, other: int, confidence: float, means: np.ndarray = means) -> float:
            return float(means[one] - means[other] - t_quantile(confidence, float("inf")) * 0.3 * np.sqrt(2.0 / items))

        errors += any(knee(4, lower, margin, 0.95).enough[:3])
    assert errors <= 0.05 * draws + 3.0 * np.sqrt(0.05 * 0.95 * draws)


@pytest.mark.parametrize(
    ("bounds", "at"),
    [
        ([-0.1, -0.01, -0.005], 1),
        ([-0.01, -0.01, -0.01], 0),
        ([-0.1, -0.1, -0.1], 3),
        ([-0.01, -0.1, -0.01], 2),  # a sequence ends at the first that is not shown
        ([-0.01, None, -0.01], 2),
    ],
)
def test_levels_that_rise_are_compared_with_the_largest_downwards(bounds: list[float | None], at: int) -> None:
    found = knee_of_rising(4, lambda one, other, _: bounds[one] if other == 3 else None, 0.02, 0.95)
    assert (found.at, found.confidence) == (at, 0.95)
    assert found.enough == tuple(one >= at for one in range(4))


@pytest.mark.parametrize(("levels", "margin"), [(1, 0.02), (2, 0.0)])
def test_what_cannot_rise_has_no_knee(levels: int, margin: float) -> None:
    with pytest.raises(ValueError, match="a knee needs"):
        knee_of_rising(levels, lambda *_: 1.0, margin, 0.95)


def test_of_rising_levels_a_false_knee_is_one_test() -> None:
    """Three levels lie exactly one margin below the largest, with equal noise: none is called enough in more than 5 % of draws (4 standard errors)."""
    rng, draws, items, margin = np.random.default_rng(8), 2000, 400, 0.02
    z, errors = t_quantile(0.95, np.inf), 0
    for _ in range(draws):
        loss = -margin + rng.normal(0.0, 0.3 / np.sqrt(items), 3)
        bounds = loss - z * 0.3 / np.sqrt(items)
        errors += knee_of_rising(4, lambda one, _, __, bounds=bounds: float(bounds[one]), margin, 0.95).at != 3
    assert errors / draws < 0.05 + 4.0 * np.sqrt(0.05 * 0.95 / draws)
