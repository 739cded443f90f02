"""usl_peak: the worker count of the highest throughput, named only where it was passed."""

from __future__ import annotations

import math

import pytest

from assay.estimates.estimate import Absent, Estimate
from assay.metrics.usl_peak import METRIC
from tests.metrics.scaling_records import only, usl_record


def test_a_peak_that_was_passed_is_where_the_law_turns() -> None:
    found = only(METRIC, usl_record((1, 2, 4, 8, 16, 32), alpha=0.05, beta=0.01))
    assert isinstance(found, Estimate)
    assert found.value == pytest.approx(math.sqrt(0.95 / 0.01), rel=1e-3)  # 9.747: 16 and 32 lie beyond
    assert found.low < 9.7468 < found.high
    assert "2 measured worker counts lie beyond it, and throughput at 32 is lower than at 8" in found.method


@pytest.mark.parametrize(
    ("levels", "alpha", "beta", "blocks", "reason", "sentence"),
    [
        ((1, 2, 4, 8), 0.05, 0.01, 3, "refused", "no peak up to N = 8: fewer than 2 measured"),
        ((1, 2, 4, 8), 0.1, -0.0005, 3, "undefined", "no peak up to N = 8: the fitted curve does not turn"),
        ((1, 2, 4, 8, 16, 32), 0.05, 0.01, 1, "refused", "one launch for each worker count cannot show"),
        ((1, 2, 4), 0.05, 0.01, 3, "insufficient", "at least 4 worker counts"),
    ],
)
def test_a_peak_that_the_data_do_not_show_is_absent_with_the_reason(
    levels: tuple[int, ...], alpha: float, beta: float, blocks: int, reason: str, sentence: str
) -> None:
    found = only(METRIC, usl_record(levels, alpha=alpha, beta=beta, blocks=blocks))
    assert isinstance(found, Absent)
    assert found.reason == reason
    assert sentence in found.detail


def test_a_fall_within_the_scatter_is_no_peak() -> None:
    # at 8 and 9 workers the law has fallen by 2 % at most, and launches scatter by 10 %
    found = only(METRIC, usl_record((1, 2, 4, 6, 8, 9), alpha=0.05, beta=0.02, luck=(0.9, 1.0, 1.1)))
    assert isinstance(found, Absent)
    assert found.reason == "refused"
