"""What does one launch of each worker count say?  Raw step times and rates: no interval, no verdict, and the command that brings both.

A script without steps shows the wall time of its launch. Warm-up steps are left out where they are recognised.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from fireassay.estimates.format import count
from fireassay.kinds.training import target
from fireassay.kinds.training.why import base_of
from fireassay.metrics.training.scaling import SPEEDUP
from fireassay.metrics.training.time import STEP_TIME, THROUGHPUT, WALL_TIME
from fireassay.reports import answering
from fireassay.reports.answering import mark
from fireassay.reports.cost_line import cost_line
from fireassay.reports.page import Answer, Cell, Head, Line, Next, Section, Table
from fireassay.reports.raw import digits, for_both, percentiles, shares
from fireassay.reports.view import Column, View

MS: Final = 1e3
IMPLIED: Final = ("few_launches",)  # by the headline


def is_quick(view: View) -> bool:
    """True if one launch of each count was asked for, and nothing wrong was found in them."""
    return view.status == "MEASURED" and view.measured.experiment.launches.quick


def answer(view: View) -> Answer:
    """What was run, and the way to a verdict."""
    return Answer(
        mark=mark(view.status),
        headline=_headline(view),
        lines=(*target.lines(view), *_costs(view), answering.doubts(view, stated=IMPLIED)),
        next=(_next(view),),
        record=f"{answering.short(view)}, 1 launch{' per worker count' if len(view.columns) > 1 else ''}; all: --full",
    )


def _costs(view: View) -> Iterator[Line]:
    for column in view.columns:
        if (line := cost_line(view, column.key)) is not None:
            yield replace(line, text=f"{column.label}: {line.text}") if len(view.columns) > 1 else line


def _next(view: View) -> Next:
    """The command of the verdict, or what it needs first."""
    alone = next((row for row in view.findings if row.rule == "nothing_is_distributed"), None)
    if alone is not None:
        return Next(reason=f"one launch: no interval and no verdict. For both: {alone.remedy}")
    return for_both(f"assay run {answering.named(view)}{'' if _stepped(view) or not view.kind.trains else ' --time wall'}")


def brief(view: View) -> tuple[Section, ...]:
    """A row for each worker count."""
    rows = tuple((column.workers, *_row(view, column)) for column in view.columns)
    rate = (Head(text=f"{view.measured.experiment.workload.work}/s"),) if _counted(view) else ()
    steps = (Head(text="steps"), *shares(", ms"), *rate)
    heads = (Head(text="workers"), *(steps if _stepped(view) else (Head(text="wall time, ms"),)))
    whole = "no step was seen: wall times of whole launches" if view.kind.trains else "wall times of whole runs"
    notes = ("percentiles of step time, of the slowest rank" if _stepped(view) else whole,)
    return answering.brief_sections(Table(name="quick", heads=heads, rows=rows, notes=notes))


def _stepped(view: View) -> bool:
    return any(view.estimate(STEP_TIME.name, column.key) for column in view.columns)


def _counted(view: View) -> bool:
    return any(view.estimate(THROUGHPUT.name, column.key) for column in view.columns)


def _row(view: View, column: Column) -> Iterator[Cell]:
    if not _stepped(view):
        wall = view.estimate(WALL_TIME.name, column.key)
        yield None if wall is None else digits(wall.value * MS)
        return
    seconds = _seconds(view, column)
    yield f"{len(seconds):,}"
    yield from percentiles(seconds) if seconds else (None,) * len(shares())
    if _counted(view):
        rate = view.estimate(THROUGHPUT.name, column.key)
        yield None if rate is None else digits(rate.value)


def _seconds(view: View, column: Column) -> list[float]:
    """The steady step times in ascending order."""
    steps = view.measured.steady_steps
    return steps.filter(steps["configuration"] == column.key)["step_s"].sort().to_list()


def _headline(view: View) -> str:
    """ "2 workers look 1.55 times as fast as 1": of medians, so no more than a look."""
    known = [column for column in view.columns if _stepped(view) and column.key != view.base and view.estimate(SPEEDUP.name, column.key)]
    if not known:
        return f"{view.columns[0].label}, one launch" if len(view.columns) == 1 else "one launch of each worker count"
    best = max(known, key=lambda column: _speedup(view, column))
    looks = "look" if best.workers > 1 else "looks"
    return f"{count(best.workers, 'workers')} {looks} {digits(_speedup(view, best))} times as fast as {base_of(view).workers}, in one launch each"


def _speedup(view: View, column: Column) -> float:
    value = view.estimate(SPEEDUP.name, column.key)
    return 0.0 if value is None else value.value
