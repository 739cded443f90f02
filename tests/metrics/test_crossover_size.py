"""Is the crossover size the one at which half of the time is latency?"""

from __future__ import annotations

import pytest

from assay.metrics import crossover_size
from tests.collectives_made import Made, known, one

ALPHA, BETA = 30e-6, 0.8e-9


def test_the_crossover_size_is_where_half_of_the_time_is_latency() -> None:
    """send_recv is a single link: alpha / beta = 30 us / 0.8 ns = 37,500 bytes."""
    measured = Made(ops=("send_recv",), alpha=ALPHA, beta=BETA, noise=0.0).measured()
    assert known(crossover_size.METRIC.compute(measured, {})[one(measured).group]).value == pytest.approx(37_500, rel=1e-3)
