"""Clocks of several hosts: offset and drift that were put in come out inside of their bounds, and short intervals are refused."""

from __future__ import annotations

import json

import numpy as np
import pytest

from fireassay.frames.clock_offsets import HostClock, aligned, clock_offsets, on_one_clock
from fireassay.frames.training.rank_time import CATEGORIES, partition
from tests.handmade import Handmade
from tests.metrics.clocks_made import BOOTS, S, clock, collect, common, look, on_two_hosts, run_from_there, two_hosts

OFFSETS_S = (0.0005, -0.0005, 0.02, -1.0, 5.0, -5.0)
DRIFT = 50e-6


def made(there_s: float = 0.0, drift: float = 0.0, *, looks: int = 0, calls: int = 0, boots: dict[str, str] | None = None) -> Handmade:
    record = Handmade(levels=(4,), blocks=1)
    number = record.launch(workers=4)
    two_hosts(record, number, boots=boots)
    there = clock(there_s, drift)
    look(record, number, there, count=looks)
    collect(record, number, there, count=calls)
    return record


def of_b(record: Handmade) -> HostClock:
    return clock_offsets(record.measured())[0, "b"]


@pytest.mark.parametrize("offset_s", OFFSETS_S)
@pytest.mark.parametrize(("looks", "calls", "way"), [(120, 0, "pings"), (0, 200, "collectives"), (120, 200, "pings")])
def test_an_offset_and_a_drift_of_50_ppm_come_out_within_a_fifth_of_a_millisecond(
    offset_s: float, looks: int, calls: int, way: str
) -> None:
    """By reads; by collectives alone the error can be half a millisecond, their bound: when within the call the others arrived is unknown."""
    found = of_b(made(offset_s, DRIFT, looks=looks, calls=calls))
    assert (found.way, found.trouble) == (way, "")
    there = clock(offset_s, DRIFT)
    for true in (60.0, 300.0, 540.0):
        told = found.common(there(true))
        off = abs(told.offset - common(true))
        assert off <= told.bound + 2.0  # nanoseconds: times are whole ones
        assert told.bound <= (1_000_000 if way == "collectives" else 200_000)
        assert off <= 200_000
    assert found.slope == pytest.approx(-DRIFT, abs=found.slope_bound + 1e-8)
    assert found.slope_bound < 5e-6


def test_hosts_of_one_kernel_share_its_clock_exactly() -> None:
    """Containers and network namespaces share the clock: no reads are needed."""
    found = of_b(made(boots={"a": "one", "b": "one"}))
    assert (found.way, found.offset, found.bound) == ("same", 0.0, 0.0)


@pytest.mark.parametrize("looks", [0, 19])
def test_a_clock_with_too_few_reads_is_unknown(looks: int) -> None:
    found = of_b(made(looks=looks))
    assert not found.known
    assert f"{looks} reads" in found.trouble
    with pytest.raises(ValueError, match="not known"):
        found.common(5)


def test_kernels_that_are_not_named_are_not_taken_for_one() -> None:
    assert not of_b(made(boots={})).known


def test_looks_that_the_ends_of_collectives_contradict_are_not_believed() -> None:
    """The looks are of a clock that is 50 ms off, the collectives of one that is right."""
    record = made(0.05, looks=120)
    collect(record, 0, clock(0.0, 0.0))
    found = of_b(record)
    assert not found.known
    assert "disagree by 50." in found.trouble


def test_looks_and_collectives_of_different_times_are_compared_by_what_is_known_of_the_slope() -> None:
    """Looks in the first 5 s, collectives of 100 ms after 20 s: their own slope is hardly known, and must not contradict the looks."""
    record = made(5.0, DRIFT, boots=BOOTS)
    look(record, 0, clock(5.0, DRIFT), count=50, over_s=5.0)
    there, rng = clock(5.0, DRIFT), np.random.default_rng(3)
    for call in range(60):
        asked = 20.0 + 0.11 * call + rng.uniform(0.0, 0.05, 4)
        for rank in range(4):
            says = common if rank < 2 else there
            where = (0, rank, 0, "0", call, call, "all_reduce", 4, 1000, "float32", "", 1)
            record.rows["collectives"].append((*where, says(asked[rank]), says(asked.max() + 0.05), None, None, None, "host"))
    found = of_b(record)
    assert (found.way, found.trouble) == ("pings", "")


def test_a_clock_that_was_set_between_the_looks_fits_no_line() -> None:
    record = made(0.0, looks=60)
    look(record, 0, clock(2.0, 0.0), seed=5)
    found = of_b(record)
    assert not found.known
    assert "no straight line" in found.trouble


def test_outside_of_the_looks_the_line_goes_on_and_the_bound_grows() -> None:
    found, there = of_b(made(1.0, DRIFT, looks=120)), clock(1.0, DRIFT)
    inside, after, late = (found.common(there(true)) for true in (300.0, 900.0, 6000.0))
    assert inside.bound < after.bound < late.bound
    assert abs(late.offset - common(6000.0)) <= late.bound


