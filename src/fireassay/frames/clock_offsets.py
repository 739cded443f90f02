"""How far is each host's clock from the common one, and how large can the error be?

    common time = own time + offset,   |error| <= bound
The common clock is that of rank 0's host. Hosts whose workers report the same running kernel (containers, namespaces of one
machine) share it exactly. Otherwise the offset is a straight line over time, since clocks drift, fitted to probes of rank 0's clock
(table clocks: four times and a bound each, `stats/groups/clocks.py`; the coordinator's: event node_clock). Without probes, collectives serve: no rank leaves an
all_reduce before every rank has entered it, so the begins and ends of one call on two ranks are such a probe, bounded by half of both
durations. If both exist, one checks the other: their intervals must overlap.
Outside the probed time the line is extrapolated, and the bound grows with the uncertainty of its slope.
An interval between two hosts shorter than 10 bounds, or without a bound, is refused (`between`).
Source: RFC 5905. Cannot tell: the offset of a clock that was set or changed its rate between probes; no line fits, and it
is refused.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial, reduce
from typing import Final, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from fireassay.frames.nodes import node_meters, read_json
from fireassay.frames.record_data import RecordData
from fireassay.frames.record_tables import once_per_record
from fireassay.record.slices import Slices
from fireassay.record.tables import TABLES
from fireassay.stats.groups.clocks import MIN_PINGS, Drift, Offset, Ping, linear_drift

Array = NDArray[np.float64]
Way = Literal["same", "pings", "collectives", "none"]
# no rank leaves them before every rank has entered
JOINT: Final = ("all_reduce", "all_gather", "reduce_scatter", "all_to_all", "barrier")
NOUNS: Final = {"pings": "reads of rank 0's clock", "collectives": "collectives with rank 0's host"}
MOVED: Final = ("events", "collectives", "launches", "telemetry")  # tables whose times are compared, beside the steps
STEP_TIMES: Final = ("begin_ns", "end_ns")
GRID: Final = 257
CALL: Final = ["incarnation", "group", "call"]
STRETCHES, LOOKS = 10, 50  # parts of a launch's calls, and the number used of each: the shortest, which bound best


@dataclass(frozen=True, kw_only=True)
class HostClock:
    """A host's clock against the common one, in nanoseconds; `offset` and `bound` at the middle of the probes."""

    launch: int
    host: str
    way: Way
    offset: float = 0.0  # common minus own
    bound: float = 0.0
    slope: float = 0.0  # of the offset, seconds per second
    slope_bound: float = 0.0
    looks: int = 0
    line: Drift | None = field(default=None, repr=False)
    trouble: str = ""  # why times of this host are doubtful or cannot be compared with others'; empty: they can

    @property
    def known(self) -> bool:
        """True if its times can be converted to the common clock."""
        return self.way != "none"

    def common(self, ns: int) -> Offset:
        """A time of this host on the common clock, and its bound.

        Raises:
            ValueError: this clock's offset is unknown.
        """
        if not self.known:
            raise ValueError(f"the clock of {self.host} in launch {self.launch} is not known: {self.trouble}")
        if self.line is None:
            return Offset(offset=ns + self.offset, bound=self.bound)
        nearest = min(max(float(ns), self.line.begin), self.line.end)
        at, beyond = self.line.at(nearest), ns - nearest
        return Offset(offset=ns + at.offset + self.slope * beyond, bound=at.bound + self.slope_bound * abs(beyond))

    def shifts(self, ns: Array) -> tuple[Array, float]:
        """Common minus own for many times at once, and the largest bound: linear between points dense enough for that."""
        if self.line is None or len(ns) == 0:
            return np.full(len(ns), self.offset), self.bound
        grid = np.linspace(self.line.begin, self.line.end, GRID)
        grid_offsets = [self.line.at(time) for time in grid]
        clipped = np.clip(ns, self.line.begin, self.line.end)
        shift = np.interp(clipped, grid, [offset.offset for offset in grid_offsets]) + self.slope * (ns - clipped)
        ends = (self.common(int(ns.min())).bound, self.common(int(ns.max())).bound)
        return shift, max(*ends, *(offset.bound for offset in grid_offsets))


