"""How are a record's charts drawn?

Its kind lists them, in page order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from fireassay import catalog
from fireassay.reports.charts import cost_time, launch_order, launch_timeline, quality
from fireassay.reports.charts.chart import Drawing, Missing
from fireassay.reports.charts.svg import Picture, begun
from fireassay.reports.charts.training import (
    communication_model,
    efficiency,
    fault,
    phases,
    profile,
    rank_time,
    ranks,
    speedup,
    step_timeline,
)
from fireassay.reports.view import View

Drawn = Drawing | Missing
Draw = Callable[[View], Drawn | Sequence[Drawn]]
Charts = tuple[tuple[str, Draw], ...]  # name -> chart, in page order
OF_LAUNCHES: Final[Charts] = (
    ("speedup", speedup.draw),
    ("wall", communication_model.draw),
    ("efficiency", efficiency.draw),
    ("phases", phases.draw),
    ("ranks", ranks.draw),
    ("step-timeline", step_timeline.draw),
    ("quality", quality.draw),
    ("cost-time", cost_time.draw),
    ("goodput", rank_time.draw),
    ("fault", fault.draw),
    ("launch-timeline", launch_timeline.draw),
    ("launch-order", launch_order.draw),
)


def draw(view: View) -> tuple[Picture, ...]:
    """All rendered charts of a record, in order."""
    pending = [begun(name, drawing) for name, drawing in drawings(view)]
    return tuple(finished() for finished in pending)


def drawings(view: View) -> Iterator[tuple[str, Drawn]]:
    """All charts with their names."""
    for name, function in catalog.part("kinds", view.kind.name, "page", "charts")(view):
        drawn = function(view)
        several = [drawn] if isinstance(drawn, (Drawing, Missing)) else drawn
        yield from ((name if index == 0 else f"{name}-{index + 1}", drawing) for index, drawing in enumerate(several))


def of_launches(view: View) -> Charts:
    """Charts of a launched workload; only the profile chart if all launches are profiled."""
    if view.launches and all(launch.role == "profile" for launch in view.launches):
        return (("profile", profile.draw),)  # the other charts need timed launches, and none were requested
    return (("profile", profile.draw), *OF_LAUNCHES) if view.profiles else OF_LAUNCHES
