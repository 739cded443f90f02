"""comm_wait: who waits least is who is waited for."""

from __future__ import annotations

import pytest

from assay.metrics.comm_wait import METRIC
from tests.handmade import Handmade
from tests.metrics.communication_made import calls, ms


def test_a_slow_rank_makes_the_others_wait() -> None:
    """Of three ranks one comes 30 ms late: the others wait 30 each, 20 on average; in every other step nobody waits: the median of
    20, 20, 0 is 20."""
    made = Handmade(levels=(3,), blocks=1)
    number = made.launch(workers=3)
    for rank in range(3):
        made.steps(number, rank=rank, seconds=[0.1] * 3)
        for step in range(3):
            calls(made, number, rank, step, [(50 if rank == 2 and step < 2 else 20 if step < 2 else 50, 60)], ranks=3)
    assert ms(METRIC.compute(made.measured(), {})["workers=3"]) == pytest.approx(20.0)
