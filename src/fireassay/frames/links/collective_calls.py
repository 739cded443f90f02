"""What do the rows of the table `collectives` say about the time of a call?

A *loop* lies between two barriers of a group: calls of one operation and size, back to back. On a rank a call took
(end of the last - begin of the first) / calls; the loop's time is that of the slowest rank, as in nccl-tests with -a 3. (Each
duration is from one rank's clock: clocks of different hosts are never mixed.) A launch's value is the median of its loops; the
interval is between launches. A loop with wrong data on any rank has no time. Other aggregations (fastest, mean, rank 0)
follow from the same rows.
Cannot tell: how long a single call takes alone, after a pause.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final

import polars as pl

from fireassay.estimates.estimate import Absent, Estimate, Value
from fireassay.estimates.format import count
from fireassay.estimates.over_launches import no_launch, positive
from fireassay.frames.record_data import RecordData
from fireassay.spec.plan import configuration_name
from fireassay.spec.sections.collectives import Cell, cells

CELL: Final = ("workers", "op", "in_place", "bytes")
PART: Final = r"^group \d+$"  # one of several concurrent groups
SIGNATURE: Final = "agg:median of loops|convention:nccl-tests"
HOW: Final = "median of the launch's loops of back-to-back calls on their slowest rank"


def loops(rows: pl.DataFrame, *, every_rank: bool = True) -> pl.DataFrame:
    """One row per loop of every launch: launch, op, in_place, size (of the group), bytes, phase, loop, seconds (of a call, slowest rank),
    fastest_s, slowest, calls, wrong, checked.

    `wrong` are calls with wrong elements on some rank, `checked` calls whose data some rank verified. A loop that some rank did not
    finish is left out, unless another program recorded one time for all ranks (`every_rank` false). Concurrent groups are one
    loop, as long as that of the slowest group.
    """
    ordered = rows.sort("launch", "rank", "incarnation", "group", "call")
    group_of_rank = ("launch", "rank", "incarnation", "group")
    numbered = ordered.with_columns((pl.col("op") == "barrier").cast(pl.Int64).cum_sum().over(group_of_rank).alias("loop"))
    calls = numbered.filter((pl.col("op") != "barrier") & pl.col("phase").is_in(["warm_up", "timed"]))
    within = ("launch", "incarnation", "group", "loop", "phase", "op", "in_place", "size", "bytes")
    on_rank = calls.group_by(*within, "rank").agg(
        pl.col("begin_ns").min(), pl.col("end_ns").max(), pl.len().alias("calls"), pl.col("end_ns").null_count().alias("open")
    )
    seconds = on_rank.with_columns(((pl.col("end_ns") - pl.col("begin_ns")) / pl.col("calls") / 1e9).alias("seconds"))
    ranked = (
        seconds.filter(pl.col("open") == 0)
        .sort("rank")
        .group_by(within)
        .agg(
            pl.col("seconds").max(),
            pl.col("seconds").min().alias("fastest_s"),
            pl.col("rank").get(pl.col("seconds").arg_max()).alias("slowest"),
            pl.len().alias("ranks"),
            pl.col("calls").max(),
        )
    )
    data = (
        calls.group_by(*within, "call")
        .agg((pl.col("wrong") > 0).any().alias("bad"), pl.col("wrong").is_not_null().any().alias("seen"))
        .group_by(within)
        .agg(pl.col("bad").sum().alias("wrong"), pl.col("seen").sum().alias("checked"))
    )
    finished = ranked.filter(pl.col("ranks") == pl.col("size")) if every_rank else ranked
    complete = _of_all_groups(finished.join(data, on=within, nulls_equal=True), on_rank)
    return complete.sort("launch", "group", "loop")


def _of_all_groups(loops_of_groups: pl.DataFrame, on_rank: pl.DataFrame) -> pl.DataFrame:
    """Concurrent groups as one row; left out if one of them did not finish."""
    parts = loops_of_groups.filter(pl.col("group").str.contains(PART))
    if not parts.height:
        return loops_of_groups
    loop = ("launch", "incarnation", "loop", "phase", "op", "in_place", "size", "bytes")
    groups = on_rank.filter(pl.col("group").str.contains(PART)).group_by("launch").agg(pl.col("group").n_unique().alias("groups"))
    together = (
        parts.sort("group")
        .group_by(loop)
        .agg(
            pl.lit("groups").alias("group"),
            pl.col("slowest").get(pl.col("seconds").arg_max()),
            pl.col("seconds").max(),
            pl.col("fastest_s").min(),
            pl.col("ranks").sum(),
            pl.col("calls").max(),
            pl.col("wrong").sum(),
            pl.col("checked").sum(),
            pl.len().alias("seen"),
        )
        .join(groups, on="launch")
        .filter(pl.col("seen") == pl.col("groups"))
    )
    alone = loops_of_groups.filter(~pl.col("group").str.contains(PART))
    return pl.concat([alone, together.select(pl.col(name).cast(kind) for name, kind in loops_of_groups.schema.items())])


def timed_loops(measured: RecordData) -> pl.DataFrame:
    """`loops` of the timed phase of the timed launches, with block and configuration."""
    launches = measured.timed.select("launch", "block", "configuration", "workers")
    calls = measured.table("collectives").join(launches, on="launch", how="semi")
    return loops(calls, every_rank=measured.foreign is None).filter(pl.col("phase") == "timed").join(launches, on="launch")


def asked_cells(measured: RecordData) -> tuple[Cell, ...]:
    """Every requested cell, worker counts ascending; of an imported record the cells it contains."""
    spec = measured.experiment.collectives_requested
    if measured.foreign is not None:
        rows = measured.table("collectives").select("size", "op", "in_place", "bytes").unique().sort("size", "op", "in_place", "bytes")
        return tuple(
            Cell(
                op=op,
                size=nbytes,
                place="in" if in_place else "out",
                workers=size,
                ranks=size,
                count=nbytes // spec.element_size,
                nbytes=nbytes,
            )
            for size, op, in_place, nbytes in rows.iter_rows()
        )
    return tuple(cell for level in measured.levels for cell in cells(spec, level))


def per_launch(measured: RecordData) -> Mapping[str, pl.DataFrame]:
    """Cell name -> (launch, block, value in seconds, trials), in block order; loops with wrong data are left out."""
    frame = timed_loops(measured)
    medians = (
        frame.filter(pl.col("wrong") == 0)
        .group_by("launch", "block", *CELL)
        .agg(pl.col("seconds").median().alias("value"), pl.col("calls").sum().alias("trials"))
        .sort("block", "launch")
    )
    parts = {tuple(key): rows for key, rows in medians.partition_by(CELL, as_dict=True).items()}
    empty = medians.clear()
    return {
        cell.name: parts.get((cell.workers, cell.op, int(cell.place == "in"), cell.nbytes), empty).select(
            "launch", "block", "value", "trials"
        )
        for cell in asked_cells(measured)
    }


def missing(measured: RecordData, cell: Cell) -> Absent:
    """Why a cell has no time."""
    name = configuration_name(cell.workers)
    if measured.timed.filter(pl.col("configuration") == name).height == 0:
        return no_launch(name)
    if why := unsupported(measured).get((cell.op, cell.place, cell.workers)):
        return Absent("not_applicable", f"{measured.experiment.collectives_requested.backend} does not offer {cell.op}: {why}")
    cell_loops = timed_loops(measured).filter(
        (pl.col("op") == cell.op)
        & (pl.col("workers") == cell.workers)
        & (pl.col("bytes") == cell.nbytes)
        & (pl.col("in_place") == int(cell.place == "in"))
    )
    if cell_loops.height:
        wrong = int(cell_loops["wrong"].sum())
        return Absent("refused", f"{count(wrong, 'timed calls')} returned wrong data; a wrong result has no speed")
    return Absent("not_measured", "no loop was finished by every rank")


def unsupported(measured: RecordData) -> dict[tuple[str, str, int], str]:
    """(operation, placement, workers) -> why the engine does not offer it, in its own words."""
    events = measured.table("events").filter(pl.col("kind") == "not_supported")
    workers = dict(measured.table("launches").select("launch", "workers").iter_rows())
    reasons = {}
    for launch, text in events.select("launch", "detail").iter_rows():
        detail = json.loads(text)
        reasons[str(detail.get("op")), str(detail.get("place")), workers[launch]] = str(detail.get("why"))
    return reasons


def over_cells(measured: RecordData, of: Callable[[Cell, Sequence[float]], Sequence[float]], *, unit: str, name: str) -> dict[str, Value]:
    """One estimate per cell from its launch values, which `of` converts from seconds."""
    estimates: dict[str, Value] = {}
    values = per_launch(measured)
    for cell in asked_cells(measured):
        rows = values[cell.name]
        if rows.height == 0:
            estimates[cell.name] = missing(measured, cell)
        else:
            numbers = of(cell, rows["value"].to_list())
            estimate = positive(numbers, measured.confidence, unit=unit, aggregate=HOW, name=name, n_trials=int(rows["trials"].sum()))
            estimates[cell.name] = with_definition(estimate, name, cell, ranks_of(measured))
    return estimates


def ranks_of(measured: RecordData) -> str:
    """How the ranks' times were aggregated: the slowest, or another program's rule."""
    return "slowest" if measured.foreign is None else str((measured.foreign.get("meanings") or {}).get("rank"))


def with_definition(made: Estimate, name: str, cell: Cell, ranks: str) -> Estimate:
    """The same number under a signature that names its convention."""
    _, _, rest = made.signature.partition("|")
    return replace(made, signature=f"{name}|{SIGNATURE}|rank:{ranks}|ranks:{cell.ranks}{groups_of(cell)}|{rest}")


def groups_of(cell: Cell) -> str:
    """The number of concurrent groups; they answer a different question than one group alone."""
    return "" if cell.ranks == cell.workers else f"|groups:{cell.workers // cell.ranks}"


def a_group_of_one(cell: Cell) -> Absent | None:
    """Bandwidths describe links, and a single rank has none."""
    if cell.ranks > 1:
        return None
    return Absent("not_applicable", "one rank sends nothing, so there is no bandwidth")
