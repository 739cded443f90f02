"""Which columns and traces has the native chart of a metric?"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from typing import Final

from fireassay.estimates.estimate import Estimate
from fireassay.estimates.format import scale_for
from fireassay.reports.graph import REFERENCE, Amounts, Axis, Graph, Trace
from fireassay.reports.view import Column, MetricRow, View

LOG_FROM: Final = 10.0  # a larger ratio gets a logarithmic axis
MOST_LABELS: Final = 8  # of a linear axis of whole numbers


def amounts(row: MetricRow, keys: Sequence[str]) -> Amounts:
    """A metric at these configurations, in the unit of its row in the tables."""
    scale = next((cell.scale for cell in row.cells.values() if cell.measured), scale_for(row.unit, ()))
    unit = {"1/s": "" if "per second" in row.title else "requests per second", "workers": "", "steps": ""}.get(row.unit, scale.label)
    values = tuple(cell.value if (cell := row.cells.get(key)) is not None else None for key in keys)
    return Amounts(title=f"{row.title}, {unit}" if unit else row.title, values=values, factor=scale.factor)


def measured(column: Amounts) -> bool:
    """Whether a column has any number."""
    return any(isinstance(value, Estimate) for value in column.values)


def axis(title: str, numbers: Iterable[float]) -> Axis:
    """An axis of counts: logarithmic if they span more than a decade, else with a label for each whole number if they fit."""
    known = sorted(numbers)
    if known[0] > 0 and known[-1] / known[0] > LOG_FROM:
        return Axis(title=title, base=2)
    whole = all(number == round(number) for number in known) and known[-1] <= MOST_LABELS
    return Axis(title=title, step=1.0 if whole else None)


def over_workers(view: View, metric: str, title: str, *lines: Amounts, alike: bool = False) -> tuple[Graph, ...]:
    """A metric over worker counts, with lines in the same unit; none if it has no number. `alike`: both axes have one scale."""
    row = view.metric(metric)
    if row is None or not measured(column := amounts(row, [each.key for each in view.columns])):
        return ()
    rows = (0, len(view.columns) - 1)
    names = enumerate((line.title.partition(",")[0] for line in lines), start=3)
    dashed = (Trace(name=name, column=place, rows=rows, look="dashes", colour=REFERENCE) for place, name in names)
    workers = tuple(each.workers for each in view.columns)
    labels = Amounts(title="Configuration", values=tuple(each.label for each in view.columns))
    across = axis(view.kind.workers.lower(), workers)
    return (
        Graph(
            name=metric,
            title=title,
            columns=(labels, Amounts(title=view.kind.workers, values=workers), column, *lines),
            x=1,
            traces=(Trace(name=row.title, column=2, rows=rows), *dashed),
            across=across,
            up=Axis(title=column.title, base=across.base if alike else 0),
        ),
    )


def grouped(columns: Sequence[Column], by: Callable[[Column], str]) -> tuple[list[Column], list[tuple[str, tuple[int, int]]]]:
    """Columns in order of their group and load, and each group's name and rows."""
    order = {name: place for place, name in enumerate(dict.fromkeys(map(by, columns)))}
    listed = sorted(columns, key=lambda column: (order[by(column)], column.load or 0.0))
    runs = [(name, [place for place, _ in run]) for name, run in groupby(enumerate(listed), key=lambda pair: by(pair[1]))]
    return listed, [(name, (places[0], places[-1])) for name, places in runs]
