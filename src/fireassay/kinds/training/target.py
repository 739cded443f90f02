"""How soon is the target reached?  The lines on the first screen, and the table.

With several worker counts the line of each is a product: times as fast per sample, times the samples, times as fast to the target.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Final

from fireassay.estimates.estimate import Absent
from fireassay.estimates.format import count, given, reading, show
from fireassay.frames.training.time_to_quality import launches_to_quality
from fireassay.metrics.results import LazyResults
from fireassay.metrics.training import quality_target as metrics
from fireassay.reports.answering import cell, mark
from fireassay.reports.build_view import metric_row
from fireassay.reports.page import Head, Line, Section, Table, Words
from fireassay.reports.view import Column, View
from fireassay.units import SECONDS

LABEL: Final = "target"
MAX_LINES: Final = 3  # without the base's; the table has all
HEADS: Final = (
    (metrics.TIME_TO_QUALITY.name, "time"),
    (metrics.MEAN.name, "mean"),
    (metrics.SAMPLES.name, "samples"),
    (metrics.COST.name, "cost"),
    (metrics.RATE_RATIO.name, "per sample, times as fast"),
    (metrics.SAMPLES_RATIO.name, "times the samples"),
    (metrics.SPEEDUP_TO_QUALITY.name, "times as fast to it"),
    (metrics.EFFICIENCY_TO_QUALITY.name, "efficiency"),
)
AGAINST_BASE: Final = 4  # of these heads, those after the first


def of_each_goal(view: View) -> tuple[View, ...]:
    """The view itself, then one of each further goal, with its metrics alone."""
    target = view.measured.experiment.target
    return () if target is None else (view, *(_about(view, other) for other in target.each()[1:]))


def _about(view: View, target: Any) -> View:
    measured = replace(view.measured, experiment=view.measured.experiment.model_copy(update={"target": target}))
    results = LazyResults(measured, {metric.name: metric for metric in metrics.METRICS})
    rows = tuple(metric_row(metric, partial(results.__getitem__, metric.name), "samples") for metric in metrics.METRICS)
    return replace(view, measured=measured, metrics=rows)


def lines(view: View) -> Iterator[Line]:
    """A line for the base and one for each larger count; the reason where nothing was evaluated. Of a further goal one line."""
    for place, goal_view in enumerate(of_each_goal(view)):
        every = list(_lines(goal_view))
        yield from every if place == 0 else [replace(every[0], label="")]


def _lines(view: View) -> Iterator[Line]:
    target = view.measured.experiment.target
    if (absent := metrics.never_evaluated(view.measured)) is not None:
        yield Line(label=LABEL, text=absent.detail, mark=mark("NOT_MEASURED"), target="metrics-performance")
        return
    ordered = sorted(view.columns, key=lambda column: column.key != view.base)
    for place, column in enumerate(ordered[: MAX_LINES + 1]):
        text = _reached(view, column, str(target.parsed) if target is not None and place == 0 else "")
        if len(view.columns) > 1:
            text = f"{column.label}: {_product(view, column)}{text}"
        yield Line(label=LABEL if place == 0 else "", text=text, target="target")


def _reached(view: View, column: Column, goal: str) -> str:
    """ "accuracy 0.75 reached in 4 of 5 launches, median 12.3 s [9, 20]; 1 never (censored at 20 s)"."""
    rows = launches_to_quality(view.measured).filter(configuration=column.key)
    hits, every = int(rows["reached"].sum()), rows.height
    if not every:
        return "no launch ended"
    found = cell(view, metrics.TIME_TO_QUALITY.name, column.key, bare=False)
    median = f", median {found.shown.full}" if found is not None and found.shown.measured else ""
    head = f"{goal} reached in {hits} of {count(every, 'launches')}{median}" if goal else f"{hits} of {every}{median}"
    why = "" if median else f"; {_missing(view, column, hits == every)}"
    return f"{head}{why}{_never(rows.filter(~rows['reached']).to_dicts())}"


def _missing(view: View, column: Column, whole: bool) -> str:
    """Why there is no median; "median not reached, more than 3 s" where launches are censored."""
    row = view.metric(metrics.TIME_TO_QUALITY.name)
    value = row.cells[column.key].value if row is not None and column.key in row.cells else None
    detail = value.detail if isinstance(value, Absent) else ""
    _, more, bound = detail.rpartition("; more than ")
    return detail if whole else f"median not reached{f', more than {bound}' if more else ''}"


def _never(rows: list[dict[str, object]]) -> str:
    """Which launches never reached it: how long they ran, and what cut them."""
    if not rows:
        return ""
    times = sorted(float(str(row["time_s"])) for row in rows)
    at = (
        reading(times[0], SECONDS)
        if times[0] == times[-1] or len(times) == 1
        else f"{reading(times[0], SECONDS)} to {reading(times[-1], SECONDS)}"
    )
    cuts = [str(row["cut"]) for row in rows if row["cut"]]
    cut = "".join(f", {cuts.count(word)} {word}" for word in dict.fromkeys(cuts))
    nans = sum(bool(row["nans"]) for row in rows)
    nan = f", {nans} with a score that is no number" if nans else ""
    return f"; {len(rows)} never (censored at {at}{cut}{nan})"


def _product(view: View, column: Column) -> str:
    """ "2.9 times as fast per sample, 1.3 times the samples: 2.2 [1.9, 2.6] times as fast; "."""
    if column.key == view.base:
        return ""
    rate, samples, speedup = (
        view.estimate(name, column.key) for name in (metrics.RATE_RATIO.name, metrics.SAMPLES_RATIO.name, metrics.SPEEDUP_TO_QUALITY.name)
    )
    parts = [f"{given(rate.value, 3)} times as fast per sample"] if rate is not None else []
    parts += [f"{given(samples.value, 3)} times the samples"] if samples is not None else []
    if speedup is None:
        return f"{parts[0]}; " if parts else ""
    return f"{', '.join(parts)}{': ' if parts else ''}{show(speedup).full} times as fast to it; "


def table(view: View) -> tuple[Table, ...]:
    """Of each goal a row per worker count, and with several a row per round."""
    return tuple(
        replace(one, name=f"{one.name}-{place + 1}" if place else one.name)
        for place, goal_view in enumerate(of_each_goal(view))
        for one in _tables(goal_view)
    )


def _tables(view: View) -> Iterator[Table]:
    """Share reached, time, samples, cost, and the product against the base; then the times of each round and their ratio."""
    target = view.measured.experiment.target
    if target is None or metrics.never_evaluated(view.measured) is not None:
        return
    used = [(name, head) for name, head in HEADS if any(view.estimate(name, column.key) for column in view.columns)]
    if len(view.columns) == 1:
        used = [(name, head) for name, head in used if name not in {row[0] for row in HEADS[AGAINST_BASE:]}]
    heads = (Head(text="workers"), Head(text="reached"), *(Head(text=_head(view, name, head)) for name, head in used))
    rows = tuple((column.workers, _share(view, column), *(cell(view, name, column.key) for name, _ in used)) for column in view.columns)
    goal, horizon = target.parsed, metrics.horizon_s(view.measured)
    note = (
        f"To the first evaluation with {goal.name} {goal.sign} {given(goal.value)}, from the first step; evaluations count. Medians over "
        "launches; one that never reached it counts as longer than it ran."
    )
    if horizon is not None:
        note += f" Mean: up to {reading(horizon, SECONDS)}; a launch without the target by then counts as that."
    yield Table(name="target", title=f"Time to {goal}", heads=heads, rows=rows, stub=1, notes=(note,))
    others = [column for column in view.columns if column.key != view.base]
    if others:
        yield _by_round(view, others, str(goal))


def _by_round(view: View, others: list[Column], goal: str) -> Table:
    """A row per round, whose launches share a seed: the base's time, each count's, and their ratio."""
    paired = {column.key: {own["block"]: (base, own) for base, own in metrics.rounds(view.measured, column.key)} for column in others}
    bases = {row["block"]: row for row in metrics.of_configuration(view.measured, view.base).to_dicts()}
    rows = [
        (
            block + 1,
            _time(base),
            *(text for column in others for text in (_pair(*paired[column.key][block]) if block in paired[column.key] else ("-", "-"))),
        )
        for block, base in sorted(bases.items())
    ]
    heads = [Head(text="round"), Head(text=view.label(view.base))]
    heads += [Head(text=text) for column in others for text in (column.label, "times as fast")]
    note = 'Launches of a round share a seed. ">": the launch ended without the target, so its time is longer, and the ratio a bound or unknown (-).'
    cells = tuple(tuple(Words(text=part) if isinstance(part, str) else part for part in row) for row in rows)
    return Table(name="target-rounds", title=f"Time to {goal} in each round", heads=tuple(heads), rows=cells, stub=1, notes=(note,))


def _time(row: Mapping[str, Any]) -> str:
    return f"{'' if row['reached'] else '> '}{reading(row['time_s'], SECONDS)}"


def _pair(base: Mapping[str, Any], own: Mapping[str, Any]) -> tuple[str, str]:
    """The count's time, and the base's over it: a bound where one of them is one, unknown where both are."""
    if not (base["reached"] or own["reached"]) or min(base["time_s"], own["time_s"]) <= 0.0:
        return _time(own), "-"
    sign = "" if base["reached"] and own["reached"] else "> " if own["reached"] else "< "
    return _time(own), f"{sign}{given(base['time_s'] / own['time_s'], 3)}"


def _head(view: View, name: str, head: str) -> str:
    row = view.metric(name)
    return ", ".join(word for word in (head, row.shown_unit if row is not None else "") if word)


def _share(view: View, column: Column) -> Words:
    rows = launches_to_quality(view.measured).filter(configuration=column.key)
    return Words(text=f"{int(rows['reached'].sum())} of {rows.height}")


def section(view: View) -> tuple[Section, ...]:
    """The table, on the page with everything."""
    return (Section(key="to-target", title="Target", content=lambda: table(view)),) if table(view) else ()
