"""What happened after a fault, and how long did each part of the recovery take?

The timeline of every fault launch, shared by all reliability metrics:

    fault ---- detect ----> first peer gone ---- restart ----> last worker up again ---- reload ----> first step
          ---- recompute ----> the lost step is reached again

The four parts are contiguous, so that they sum to the recovery time. `detect` ends when the first surviving peer of the victim
is gone: stopped by the engine, or ended by its own broken communication. `reload` is everything between a worker's start and its
first step: joining the group, building the model, loading the checkpoint. If the engine needed more than one restart, the first
incarnation that trained counts; earlier restarts are part of `restart`.
A launch struck several times has a recovery per strike; if the next strike came before the lost step was reached again,
the time until it was finally reached is part of `recompute`. A launch's number is the mean over its strikes.

In which restarted launches is the step at which they continued unknown?

An unmodified script does not report it: its workers recognise the restored state (event `resumed`). If they could not, if ranks
continued from different steps, or if the state lies beyond every step that the launch had made, the lost and repeated work is
unknown, and every number that rests on it is Absent.
A script that marks its own steps reports the step itself (`probe.steps(start=...)`) and has no such event; its report counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Final

import polars as pl

from fireassay.estimates.estimate import Absent, Value
from fireassay.estimates.over_launches import average, exact, positive
from fireassay.frames.clock_offsets import aligned
from fireassay.frames.record_data import RecordData
from fireassay.frames.record_tables import once_per_record
from fireassay.stats.groups.clocks import too_short
from fireassay.units import NS_PER_S, SECONDS

TO_DO: Final = (
    "save and load the state, the optimizer's included, with torch.save, safetensors or torch.distributed.checkpoint, or mark the steps: "
    "probe.steps(loader, start=step)"
)


@once_per_record
def unknown_progress(measured: RecordData) -> Mapping[int, Absent]:
    """launch -> why the step at which it continued after a restart is unknown."""
    resumed = measured.table("events").filter(pl.col("kind") == "resumed")
    if resumed.height == 0:
        return {}
    progress = measured.stepped.group_by("launch", "incarnation").agg((pl.col("last").max() + 1).alias("step"))
    reasons: dict[int, Absent] = {}
    for (launch, incarnation), reports in resumed.sort("launch", "incarnation", "rank").group_by(
        "launch", "incarnation", maintain_order=True
    ):
        before = progress.filter((pl.col("launch") == launch) & (pl.col("incarnation") < incarnation))["step"].max()
        why = _why(reports, int(before or 0))  # type: ignore[arg-type]
        if why:
            reasons.setdefault(
                int(str(launch)),
                Absent("not_measured", f"the step at which the job continued after the restart is unknown: {why}; {TO_DO}"),
            )
    return reasons


def _why(resumed: pl.DataFrame, before: int) -> str:
    """The inconsistency in the reports of an incarnation's ranks; `before`: steps that the launch had made."""
    unrecognised = resumed.filter(pl.col("step").is_null())
    if unrecognised.height:
        reasons = unrecognised["detail"].str.json_path_match("$.why").drop_nulls().to_list()
        return f"on rank {unrecognised['rank'][0]} {reasons[0] if reasons else 'the restored state was not recognised'}"
    steps = resumed["step"].unique().sort().to_list()
    if len(steps) > 1:
        return f"its ranks continued from different steps ({', '.join(map(str, steps))})"
    if steps[0] > before:
        return f"it continued from step {steps[0]} but had made {before}: a state of another run"
    return ""


NO_FAULT = Absent("not_measured", "no fault launch of this configuration; add [[faults]] for it")
NOT_RECOVERED = Absent("undefined", "the job did not train again after the fault; the launches table says why")
OUTLIVED = Absent("not_applicable", "the job survived the fault without a restart; training_goodput_fault and cost_lost show its cost")
ONE_WORKER = Absent("not_applicable", "a single worker has no peer whose stop would show when the engine noticed")


@dataclass(frozen=True, kw_only=True)
class Recovery:
    """One strike of a fault launch. Times in monotonic ns; None if the event did not occur."""

    launch: int
    configuration: str
    workers: int
    fault_ns: int
    detected_ns: int | None
    restarted_ns: int | None
    resumed_ns: int | None
    regained_ns: int | None
    steps_lost: int | None
    bound_ns: float = 0.0  # largest error of an interval, from the hosts' clocks
    trouble: str = ""  # why its times cannot be compared
    unknown: Absent | None = None  # why the lost work is unknown


