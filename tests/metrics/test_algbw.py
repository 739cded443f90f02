"""Is algbw the bytes of nccl-tests over the time of the slowest rank?"""

from __future__ import annotations

import pytest

from assay.metrics.algbw import METRIC
from tests.collectives_made import Made, known, one


@pytest.mark.parametrize(("op", "nbytes"), [("all_reduce", 2**20), ("all_gather", 1048572), ("send_recv", 2**20)])
def test_bytes_over_time(op: str, nbytes: int) -> None:
    """1 us a byte and nothing else, on three ranks: all_reduce sends 4/3 of S over each link, a gathering 2/3, a neighbour all of it."""
    measured = Made(ops=(op,), levels=(3,), alpha=1e-12, beta=1e-6, noise=0.0, sizes=("1M",)).measured()
    share = {"all_reduce": 4 / 3, "all_gather": 2 / 3, "send_recv": 1.0}[op]
    cell = one(measured)
    assert cell.nbytes == nbytes  # whole elements for each rank
    assert known(METRIC.compute(measured, {})[cell.name]).value == pytest.approx(1e6 / share, rel=1e-6)
