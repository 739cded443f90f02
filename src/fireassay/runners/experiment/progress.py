"""What is the progress of a running experiment, and how long will it still take?

When is it pointless to continue?  Pure functions of the launches that have ended.

* A configuration whose last two launches failed is skipped from then on; the others continue.
* If the first launch fails by itself, no other is started: its error is usually that of all, and the user waits for it. If something
  ended it (a signal, a lost guard or engine), a second failure decides.
Fault launches do not count: they break things on purpose.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fireassay.runners.launching.watch import BY_SIGNAL
from fireassay.spec.experiment import Experiment
from fireassay.spec.plan import PlannedLaunch

FAILED = ("failed", "timeout")
FINAL = frozenset({"ok", "failed", "timeout", "skipped"})  # a slot with such a row is not retried


def remaining(plan: Sequence[PlannedLaunch], rows: Sequence[Mapping[str, Any]]) -> list[PlannedLaunch]:
    """The launches whose slot has no final row. Aborted and contaminated ones are repeated."""
    done = {row["slot"] for row in rows if row["status"] in FINAL}
    return [planned for planned in plan if planned.slot not in done]


def attempt_of(slot: int, rows: Sequence[Mapping[str, Any]]) -> int:
    """The number of the slot's next attempt, from 0."""
    return 1 + max((row["attempt"] for row in rows if row["slot"] == slot), default=-1)


def disturbed_tries(slot: int, rows: Sequence[Mapping[str, Any]]) -> int:
    """How many attempts of the slot were disturbed so far."""
    return sum(row["slot"] == slot and row["status"] == "contaminated" for row in rows)


def skip_reason(planned: PlannedLaunch, rows: Sequence[Mapping[str, Any]]) -> str:
    """Why this launch is to be skipped; empty if it is not."""
    last = _timed(rows, planned.configuration)[-2:]
    if len(last) == 2 and all(row["status"] in FAILED for row in last):
        return f"the last two launches of {planned.configuration} failed: {last[-1]['reason']}"
    return ""


def hopeless(rows: Sequence[Mapping[str, Any]]) -> str:
    """Why the whole experiment has failed: a timed launch failed by itself, or two failed, before any succeeded. Empty if it has not."""
    timed = [row for row in rows if row["role"] == "timed" and row["status"] in (*FAILED, "ok")]
    return "" if len(timed) == 1 and _ended_from_outside(timed[0]) else all_failed(timed)


def _ended_from_outside(row: Mapping[str, Any]) -> bool:
    return row["status"] == "failed" and (row.get("exit_code") is None or BY_SIGNAL in row["reason"])


def all_failed(rows: Sequence[Mapping[str, Any]]) -> str:
    """Why no launch succeeded; empty if any did or none was tried."""
    finished = [row for row in rows if row["status"] in (*FAILED, "ok")]
    if not finished or any(row["status"] == "ok" for row in finished):
        return ""
    return f"no launch succeeded ({len(finished)} failed). {_sentence(finished[0])}"


def _timed(rows: Sequence[Mapping[str, Any]], configuration: str) -> list[Mapping[str, Any]]:
    return [row for row in rows if row["configuration"] == configuration and row["role"] == "timed" and row["status"] in (*FAILED, "ok")]


def _sentence(row: Mapping[str, Any]) -> str:
    return f"{row['configuration']}: {row['reason']}"


STARTING_S = 5.0  # of a collectives worker: import torch, form the process group
LaunchRow = Mapping[str, Any]  # a row of the table `launches`


@dataclass(frozen=True, kw_only=True)
class LoadProgress:
    """A running load. Percentiles cover the last seconds, for display only."""

    state: str  # loading, cold, load, ended
    into_s: float  # since the load began
    left_s: float  # until the last request is due
    due: int
    sent: int
    done: int
    ok: int
    failed: Mapping[str, int]  # status -> requests
    in_flight: int
    tokens: int
    offered: float | None  # requested rate, 1/s; None in a closed loop
    ttft_ms: Mapping[str, float]  # "p50", "p95", "p99"
    tpot_ms: Mapping[str, float]
    e2e_ms: Mapping[str, float]
    lag_p99_ms: float | None


