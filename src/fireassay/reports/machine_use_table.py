"""How much of the memory that is there does each rank, GPU and host need, and how busy is each device?  A table of the largest worker count.

Peaks are the largest of the timed launches, busy shares means over them. Every row says how it was read: torch's counters, NVML's samples and
a profile differ, and none replaces another.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import polars as pl

from fireassay.estimates.format import percent, reading
from fireassay.frames.machine_use import busy, of_gpus, of_timed
from fireassay.frames.record_data import RecordData
from fireassay.metrics.training.machine_use import busy_when_profiled, machine_shares
from fireassay.reports.page import Cell, Table, Words, heads
from fireassay.reports.view import View
from fireassay.units import BYTES

MOST: Final = 32  # rows of one kind: the ranks and GPUs that need most
RANKED: Final = r"^rank-(\d+)/(.+)$"
OF_RANKS: Final = {  # counter -> what, and by which method
    "memory_peak": "resident peak, VmHWM",
    "memory_allocated_peak": "allocated peak, torch",
    "memory_reserved_peak": "reserved peak, torch",
}
OF_PROCESSES: Final = {"memory_resident": "resident sum, samples", "memory_proportional": "Pss sum, samples"}


def machine_use_table(view: View) -> tuple[Table, ...]:
    """None without any reading."""
    known = [name for name in view.measured.configurations if view.measured.timed_by_block.get(name)]
    names = known or view.measured.configurations
    if not names:
        return ()
    configuration = names[-1]
    rows = tuple(_rows(view.measured, configuration))
    if not rows:
        return ()
    return (
        Table(
            name="machine-use",
            title=f"Memory and use of devices, {view.label(configuration)}",
            heads=heads("where", "what", "value", "of", "share"),
            rows=rows,
            stub=2,
            notes=("Peaks are the largest of the timed launches. Busy: the share of time in which some kernel runs, no efficiency.",),
        ),
    )


def _rows(measured: RecordData, configuration: str) -> Iterator[tuple[Cell, ...]]:
    for counter, what in OF_RANKS.items():
        yield from _of_ranks(measured, configuration, counter, what)
    yield from _of_devices(measured, configuration)
    yield from _of_hosts(measured, configuration)
    shares = busy_when_profiled(measured).filter(pl.col("configuration") == configuration)
    for rank, share in shares.group_by("rank").agg(pl.col("value").mean()).sort("rank").head(MOST).iter_rows():
        yield (f"rank {rank}", "device busy, profile", None, None, _share(share))


def _of_ranks(measured: RecordData, configuration: str, counter: str, what: str) -> Iterator[tuple[Cell, ...]]:
    peaks = _largest(of_timed(measured, counter), configuration)
    totals = dict(_largest(of_timed(measured, "memory_device_total"), configuration).iter_rows())
    named = peaks.with_columns(
        pl.col("device").str.extract(RANKED, 1).cast(pl.Int64).alias("rank"), pl.col("device").str.extract(RANKED, 2).alias("of")
    )
    for device, value, rank, of in named.drop_nulls("rank").sort("value", descending=True).head(MOST).sort("rank", "of").iter_rows():
        yield _row(f"rank {rank}" if of == "host" else f"rank {rank} {of}", what, value, totals.get(device))


def _of_devices(measured: RecordData, configuration: str) -> Iterator[tuple[Cell, ...]]:
    totals = dict(_largest(_placed(of_gpus(measured, "memory_total")), configuration).iter_rows())
    for device, value in _largest(_placed(of_gpus(measured, "memory_used")), configuration).head(MOST).iter_rows():
        yield _row(device, "used peak, NVML", value, totals.get(device))
    shares = (
        _placed(busy(measured))
        .filter(pl.col("configuration") == configuration)
        .group_by("device")
        .agg(pl.col("value").mean())
        .sort("device")
    )
    for device, share in shares.head(MOST).iter_rows():
        yield (device, "busy, NVML", None, None, _share(share))


def _placed(rows: pl.DataFrame) -> pl.DataFrame:
    """The devices with the name of their host, if there are several: each host has a gpu-0."""
    several = rows["host"].n_unique() > 1
    return rows.with_columns(device=pl.concat_str("host", "device", separator=" ")) if several else rows


def _of_hosts(measured: RecordData, configuration: str) -> Iterator[tuple[Cell, ...]]:
    for counter, what in OF_PROCESSES.items():
        of_launch = _largest(of_timed(measured, counter).filter(pl.col("device") == "launch"), configuration)
        for _, value in of_launch.iter_rows():
            yield _row("all processes", what, value, None)
    host = machine_shares(measured).filter(pl.col("configuration") == configuration).sort("value").tail(1)
    for row in host.iter_rows(named=True):
        yield _row("host", "used, all programs", row["used"], row["total"])


def _largest(rows: pl.DataFrame, configuration: str) -> pl.DataFrame:
    """(device, value): the largest reading of each."""
    return rows.filter(pl.col("configuration") == configuration).group_by("device").agg(pl.col("value").max()).sort("device")


def _row(where: str, what: str, value: float, total: float | None) -> tuple[Cell, ...]:
    of = Words(text=reading(total, BYTES)) if total else None
    return (where, what, Words(text=reading(value, BYTES)), of, _share(value / total) if total else None)


def _share(value: float) -> Words:
    return Words(text=percent(value))
