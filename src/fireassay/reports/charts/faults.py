"""How much work did a killed worker lose, and how long did it take to redo it?

The phases of a fault come from the reliability metrics, laid end to end from the instant of the fault, so that chart and table cannot
disagree.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Final, NamedTuple

import polars as pl

from fireassay.estimates.estimate import Absent
from fireassay.estimates.format import reading, scale_for
from fireassay.frames.clock_offsets import on_one_clock
from fireassay.frames.record_data import RecordData
from fireassay.frames.training.recovery import Recovery, noticed_ns, recoveries, strikes
from fireassay.metrics.training.faults import TIME_TO_DETECT, TIME_TO_RECOMPUTE, TIME_TO_RELOAD, TIME_TO_RESTART
from fireassay.reports.charts.axes import linear
from fireassay.reports.charts.model import Area, Chart, Drawn, Key, Line, Panel, Role, Rule, named
from fireassay.reports.view import View
from fireassay.units import NS_PER_S

MAX_POINTS: Final = 300
LASTED: Final = "while it lasted"  # the only phase of a transient fault
BANDS: Final[dict[str, Role]] = {"detect": "fail", "restart": "grey", "reload": "plum", "recompute": "orange", LASTED: "fail"}
METRICS: Final = (TIME_TO_DETECT.name, TIME_TO_RESTART.name, TIME_TO_RELOAD.name, TIME_TO_RECOMPUTE.name)  # of the first four


class RecoveryPhase(NamedTuple):
    """One phase after a fault, in seconds since the launch began."""

    name: str
    begin_s: float
    end_s: float


@dataclass(frozen=True, kw_only=True)
class FaultTimeline:
    """The course of a launch with an injected fault; times are seconds since the launch began.

    `progress` holds (incarnation, time, steps finished).
    """

    launch: int
    configuration: str
    status: str
    fault_s: float | None
    victim: int | None
    signal: str  # or the fault's kind if it sends none
    progress: tuple[tuple[int, float, int], ...]
    phases: tuple[RecoveryPhase, ...]  # of all strikes, in order
    absent: tuple[str, ...]  # reasons for missing phases, one sentence each
    again_s: tuple[float, ...] = ()  # further strikes


@named("fault")
def faults(view: View) -> Iterator[Chart]:
    """One timeline per fault launch; a sentence if there was none."""
    title, drawn = "Fault and recovery", False
    for fault in fault_timelines(view):
        drawn = True
        yield _chart(f"{title}: {view.label(fault.configuration)}{f', {fault.signal}' if fault.signal else ''}", fault)
    if not drawn:
        why = "No fault launch was requested, so recovery was not measured. Add [[faults]] to the experiment."
        yield Chart(title=title, missing=why)


def _chart(title: str, fault: FaultTimeline) -> Chart:
    if fault.fault_s is None:
        return Chart(title=title, missing=f"No fault struck in launch {fault.launch} ({fault.status}).")
    if not fault.progress:
        why = "; ".join(fault.absent) or "it recorded no steps"
        return Chart(title=title, missing=f"The progress of launch {fault.launch} cannot be drawn: {why}.")
    last_s = max(fault.progress[-1][1], *(phase.end_s for phase in fault.phases), fault.fault_s)
    factor = scale_for("s", (last_s,)).factor
    x = linear(0, last_s * factor * 1.02, f"seconds since launch {fault.launch} began", grid=False)
    y = linear(0, max(steps for _, _, steps in fault.progress) * 1.06)
    lengths = _lengths(fault)
    phases = ", ".join(f"{name} {duration}" for name, duration in lengths.items()) or "no phase was measured"
    at = " and ".join(reading(at, "s") for at in (fault.fault_s, *fault.again_s))
    return Chart(
        title=title,
        panels=(Panel(x=x, y=y, marks=tuple(_marks(fault, factor)), title="steps finished"),),
        caption=" ".join(("One launch, so the phases have no interval.", *(f"Missing: {why}." for why in fault.absent))),
        description=f"Launch {fault.launch}: {fault.signal or 'a fault'} hit worker {fault.victim} after {at}; {phases}.",
        key=(
            Key(mark="line", role="blue", text="steps finished by the slowest worker"),
            Key(mark="line", role="ink", text=f"{fault.signal or 'fault'} to worker {fault.victim}"),
            *(Key(mark="band", role=BANDS[name], text=f"{name} {duration}") for name, duration in lengths.items()),
        ),
    )


def _marks(fault: FaultTimeline, factor: float) -> Iterator[Drawn]:
    for phase in fault.phases:
        yield Area(left=phase.begin_s * factor, right=phase.end_s * factor, role=BANDS[phase.name], strong=0.25)
    for _, some in groupby(fault.progress, key=lambda progress: progress[0]):
        yield Line(points=tuple((at * factor, float(n)) for _, at, n in some), step=True)
    for at in (fault.fault_s or 0.0, *fault.again_s):
        yield Rule(x=at * factor, role="ink", text=fault.signal or "fault")


def _lengths(fault: FaultTimeline) -> dict[str, str]:
    """Phase -> its duration, one per strike."""
    durations: dict[str, list[str]] = {}
    for phase in fault.phases:
        durations.setdefault(phase.name, []).append(reading(phase.end_s - phase.begin_s, "s"))
    return {name: " and ".join(lengths) for name, lengths in durations.items()}


# ---- what happened ---------------------------------------------------------------------------------------------------


def fault_timelines(view: View) -> Iterator[FaultTimeline]:
    """Every launch with a fault, on one clock: the coordinator stamps the fault, workers stamp progress."""
    clock = on_one_clock(view.measured)
    struck = strikes(clock.measured)
    began = dict(clock.measured.table("launches").select("launch", "begin_ns").iter_rows())
    for launch in view.measured.table("launches").filter(pl.col("role") == "fault").sort("launch").iter_rows(named=True):
        number, begin, trouble = launch["launch"], began[launch["launch"]], clock.troubles.get(launch["launch"], "")
        hits = struck.filter(pl.col("launch") == number).sort("ns").to_dicts()
        first, *again = [(hit["ns"] - begin) / NS_PER_S for hit in hits] or [None]
        phases, absent = ((), ("no fault struck in this launch",)) if first is None else _recovery(view, number, begin, first)
        yield FaultTimeline(
            launch=number,
            configuration=launch["configuration"],
            status=launch["status"],
            fault_s=first,
            victim=hits[0]["rank"] if hits else None,
            signal=_signal(hits[0]["detail"]) if hits else "",
            progress=() if trouble else _progress(clock.measured, number, begin),
            phases=phases,
            absent=(*absent, f"the steps are not on the fault's clock ({trouble})") if trouble else absent,
            again_s=tuple(at for at in again if at is not None),
        )


def _signal(detail: str) -> str:
    try:
        known = json.loads(detail)
    except ValueError:
        return ""
    if not isinstance(known, dict):
        return ""
    name = str(known.get("signal", ""))
    return (name if name.startswith("SIG") else f"SIG{name}") if name else str(known.get("fault", ""))


def _progress(measured: RecordData, launch: int, begin_ns: int) -> tuple[tuple[int, float, int], ...]:
    """(incarnation, seconds, steps finished) each time the last rank finished a step, thinned to 300 points."""
    key, slices = ("incarnation", "step"), measured.slices("incarnation", "step", "end_ns", launches=[launch])
    last = pl.col("end_ns").max()
    finished = pl.concat(some.group_by(key).agg(last) for some in slices).group_by(key).agg(last).sort(key)
    stride, incarnation = -(-finished.height // MAX_POINTS) or 1, pl.col("incarnation")
    edge = (incarnation != incarnation.shift(-1)).fill_null(True) | (incarnation != incarnation.shift(1)).fill_null(True)
    thinned = finished.filter(edge | (pl.int_range(pl.len()) % stride == 0)).select("incarnation", "step", "end_ns")
    return tuple((int(number), (end - begin_ns) / NS_PER_S, int(step) + 1) for number, step, end in thinned.iter_rows())


def _recovery(view: View, launch: int, begin: int, fault_s: float) -> tuple[tuple[RecoveryPhase, ...], tuple[str, ...]]:
    """The phases end to end from the fault, of all strikes. A transient fault has one phase: while it lasted."""
    found = [recovery for recovery in recoveries(view.measured) if recovery.launch == launch]
    if not found:
        events = on_one_clock(view.measured).measured.table("events")
        ends = events.filter((pl.col("launch") == launch) & (pl.col("kind") == "fault_end"))["ns"].to_list()
        return (RecoveryPhase(name=LASTED, begin_s=fault_s, end_s=(max(ends) - begin) / NS_PER_S if ends else fault_s),), ()
    strikes = [_of_strike(view, recovery, begin) for recovery in found]
    return tuple(phase for phases, _ in strikes for phase in phases), tuple(dict.fromkeys(why for _, why in strikes if why))


def _of_strike(view: View, recovery: Recovery, begin: int) -> tuple[list[RecoveryPhase], str]:
    """The phases of one strike. The first absent one ends the chain, because later ones have no known begin."""
    at, phases = recovery.fault_ns, list[RecoveryPhase]()
    ends = (noticed_ns(recovery), recovery.restarted_ns, recovery.resumed_ns, recovery.regained_ns)
    for metric, name, until in zip(METRICS, BANDS, ends, strict=False):
        if until is None or (name == "detect" and recovery.workers == 1):
            value = view.value(metric, recovery.configuration)
            return phases, f"{name} was not measured{f': {value.detail}' if isinstance(value, Absent) else ''}"
        end = max(until, at)  # the last worker may report its start after the first one trained
        phases.append(RecoveryPhase(name=name, begin_s=(at - begin) / NS_PER_S, end_s=(end - begin) / NS_PER_S))
        at = end
    return phases, ""