@once_per_record
def recoveries(measured: RecordData) -> tuple[Recovery, ...]:
    """Every strike, by launch and time, without launches that were interrupted and repeated, and without strikes that passed
    (`fault_end`) without a restart: they need no recovery beyond the fault itself."""
    results, unknown = [], unknown_progress(measured)
    for row in struck_launches(measured).iter_rows(named=True):
        alignment = aligned(measured, row["launch"])  # the fault is the coordinator's event, the steps are the workers'
        events = alignment.events.sort("ns")
        for strike in _strikes(events).sort("ns").iter_rows(named=True):
            later = events.filter(pl.col("ns") >= strike["ns"])
            if "fault_end" in later["kind"] and not (events["incarnation"] > (strike["incarnation"] or 0)).any():
                continue
            recovery = _one(row, strike, events, alignment.steps)
            if recovery.resumed_ns is not None and row["launch"] in unknown:
                recovery = replace(recovery, regained_ns=None, steps_lost=None, unknown=unknown[row["launch"]])
            if alignment.trouble:  # workers' times are on another clock than the fault
                recovery = replace(recovery, restarted_ns=None, resumed_ns=None, regained_ns=None, trouble=alignment.trouble)
            results.append(replace(recovery, bound_ns=alignment.bound_ns))
    return tuple(results)


@once_per_record
def struck_launches(measured: RecordData) -> pl.DataFrame:
    """The rows of the fault launches in which a fault struck; an aborted one was repeated under another number."""
    launches = measured.table("launches").filter((pl.col("role") == "fault") & (pl.col("status") != "aborted"))
    return launches.join(strikes(measured), on="launch", how="semi")


def strikes(measured: RecordData) -> pl.DataFrame:
    """The `fault` events of faults that struck. The event is written before the act, so that no act goes unrecorded; a failed
    act (the victim had just ended) has a `fault_missed` for the same process."""
    return measured.once("strikes", lambda data: _strikes(data.table("events")))


def _strikes(rows: pl.DataFrame) -> pl.DataFrame:
    events = rows.filter(pl.col("kind").is_in(["fault", "fault_missed"]))
    named = events.with_columns(_pid=pl.col("detail").str.json_path_match("$.pid"))
    missed = named.filter((pl.col("kind") == "fault_missed") & pl.col("_pid").is_not_null())
    return named.filter(pl.col("kind") == "fault").join(missed, on=["launch", "_pid"], how="anti").drop("_pid")


def unstruck(measured: RecordData, configuration: str) -> Absent:
    """Why a configuration has no recovery."""
    return OUTLIVED if configuration in struck_launches(measured)["configuration"].to_list() else NO_FAULT


def _one(launch: dict[str, object], fault: dict[str, object], events: pl.DataFrame, steps: pl.DataFrame) -> Recovery:
    struck_ns, incarnation = int(fault["ns"]), int(fault["incarnation"] or 0)  # type: ignore[call-overload]
    after = events.filter(pl.col("ns") >= struck_ns)
    peers = after.filter((pl.col("kind") == "worker_gone") & (pl.col("rank") != fault["rank"]) & (pl.col("incarnation") == incarnation))
    later = steps.filter(pl.col("incarnation") > incarnation)
    resumed_steps = later.filter(pl.col("incarnation") == pl.col("incarnation").min())
    trained = incarnation + 1 if resumed_steps.height == 0 else int(resumed_steps["incarnation"][0])
    starts = after.filter((pl.col("kind") == "worker_start") & (pl.col("incarnation") == trained))
    resumed = None if resumed_steps.height == 0 else int(resumed_steps["begin_ns"].min())  # type: ignore[arg-type]
    last_step = after.filter((pl.col("kind") == "worker_gone") & (pl.col("incarnation") == incarnation))["step"].max()
    finished = _finished(steps.filter(pl.col("incarnation") == incarnation), fault["step"], last_step)
    regained, lost = _regained(finished, resumed_steps, later)
    return Recovery(
        launch=int(launch["launch"]),  # type: ignore[call-overload]
        configuration=str(launch["configuration"]),
        workers=int(launch["workers"]),  # type: ignore[call-overload]
        fault_ns=struck_ns,
        detected_ns=None if peers.height == 0 else int(peers["ns"].min()),  # type: ignore[arg-type]
        restarted_ns=None if starts.height == 0 else int(starts.select(process_began().max()).item()),
        resumed_ns=resumed,
        regained_ns=regained,
        steps_lost=lost,
    )


