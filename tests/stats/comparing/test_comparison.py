"""Are differences those of textbooks and other programs, and does the verdict follow the written rule?"""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from fireassay.stats.comparing.comparison import REASONS, Difference, compare_paired, compare_welch, decide, detectable_effect, scale_of
from tests.tiers import some

Array = NDArray[np.float64]

# Student's sleep data (1908): extra hours of sleep of ten patients with each of two drugs
DRUG_1 = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0]
DRUG_2 = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4]


def test_the_paired_comparison_is_students_own_example() -> None:
    """R's t.test(paired = TRUE): t = 4.0621, df 9, p = .002833, interval .7001142 to 2.4598858, mean 1.58."""
    got = compare_paired(DRUG_1, DRUG_2, scale="difference")
    assert (got.value, got.low, got.high) == pytest.approx((1.58, 0.7001142, 2.4598858), abs=1e-7)
    assert got.p_value == pytest.approx(0.002833, abs=1e-6)
    assert (got.df, got.k_a, got.k_b) == (9, 10, 10)


def test_the_welch_comparison_is_rs_example_of_the_same_data() -> None:
    """R's t.test: t = 1.8608, df 17.776, p = .07939, interval -.2054832 to 3.3654832."""
    got = compare_welch(DRUG_1, DRUG_2, scale="difference")
    assert (got.low, got.high) == pytest.approx((-0.2054832, 3.3654832), abs=1e-7)
    assert got.df == pytest.approx(17.776, abs=1e-3)
    assert got.p_value == pytest.approx(0.07939, abs=1e-5)


def test_ratios_are_compared_as_scipy_and_statsmodels_compare_logarithms() -> None:
    from statsmodels.stats.weightstats import CompareMeans, DescrStatsW

    rng = np.random.default_rng(1)
    a, b = np.exp(rng.normal(0, 0.02, 6)), np.exp(rng.normal(0.05, 0.04, 9))
    welch = compare_welch(a, b)
    test = stats.ttest_ind(np.log(b), np.log(a), equal_var=False)
    low, high = CompareMeans(DescrStatsW(np.log(b)), DescrStatsW(np.log(a))).tconfint_diff(usevar="unequal")
    assert (welch.p_value, welch.df) == pytest.approx((test.pvalue, test.df))
    assert (math.log(welch.low), math.log(welch.high)) == pytest.approx((low, high))
    paired = compare_paired(a, b[:6])
    reference = stats.ttest_rel(np.log(b[:6]), np.log(a))
    interval = reference.confidence_interval(0.95)
    assert paired.p_value == pytest.approx(reference.pvalue)
    assert (math.log(paired.low), math.log(paired.high)) == pytest.approx((interval.low, interval.high))
    assert paired.ratio == pytest.approx(stats.gmean(b[:6] / a))


@pytest.mark.parametrize("seed", some(range(20), 2))
def test_equivalence_is_the_two_one_sided_tests_of_statsmodels(seed: int) -> None:
    from statsmodels.stats.weightstats import ttost_paired

    rng = np.random.default_rng(seed)
    a, b = np.exp(rng.normal(0, 0.02, 8)), np.exp(rng.normal(0, 0.02, 8))
    limit = math.log1p(0.03)
    p = ttost_paired(np.log(b), np.log(a), -limit, limit)[0]
    got = decide(compare_paired(a, b), better="lower", smallest_effect=1.0)  # no change can be of interest
    assert (got.verdict == "equivalent") == (p < 0.05)


def test_exchanging_the_sides_inverts_the_ratio_and_mirrors_the_verdict() -> None:
    rng = np.random.default_rng(3)
    a, b = np.exp(rng.normal(0, 0.01, 5)), np.exp(rng.normal(0.08, 0.01, 5))
    for compare in (compare_paired, compare_welch):
        there, back = compare(a, b), compare(b, a)
        assert (there.value, there.low, there.high) == pytest.approx((1 / back.value, 1 / back.high, 1 / back.low))
        assert (decide(there, better="lower").verdict, decide(back, better="lower").verdict) == ("higher", "lower")
        assert (decide(there, better="lower").change, decide(back, better="lower").change) == ("worse", "improved")
        assert (decide(there, better="higher").change, decide(there, better="neither").change) == ("improved", "neither")


