"""When did the requests of clients on several hosts happen, on one clock?

    common time = time on the client's host + offset,   |error| <= bound

The common clock is the coordinator's. The offset is the one by which the load was begun there (event `load_begin`), so that a request is due
at the load's begin plus its offset in the schedule, as on one host. The bound covers all readings of that host's clock during the load (table
`clocks`, a straight line over time, `stats/groups/clocks.py`) and its drift since the begin.

Durations are taken on one host, and are the client's own: every latency, gap and lag. Across hosts are the measured window, and so all rates,
what was in flight together, and what happened before or after a fault. A window shorter than ten bounds of its ends, or without a bound, is
refused, and with it all of these.
Cannot tell: a clock that jumped between two readings and back.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl

from fireassay.estimates.estimate import Absent
from fireassay.stats.groups.clocks import Ping, linear_drift

TIMES: Final = ("scheduled_ns", "sent_ns", "first_byte_ns", "first_token_ns", "first_visible_ns", "last_token_ns", "done_ns")
APART: Final = Absent(
    "refused",
    "the clocks of the clients' hosts are known too badly for times of several hosts (see the finding client_clocks); latencies, which each "
    "client takes itself, are not affected",
)
GRID: Final = 65  # times at which the line is compared with the offset


@dataclass(frozen=True, kw_only=True)
class ClientClock:
    """A client host's clock during one launch."""

    offset_ns: int  # common minus own, as the load was begun
    bound_ns: float  # infinite: unknown
    drift: float = 0.0  # of the offset, seconds per second
    trouble: str = ""  # why the bound is unknown


def client_hosts(tables: Mapping[str, pl.DataFrame]) -> dict[int, tuple[str, ...]]:
    """Launch -> the host of each client; only launches whose clients ran on hosts of their own."""
    hosts = {}
    for launch, placement in tables["launches"].select("launch", "placement").iter_rows():
        named = json.loads(placement or "{}").get("client_hosts")
        if isinstance(named, list) and named:
            hosts[int(launch)] = tuple(map(str, named))
    return hosts


def client_clocks(tables: Mapping[str, pl.DataFrame]) -> dict[tuple[int, str], ClientClock]:
    """(launch, client's host) -> its clock."""
    begins = tables["events"].filter(pl.col("kind") == "load_begin").select("launch", "detail")
    offsets = {int(launch): json.loads(detail or "{}").get("client_offsets_ns", {}) for launch, detail in begins.iter_rows()}
    return {
        (launch, host): _clock(tables["clocks"].filter((pl.col("launch") == launch) & (pl.col("peer") == host)), int(offset))
        for launch in client_hosts(tables)
        for host, offset in offsets.get(launch, {}).items()
    }


def _clock(readings: pl.DataFrame, offset: int) -> ClientClock:
    # Seen from the client's host: its one time lies between the two of the coordinator.
    times = readings.select("sent_ns", "heard_ns", "answered_ns", "received_ns").iter_rows()
    try:
        line = linear_drift(Ping(t0=answered, t1=received, t2=sent, t3=heard) for sent, heard, answered, received in times)
    except ValueError as error:
        return ClientClock(offset_ns=offset, bound_ns=float("inf"), trouble=str(error))
    times_at = np.linspace(line.begin, line.end, GRID)
    seen = [line.at(time) for time in times_at]
    high, low = (np.array([at.offset + sign * at.bound for at in seen]) - offset for sign in (1.0, -1.0))
    # A slow reading says little of its own time; the line through the others says more.
    apart = times_at[:, None] - times_at[None, :]
    slopes = [apart * (line.slope + sign * line.slope_bound) for sign in (1.0, -1.0)]
    highest, lowest = (high + np.maximum(*slopes)).min(axis=1), (low + np.minimum(*slopes)).max(axis=1)
    return ClientClock(offset_ns=offset, bound_ns=float(max(abs(highest).max(), abs(lowest).max())), drift=line.slope)


UNFINISHED: Final = ("lost", "cancelled", "unsent")


def losses(tables: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    """(launch, lost_ns) of launches in which a client died with its host: when the first of its unfinished requests was due or sent."""
    events = tables["events"].filter(pl.col("kind") == "client_lost").select("launch", "detail")
    client = pl.col("detail").str.json_path_match("$.client").cast(pl.Int32).alias("client")
    unfinished = tables["requests"].lazy().select("launch", "client", "status", "scheduled_ns").filter(pl.col("status").is_in(UNFINISHED))
    joined = unfinished.join(events.lazy().with_columns(client), on=["launch", "client"])
    return joined.group_by("launch").agg(pl.col("scheduled_ns").min().alias("lost_ns")).collect()


def on_common_clock(tables: Mapping[str, pl.DataFrame]) -> Mapping[str, pl.DataFrame]:
    """The tables, with the times of all requests on the coordinator's clock."""
    clocks, hosts = client_clocks(tables), client_hosts(tables)
    if not clocks:
        return tables
    shifts = [
        (launch, client, clocks[launch, host].offset_ns)
        for launch, names in hosts.items()
        for client, host in enumerate(names)
        if (launch, host) in clocks
    ]
    requests = tables["requests"]
    shift = pl.DataFrame(shifts, schema={"launch": pl.Int32, "client": pl.Int32, "_shift": pl.Int64}, orient="row")
    joined = requests.join(shift, on=["launch", "client"], how="left", maintain_order="left")
    shifted = joined.with_columns(pl.col(TIMES) + pl.col("_shift").fill_null(0))
    return {**tables, "requests": shifted.drop("_shift")}


def bounds(tables: Mapping[str, pl.DataFrame]) -> dict[int, float]:
    """Launch -> the largest error of a time of one client against another's or the coordinator's, ns; launches on several clocks only."""
    worst: dict[int, float] = {}
    for (launch, _), clock in client_clocks(tables).items():
        worst[launch] = max(worst.get(launch, 0.0), clock.bound_ns)
    return {launch: 2.0 * bound for launch, bound in worst.items()}
