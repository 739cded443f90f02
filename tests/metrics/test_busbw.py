"""Are bandwidths those of nccl-tests?"""

from __future__ import annotations

import pytest

from assay.estimates.estimate import Absent, Estimate
from assay.metrics import algbw as algbw_metric
from assay.metrics import busbw as busbw_metric
from assay.metrics.collective_time import METRIC as TIME
from tests.collectives_made import Made, known, one

RINGS = ("all_reduce", "all_gather", "reduce_scatter", "all_to_all", "gather", "scatter")


@pytest.mark.parametrize("n", [2, 3, 8])
@pytest.mark.parametrize("op", [*RINGS, "broadcast", "reduce", "send_recv"])
def test_bandwidths_are_those_of_nccl_tests(op: str, n: int) -> None:
    """busbw = bytes / time x factor, from the bytes that were really sent: those of nccl-tests' doc/PERFORMANCE.md."""
    factor = {"all_reduce": 2 * (n - 1) / n, "broadcast": 1.0, "reduce": 1.0, "send_recv": 1.0}.get(op, (n - 1) / n)
    measured = Made(ops=(op,), levels=(n,), noise=0.0, blocks=1, sizes=("1M",)).measured()
    cell = one(measured)
    time = known(TIME.compute(measured, {})[cell.name]).value
    sent = {True: 2**20 // 4 // n * 4 * n, False: 2**20}[op in RINGS[1:]]
    assert cell.nbytes == sent
    assert known(algbw_metric.METRIC.compute(measured, {})[cell.name]).value == pytest.approx(sent / time)
    assert known(busbw_metric.METRIC.compute(measured, {})[cell.name]).value == pytest.approx(sent / time * factor)


def test_a_group_of_one_has_times_and_no_bandwidth() -> None:
    measured = Made(levels=(1, 2), sizes=("1K:1M",)).measured()
    name = one(measured, workers=1).name
    assert isinstance(TIME.compute(measured, {})[name], Estimate)
    found = busbw_metric.METRIC.compute(measured, {})[name]
    assert isinstance(found, Absent)
    assert "one rank sends nothing" in found.detail