@dataclass(frozen=True, kw_only=True)
class LaunchProgress:
    """The running launch."""

    number: int
    planned: PlannedLaunch
    elapsed_s: float
    steps: int = 0  # finished by every rank that has reported
    steps_per_s: float | None = None  # over the last seconds; None before there are enough
    ranks: int = 0  # workers that have reported
    incarnation: int = 0
    load: LoadProgress | None = None


@dataclass(frozen=True, kw_only=True)
class RunProgress:
    """The state of the whole experiment."""

    record: Path
    plan: tuple[PlannedLaunch, ...]
    rows: tuple[LaunchRow, ...]  # finished launches, in order
    running: LaunchProgress | None
    seconds_left: float | None  # None before the first finished launch; until the next interim analysis, if there are any
    label: str = ""  # of the side, when experiments are interleaved
    looks: tuple[Look, ...] = ()  # interim analyses so far
    adaptive: bool = False  # whether the plan is only the maximum
    waiting: str = ""  # for what the cluster's engine waits before the first launch, in its words


def as_json(progress: RunProgress) -> dict[str, Any]:
    """What a heartbeat says of it: all but the plan, the rows and the interim analyses, which stand in the record."""
    running = progress.running
    return {
        "done": len({row["slot"] for row in progress.rows if row["status"] in FINAL}),
        "failed": sum(row["status"] in FAILED for row in progress.rows),
        "planned": len(progress.plan),
        "adaptive": progress.adaptive,
        "seconds_left": progress.seconds_left,
        "waiting": progress.waiting,
        "label": progress.label,
        "running": None
        if running is None
        else {**vars(running), "planned": running.planned.slot, "load": running.load and vars(running.load)},
    }


def from_json(beat: Mapping[str, Any], record: Path, plan: tuple[PlannedLaunch, ...], rows: Sequence[LaunchRow]) -> RunProgress:
    """The progress in a heartbeat. Raises LookupError, TypeError, ValueError: it is damaged."""
    from pydantic import TypeAdapter

    running = beat["running"] and {**beat["running"], "planned": plan[beat["running"]["planned"]]}
    found: RunProgress = TypeAdapter(RunProgress).validate_python(
        {**beat, "record": record, "plan": plan, "rows": rows, "running": running}
    )
    return found


def seconds_left(
    launches: Sequence[PlannedLaunch], rows: Sequence[LaunchRow], running: LaunchProgress | None = None, planned_s: float | None = None
) -> float | None:
    """Seconds until the plan is finished, estimated from finished launches; None if there are none.

    A configuration without a finished launch counts as the mean of all finished ones; `planned_s` is the specified duration
    of a launch, if it is known before any has finished.
    """
    walls: dict[str, list[float]] = {}
    for row in rows:
        if row["status"] == "ok":
            walls.setdefault(row["configuration"], []).append((row["end_ns"] - row["begin_ns"]) / 1e9)
    everything = [wall for several in walls.values() for wall in several] or [planned_s or 0.0]
    if not any(everything):
        return None
    mean = sum(everything) / len(everything)
    ended = {row["slot"] for row in rows if row["status"] in FINAL}
    total = 0.0
    for planned in launches:
        if planned.slot not in ended:
            measured = walls.get(planned.configuration)
            expected = sum(measured) / len(measured) if measured else mean
            under_way = running is not None and running.planned.slot == planned.slot
            total += max(0.0, expected - running.elapsed_s) if running is not None and under_way else expected
    return total


def planned_seconds(experiment: Experiment) -> float | None:
    """The specified duration of a launch; None if its work decides."""
    if experiment.workload.runner == "collectives":
        requested = experiment.collectives_requested
        each = sum(len(requested.places(op)) for op in requested.operations) * len(requested.every_size)
        return STARTING_S + 2.0 * requested.seconds * each  # doubled for writing and checking the data
    if experiment.serving is None:
        return None
    return experiment.serving.arrivals.warm_up_s + experiment.serving.arrivals.duration_s


@dataclass(frozen=True, kw_only=True)
class Look:
    """Result of an interim analysis after some blocks."""

    blocks: int
    confidence: float  # of the examined intervals
    enough: bool
    widths: Mapping[str, float]  # "metric at configuration" -> the larger relative half-width; without absent ones
    sentence: str  # for the progress display and the manifest
    ended: str = ""  # why no more are needed, if not for narrow intervals: "decided" or "budget"