@once_per_record
def clock_offsets(measured: RecordData) -> Mapping[tuple[int, str], HostClock]:
    """(launch, host) -> clock, for every host on which a worker began. Memoised."""
    begun = hosts_of(measured).sort("launch").partition_by("launch", maintain_order=True)
    return {(clock.launch, clock.host): clock for hosts in begun for clock in _of_launch(measured, hosts)}


def hosts_of(measured: RecordData) -> pl.DataFrame:
    """(launch, rank, incarnation, host, boot): where each worker ran; boot is null if its kernel is not reported."""
    begun = measured.table("events").filter(pl.col("kind") == "worker_start")
    boot = pl.col("detail").str.json_path_match("$.boot_id")
    return begun.select("launch", "rank", "incarnation", "host", pl.when(boot != "").then(boot).alias("boot")).unique(
        ["launch", "rank", "incarnation"], keep="last", maintain_order=True
    )


@dataclass(frozen=True, kw_only=True)
class Aligned:
    """A launch's tables with all times on one clock, and the largest error between two of them."""

    events: pl.DataFrame = field(repr=False)
    sliced: Slices = field(repr=False)  # of the steps of all launches
    collectives: pl.DataFrame = field(repr=False)
    launches: pl.DataFrame = field(repr=False)  # one row: begin and end are the coordinator's times
    telemetry: pl.DataFrame = field(repr=False)
    bound_ns: float = 0.0
    trouble: str = ""  # why its hosts' times cannot be compared; empty: they can
    move: Callable[[pl.DataFrame], pl.DataFrame] | None = field(default=None, repr=False)  # steps of this launch onto the clock

    @property
    def steps(self) -> pl.DataFrame:
        """The steps of this launch."""
        launches = self.launches["launch"].to_list()
        return pl.concat(self.sliced.frames([column.name for column in TABLES["steps"].columns], launches=launches))


def aligned(measured: RecordData, launch: int) -> Aligned:
    """Times of workers and coordinator on one clock; unchanged if all ran on one host or one kernel."""
    events, calls, row, read = (measured.table(name).filter(pl.col("launch") == launch) for name in MOVED)
    alignment = Aligned(events=events, sliced=measured.sliced_steps, collectives=calls, launches=row, telemetry=read)
    if events["host"].n_unique() <= 1:
        return alignment
    placed = hosts_of(measured).filter(pl.col("launch") == launch)
    clocks = {clock.host: clock for clock in _of_launch(measured, placed)}
    clocks |= {host: _coordinators(measured, placed, host, clocks) for host in events["host"].unique().to_list() if host not in clocks}
    if all(clock.way == "same" for clock in clocks.values()):
        return alignment
    unknown = [clock for clock in clocks.values() if not clock.known]
    if unknown:
        return replace(alignment, trouble=f"the clock of {unknown[0].host}: {unknown[0].trouble}")
    where = placed.select("rank", "incarnation", "host")
    spans = measured.stepped.filter(pl.col("launch") == launch)
    stepped, called = (rows.join(where, on=["rank", "incarnation"], how="left") for rows in (spans, calls))
    if stepped["host"].null_count() or called["host"].null_count():
        return replace(alignment, trouble="a worker did not report its host")
    bounds: list[float] = [0.0]
    moved_events = _with_starts(_moved(events, clocks, ("ns",), bounds), events)
    _moved(stepped, clocks, STEP_TIMES, bounds)
    move = partial(_steps_moved, launch=launch, where=where, clocks=clocks)
    moved_calls = _moved(called, clocks, ("begin_ns", "end_ns"), bounds).select(calls.columns)
    read = read.filter(pl.col("host").is_in(list(clocks)))  # other hosts' clocks are unknown
    return Aligned(
        events=moved_events,
        sliced=replace(alignment.sliced, change=move),
        collectives=moved_calls,
        launches=_launch_moved(row, events, clocks, bounds),
        telemetry=_moved(read, clocks, ("ns",), bounds),
        bound_ns=2.0 * max(bounds),
        move=move,
    )


