"""How do the hosts of a training, or of a load's clients, compare, and did one of them stand still?

Over the timed launches of the largest worker count. Own time: a step without waiting for others, of the host's slowest rank; the median of its
steps, then of the launches. Shares, rates and temperatures are the largest of the launches, joules the mean of those with readings, the speed
probe its median: all hosts do the same work. A rate is over the time between a launch's first and last reading.
A host whose meter read nothing for a while was stopped, suspended or starved.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import median
from typing import Final

import numpy as np
import polars as pl

from fireassay.frames.clock_offsets import by_coordinator, hosts_of
from fireassay.frames.costs import METHODS, energy_method
from fireassay.frames.nodes import node_meters, worker_meters
from fireassay.frames.noise import by_host
from fireassay.frames.record_data import RecordData
from fireassay.frames.record_tables import once_per_record
from fireassay.frames.serving.client_clocks import client_hosts
from fireassay.frames.training.rank_phases import own_times
from fireassay.units import NS_PER_S

SILENT_S: Final = 5.0  # a shorter gap is that of a busy machine
SILENT_READINGS: Final = 10


@dataclass(frozen=True, kw_only=True)
class HostUse:
    """One host; None: not measured."""

    host: str
    ranks: tuple[int, ...]  # of a load its client processes
    own_s: float | None  # own time of a step
    processors: float | None  # used by the launch's own processes
    received_per_s: float | None  # bytes, by all interfaces but the loopback one
    sent_per_s: float | None
    foreign: float | None
    steal: float | None
    throttled: float | None  # by a quota, or a GPU by heat or power
    hottest: float | None  # GPU, degrees Celsius
    probe_s: float | None  # speed probe
    joules: float | None
    clock_s: float | None  # its clock minus the coordinator's
    clock_bound_s: float | None


@once_per_record
def gaps(measured: RecordData) -> pl.DataFrame:
    """(launch, host, seconds): the longest time without a reading, where it is too long for a busy machine."""
    most = max(SILENT_S, SILENT_READINGS * measured.experiment.energy.sample_every_s)
    rows = measured.table("telemetry").filter(pl.col("device") == "meter").sort("ns")
    longest = rows.group_by("launch", "host").agg((pl.col("ns").diff().max() / NS_PER_S).alias("seconds"))
    return longest.filter((pl.col("seconds") > most) & pl.col("launch").is_in(list(node_meters(measured)))).sort("launch", "host")


@once_per_record
def host_uses(measured: RecordData) -> tuple[HostUse, ...]:
    """The hosts in their order; empty if all workers ran on one machine that was metered as one."""
    meters = node_meters(measured)
    timed = measured.timed.filter(pl.col("launch").is_in(list(meters)))
    if not timed.height:
        return ()
    launches = timed.filter(pl.col("workers") == pl.col("workers").max())["launch"].to_list()
    ranks = _ranks(measured, launches[-1])
    own = _own(measured, launches)
    return tuple(
        HostUse(
            host=node.node,
            ranks=ranks.get(node.node, ()),
            own_s=own.get(node.node),
            **_read(measured, launches, node.metered_by),
            **_clock(measured, launches[-1], node.node),
        )
        for node in meters[launches[-1]]
    )


def _ranks(measured: RecordData, launch: int) -> Mapping[str, tuple[int, ...]]:
    """Host -> its ranks, or client processes."""
    if clients := client_hosts(measured.tables).get(launch):
        return {host: tuple(client for client, other in enumerate(clients) if other == host) for host in clients}
    begun = hosts_of(measured).filter(pl.col("launch") == launch)
    return {str(rows["host"][0]): tuple(sorted(set(rows["rank"]))) for rows in begun.partition_by("host")}


def _own(measured: RecordData, launches: list[int]) -> Mapping[str, float]:
    """Host -> own time of a step."""
    found: dict[str, list[float]] = {}
    placed = {(launch, rank): host for launch, rank, host in hosts_of(measured).select("launch", "rank", "host").iter_rows()}
    for own in own_times(measured):
        if own.launch in launches and own.whole is not None:
            of_host: dict[str, float] = {}
            for rank, seconds in zip(own.ranks, np.median(own.whole, axis=0), strict=True):
                host = placed.get((own.launch, rank), "")
                of_host[host] = max(of_host.get(host, 0.0), float(seconds))
            for host, value in of_host.items():
                found.setdefault(host, []).append(value)
    return {host: median(values) for host, values in found.items()}


def _read(measured: RecordData, launches: list[int], host: str) -> dict[str, float | None]:
    of_host = (pl.col("host") == host) & pl.col("launch").is_in(launches)
    throttled = pl.max_horizontal(pl.col("throttled").max(), pl.col("gpu_throttled").max())
    noise = (
        by_host(measured).filter(of_host).select(pl.col("foreign", "steal").max(), throttled, pl.col("sentinel").median().alias("probe_s"))
    )
    read = measured.table("telemetry").filter(of_host)
    heat = read.filter((pl.col("counter") == "temperature") & pl.col("device").str.starts_with("gpu-")).select(pl.col("value").max()).item()
    energy = read.filter((pl.col("counter") == "energy") & (pl.col("method") == _method(measured, read)))
    joules = energy.group_by("launch", "device").agg(pl.col("value").max()).group_by("launch").agg(pl.col("value").sum())
    network = pl.col("device").str.starts_with("net-") & (pl.col("device") != "net-lo")
    return {
        **noise.row(0, named=True),
        "processors": _rate(read, (pl.col("device") == "launch") & (pl.col("counter") == "cpu_time")),
        "received_per_s": _rate(read, network & (pl.col("counter") == "received_bytes")),
        "sent_per_s": _rate(read, network & (pl.col("counter") == "sent_bytes")),
        "hottest": heat,
        "joules": joules.select(pl.col("value").mean()).item(),
    }


def _method(measured: RecordData, of_host: pl.DataFrame) -> str:
    """How the host's joules came about: as all that are added, or of a load's client its own way, never modelled."""
    if worker_meters(measured):
        return energy_method(measured) or ""
    methods = set(of_host.filter(pl.col("counter") == "energy")["method"])
    return next((method for method in METHODS if method in methods and method != "modelled"), "")


def _rate(of_host: pl.DataFrame, counter: pl.Expr) -> float | None:
    """The largest growth per second of such counters, all of a launch added."""
    grown = (
        of_host.filter(counter).sort("ns").group_by("launch", "device").agg(pl.col("value", "ns").last() - pl.col("value", "ns").first())
    )
    rates = grown.filter(pl.col("ns") > 0).group_by("launch").agg((pl.col("value") / pl.col("ns") * NS_PER_S).sum())
    return max(rates["value"].to_list(), default=None)


def _clock(measured: RecordData, launch: int, node: str) -> dict[str, float | None]:
    clock = by_coordinator(measured, launch, node)
    if clock is None or not clock.known:
        return {"clock_s": None, "clock_bound_s": None}
    return {"clock_s": clock.offset / NS_PER_S, "clock_bound_s": clock.bound / NS_PER_S}
