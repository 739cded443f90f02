"""How long and how many bytes are a step's collectives?"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fireassay.estimates.estimate import Absent, Estimate, Value
from fireassay.frames.training.communication.links import demand
from fireassay.frames.training.communication.listed_collectives import inventory
from fireassay.metrics.training.communication import COMM_EXPOSED
from fireassay.metrics.training.communication_steps import COMM_TOTAL, COMM_TRANSFER, COMM_WAIT
from fireassay.metrics.training.communication_volume import COMM_VOLUME
from tests.handmade import Handmade
from tests.metrics.communication_made import calls, ms

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
    found = COMM_TOTAL.compute(made.measured(), {})["workers=2"]
    assert ms(found) == pytest.approx(10.0)
    assert isinstance(found, Estimate)
    assert "6 calls whose end was not seen are left out" in found.method


def test_what_was_not_seen_is_absent() -> None:
    made, number = launched()
    unseen = COMM_TOTAL.compute(made.measured(), {})["workers=2"]
    assert isinstance(unseen, Absent)
    assert "no collective" in unseen.detail
    for rank in (0, 1):
        for step in range(3):
            calls(made, number, rank, step, [(0, None)])
    endless = COMM_TOTAL.compute(made.measured(), {})["workers=2"]
    assert isinstance(endless, Absent)
    assert "assay profile" in endless.detail


# ---- comm_transfer: what each collective takes of the rank that needs least for it; comm_wait: the rest.


def launched_of_comm_transfer(steps: int = 1) -> tuple[Handmade, int]:
    made = Handmade(levels=(2,), blocks=1)
    number = made.launch(workers=2)
    for rank in (0, 1):
        made.steps(number, rank=rank, seconds=[0.1] * steps)
    return made, number


def test_the_rank_that_comes_last_waits_for_nobody() -> None:
    """Rank 0 from 10, rank 1 from 40, both until 60, then both for 5 ms: transfer 20 + 5, waiting 30 and 0, mean 15."""
    made, number = launched_of_comm_transfer()
    calls(made, number, 0, 0, [(10, 60), (60, 65)])
    calls(made, number, 1, 0, [(40, 60), (60, 65)])
    assert ms(COMM_TRANSFER.compute(made.measured(), {})["workers=2"]) == pytest.approx(25.0)
    assert ms(COMM_WAIT.compute(made.measured(), {})["workers=2"]) == pytest.approx(15.0)


def test_clocks_that_differ_by_seconds_change_nothing() -> None:
    """Durations alone are compared: rank 1's clock is 7 s ahead."""
    made, number = launched_of_comm_transfer()
    calls(made, number, 0, 0, [(10, 60)])
    calls(made, number, 1, 0, [(7040, 7060)])
    assert ms(COMM_TRANSFER.compute(made.measured(), {})["workers=2"]) == pytest.approx(20.0)


@pytest.mark.parametrize("case", ["missing", "point to point"])
def test_calls_without_their_partners_are_absent(case: str) -> None:
    made, number = launched_of_comm_transfer()
    calls(made, number, 0, 0, [(10, 60)], op="send" if case == "point to point" else "all_reduce")
    if case == "point to point":
        calls(made, number, 1, 0, [(10, 60)], op="recv")
    for metric in (COMM_TRANSFER, COMM_WAIT):
        found = metric.compute(made.measured(), {})["workers=2"]
        assert isinstance(found, Absent)
        assert "matched across ranks" in found.detail


@given(st.lists(st.tuples(*(st.integers(0, 99) for _ in range(4))), min_size=1, max_size=5))
def test_transfer_and_waiting_make_the_total(spans: list[tuple[int, int, int, int]]) -> None:
    made, number = launched_of_comm_transfer()
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


# ---- Bytes of a step's collectives, and torch's own list of them: as a source, and held against what the hooks saw. Worked out by hand.

STEPS = 4


def launched_of_comm_volume(*, hooks: bool = True, calls_a_step: int = 2) -> tuple[Handmade, int]:
    """Two ranks, 4 steps of 100 ms; the hooks see all_reduces of 1,000 bytes, of 10 ms each."""
    made = Handmade(levels=(1, 2), blocks=1)
    made.steps(made.launch(workers=1), seconds=[0.1] * STEPS)
    number = made.launch(workers=2)
    for rank in (0, 1):
        made.steps(number, rank=rank, seconds=[0.1] * STEPS)
        for step in range(STEPS if hooks else 0):
            calls(made, number, rank, step, [(10 * n, 10 * n + 10) for n in range(calls_a_step)])
    return made, number


def listed(
    made: Handmade,
    number: int,
    count: int,
    *,
    op: str = "all_reduce",
    nbytes: int | None = 1000,
    each_ms: float | None = None,
    steps: range = range(1, STEPS),
) -> None:
    """torch lists so many calls of a kind of the last steps of both ranks."""
    for rank in (0, 1):
        for step in steps:
            total, ns = (None if nbytes is None else count * nbytes, None if each_ms is None else round(count * each_ms * 1e6))
            made.rows["inventory"].append((number, rank, 0, step, "0", op, "float32", 2, count, total, ns))


def of(made: Handmade, metric: object = COMM_VOLUME, configuration: str = "workers=2") -> Value:
    return metric.compute(made.measured(), {})[configuration]  # type: ignore[attr-defined,no-any-return]