def _steps_moved(steps: pl.DataFrame, *, launch: int, where: pl.DataFrame, clocks: Mapping[str, HostClock]) -> pl.DataFrame:
    """The steps with those of this launch moved: no order is kept within its rows of other launches, as a slice has few of them."""
    mine = pl.col("launch") == launch
    placed = steps.filter(mine).join(where, on=["rank", "incarnation"], how="left", maintain_order="left")
    return pl.concat([steps.filter(~mine), _moved(placed, clocks, STEP_TIMES, []).select(steps.columns)])


def _launch_moved(launch: pl.DataFrame, events: pl.DataFrame, clocks: Mapping[str, HostClock], bounds: list[float]) -> pl.DataFrame:
    """Begin and end of the launch, on the clock of the coordinator: the host that reports its begin."""
    coordinators = events.filter(pl.col("kind") == "launch_begin")["host"]
    if len(coordinators) == 0:
        return launch
    placed = launch.with_columns(host=pl.lit(str(coordinators[0])))
    return _moved(placed, clocks, ("begin_ns", "end_ns"), bounds).select(launch.columns)


def by_coordinators_clock(measured: RecordData, readings: pl.DataFrame) -> pl.DataFrame:
    """Rows of telemetry with `ns` on the coordinator's clock; without those of nodes whose clock is unknown, or whose meter was lost: it may
    have gone on reading after the coordinator gave it up."""
    moved = []
    for rows in readings.partition_by("launch", "host"):
        launch, host = int(rows["launch"][0]), str(rows["host"][0])
        node = next((meter for meter in node_meters(measured).get(launch, ()) if meter.node == host), None)
        if node is None:
            moved.append(rows)
        elif not node.trouble and (clock := by_coordinator(measured, launch, host)) is not None and clock.known:
            own = rows["ns"].to_numpy().astype(np.float64)
            near, _ = clock.shifts(own - clock.offset)  # by a second of drift at most from the right time
            moved.append(rows.with_columns(ns=pl.col("ns") - pl.Series(near.round().astype(np.int64))))
    return pl.concat(moved) if moved else readings.clear()


@dataclass(frozen=True, kw_only=True)
class OneClock:
    """A record with launches, steps, events, collectives and telemetry on one clock, in every launch that allows it."""

    measured: RecordData = field(repr=False)
    troubles: Mapping[int, str]  # launch -> why its hosts' times cannot be compared; they are unchanged


@once_per_record
def on_one_clock(measured: RecordData) -> OneClock:
    """For frames that compare times across workers and with the coordinator, over all launches. Memoised."""
    hosts = measured.table("events").group_by("launch").agg(pl.col("host").n_unique().alias("hosts"))
    several = sorted(hosts.filter(pl.col("hosts") > 1)["launch"].to_list())
    alignments = {launch: aligned(measured, launch) for launch in several}
    moved = {launch: alignment for launch, alignment in alignments.items() if alignment.bound_ns > 0.0}
    troubles = {launch: alignment.trouble for launch, alignment in alignments.items() if alignment.trouble}
    if not moved:
        return OneClock(measured=measured, troubles=troubles)
    rest = ~pl.col("launch").is_in(list(moved))
    aligned_tables = {name: [getattr(alignment, name) for alignment in moved.values()] for name in MOVED}
    tables = {name: measured.table(name) for name in TABLES if name != "steps"}
    tables |= {name: pl.concat([measured.table(name).filter(rest), *aligned_tables[name]]) for name in MOVED}
    sliced = replace(measured.sliced_steps, change=partial(_all_moved, [alignment.move for alignment in moved.values()]))
    return OneClock(measured=replace(measured, tables=tables, large=sliced), troubles=troubles)


def _all_moved(moves: Sequence[Callable[[pl.DataFrame], pl.DataFrame] | None], steps: pl.DataFrame) -> pl.DataFrame:
    return reduce(lambda rows, move: rows if move is None else move(rows), moves, steps).sort("launch", "rank", maintain_order=True)


