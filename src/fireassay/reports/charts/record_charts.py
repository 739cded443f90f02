"""How are a record's charts drawn?

Its kind selects them, in page order; each file of a chart declares its name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

from fireassay import catalog
from fireassay.reports.charts.chart import Drawing, Missing
from fireassay.reports.view import View

Drawn = Drawing | Missing
Draw = Callable[[View], Drawn | Sequence[Drawn]]
Charts = tuple[tuple[str, Draw], ...]  # name -> chart, in page order


class ChartModule(Protocol):
    """A file with a chart."""

    @property
    def NAME(self) -> str:
        """The chart's name; of several drawings, the second and later ones are numbered."""

    def draw(self, view: View) -> Drawn | Sequence[Drawn]:
        """The chart, or why there is none."""


def charts_of(*modules: ChartModule) -> Charts:
    """The charts of these files."""
    return tuple((module.NAME, module.draw) for module in modules)


def drawings(view: View) -> Iterator[tuple[str, Drawn]]:
    """All charts of a record with their names."""
    for name, draw in catalog.part("kinds", view.kind.name, "show", "charts")(view):
        drawn = draw(view)
        several = [drawn] if isinstance(drawn, (Drawing, Missing)) else drawn
        yield from ((name if index == 0 else f"{name}-{index + 1}", drawing) for index, drawing in enumerate(several))
