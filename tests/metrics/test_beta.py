"""Is the time per byte of a simulated link found, whatever the operation? (Within a tenth and in its interval: `test_alpha.py`.)"""

from __future__ import annotations

import pytest

from assay.estimates.estimate import Absent
from assay.metrics.beta import METRIC
from tests.collectives_made import Made, known, one


@pytest.mark.parametrize("op", ["all_reduce", "reduce_scatter", "broadcast", "send_recv"])
def test_a_link_without_noise_is_found_exactly(op: str) -> None:
    measured = Made(ops=(op,), levels=(4,), alpha=20e-6, beta=2e-9, noise=0.0).measured()
    assert known(METRIC.compute(measured, {})[one(measured).group]).value == pytest.approx(2e-9, rel=1e-3)


def test_one_rank_has_no_link() -> None:
    found = METRIC.compute(Made(levels=(1,)).measured(), {})
    assert all(isinstance(value, Absent) and value.reason == "not_applicable" for value in found.values())
