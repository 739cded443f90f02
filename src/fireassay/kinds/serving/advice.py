"""What should be done after a load?  The reason, and the command that keeps every condition but the one that it changes."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Final

from fireassay.estimates.format import given
from fireassay.reports import answering
from fireassay.reports.page import Next
from fireassay.reports.view import Column, View

LEAST_LAUNCHES: Final = 5
STREAM_OBJECTIVES, WHOLE_OBJECTIVES = "ttft=0.5,tpot=0.05", "e2e=5"  # examples of limits that a user replaces


def steps(view: View, *, streamed: bool) -> tuple[Next, ...]:
    """The one step that helps most; none if nothing is to be done."""
    if view.status == "INVALID":
        return answering.remedies(view, ("invalid",))
    if view.status == "FAIL" and any(row.severity == "fail" for row in view.findings):
        return answering.remedies(view, ("fail",))
    if view.foreign:
        return ()  # another program sent this load
    if not view.launches:
        return answering.remedies(view, ("warning",))
    if view.load.attainment is None:
        limits = STREAM_OBJECTIVES if streamed else WHOLE_OBJECTIVES
        return (_again(view, "say what a good request is, to learn the largest good load", f"--slo {limits}"),)
    return _undecided(view) or _limit(view)


def _again(view: View, reason: str, flags: str) -> Next:
    return Next(reason=reason, command=f"assay load {shlex.quote(answering.short(view))} {flags.strip()}")


def _undecided(view: View) -> tuple[Next, ...]:
    """More launches for the loads that the intervals leave open."""
    open_ = {gate.configuration for gate in view.gates if gate.gate == "objectives" and gate.status == "INCONCLUSIVE"}
    columns = [column for column in view.columns if column.key in open_]
    if not columns or view.recommended is not None:
        return ()
    launches = 2 * max(answering.timed(view), LEAST_LAUNCHES)
    loads = _flag(view, sorted({column.load for column in columns if column.load is not None}))
    return (_again(view, "decide with more launches on a quiet machine", f"{loads}--launches {launches}"),)


def _limit(view: View) -> tuple[Next, ...]:
    """Loads around the largest that is good enough."""
    last = next((column for column in view.columns if column.key == view.recommended), None)
    group = last.group if last else view.columns[0].group
    members = [column for column in view.columns if column.group == group and column.load is not None]
    if not members:
        return ()
    if last is None:
        lower = _below(view, members[0])
        reason = "find a load that is good enough below the smallest"
        return (
            (_again(view, reason, _flag(view, lower)),)
            if lower
            else (Next(reason="no smaller load exists: more replicas, or other limits"),)
        )
    index = members.index(last) if last in members else -1
    if index < 0:
        return ()
    if index + 1 == len(members):
        above = [_whole(view, (last.load or 0.0) * factor) for factor in (2, 4)]
        return (_again(view, f"find the limit above {given(last.load or 0.0)}", _flag(view, above)),)
    between = _between(view, last.load or 0.0, members[index + 1].load or 0.0)
    reason = f"find the limit between {given(last.load or 0.0)} and {given(members[index + 1].load or 0.0)}"
    return (_again(view, reason, _flag(view, between)),) if between else ()


def _between(view: View, low: float, high: float) -> list[float]:
    """Three loads between two, or as many as there are."""
    inside = {_whole(view, low + share * (high - low)) for share in (0.25, 0.5, 0.75)}
    return sorted(load for load in inside if low < load < high)


def _below(view: View, smallest: Column) -> list[float]:
    load = smallest.load or 0.0
    return sorted({lower for factor in (0.25, 0.5) if 0.0 < (lower := _whole(view, load * factor)) < load})


def _whole(view: View, load: float) -> float:
    return float(round(load)) if view.load_word == "concurrency" else float(f"{load:.3g}")


def _flag(view: View, loads: Sequence[float]) -> str:
    name = "--concurrency" if view.load_word == "concurrency" else "--rate"
    return f"{name} {','.join(given(load) for load in loads)} " if loads else ""