def made(effect: float, error: float, k: int = 5, p_value: float = 0.5) -> Difference:
    """A paired ratio of this effect and standard error on the log scale, worked out by hand from t[4]: 2.776445 and 2.131847."""
    t = float(stats.t.ppf(0.975, k - 1))
    return Difference(
        value=math.exp(effect),
        low=math.exp(effect - t * error),
        high=math.exp(effect + t * error),
        scale="ratio",
        design="paired",
        confidence=0.95,
        k_a=k,
        k_b=k,
        df=k - 1.0,
        standard_error=error,
        p_value=p_value,
        cv=error * math.sqrt(k / 2),
        minimum_detectable_effect=0.0,
        method="by hand",
    )


@pytest.mark.parametrize(
    ("effect", "error", "verdict", "reason"),
    [
        (0.05, 0.01, "higher", "changed"),  # 0.05 - 0.0278 > 0
        (-0.05, 0.01, "lower", "changed"),
        (0.05, 0.02, "inconclusive", "wide"),  # 0.05 - 0.0555 < 0
        (0.005, 0.001, "equivalent", "within_margin"),  # certain, but of no interest, and 0.005 + 0.0021 < 0.0296
        (0.0, 0.0138, "equivalent", "within_margin"),  # 0.0138 x 2.1318 = 0.02942 < log(1.03) = 0.02956
        (0.0, 0.0139, "inconclusive", "wide"),  # 0.02963 > 0.02956
        (0.0, 0.0, "equivalent", "within_margin"),
    ],
)
def test_the_rule_is_that_of_the_methodology(effect: float, error: float, verdict: str, reason: str) -> None:
    got = decide(made(effect, error), better="lower")
    assert (got.verdict, got.reason) == (verdict, reason)
    assert got.reason in REASONS


def test_a_change_below_the_noise_floor_of_the_machine_is_inconclusive_and_says_so() -> None:
    clear = made(0.02, 0.002)
    assert decide(clear, better="lower").verdict == "higher"
    got = decide(clear, better="lower", floor=0.025)
    assert (got.verdict, got.reason, got.launches_needed) == ("inconclusive", "below_floor", None)
    assert decide(clear, better="lower", floor=0.019).verdict == "higher"


def test_a_noise_floor_that_reaches_the_margin_rules_equivalence_out() -> None:
    same = made(0.001, 0.001)
    assert decide(same, better="lower", floor=0.02).verdict == "equivalent"
    assert decide(same, better="lower", floor=0.03).reason == "floor_above_margin"


def test_a_change_not_significant_after_correction_is_inconclusive() -> None:
    seen = made(0.05, 0.015, p_value=0.029)
    assert decide(seen, better="lower", p_adjusted=0.05).verdict == "higher"
    got = decide(seen, better="lower", p_adjusted=0.12)
    assert (got.verdict, got.reason) == ("inconclusive", "multiplicity")
    assert got.launches_needed is not None
    assert got.launches_needed > 5


@pytest.mark.parametrize("compare", [compare_paired, compare_welch])
def test_two_launches_of_a_side_give_numbers_but_no_verdict(compare: object) -> None:
    assert callable(compare)
    for k in (1, 2):
        got = decide(compare([1.0, 1.01][:k], [2.0, 2.01][:k]), better="lower")
        assert (got.verdict, got.change, got.reason, got.launches_needed) == ("insufficient", "neither", "few_launches", 3)


def test_one_launch_bounds_nothing() -> None:
    got = compare_welch([1.0], [2.0, 2.1, 2.2])
    assert (got.low, got.high, got.p_value, got.minimum_detectable_effect) == (0.0, math.inf, 1.0, math.inf)


def test_values_that_never_vary_differ_or_do_not() -> None:
    """Counts that are the same in every launch: 100 against 100 is the same, 100 against 90 is lower."""
    same, lower = compare_welch([100] * 3, [100] * 3), compare_welch([100] * 3, [90] * 3)
    assert (same.p_value, lower.p_value) == (1.0, 0.0)
    assert (lower.low, lower.high) == pytest.approx((0.9, 0.9))
    assert decide(same, better="lower").verdict == "equivalent"
    assert decide(lower, better="lower").change == "improved"