def _coordinators(measured: RecordData, placed: pl.DataFrame, host: str, clocks: Mapping[str, HostClock]) -> HostClock:
    """The clock of the coordinator's host if no worker began there; known if it shares a kernel with some worker, or pinged rank 0's host."""
    coordinator = measured.manifest.get("coordinator")
    boot = coordinator.get("boot_id") if isinstance(coordinator, Mapping) else None
    beside = placed.filter(pl.col("boot") == pl.lit(boot, dtype=pl.String))
    if beside.height:
        return replace(clocks[str(beside["host"][0])], host=host)
    launch = int(placed["launch"][0]) if placed.height else 0
    reference = str(placed.sort("incarnation", "rank")["host"][0]) if placed.height else ""  # rank 0's
    if (pinged := by_coordinator(measured, launch, reference)) is not None:
        return replace(pinged, host=host)
    trouble = "no worker ran on the coordinator's host, so its clock was not compared with theirs"
    return HostClock(launch=launch, host=host, way="none", trouble=trouble)


def by_coordinator(measured: RecordData, launch: int, node: str) -> HostClock | None:
    """The coordinator's clock against a node's, by its pings of the node's agent (event `node_clock`); None: it has pinged none."""
    pinged = measured.table("events").filter((pl.col("kind") == "node_clock") & (pl.col("launch") == launch))
    bursts = [read_json(detail) for detail in pinged["detail"]]
    times = [ping for burst in bursts if burst.get("node") == node for ping in burst.get("pings", ())]
    pings = [Ping(t0=a, t1=b, t2=c, t3=d) for a, b, c, d in times]
    return _line(launch, "", "pings", pings) if pings else None


def _moved(rows: pl.DataFrame, clocks: Mapping[str, HostClock], columns: tuple[str, ...], bounds: list[float]) -> pl.DataFrame:
    """The rows with these columns on the common clock; appends their bounds to `bounds`."""
    moved = []
    for group in rows.with_row_index("_place").partition_by("host"):
        clock, changed = clocks[str(group["host"][0])], []
        for column in columns:
            shift, bound = clock.shifts(group[column].drop_nulls().to_numpy().astype(np.float64))
            bounds.append(bound)
            known = group.select("_place", column).drop_nulls()
            shifted_column = known.select("_place", (pl.col(column) + pl.Series(shift.round().astype(np.int64))).alias(column))
            changed.append(shifted_column)
        for shifted_column in changed:
            group = group.drop(shifted_column.columns[-1]).join(shifted_column, on="_place", how="left")
        moved.append(group)
    return pl.concat([frame.select("_place", *rows.columns) for frame in moved]).sort("_place").drop("_place") if moved else rows


def _with_starts(moved: pl.DataFrame, events: pl.DataFrame) -> pl.DataFrame:
    """Also convert the begin of a worker's process, which is in the detail of its worker_start."""
    shifts = (moved["ns"] - events["ns"]).to_list()
    return moved.with_columns(pl.Series("detail", [_shifted(text, ns) for text, ns in zip(moved["detail"], shifts, strict=True)]))


def _shifted(detail: str, ns: int) -> str:
    if '"process_start_ns"' not in detail:
        return detail
    fields = json.loads(detail)
    began = fields.get("process_start_ns")
    return json.dumps({**fields, "process_start_ns": began + ns}) if isinstance(began, int) else detail


def _of_launch(measured: RecordData, begun: pl.DataFrame) -> Iterator[HostClock]:
    """The clocks of the hosts on which a launch's workers began, rank 0's first."""
    if begun.height == 0:
        return
    launch, placed = int(begun["launch"][0]), begun.sort("incarnation", "rank")
    boots = dict(placed.select("host", "boot").unique("host", keep="first", maintain_order=True).iter_rows())
    reference = str(placed["host"][0])  # rank 0's
    same = [host for host, boot in boots.items() if host == reference or (boot is not None and boot == boots[reference])]
    yield from (HostClock(launch=launch, host=host, way="same") for host in same)
    others = [host for host in boots if host not in same]
    if not others:
        return
    probes = measured.table("clocks").filter((pl.col("launch") == launch) & (pl.col("peer") == reference))
    spans = _spans(measured.table("collectives").filter(pl.col("launch") == launch), placed)
    for host in others:
        joint = _joint(spans.get(host), spans.get(reference))
        pings = _pings(probes.filter(pl.col("host") == host))
        yield checked(_line(launch, host, "pings", pings), _line(launch, host, "collectives", joint))