def test_events_and_steps_of_two_hosts_are_put_on_one_clock() -> None:
    """The coordinator runs on host a's kernel under another name. Step 0 of rank 2 is from 10 to 11 s, by a clock 5 s ahead."""
    there = clock(5.0, 0.0)
    record = made(5.0, looks=120)
    record.manifest["coordinator"] = {"boot_id": BOOTS["a"], "host": "coordinator"}
    record.rows["events"].append((0, common(9.0), None, "coordinator", None, None, "fault", None, None, "{}"))
    record.rows["steps"].append((0, 2, 0, 0, there(10.0), there(11.0), *[None] * 7, "monotonic"))
    one = aligned(record.measured(), 0)
    assert one.trouble == ""
    assert 0 < one.bound_ns < 400_000
    assert one.steps["begin_ns"][0] == pytest.approx(common(10.0), abs=200_000)
    assert one.steps["end_ns"][0] == pytest.approx(common(11.0), abs=200_000)
    assert one.events.filter(kind="fault")["ns"].to_list() == [common(9.0)]
    assert one.steps.columns == record.measured().table("steps").columns


def test_without_a_known_clock_nothing_is_put_anywhere_and_the_reason_is_said() -> None:
    record = made()
    record.rows["steps"].append((0, 2, 0, 0, 5, 6, *[None] * 7, "monotonic"))
    one = aligned(record.measured(), 0)
    assert "the clock of b" in one.trouble
    assert one.steps["begin_ns"].to_list() == [5]
    far = made(boots={"a": "x", "b": "x"})
    far.rows["events"].append((0, 1, None, "coordinator", None, None, "fault", None, None, "{}"))
    assert "coordinator" in aligned(far.measured(), 0).trouble


def test_one_host_is_left_as_it_is() -> None:
    record = Handmade(levels=(1,), blocks=1)
    record.event(record.launch(workers=1), "worker_start", 1.0, rank=0, incarnation=0)
    record.steps(0, seconds=[1.0])
    one = aligned(record.measured(), 0)
    assert (one.bound_ns, one.trouble, one.steps.height) == (0.0, "", 1)
    assert clock_offsets(record.measured())[0, "host"].way == "same"


def seconds(record: Handmade) -> list[list[float]]:
    """Of every rank the seconds of every category."""
    measured = record.measured()
    parts = partition(measured, measured.table("launches"))
    return [[value / S for value in row] for row in parts.select(*CATEGORIES).iter_rows()]


@pytest.mark.slow
def test_the_partition_of_two_hosts_is_that_of_one() -> None:
    """As `struck` on one host, within 0.2 ms a part, though rank 1's clock is 5 s ahead or 300 s behind."""
    one, ahead, behind = (seconds(on_two_hosts(there_s, looks=40)) for there_s in (0.0, 5.0, -300.0))
    for row, other, third in zip(one, ahead, behind, strict=True):
        assert other == pytest.approx(row, abs=3e-4)
        assert third == pytest.approx(row, abs=3e-4)


@pytest.mark.slow
def test_a_launch_begins_and_ends_by_the_clock_of_the_host_that_assay_runs_on() -> None:
    """assay next to rank 1, whose clock is 5 s ahead or 300 s behind: the times of ranks were compared with another clock's."""
    one = seconds(on_two_hosts(0.0, looks=40))
    for there_s in (5.0, -300.0):
        for row, other in zip(one, seconds(run_from_there(on_two_hosts(there_s, looks=40), there_s)), strict=True):
            assert other == pytest.approx(row, abs=3e-4)


def test_with_unknown_clocks_every_rank_second_is_unknown() -> None:
    rows = seconds(on_two_hosts(-300.0, looks=0))
    unknown = list(CATEGORIES).index("unknown")
    assert [row[unknown] for row in rows] == [20.0, 20.0]
    assert [sum(row) for row in rows] == [20.0, 20.0]


def test_when_a_process_began_is_moved_with_its_event() -> None:
    record = on_two_hosts(5.0, looks=40)
    detail = json.dumps({"boot_id": "kernel of rank 1", "process_start_ns": 25 * S})
    record.rows["events"].append((0, 26 * S, None, "there", 1, 2, "worker_start", None, None, detail))
    events = on_one_clock(record.measured()).measured.table("events").filter(incarnation=2)
    assert events["ns"][0] == pytest.approx(21 * S, abs=2e5)
    assert json.loads(events["detail"][0])["process_start_ns"] == pytest.approx(20 * S, abs=2e5)


def test_records_of_one_host_are_handed_on_as_they_are() -> None:
    measured = made(boots={"a": "x", "b": "x"}).measured()
    assert on_one_clock(measured).measured is measured