def test_scores_are_compared_by_difference_with_a_margin_in_their_own_unit() -> None:
    a, b = [0.0, 0.02, -0.01, 0.01], [0.5, 0.51, 0.52, 0.5]
    assert scale_of(a, b) == "difference"
    got = compare_paired(a, b, scale="difference")
    assert got.value == got.effect == pytest.approx(0.5025)
    assert decide(got, better="higher").change == "improved"
    unsure = compare_paired(a, [0.01, 0.0, 0.0, 0.005], scale="difference")
    assert decide(unsure, better="higher").reason == "no_margin"
    assert decide(unsure, better="higher", margin=0.1).verdict == "equivalent"
    with pytest.raises(ValueError, match="have no ratio"):
        _ = got.ratio


def test_bad_input_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match='side b holds 0.0, which has no logarithm; compare it with scale="difference"'):
        compare_welch([1, 2, 3], [1, 0, 2])
    with pytest.raises(ValueError, match="not 3 and 2"):
        compare_paired([1, 2, 3], [1, 2])
    with pytest.raises(ValueError, match="side a must be a list of at least one finite number"):
        compare_paired([], [])
    with pytest.raises(ValueError, match="margin must be a finite number above 0, not 0"):
        decide(made(0.0, 0.01), better="lower", margin=0.0)
    with pytest.raises(ValueError, match="floor"):
        decide(made(0.0, 0.01), better="lower", floor=-0.1)


# cv: textbook effect at k = 3, 5, 10 (percent)
PLANNED = {0.005: (1.5, 1.0, 0.66), 0.01: (3.0, 2.0, 1.33), 0.02: (6.1, 4.0, 2.65), 0.05: (15.2, 10.1, 6.6)}


def test_with_many_launches_the_detectable_effect_is_the_textbooks() -> None:
    """(1.959964 + .841621) SE for a known spread."""
    assert detectable_effect(0.01, 1e6, 0.95) == pytest.approx(0.02801585, rel=1e-3)


def test_with_few_launches_it_is_larger_because_the_spread_is_not_known() -> None:
    textbook = float(stats.t.ppf(0.975, 8) + stats.t.ppf(0.8, 8))
    assert detectable_effect(1.0, 8, 0.95) > 1.1 * textbook


def test_the_detectable_effect_counts_the_smallest_effect_of_interest() -> None:
    """Without noise it is that effect; with a noise that is small against it, z[.8] = .84 errors more."""
    assert detectable_effect(0.0, 8, 0.95, least=0.01) == 0.01
    assert detectable_effect(1e-4, 1e6, 0.95, least=0.01) == pytest.approx(0.01 + 0.8416e-4, rel=1e-4)
    quiet = compare_paired([1.0, 1.0001, 1.0, 0.9999, 1.0], [1.0, 1.0, 1.0001, 1.0, 1.0])
    assert quiet.minimum_detectable_effect == pytest.approx(0.0101, abs=2e-4)
    assert decide(quiet, better="lower", floor=0.02).minimum_detectable_effect == pytest.approx(0.0201, abs=2e-4)


def repeated(rng: np.random.Generator, k: int, effect: float, sd: float, paired: bool) -> Difference:
    """One comparison of k launches a side; blocks share a further part that only the paired one is free of."""
    block = rng.normal(0, 3 * sd, k) if paired else np.zeros(k)
    a, b = block + rng.normal(0, sd, k), block + effect + rng.normal(0, sd, k)
    return (compare_paired if paired else compare_welch)(np.exp(a), np.exp(b))


