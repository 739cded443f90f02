"""usl_coherency: beta of the Universal Scalability Law, 0 where the data show no such cost."""

from __future__ import annotations

import pytest

from assay.estimates.estimate import Absent, Estimate
from assay.metrics.usl_coherency import METRIC
from tests.handmade import Handmade
from tests.metrics.scaling_records import only, usl_record


def test_times_made_by_the_law_give_its_coherency_back() -> None:
    found = only(METRIC, usl_record((1, 2, 4, 8), alpha=0.05, beta=0.01, luck=(1.0,)))
    assert isinstance(found, Estimate)
    assert found.value == pytest.approx(0.01, abs=1e-9)


def test_a_coherency_on_its_bound_has_an_upper_end_and_says_that_it_has_no_standard_error() -> None:
    # the largest count is faster than the law without coherency says, so beta would like to be negative
    found = only(METRIC, usl_record((1, 2, 4, 8), alpha=0.1, beta=-0.0005))
    assert isinstance(found, Estimate)
    assert (found.value, found.low) == (0.0, 0.0)
    assert 0.0 < found.high < 0.001
    assert "on its bound 0, so it has no standard error" in found.method


def test_no_whole_block_no_fit() -> None:
    assert isinstance(only(METRIC, Handmade(levels=(1, 2, 4, 8)).measured()), Absent)
