"""A rank of `assay comm`: what it writes down, and that a bad network is seen on the timed calls themselves."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import polars as pl
import pytest

from fireassay.frames.links.collective_calls import loops
from fireassay.instruments.collectives import operations
from fireassay.instruments.collectives.worker import Worker, lead_in
from fireassay.instruments.recorder.sink import Identity, MemorySink
from fireassay.spec.sections.collectives import OPERATIONS, PLACEMENTS, Collectives, cells
from tests.builders import frame
from tests.instruments.fake_group import Spoil, Torch, World, run
from tests.lazy import torch

pytestmark = pytest.mark.slow


SMALL = Collectives(sizes=("1K:4K",), seconds=0.001, batches=2, calls=3, warm_up=2, memory_mib=0.05)


def made(asked: Collectives, ranks: int = 3, spoil: Spoil | None = None, lacks: dict[str, str] | None = None) -> dict[int, MemorySink]:
    """What every rank wrote."""
    sinks = {rank: MemorySink() for rank in range(ranks)}
    world = World(ranks, spoil=spoil, lacks=lacks or {})

    def work(fake: Torch, rank: int) -> None:
        identity = Identity(launch=0, rank=rank, workers=ranks, incarnation=0, seed=7, host="here")
        Worker(fake, asked, identity, sinks[rank], torch.device("cpu")).run()

    run(world, work)
    return sinks


def calls_of(sinks: dict[int, MemorySink]) -> pl.DataFrame:
    """The rows of all ranks."""
    return frame("collectives", [row for sink in sinks.values() for row in sink.of("collectives")])


@pytest.fixture(scope="module")
def everything() -> dict[int, MemorySink]:
    return made(SMALL.model_copy(update={"operations": OPERATIONS}))


def test_every_cell_is_timed_on_every_rank_and_every_call_is_checked(everything: dict[int, MemorySink]) -> None:
    rows = calls_of(everything).filter(pl.col("op") != "barrier")
    wanted = {(cell.op, cell.nbytes, int(cell.place == "in")) for cell in cells(SMALL.model_copy(update={"operations": OPERATIONS}), 3)}
    for rank in range(3):
        own = rows.filter((pl.col("rank") == rank) & (pl.col("phase") == "timed"))
        assert set(own.select("op", "bytes", "in_place").iter_rows()) == wanted
    seen = rows.group_by("op", "call").agg(pl.col("wrong").max(), pl.col("wrong").is_not_null().any().alias("checked"))
    assert seen["checked"].all()
    assert seen["wrong"].sum() == 0


def test_calls_have_the_same_number_on_every_rank_and_loops_begin_with_a_barrier(everything: dict[int, MemorySink]) -> None:
    rows = calls_of(everything).sort("rank", "call")
    first = rows.filter(pl.col("rank") == 0).select("call", "op", "bytes", "phase")
    for rank in (1, 2):
        assert rows.filter(pl.col("rank") == rank).select("call", "op", "bytes", "phase").equals(first)
    found = loops(rows)
    assert (found["ranks"] == 3).all()
    assert (found["seconds"] > 0).all()
    assert (found.group_by("op", "bytes", "in_place", "phase").len().filter(pl.col("phase") == "timed")["len"] >= SMALL.batches).all()


def test_a_call_ends_where_the_next_one_of_its_loop_begins(everything: dict[int, MemorySink]) -> None:
    rows = calls_of(everything).filter(pl.col("rank") == 1).sort("call")
    inside = rows.with_columns(after=pl.col("op").shift(-1), begins=pl.col("begin_ns").shift(-1)).filter(
        (pl.col("op") != "barrier") & (pl.col("after") != "barrier")
    )
    assert inside.height
    assert (inside["end_ns"] == inside["begins"]).all()


def test_what_the_engine_lacks_is_told_in_its_words_and_nothing_else_stops() -> None:
    sinks = made(
        SMALL.model_copy(update={"operations": ("all_gather", "all_reduce")}),
        lacks={"all_gather": "all_gather is not supported by this backend"},
    )
    told = [json.loads(row[9]) for row in sinks[1].of("events") if row[6] == "not_supported"]
    assert {(one["op"], one["place"]) for one in told} == {("all_gather", "out"), ("all_gather", "in")}
    assert "not supported" in told[0]["why"]
    assert set(calls_of(sinks)["op"]) == {"barrier", "all_reduce"}


def _on_call(op: str, number: int, rank: int, change: Callable[[list[torch.Tensor], torch.Tensor], Any]) -> Spoil:
    def spoil(name: str, at: int, done: int, inputs: list[torch.Tensor], result: torch.Tensor) -> None:
        if name == op and done == number and (rank in (at, -1)):
            change(inputs, result)

    return spoil


def first_timed(op: str) -> int:
    """The number of an operation's first timed call: after the try of each placement, two loops of two to warm up, and the calls that
    lead into each.
    """
    return len(PLACEMENTS[op]) + 2 * (2 + lead_in(4096)) + lead_in(4096) + 1


SPOILED = {
    "rank_missing: rank 2": ("all_reduce", -1, lambda inputs, result: result.sub_(inputs[2])),
    "shards_swapped": ("all_gather", 1, lambda _, result: result.copy_(torch.cat([result.chunk(3)[place] for place in (1, 0, 2)]))),
    "off_by_one: one element too late": ("reduce_scatter", 0, lambda _, result: result[1:].copy_(result[:-1].clone())),
    "stale: nothing was written": ("all_to_all", 1, lambda _, result: result.fill_(-3)),
    "bit_flip": ("broadcast", 2, lambda _, result: result.view(torch.uint8)[9].bitwise_xor_(4)),
    "wrong_dtype: rounded to bfloat16": ("all_reduce", 0, lambda _, result: result.copy_(result.bfloat16().float())),
    "wrong_root: the data of rank 1": ("broadcast", 2, lambda inputs, result: result.copy_(inputs[1])),
    "wrong_op: the maximum": ("reduce", 0, lambda inputs, result: result.copy_(torch.stack(inputs).max(dim=0).values)),
}


@pytest.mark.parametrize("name", sorted(SPOILED))
def test_each_of_the_eight_corruptions_is_caught_on_a_timed_call(name: str) -> None:
    op, rank, change = SPOILED[name]
    asked = SMALL.model_copy(update={"operations": (op,), "sizes": ("4K",), "placement": "both"})
    rows = calls_of(made(asked, spoil=_on_call(op, first_timed(op), rank, change)))
    wrong = rows.filter(pl.col("wrong") > 0)
    assert wrong.height == (3 if rank == -1 else 1)
    assert set(wrong["phase"]) == {"timed"}
    assert all(fault.startswith(name) for fault in wrong["fault"])


# ---- how many calls -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("each", "slots", "most", "seconds", "least", "wanted"),
    [
        (1e-4, 1000, 100, 0.2, 5, (20, 100)),  # 0.2 s are 2000 calls: twenty loops of the hundred that are allowed
        (1e-3, 1000, 100, 0.2, 5, (5, 40)),  # 200 calls in five loops
        (1e-3, 4, 100, 0.2, 5, (50, 4)),  # the memory holds four
        (1.0, 1, 100, 0.2, 5, (5, 1)),  # slow: the least that is asked for
        (1e-9, 10**6, 100, 0.2, 5, (500, 100)),  # never without end
    ],
)
def test_loops_last_about_as_long_as_asked(each: float, slots: int, most: int, seconds: float, least: int, wanted: tuple[int, int]) -> None:
    assert operations.loops(each, slots=slots, most=most, seconds=seconds, least=least) == wanted


def test_the_clock_is_read_once_a_call() -> None:
    ticks = iter(range(0, 1000, 10))
    done: list[int] = []
    assert operations.on_host([lambda: done.append(1)] * 3, now=lambda: next(ticks)) == [0, 10, 20, 30]
    assert len(done) == 3


# ---- groups ------------------------------------------------------------------------------------------------------------


def test_groups_call_at_the_same_time_with_data_roots_and_neighbours_of_their_own() -> None:
    """Three groups of two: every operation is right in each; a loop is one of all groups, and lasts as long as in the slowest."""
    sinks = made(SMALL.model_copy(update={"operations": OPERATIONS, "group_size": 2, "root": 1}), ranks=6)
    every = calls_of(sinks)
    rows = every.filter(pl.col("op") != "barrier")
    assert set(rows.select("group", "rank", "size").iter_rows()) == {(f"group {rank // 2}", rank, 2) for rank in range(6)}
    assert rows["wrong"].sum() == 0
    assert set(rows.filter(pl.col("wrong").is_not_null())["op"]) == set(OPERATIONS)
    found = loops(every)
    assert (set(found["group"]), set(found["ranks"])) == ({"groups"}, {6})
    parts = [loops(every.filter(pl.col("rank") // 2 == part)) for part in range(3)]
    slowest = [max(own) for own in zip(*(one["seconds"] for one in parts), strict=True)]
    assert found["seconds"].to_list() == slowest


def test_a_wrong_result_in_one_group_spoils_the_loop_of_all() -> None:
    spoiled = _on_call("all_reduce", first_timed("all_reduce"), 1, lambda _, result: result[:1].add_(1))
    asked = SMALL.model_copy(update={"group_size": 2})
    rows = calls_of(made(asked, ranks=4, spoil=spoiled))
    assert rows.filter(pl.col("wrong") > 0)["rank"].unique().sort().to_list() == [1, 3]  # the second of each
    assert loops(rows.filter(pl.col("group") != "")).filter(pl.col("phase") == "timed")["wrong"].max() == 2
    assert loops(rows.filter(pl.col("rank") < 3)).height == 0  # one group of two, and half of the other