def checked(pings: HostClock, collectives: HostClock) -> HostClock:
    """The clock with the smaller bound, with their disagreement, if any."""
    if not (pings.known and collectives.known):
        return pings if pings.known or pings.looks >= max(MIN_PINGS, collectives.looks) or not collectives.looks else collectives
    estimate = _at(collectives, pings)
    apart, allowed = abs(pings.offset - estimate.offset), pings.bound + estimate.bound + 1.0
    best = pings if pings.bound <= collectives.bound else collectives
    if apart <= allowed:
        return best
    trouble = (
        f"reads of its clock and the ends of collectives disagree by {apart / 1e6:.3f} ms, more than both bounds ({allowed / 1e6:.3f} ms)"
    )
    return replace(best, way="none", line=None, trouble=trouble)


def _at(clock: HostClock, other: HostClock) -> Offset:
    """One clock's offset at the middle of the other's probes; its slope's uncertainty counts outside its own probes."""
    assert other.line is not None
    middle = round((other.line.begin + other.line.end) / 2)
    offset = clock.common(middle)
    return Offset(offset=offset.offset - middle, bound=offset.bound)


def _line(launch: int, host: str, way: Way, pings: list[Ping]) -> HostClock:
    if len(pings) < MIN_PINGS:
        missing = f"{len(pings)} {NOUNS[way]}; {MIN_PINGS} are needed"
        return HostClock(launch=launch, host=host, way="none", looks=len(pings), trouble=missing)
    try:
        line = linear_drift(pings)
        middle = line.at((line.begin + line.end) / 2)
    except ValueError as error:
        return HostClock(launch=launch, host=host, way="none", looks=len(pings), trouble=str(error))
    return HostClock(
        launch=launch,
        host=host,
        way=way,
        offset=middle.offset,
        bound=middle.bound,
        slope=line.slope,
        slope_bound=line.slope_bound,
        looks=len(pings),
        line=line,
    )


def _pings(probes: pl.DataFrame) -> list[Ping]:
    times = probes.sort("sent_ns").select("sent_ns", "heard_ns", "answered_ns", "received_ns")
    return [Ping(t0=a, t1=b, t2=c, t3=d) for a, b, c, d in times.iter_rows()]


def _spans(calls: pl.DataFrame, placed: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """Host -> per collective, its last begin and first end on the host."""
    joint = calls.filter(pl.col("op").is_in(JOINT) & pl.col("end_ns").is_not_null())
    spans = (
        joint.join(placed.select("rank", "incarnation", "host"), on=["rank", "incarnation"])
        .group_by(*CALL, "host")
        .agg(pl.col("begin_ns").max(), pl.col("end_ns").min())
    )
    return {str(group["host"][0]): group.drop("host") for group in spans.partition_by("host")}


def _joint(here: pl.DataFrame | None, there: pl.DataFrame | None) -> list[Ping]:
    """Calls shared by both hosts, the shortest of every part; impossible ones, from a clock that jumped, are left out."""
    if here is None or there is None:
        return []
    shared = here.join(there, on=CALL, suffix="_there").sort("begin_ns")
    length = (pl.col("end_ns") - pl.col("begin_ns")) + (pl.col("end_ns_there") - pl.col("begin_ns_there"))
    cut = shared.with_columns(_length=length, _stretch=pl.int_range(pl.len()) * STRETCHES // pl.len())
    best = cut.filter(pl.col("_length") >= 0).sort("_length").group_by("_stretch").head(LOOKS).sort("begin_ns")
    times = best.select("begin_ns", "end_ns_there", "begin_ns_there", "end_ns")
    return [Ping(t0=a, t1=b, t2=c, t3=d) for a, b, c, d in times.iter_rows()]
