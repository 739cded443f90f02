"""Which native charts has the workbook of a training?  Speedup, efficiency with its gate, the parts of a step, cost."""

from __future__ import annotations

from typing import Final

from fireassay.metrics.cost import COST
from fireassay.metrics.training.communication import COMM_EXPOSED
from fireassay.metrics.training.phases import BACKWARD_TIME, DATA_TIME, FORWARD_TIME, OPTIMIZER_TIME
from fireassay.metrics.training.scaling import EFFICIENCY, SPEEDUP
from fireassay.metrics.training.time import STEP_TIME
from fireassay.reports.charts.training import phases
from fireassay.reports.graph import REST, WHOLE, Amounts, Axis, Graph, Trace
from fireassay.reports.series.graphs import amounts, measured, over_workers
from fireassay.reports.view import View

COLOURS: Final = {BACKWARD_TIME.name: 0, COMM_EXPOSED.name: 1, OPTIMIZER_TIME.name: 2, DATA_TIME.name: 3, FORWARD_TIME.name: 5}


def graphs(view: View) -> tuple[Graph, ...]:
    """The charts of what was measured."""
    base = next(column.workers for column in view.columns if column.key == view.base)
    ideal = Amounts(title="Ideal speedup", values=tuple(column.workers / base for column in view.columns))
    gate = view.efficiency_gate
    gates = () if gate is None else (Amounts(title="Gate, %", values=(100.0 * gate,) * len(view.columns)),)
    return (
        *over_workers(view, SPEEDUP.name, "Speedup against the ideal", ideal, alike=True),
        *over_workers(view, EFFICIENCY.name, "Parallel efficiency and its gate" if gates else "Parallel efficiency", *gates),
        *_step(view),
        *over_workers(view, COST.name, "Cost of a run"),
    )


def _step(view: View) -> tuple[Graph, ...]:
    """The phases end to end, and the whole step with its interval."""
    step, seen = view.metric(STEP_TIME.name), phases.recorded(view)
    if step is None or not seen:
        return ()
    keys = [column.key for column in view.columns]
    whole = amounts(step, keys)
    unit = whole.title.rpartition(", ")[2]
    shares = phases.parts(view, seen)
    parts = [(name, COLOURS.get(metric, REST), shares[metric]) for metric, name, *_ in phases.PHASES if metric in shares]
    columns = tuple(
        Amounts(title=f"{name}, {unit}", values=tuple(None if key not in part else part[key] * whole.factor for key in keys))
        for name, _, part in parts
    )
    last = len(keys) - 1
    stacked = tuple(
        Trace(name=name, column=2 + i, rows=(0, last), look="stacked", colour=colour) for i, (name, colour, _) in enumerate(parts)
    )
    steps = Trace(name="whole step", column=2 + len(parts), rows=(0, last), look="marks", colour=WHOLE)
    return (
        Graph(
            name="phases",
            title="Parts of a step",
            shape="columns",
            columns=(
                Amounts(title="Configuration", values=tuple(column.label for column in view.columns)),
                Amounts(title=view.kind.workers, values=tuple(column.workers for column in view.columns)),
                *columns,
                whole,
            ),
            x=1,
            traces=(*stacked, *((steps,) if measured(whole) else ())),
            across=Axis(title=view.kind.workers.lower()),
            up=Axis(title=f"time per step, {unit}"),
            notes=("Medians of the slowest worker. Exposed communication is subtracted from the phases that contain it.",),
        ),
    )
