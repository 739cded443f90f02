"""Do more workers pay in a record, at which cost, and which corner gave way?  The charts of a table, over a record's numbers."""

from __future__ import annotations

from collections.abc import Sequence

from fireassay.estimates.estimate import Estimate
from fireassay.metrics.cost import COST_PER_ITEM
from fireassay.metrics.metric import ALL
from fireassay.metrics.quality import QUALITY
from fireassay.metrics.training.scaling import EFFICIENCY, SERIAL_FRACTION, SPEEDUP
from fireassay.metrics.training.time import THROUGHPUT
from fireassay.reports.charts import worker_counts
from fireassay.reports.charts.model import Charts
from fireassay.reports.charts.worker_counts import Level, Levels
from fireassay.reports.view import Column, View


def levels(view: View, columns: Sequence[Column] | None = None) -> Levels:
    """The worker counts of a record, or some of them; a count whose quality gate failed is refused."""
    refused = {gate.configuration for gate in view.gates if gate.gate == "quality" and gate.status == "FAIL"}
    serial, score = view.estimate(SERIAL_FRACTION.name, ALL), view.metric(QUALITY.name)
    spec = view.measured.experiment.quality
    return Levels(
        rows=tuple(
            _level(view, column, refused=column.key in refused) for column in sorted(columns or view.columns, key=lambda one: one.workers)
        ),
        word="workers",
        base=next(column.workers for column in view.columns if column.key == view.base),
        threshold=view.efficiency_gate,
        serial=None if serial is None else serial.value,
        quality_name="quality" if score is None else score.title.lower(),
        lower=spec is not None and spec.direction == "lower",
        point="one launch: no interval",
    )


def _level(view: View, column: Column, *, refused: bool) -> Level:
    def of(name: str) -> Estimate | None:
        return view.estimate(name, column.key)

    return Level(
        name=column.label,
        workers=column.workers,
        speedup=of(SPEEDUP.name),
        efficiency=of(EFFICIENCY.name),
        cost=of(COST_PER_ITEM.name),
        throughput=of(THROUGHPUT.name),
        quality=of(QUALITY.name),
        refused=refused,
        chosen=column.key == view.recommended,
        target=f"level-{column.workers}",
    )


def cost_of_work(view: View) -> Charts:
    """Cost of an item over worker counts; none without prices."""
    return tuple(chart for chart in worker_counts.cost(levels(view)) if not chart.missing)


def triangle(view: View) -> Charts:
    """Quality, throughput and work per dollar as shares of the best; none unless all were measured."""
    return tuple(chart for chart in worker_counts.triangle(levels(view)) if not chart.missing)


def in_cells(view: View) -> Charts:
    """The charts of a workbook: speedup with the ideal and Amdahl's law, efficiency with its gate, cost of work, the triangle."""
    return worker_counts.in_cells(levels(view))


def figures(view: View) -> Charts:
    """The figures of a paper, from the worker counts that may be reported; none where the base may not."""
    columns = [column for column in view.columns if view.reportable(column.key)]
    if view.status == "INVALID" or len(columns) < 2 or all(column.key != view.base for column in columns):
        return ()
    found = levels(view, columns)
    drawn = (draw(found) for draw in (worker_counts.speedup, worker_counts.efficiency, worker_counts.cost, worker_counts.triangle))
    return tuple(chart for charts in drawn for chart in charts if not chart.missing)
