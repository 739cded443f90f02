"""comm_transfer: what each collective takes of the rank that needs least for it; comm_wait: the rest."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.estimates.estimate import Absent
from assay.metrics.comm_total import METRIC as TOTAL
from assay.metrics.comm_transfer import METRIC
from assay.metrics.comm_wait import METRIC as WAIT
from tests.handmade import Handmade
from tests.metrics.communication_made import calls, ms


def launched(steps: int = 1) -> tuple[Handmade, int]:
    made = Handmade(levels=(2,), blocks=1)
    number = made.launch(workers=2)
    for rank in (0, 1):
        made.steps(number, rank=rank, seconds=[0.1] * steps)
    return made, number


def test_the_rank_that_comes_last_waits_for_nobody() -> None:
    """Rank 0 from 10, rank 1 from 40, both until 60, then both for 5 ms: transfer 20 + 5, waiting 30 and 0, mean 15."""
    made, number = launched()
    calls(made, number, 0, 0, [(10, 60), (60, 65)])
    calls(made, number, 1, 0, [(40, 60), (60, 65)])
    assert ms(METRIC.compute(made.measured(), {})["workers=2"]) == pytest.approx(25.0)
    assert ms(WAIT.compute(made.measured(), {})["workers=2"]) == pytest.approx(15.0)


def test_clocks_that_differ_by_seconds_change_nothing() -> None:
    """Durations alone are compared: rank 1's clock is 7 s ahead."""
    made, number = launched()
    calls(made, number, 0, 0, [(10, 60)])
    calls(made, number, 1, 0, [(7040, 7060)])
    assert ms(METRIC.compute(made.measured(), {})["workers=2"]) == pytest.approx(20.0)


@pytest.mark.parametrize("case", ["missing", "point to point"])
def test_calls_without_their_partners_are_absent(case: str) -> None:
    made, number = launched()
    calls(made, number, 0, 0, [(10, 60)], op="send" if case == "point to point" else "all_reduce")
    if case == "point to point":
        calls(made, number, 1, 0, [(10, 60)], op="recv")
    for metric in (METRIC, WAIT):
        found = metric.compute(made.measured(), {})["workers=2"]
        assert isinstance(found, Absent)
        assert "put together" in found.detail


@given(st.lists(st.tuples(*(st.integers(0, 99) for _ in range(4))), min_size=1, max_size=5))
def test_transfer_and_waiting_make_the_total(spans: list[tuple[int, int, int, int]]) -> None:
    made, number = launched()
    for rank in (0, 1):
        calls(made, number, rank, 0, [(min(one[2 * rank : 2 * rank + 2]), max(one[2 * rank : 2 * rank + 2])) for one in spans])
    total, transfer, wait = (ms(metric.compute(made.measured(), {})["workers=2"]) for metric in (TOTAL, METRIC, WAIT))
    assert 0.0 <= transfer <= total + 1e-9
    assert transfer + wait == pytest.approx(total, abs=1e-9)
