"""Does the detector over history find the published change, keep its rate, and say "suspected" where it must?"""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from assay.stats.autocorrelation import lag_one
from assay.stats.changes import (
    Change,
    across_series,
    change_in_history,
    changes_in_history,
    cusum,
    permutation_p,
    proposals,
)
from assay.stats.steady import change_points
from tests.stats.test_steady import NILE

Array = NDArray[np.float64]


def autocorrelated(rng: np.random.Generator, n: int, phi: float = 0.5) -> Array:
    values = [0.0]
    for e in rng.normal(size=n + 49):
        values.append(phi * values[-1] + e)
    return np.array(values[50:])


def test_the_nile_has_the_worked_out_statistic_place_and_autocorrelation() -> None:
    # methodology T18: prototype in numpy; the level fell in 1899 (Cobb 1978), index 28 from 1871
    statistic, place = cusum(NILE)
    assert (f"{statistic:.5f}", place) == ("6.60722", 28)
    assert f"{lag_one(NILE):.4f}" == "0.4984"
    assert permutation_p(NILE, 1, block=max(5, len(NILE) // 8)) < 0.01  # blocks of 12: .003 with another seed


def test_the_nile_fell_in_1899_and_changed_nowhere_else() -> None:
    found = changes_in_history(NILE, 1)
    assert [(change.kind, change.index) for change in found] == [("change", 28)]
    assert (found[0].before, found[0].after) == pytest.approx((NILE[:28].mean(), NILE[28:].mean()))
    assert change_in_history(NILE, 1).sentence.startswith("fell by 22.6% at value 29 of 100")


def test_the_statistic_by_hand() -> None:
    # 0 0 0 0 1 1 1 1: means differ by 1 at t = 4, sqrt(4 * 4 / 8) = 1.41421, s = 0.5
    statistic, place = cusum([0, 0, 0, 0, 1, 1, 1, 1])
    assert statistic == pytest.approx(math.sqrt(2) / 0.5)
    assert place == 4


def test_p_by_hand_is_one_where_every_order_is_as_extreme_and_smallest_where_none_is() -> None:
    assert permutation_p([5.0] * 12, 1) == 1.0
    assert permutation_p([0.0] * 15 + [1.0] * 15, 1, permutations=999) == pytest.approx(0.001)


@pytest.mark.parametrize("series", ["nile", "step", "flat", "two"])
def test_ruptures_and_the_steady_state_test_agree_on_the_optimum(series: str) -> None:
    rng = np.random.default_rng(5)
    data = {
        "nile": NILE,
        "step": rng.normal(size=120) + 3 * (np.arange(120) >= 70),
        "flat": rng.normal(size=300),
        "two": rng.normal(size=300) + 2 * (np.arange(300) >= 80) - 2 * (np.arange(300) >= 210),
    }[series]
    assert proposals(data) == change_points(data)


@settings(max_examples=40, deadline=None)
@given(data=arrays(np.float64, st.integers(10, 60), elements=st.integers(-5, 5).map(float)))
def test_pelt_of_ruptures_costs_what_our_optimum_costs(data: Array) -> None:
    # ties may be broken differently, so the costs are compared, not the places
    def cost(places: tuple[int, ...]) -> float:
        parts = np.split(data, places)
        steps = np.diff(data)
        sigma = max(1.4826 * float(np.median(np.abs(steps - np.median(steps)))) / math.sqrt(2), 1e-9 * abs(data).max())
        penalty = 3 * sigma**2 * math.log(len(data))
        scatter = sum(float(((part - part.mean()) ** 2).sum()) for part in parts)
        return float(scatter + penalty * len(places))

    assert cost(proposals(data)) == pytest.approx(cost(change_points(data)), abs=1e-6)


def test_no_change_is_found_too_often_in_independent_values() -> None:
    # 1 % asked for; 300 histories: at most 1 % + 3 standard errors = 2.7 %
    rng = np.random.default_rng(11)
    found = [changes_in_history(rng.normal(size=50), rng, permutations=199) for _ in range(300)]
    assert sum(any(c.kind == "change" for c in each) for each in found) <= 8


def test_autocorrelated_values_give_at_most_three_percent() -> None:
    # 3 % + 3 standard errors of 200 histories = 6.6 %; permuting single values gives 25 %
    rng = np.random.default_rng(12)
    series = [autocorrelated(rng, 50) for _ in range(200)]
    found = [change_in_history(x, rng, permutations=199).kind for x in series]
    assert found.count("change") <= 13
    naive = [permutation_p(x, rng, permutations=199) <= 0.01 for x in series]
    assert sum(naive) > 30


@pytest.mark.parametrize(("shown", "least"), [(3, 0.80), (5, 0.95)])
def test_a_step_of_three_sigma_is_found_once_a_few_values_show_it(shown: int, least: float) -> None:
    rng = np.random.default_rng([13, shown])
    step = np.where(np.arange(100) >= 100 - shown, 3.0, 0.0)
    kinds = [change_in_history(rng.normal(size=100) + step, rng, permutations=199).kind for _ in range(100)]
    assert kinds.count("change") / 100 >= least - 3 * math.sqrt(least * (1 - least) / 100)


def test_the_usual_switch_to_blocks_hides_that_very_step() -> None:
    rng = np.random.default_rng(14)
    step = np.where(np.arange(50) >= 45, 3.0, 0.0)
    series = [rng.normal(size=50) + step for _ in range(60)]
    own = [change_in_history(x, rng, permutations=199).kind == "change" for x in series]
    switched = [permutation_p(x, rng, permutations=199, block=6 if lag_one(x) > 0.2 else 1) <= 0.01 for x in series]
    assert sum(own) > 2 * sum(switched)


def test_several_changes_are_found_where_they_are_with_their_levels() -> None:
    rng = np.random.default_rng(3)
    data = np.r_[rng.normal(10, 0.5, 40), rng.normal(14, 0.5, 30), rng.normal(12, 0.5, 40)]
    found = changes_in_history(data, 1)
    assert [change.index for change in found] == [40, 70]
    assert (found[0].before, found[0].after, found[1].after) == pytest.approx((10, 14, 12), abs=0.3)
    assert "rose by" in found[0].sentence
    assert "fell by" in found[1].sentence


def test_a_regression_that_was_mended_is_two_changes() -> None:
    # one split sees as much of it as of noise that depends on itself, so the windows round the proposals decide
    t = np.arange(100)
    data = np.random.default_rng(6).normal(size=100) + 3.0 * ((t >= 33) & (t < 66))
    found = changes_in_history(data, 1)
    assert [change.kind for change in found] == ["change", "change"]
    assert [abs((change.index or 0) - at) <= 2 for change, at in zip(found, (33, 66), strict=True)] == [True, True]
    now = change_in_history(data, 1)
    assert (now.kind, now.index) == ("change", found[1].index)


@pytest.mark.parametrize("last", [1, 2])
def test_a_step_of_the_last_one_or_two_values_is_suspected_and_no_finding(last: int) -> None:
    data = np.r_[10 + 0.1 * np.sin(np.arange(40.0)), np.full(last, 11.0)]
    found = change_in_history(data, 1)
    assert (found.kind, found.index) == ("suspected", 40)
    assert [change.kind for change in changes_in_history(data, 1)] == ["suspected"]


def test_two_outliers_at_the_beginning_are_no_change_and_hide_none() -> None:
    wave = 0.1 * np.sin(np.arange(40.0))
    data = np.r_[13.0, 13.0, 10 + wave, 11 + wave]
    assert change_in_history(data[:42], 1).kind in ("none", "suspected")
    assert [change.index for change in changes_in_history(data, 1) if change.kind == "change"] == [42]


def test_a_history_that_is_too_short_or_flat_says_so() -> None:
    assert change_in_history([1.0] * 9, 1).kind == "too short"
    assert changes_in_history([1.0] * 9, 1) == ()
    flat = change_in_history([1.0] * 30, 1)
    assert (flat.kind, flat.p_value) == ("none", 1.0)


def test_the_same_seed_gives_the_same_answer_and_the_unit_does_not_matter() -> None:
    rng = np.random.default_rng(8)
    data = rng.normal(10, 1, 60) + 1.2 * (np.arange(60) >= 30)
    assert change_in_history(data, 5) == change_in_history(data, 5)
    milli = change_in_history(1000 * data, 5)
    assert (milli.kind, milli.p_value) == (change_in_history(data, 5).kind, change_in_history(data, 5).p_value)


def test_looking_at_several_series_is_paid_for() -> None:
    # Benjamini-Hochberg by hand: .03 * 3 / 2 = .045 for the second, .009 * 3 = .027 for the first, .5 stays
    looks = [Change(kind="change", sentence="", n=50, index=9, p_value=p) for p in (0.009, 0.03)]
    looks += [Change(kind="none", sentence="", n=50, p_value=0.5), Change(kind="too short", sentence="", n=3)]
    kept = across_series(looks, level=0.04)
    assert [change.kind for change in kept] == ["change", "none", "none", "too short"]
    assert [change.p_value for change in kept] == [pytest.approx(0.027), pytest.approx(0.045), 0.5, None]
    assert kept[1].index is None
    assert "after correction" in kept[1].sentence


@pytest.mark.parametrize(
    ("values", "options", "words"),
    [
        ([1.0, math.nan] * 10, {}, "finite"),
        ([[1.0, 2.0]], {}, "list"),
        ([1.0] * 20, {"alpha": 0.0}, "strictly between 0 and 1"),
        ([1.0] * 20, {"permutations": 50}, "50 permutations cannot reach the level 0.01"),
    ],
)
def test_what_cannot_be_judged_is_an_error(values: list[float], options: dict[str, float], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        change_in_history(values, 1, **options)  # type: ignore[arg-type]


def test_fewer_than_three_values_on_a_side_are_no_statistic() -> None:
    with pytest.raises(ValueError, match="at least 6, not 5"):
        cusum([1, 2, 3, 4, 5])
