"""Which native charts has the workbook of timed collectives?  The bus bandwidth of each operation over its size."""

from __future__ import annotations

from itertools import groupby
from typing import Final

from fireassay.kinds.collectives.tables import PLACES
from fireassay.metrics.collectives import BUSBW
from fireassay.reports.graph import Amounts, Axis, Graph, Trace
from fireassay.reports.series.graphs import measured
from fireassay.reports.view import View
from fireassay.spec.sections.collectives import Cell

GIGA: Final = 1e-9
KIB: Final = 1024
BASE: Final = 16  # of the axis of sizes: 1 KiB, 16 KiB, 256 KiB, 4 MiB


def graphs(view: View) -> tuple[Graph, ...]:
    """A chart per operation."""
    operations = dict.fromkeys(cell.op for cell in view.collectives)
    return tuple(graph for op in operations for graph in _of(view, op))


def _of(view: View, op: str) -> tuple[Graph, ...]:
    """A line per worker count and placement."""
    cells = sorted((cell for cell in view.collectives if cell.op == op), key=lambda cell: (cell.workers, cell.place, cell.size))
    speed = Amounts(title="busbw, GB/s", values=tuple(view.value(BUSBW.name, cell.name) for cell in cells), factor=GIGA)
    if not measured(speed):
        return ()
    several = len({cell.place for cell in cells}) > 1
    names = [_name(cell, several=several) for cell in cells]
    runs = [[place for place, _ in run] for _, run in groupby(enumerate(names), key=lambda pair: pair[1])]
    return (
        Graph(
            name=f"busbw-{op}",
            title=f"Bus bandwidth of {op}",
            columns=(
                Amounts(title="Workers", values=tuple(names)),
                Amounts(title="Size, KiB", values=tuple(cell.size / KIB for cell in cells)),
                speed,
            ),
            x=1,
            traces=tuple(Trace(name=names[run[0]], column=2, rows=(run[0], run[-1]), colour=i) for i, run in enumerate(runs)),
            across=Axis(title="size, KiB", base=BASE),
            up=Axis(title="busbw, GB/s", base=10),
            notes=("Sizes and busbw as nccl-tests defines them; the slowest rank.",),
        ),
    )


def _name(cell: Cell, *, several: bool) -> str:
    return f"{cell.workers} workers{f', {PLACES[cell.place]}' if several else ''}"
