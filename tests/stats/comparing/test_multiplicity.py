"""Are several p-values corrected as statsmodels does it, and as the papers' own examples say?"""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fireassay.stats.comparing.multiplicity import benjamini_hochberg, holm

P_VALUES = st.lists(st.floats(0.0, 1.0), min_size=1, max_size=30)
# Benjamini & Hochberg 1995, section 4: fifteen comparisons of thrombolysis trials; four are findings at 0.05, three by Bonferroni
THROMBOLYSIS = (0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1.0)


def test_the_example_of_benjamini_and_hochberg_has_four_findings_and_holm_three() -> None:
    assert sum(p <= 0.05 for p in benjamini_hochberg(THROMBOLYSIS)) == 4
    assert sum(p <= 0.05 for p in holm(THROMBOLYSIS)) == 3


def test_holm_worked_out_by_hand() -> None:
    """Sorted .005, .01, .03, .04 times 4, 3, 2, 1: .02, .03, .06, .04; the last may not fall below the one before it."""
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx((0.03, 0.06, 0.06, 0.02))


@pytest.mark.deep
@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(P_VALUES)
def test_both_agree_with_statsmodels(p_values: list[float]) -> None:
    from statsmodels.stats.multitest import multipletests  # takes two seconds to load, and every worker collects this file

    assert holm(p_values) == pytest.approx(tuple(multipletests(p_values, method="holm")[1]))
    assert benjamini_hochberg(p_values) == pytest.approx(tuple(multipletests(p_values, method="fdr_bh")[1]))


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(P_VALUES)
def test_a_correction_never_makes_a_finding_more_certain(p_values: list[float]) -> None:
    for raw, found, whole in zip(p_values, benjamini_hochberg(p_values), holm(p_values), strict=True):
        assert raw <= found * (1 + 1e-12)
        assert found <= whole * (1 + 1e-12)
        assert whole <= 1.0


def test_one_comparison_needs_no_correction_and_none_gives_none() -> None:
    assert holm([0.03]) == benjamini_hochberg([0.03]) == (0.03,)
    assert holm([]) == benjamini_hochberg([]) == ()


@pytest.mark.parametrize("bad", [[-0.1], [1.1, 0.5], [float("nan")]])
def test_an_invalid_probability_is_refused(bad: list[float]) -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        holm(bad)