@pytest.mark.slow
@pytest.mark.parametrize("paired", [True, False])
@pytest.mark.parametrize(("k", "sd"), some([(3, 0.02), (5, 0.02), (10, 0.004)], rows=True))
def test_a_repetition_finds_the_printed_effect_in_four_cases_of_five(k: int, sd: float, paired: bool) -> None:
    """Print an effect from one comparison, repeat it with that effect as the truth: 80 % - 3 SE, averaged over 300 pilots."""
    rng = np.random.default_rng([k, paired])
    found = 0
    for _ in range(300):
        effect = repeated(rng, k, 0.0, sd, paired).minimum_detectable_effect
        found += decide(repeated(rng, k, math.log1p(effect), sd, paired), better="lower").verdict == "higher"
    assert found / 300 >= 0.8 - 3 * math.sqrt(0.8 * 0.2 / 300)


@pytest.mark.slow
@pytest.mark.parametrize("paired", [True, False])
@pytest.mark.parametrize("icc", [0.0, 0.5])
@pytest.mark.parametrize("k", some([3, 5, 10]))
def test_two_equal_sides_differ_in_one_case_of_twenty_at_most(k: int, icc: float, paired: bool) -> None:
    """T7 for the comparator: launches of 20 trials, medians on the log scale, smallest effect 0; paired with a 2 % drift besides."""
    rng, n, runs = np.random.default_rng([7, k, int(10 * icc), paired]), 20, 300
    noise = 0.05 * (math.sqrt(icc) * rng.normal(size=(runs, 2, k, 1)) + math.sqrt(1 - icc) * rng.normal(size=(runs, 2, k, n)))
    medians = np.exp(np.median(noise, axis=-1))
    compare = compare_paired if paired else compare_welch
    drift = 1 + 0.02 * np.arange(k) / k if paired else np.ones(k)
    verdicts = [decide(compare(a * drift, b * drift, smallest_effect=0.0), better="lower", smallest_effect=0.0).verdict for a, b in medians]
    false = sum(v in ("higher", "lower") for v in verdicts) / runs
    assert false <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / runs)


@pytest.mark.slow
def test_the_launches_needed_do_decide() -> None:
    """A pilot is inconclusive; with the launches that it asks for, its effect and its spread, 80 % find the effect."""
    rng = np.random.default_rng(5)
    pilot = made(0.02, 0.015)
    plan = decide(pilot, better="lower").launches_needed
    assert plan is not None
    decided = 0
    for _ in range(300):
        again = compare_paired(np.ones(plan), np.exp(rng.normal(0.02, 0.015 * math.sqrt(5), plan)))
        decided += decide(again, better="lower").verdict == "higher"
    assert abs(decided / 300 - 0.8) <= 3 * math.sqrt(0.8 * 0.2 / 300)


@settings(max_examples=60, deadline=None)
@given(st.floats(-0.2, 0.2), st.floats(1e-4, 0.2), st.floats(0.0, 0.05))
def test_an_inconclusive_comparison_needs_more_launches_or_none_would_help(effect: float, error: float, floor: float) -> None:
    got = decide(made(effect, error), better="lower", floor=floor)
    if got.verdict == "inconclusive" and got.launches_needed is not None:
        assert got.launches_needed > 5
    if got.verdict in ("higher", "lower"):
        assert abs(effect) > math.log1p(floor)


def test_a_drift_of_two_percent_is_named_a_difference_only_by_an_unblocked_order() -> None:
    """T14: ten and ten launches on a 2 % ramp 1 + .02 i/19: one after the other 10 x .02/19 = 1.0526 %, ABAB .10526 %, ABBA 0."""
    ramp = 1 + 0.02 * np.arange(20) / 19

    def shift(order: str) -> float:
        side = np.array(list(order))
        return compare_welch(ramp[side == "A"], ramp[side == "B"], scale="difference").value

    assert shift("A" * 10 + "B" * 10) == pytest.approx(0.010526, abs=1e-6)
    assert shift("AB" * 10) == pytest.approx(0.0010526, abs=1e-7)
    assert shift("ABBA" * 5) == pytest.approx(0.0, abs=1e-12)
    sequential = compare_welch(ramp[:10], ramp[10:])
    assert decide(sequential, better="lower").verdict == "higher"  # a false alarm that blocks prevent
    assert decide(compare_paired(ramp[0::2], ramp[1::2]), better="lower").verdict == "equivalent"
