"""How long and how many bytes are a step's collectives?"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fireassay.metrics.training.communication_steps import COMM_TOTAL, COMM_TRANSFER, COMM_WAIT
from tests.handmade import Handmade
from tests.metrics.communication_made import calls, ms
from tests.metrics.narrow import absence, estimated

# ---- comm_total: the union of a rank's collectives, mean over ranks, median over steps.


def launched(steps: int = 3) -> tuple[Handmade, int]:
    made = Handmade(levels=(2,), blocks=1)
    number = made.launch(workers=2)
    for rank in (0, 1):
        made.steps(number, rank=rank, seconds=[0.1] * steps)
    return made, number


def test_calls_under_way_at_once_count_once() -> None:
    """10-40 and 30-50 and 60-70: 50 ms, not the sum of 60. The other rank 10-30: 20. Mean 35."""
    made, number = launched()
    for step in range(3):
        calls(made, number, 0, step, [(10, 40), (30, 50), (60, 70)])
        calls(made, number, 1, step, [(10, 30)], first=3 * step)
    assert ms(COMM_TOTAL.compute(made.measured(), {})["workers=2"]) == pytest.approx(35.0)
    assert made.measured().communicated.calls.filter(rank=0)["sum_ns"].to_list() == [60_000_000] * 3


def test_a_call_inside_of_another_adds_nothing_and_one_after_both_does() -> None:
    """10-50, 20-30, 40-60 and 60-65: 55."""
    made, number = launched()
    for step in range(3):
        for rank in (0, 1):
            calls(made, number, rank, step, [(40, 60), (10, 50), (20, 30), (60, 65)])
    assert ms(COMM_TOTAL.compute(made.measured(), {})["workers=2"]) == pytest.approx(55.0)


def test_times_that_no_step_has_do_not_run_over() -> None:
    """A call of a century in one step, and 30 ms in the others: the median is 30."""
    made, number = launched()
    for rank in (0, 1):
        calls(made, number, rank, 0, [(0, 3.15e12), (0, 10)])
        calls(made, number, rank, 1, [(0, 30), (10, 20)])
        calls(made, number, rank, 2, [(0, 20), (10, 30)])
    assert ms(COMM_TOTAL.compute(made.measured(), {})["workers=2"]) == pytest.approx(30.0)


def test_a_step_without_a_collective_communicates_for_no_time() -> None:
    """30, 0 and 20 ms: the median is 20."""
    made, number = launched()
    for rank in (0, 1):
        calls(made, number, rank, 0, [(0, 30)])
        calls(made, number, rank, 2, [(0, 20)])
    assert ms(COMM_TOTAL.compute(made.measured(), {})["workers=2"]) == pytest.approx(20.0)


def test_a_step_done_again_counts_as_it_was_the_last_time() -> None:
    made, number = launched(steps=1)
    for rank in (0, 1):
        calls(made, number, rank, 0, [(0, 90)])
        made.steps(number, rank=rank, seconds=[0.1], incarnation=1, start_s=1.0)
        calls(made, number, rank, 0, [(0, 10)], incarnation=1)
    assert ms(COMM_TOTAL.compute(made.measured(), {})["workers=2"]) == pytest.approx(10.0)


def test_replays_are_no_training_and_unseen_ends_are_named() -> None:
    made, number = launched()
    for step in range(3):
        for rank in (0, 1):
            calls(made, number, rank, step, [(0, 10), (20, None)])
            calls(made, number, rank, step, [(30, 90)], phase="replay", first=1000 + step)
    found = estimated(COMM_TOTAL.compute(made.measured(), {})["workers=2"])
    assert ms(found) == pytest.approx(10.0)
    assert "6 calls whose end was not seen are left out" in found.method


def test_unrecorded_collectives_are_absent() -> None:
    made, number = launched()
    assert "no collective" in absence(COMM_TOTAL.compute(made.measured(), {})["workers=2"]).detail
    for rank in (0, 1):
        for step in range(3):
            calls(made, number, rank, step, [(0, None)])
    assert "assay profile" in absence(COMM_TOTAL.compute(made.measured(), {})["workers=2"]).detail


# ---- comm_transfer: what each collective takes of the rank that needs least for it; comm_wait: the rest.


def test_the_last_rank_to_arrive_does_not_wait() -> None:
    """Rank 0 from 10, rank 1 from 40, both until 60, then both for 5 ms: transfer 20 + 5, waiting 30 and 0, mean 15."""
    made, number = launched(steps=1)
    calls(made, number, 0, 0, [(10, 60), (60, 65)])
    calls(made, number, 1, 0, [(40, 60), (60, 65)])
    assert ms(COMM_TRANSFER.compute(made.measured(), {})["workers=2"]) == pytest.approx(25.0)
    assert ms(COMM_WAIT.compute(made.measured(), {})["workers=2"]) == pytest.approx(15.0)


def test_clocks_that_differ_by_seconds_change_nothing() -> None:
    """Durations alone are compared: rank 1's clock is 7 s ahead."""
    made, number = launched(steps=1)
    calls(made, number, 0, 0, [(10, 60)])
    calls(made, number, 1, 0, [(7040, 7060)])
    assert ms(COMM_TRANSFER.compute(made.measured(), {})["workers=2"]) == pytest.approx(20.0)


@pytest.mark.parametrize("case", ["missing", "point to point"])
def test_calls_without_their_partners_are_absent(case: str) -> None:
    made, number = launched(steps=1)
    calls(made, number, 0, 0, [(10, 60)], op="send" if case == "point to point" else "all_reduce")
    if case == "point to point":
        calls(made, number, 1, 0, [(10, 60)], op="recv")
    for metric in (COMM_TRANSFER, COMM_WAIT):
        assert "matched across ranks" in absence(metric.compute(made.measured(), {})["workers=2"]).detail


@pytest.mark.slow
@given(st.lists(st.tuples(*(st.integers(0, 99) for _ in range(4))), min_size=1, max_size=5))
def test_transfer_and_waiting_make_the_total(spans: list[tuple[int, int, int, int]]) -> None:
    made, number = launched(steps=1)
    for rank in (0, 1):
        calls(made, number, rank, 0, [(min(one[2 * rank : 2 * rank + 2]), max(one[2 * rank : 2 * rank + 2])) for one in spans])
    total, transfer, wait = (ms(metric.compute(made.measured(), {})["workers=2"]) for metric in (COMM_TOTAL, COMM_TRANSFER, COMM_WAIT))
    assert 0.0 <= transfer <= total + 1e-9
    assert transfer + wait == pytest.approx(total, abs=1e-9)


# ---- comm_wait: who waits least is who is waited for.


def test_a_slow_rank_makes_the_others_wait() -> None:
    """Of three ranks one comes 30 ms late: the others wait 30 each, 20 on average; in every other step nobody waits: the median of
    20, 20, 0 is 20."""
    made = Handmade(levels=(3,), blocks=1)
    number = made.launch(workers=3)
    for rank in range(3):
        made.steps(number, rank=rank, seconds=[0.1] * 3)
        for step in range(3):
            calls(made, number, rank, step, [(50 if rank == 2 and step < 2 else 20 if step < 2 else 50, 60)], ranks=3)
    assert ms(COMM_WAIT.compute(made.measured(), {})["workers=3"]) == pytest.approx(20.0)