def process_began() -> pl.Expr:
    """When the process of a `worker_start` began, ns. The event itself is written only after Python, the script's imports and the
    probe have loaded.
    """
    reported = pl.col("detail").str.json_path_match("$.process_start_ns").cast(pl.Int64, strict=False)
    return pl.min_horizontal(reported.fill_null(pl.col("ns")), "ns")


def _finished(before: pl.DataFrame, *reported: object) -> int:
    """Steps finished by any rank before the restart. The last rows of killed or stopped workers may never have reached the disk,
    so the coordinator's record of their progress counts as well."""
    rows = int(before["step"].max()) + 1 if before.height else 0  # type: ignore[arg-type]
    return max([rows, *(step for step in reported if isinstance(step, int))])


def _regained(finished: int, resumed_steps: pl.DataFrame, later: pl.DataFrame) -> tuple[int | None, int | None]:
    """When the last step finished before the fault was finished again, and the number of lost steps.

    `again`: the steps of the first incarnation that trained; `later`: all steps after the fault.
    """
    if resumed_steps.height == 0:
        return None, None
    first = int(resumed_steps["step"].min())  # type: ignore[arg-type]
    lost = max(0, finished - first)
    if lost == 0:
        return int(resumed_steps["begin_ns"].min()), 0  # type: ignore[arg-type]
    redone = later.filter(pl.col("step") == finished - 1)
    first_done = redone.filter(pl.col("incarnation") == pl.col("incarnation").min())
    return (None if redone.height == 0 else int(first_done["end_ns"].max())), lost  # type: ignore[arg-type]


def duration_metric(
    measured: RecordData,
    name: str,
    begin: Callable[[Recovery], int | None],
    end: Callable[[Recovery], int | None],
    how: str,
    *,
    needs_peer: bool = False,
) -> Mapping[str, Value]:
    """Seconds between two instants of the timeline, per configuration, over its fault launches."""
    values: dict[str, Value] = {}
    every = recoveries(measured)
    for configuration in measured.configurations:
        of_configuration = [recovery for recovery in every if recovery.configuration == configuration]
        if not of_configuration:
            values[configuration] = unstruck(measured, configuration)
        elif needs_peer and of_configuration[0].workers == 1:
            values[configuration] = ONE_WORKER
        else:
            refused = next((why for strike in of_configuration if (why := _refused(strike, begin(strike), end(strike)))), "")
            spans = [(strike.launch, span) for strike in of_configuration if (span := _span(begin(strike), end(strike))) is not None]
            values[configuration] = (
                Absent("refused", refused) if refused else _seconds(measured, name, spans, how) if spans else unrecovered(of_configuration)
            )
    return values


def unrecovered(recoveries: Iterable[Recovery]) -> Absent:
    """Why no strike of a configuration has an end: the job did not continue, or its step is unknown."""
    return next((recovery.unknown for recovery in recoveries if recovery.unknown is not None), NOT_RECOVERED)


def _refused(recovery: Recovery, begin_ns: int | None, end_ns: int | None) -> str:
    """Why an interval of this launch is refused: its hosts' clocks differ too much, or by an unknown amount."""
    if recovery.trouble:
        return recovery.trouble
    if recovery.bound_ns == 0.0 or begin_ns is None or end_ns is None:
        return ""
    return too_short((end_ns - begin_ns) / NS_PER_S, recovery.bound_ns / NS_PER_S)


def _span(begin_ns: int | None, end_ns: int | None) -> float | None:
    return None if begin_ns is None or end_ns is None else (end_ns - begin_ns) / NS_PER_S


def _seconds(measured: RecordData, name: str, timed: list[tuple[int, float]], how: str) -> Value:
    """Over launches; `told`: (launch, seconds) of every strike."""
    of_launch: dict[int, list[float]] = {}
    for launch, span in timed:  # the last worker may report its start after the first one trained
        of_launch.setdefault(launch, []).append(max(0.0, span))
    spans, n = [fmean(launch_spans) for launch_spans in of_launch.values()], len(timed)
    if max(spans) == 0.0:
        return exact(0.0, unit=SECONDS, name=name, n_launches=len(spans), n_trials=n, how=f"{how}; nothing to do")
    if min(spans) == 0.0:  # zero in some launches: no logarithm
        return average(spans, measured.confidence, unit=SECONDS, aggregate=how, name=name, n_trials=n)
    return positive(spans, measured.confidence, unit=SECONDS, aggregate=how, name=name, n_trials=n)


def noticed_ns(recovery: Recovery) -> int | None:
    """When the restart began: the detection if there is a peer to show it, otherwise the fault itself."""
    return recovery.fault_ns if recovery.workers == 1 else recovery.detected_ns