def estimate(value: Value) -> Estimate:
    assert isinstance(value, Estimate), value
    return value


def absent(value: Value) -> Absent:
    assert isinstance(value, Absent), value
    return value


def test_what_the_hooks_saw_and_that_torch_lists_no_more() -> None:
    made, number = launched_of_comm_volume()
    listed(made, number, 2)
    found = estimate(of(made))
    assert found.value == 2000.0
    assert "comm_volume|by:hooks" in found.signature
    assert "lists no others: 2 all_reduce a step" in found.method
    assert ms(of(made, COMM_TOTAL)) == pytest.approx(20.0)


def test_without_a_list_the_hooks_are_held_against_nothing_and_that_is_said() -> None:
    made, number = launched_of_comm_volume()
    made.event(number, "flight_recorder", 9.0, rank=0, detail={"absent": "it is switched off: TORCH_FR_BUFFER_SIZE=0"})
    assert estimate(of(made)).value == 2000.0
    assert "cannot be compared: it is switched off: TORCH_FR_BUFFER_SIZE=0" in estimate(of(made)).method


def test_where_the_hooks_missed_calls_torch_is_believed_and_no_total_is_told() -> None:
    """3 of 2 + 1: a broadcast by an engine of its own. The time of two of them would be too small a number for all three."""
    made, number = launched_of_comm_volume()
    listed(made, number, 2)
    listed(made, number, 1, op="broadcast", nbytes=500)
    found = estimate(of(made))
    assert found.value == 2500.0
    assert "by:flight_recorder" in found.signature
    assert "2 all_reduce and 1 broadcast a step, of which the hooks saw 2" in found.method
    for metric in (COMM_TOTAL, COMM_TRANSFER):
        assert "lists 3 collectives a step but the hooks saw 2" in absent(of(made, metric)).detail


def test_where_the_hooks_missed_calls_of_a_type_without_a_size_that_is_said_and_not_that_nothing_was_seen() -> None:
    made, number = launched_of_comm_volume()
    listed(made, number, 2)
    listed(made, number, 1, op="broadcast", nbytes=None)
    found = absent(of(made))
    assert found.reason == "not_measured"
    assert "lists 3 collectives a step, of which the hooks saw 2" in found.detail
    assert "no collective" not in found.detail


def test_a_call_now_and_then_is_no_miss() -> None:
    """One in four steps has another all_reduce: the median step has none."""
    made, number = launched_of_comm_volume()
    listed(made, number, 2)
    listed(made, number, 1, op="barrier", nbytes=0, steps=range(3, 4))
    assert inventory(made.measured(), "workers=2").unseen == 0.0  # type: ignore[union-attr]
    assert ms(of(made, COMM_TOTAL)) == pytest.approx(20.0)


def test_point_to_point_is_not_compared_for_gloo_does_not_list_it() -> None:
    made, number = launched_of_comm_volume()
    listed(made, number, 2)
    listed(made, number, 5, op="send")
    assert inventory(made.measured(), "workers=2").calls == 2.0  # type: ignore[union-attr]


def test_of_a_script_that_is_not_hooked_torch_tells_the_bytes_and_what_the_wall_asks_for() -> None:
    made, number = launched_of_comm_volume(hooks=False)
    listed(made, number, 3, nbytes=4000)
    assert estimate(of(made)).value == 12000.0
    sent = demand(made.measured(), (1, 2))
    assert not isinstance(sent, Absent)
    assert [(one.op, one.calls, one.nbytes) for one in sent.sent] == [("all_reduce", 3.0, 12000.0)]
    assert "flight recorder" in sent.source
    exposed = absent(of(made, COMM_EXPOSED))
    assert "lists 3 all_reduce a step, but not what of them computing hides" in exposed.detail
    assert absent(of(made, COMM_TOTAL)).reason == "not_measured"


def test_ncclts_durations_make_a_total_that_says_that_it_is_a_sum() -> None:
    """3 calls of 4 ms: 12 ms, though they may have run at once."""
    made, number = launched_of_comm_volume(hooks=False)
    listed(made, number, 3, each_ms=4.0)
    found = estimate(of(made, COMM_TOTAL))
    assert ms(found) == pytest.approx(12.0)
    assert "by:flight_recorder" in found.signature
    assert "calls that run at once count twice" in found.method


def test_nothing_seen_by_anybody_is_absent_with_each_reason() -> None:
    made, number = launched_of_comm_volume(hooks=False)
    assert "workload.attach = false" in absent(of(made)).detail
    assert "marks its own steps" not in absent(of(made)).detail  # such scripts are hooked for their communication
    made.event(number, "flight_recorder", 9.0, rank=0, detail={"absent": "it lists no call"})
    assert absent(of(made)).detail.endswith("nor by torch itself: it lists no call")
    listed(made, number, 1, nbytes=None)
    assert isinstance(of(made), Absent)
    assert absent(of(made, configuration="workers=1")).reason == "not_applicable"


def test_a_step_done_again_counts_as_it_was_the_last_time_comm_volume() -> None:
    made, number = launched_of_comm_volume()
    listed(made, number, 2)
    again = [(*row[:2], 1, *row[3:8], 7, *row[9:]) for row in made.rows["inventory"]]
    made.rows["inventory"] += again  # of a later life, in which no step was made
    assert inventory(made.measured(), "workers=2").calls == 2.0  # type: ignore[union-attr]
