"""Are MLPerf's convergence bounds those of the rules' worked example, and the checker's those of the checker?"""

from __future__ import annotations

import pytest
from scipy import stats

from assay.stats.reference_points import checker_bound, converges_too_fast, rule_bound, submission_mean

# MLPerf training_policies, section on reference convergence points; methodology T10
SMALL = [16, 14, 16, 17, 16, 16, 15, 16, 15, 16]
LARGE = [20, 21, 21, 20, 22, 22, 21, 21, 20, 20]


@pytest.mark.parametrize(
    ("reference", "mean", "deviation", "bound", "percent"),
    [(SMALL, 15.75, 0.43301, 15.213, 3.53), (LARGE, 20.75, 0.66144, 19.929, 4.12)],
)
def test_the_rules_give_their_own_worked_example(
    reference: list[int], mean: float, deviation: float, bound: float, percent: float
) -> None:
    got = rule_bound(reference)
    assert (got.mean, got.deviation) == pytest.approx((mean, deviation), abs=5e-6)
    assert got.bound == pytest.approx(bound, abs=5e-4)
    assert 100 * got.allowed_speedup == pytest.approx(percent, abs=0.005)


@pytest.mark.parametrize(("reference", "bound", "percent"), [(SMALL, 14.781, 6.56), (LARGE, 19.821, 4.69)])
def test_the_checker_spreads_over_all_runs(reference: list[int], bound: float, percent: float) -> None:
    got = checker_bound(reference)
    assert got.bound == pytest.approx(bound, abs=5e-4)
    assert 100 * got.allowed_speedup == pytest.approx(percent, abs=0.005)


def test_the_bound_is_where_scipys_t_test_stops_rejecting() -> None:
    m, s, bound = 15.75, 0.4330127, rule_bound(SMALL).bound
    for mean, rejected in ((bound - 1e-6, True), (bound + 1e-6, False)):
        p = stats.ttest_ind_from_stats(m, s, 8, mean, s, 3, equal_var=True, alternative="greater").pvalue
        assert (p < 0.05) == rejected


def test_the_submissions_of_the_example_pass_and_fail() -> None:
    assert submission_mean([15, 15, 15, 16, 16]) == pytest.approx(15.3333, abs=5e-5)
    assert not converges_too_fast(SMALL, [15, 15, 15, 16, 16])
    assert submission_mean([19, 19, 19, 20, 20]) == pytest.approx(19.3333, abs=5e-5)
    assert converges_too_fast(LARGE, [19, 19, 19, 20, 20])


def test_a_reference_without_spread_allows_nothing() -> None:
    got = rule_bound([10.0] * 10)
    assert (got.bound, got.allowed_speedup) == (10.0, 0.0)


def test_too_few_or_impossible_runs_are_refused() -> None:
    for reference, submission in (
        ([16, 15, 16], [15] * 5),
        (SMALL, [15, 15]),
        ([0, *SMALL], [15] * 5),
        ([1, 9, 90, 99], [5] * 5),
    ):
        with pytest.raises(ValueError, match="runs|epochs"):
            converges_too_fast(reference, submission)
