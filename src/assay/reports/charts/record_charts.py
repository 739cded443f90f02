"""Which charts has a record?

A list per kind, in page order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from assay.reports.charts import cost_time, launch_order, launch_timeline, quality
from assay.reports.charts.chart import Drawing, Missing
from assay.reports.charts.links import collective_bandwidth, topology
from assay.reports.charts.serving import curve, panel, percentiles, timeline
from assay.reports.charts.serving import goodput as load_goodput
from assay.reports.charts.svg import Picture, begun
from assay.reports.charts.training import communication_model, efficiency, fault, phases, profile, rank_time, ranks, speedup, step_timeline
from assay.reports.view import View

Drawn = Drawing | Missing
Draw = Callable[[View], Drawn | Sequence[Drawn]]
PICTURES: Final[tuple[tuple[str, Draw], ...]] = (
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

LOAD_PICTURES: Final[tuple[tuple[str, Draw], ...]] = (
    ("load-curve", curve.draw),
    ("load-goodput", load_goodput.draw),
    ("load-percentiles", percentiles.draw),
    ("load-timeline", timeline.draw),
    ("load-panel", panel.draw),
    ("quality", lambda view: quality.draw(view) if view.quality_metric else ()),
)

COLLECTIVE_PICTURES: Final[tuple[tuple[str, Draw], ...]] = (
    ("collective-bandwidth", collective_bandwidth.draw),
    ("topology", lambda view: [topology.draw(one.matrix, one.classes) for one in view.pairs]),
)


def draw(view: View) -> tuple[Picture, ...]:
    """All rendered charts of a record, in order."""
    pending = [begun(name, drawing) for name, drawing in drawings(view)]
    return tuple(finished() for finished in pending)


def drawings(view: View) -> Iterator[tuple[str, Drawn]]:
    """All charts with their names."""
    for name, function in _lists(view):
        drawn = function(view)
        several = [drawn] if isinstance(drawn, (Drawing, Missing)) else drawn
        yield from ((name if place == 0 else f"{name}-{place + 1}", drawing) for place, drawing in enumerate(several))


def _lists(view: View) -> tuple[tuple[str, Draw], ...]:
    if view.of_links:
        return COLLECTIVE_PICTURES
    if view.serving is not None:
        return LOAD_PICTURES
    if view.launches and all(launch.role == "profile" for launch in view.launches):
        return (("profile", profile.draw),)  # the other charts need timed launches, and none were requested
    return (("profile", profile.draw), *PICTURES) if view.profiles else PICTURES
