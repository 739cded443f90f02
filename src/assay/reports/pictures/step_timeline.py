"""Does communication lie beside computing, or after it?"""

from __future__ import annotations

from typing import Final

from assay.metrics.format import reading, scale_for
from assay.reports import vega
from assay.reports.pictures.base import Drawing, Key, Missing, Rows, above, colour, number_axis, sized
from assay.reports.pictures.ranks import NAMES, ROLES
from assay.reports.rank_series import StepTimeline
from assay.reports.view import View

TITLE: Final = "One step, with its communication"
COMMUNICATION: Final = "communication"


def draw(view: View) -> list[Drawing | Missing]:
    """Two lanes per rank: what it computed, and the collectives that were under way; nothing where none was seen."""
    found = view.series.step
    if found is None:
        return []
    last = max(span.end_s for span in found.spans)
    scale = scale_for("s", (last,))
    ranks = sorted({span.rank for span in found.spans})
    lanes = [lane for rank in ranks for lane in (_lane(rank, ""), _lane(rank, COMMUNICATION))]
    rows: Rows = [
        {"y": _lane(span.rank, span.what), "from": span.begin_s * scale.factor, "to": span.end_s * scale.factor,
         "role": colour(ROLES.get(span.what, "fifth"))}
        for span in found.spans
    ]  # fmt: skip
    domain = [min(0.0, *(span.begin_s for span in found.spans)) * scale.factor, last * scale.factor * 1.02]
    x = vega.x(
        "from:Q",
        scale=vega.scale(domain=domain, nice=False),
        axis=number_axis(title=f"{scale.label} since the step began", grid=False),
    )
    y = vega.y(
        "y:N", sort=lanes, scale=vega.scale(domain=lanes, paddingInner=0.2), axis=vega.axis(title=None, grid=False)
    )
    bars = vega.chart(rows).mark("bar", opacity=0.85, stroke=colour("paper"), strokeWidth=0.5)
    chart = bars.encode(x=x, x2="to:Q", y=y, color=vega.color("role:N", scale=None, legend=None))
    seen = {span.what for span in found.spans}
    keys = [Key(mark="bar", role=role, text=NAMES.get(part, part)) for part, role in ROLES.items() if part in seen]
    title = above(f"{view.label(found.configuration)}, step {found.step} of launch {found.launch}")
    return [Drawing(
        title=TITLE, chart=sized(chart.properties(title=title), 70 + 22 * len(lanes)), caption=_caption(),
        description=_words(found), key=(*keys, Key(mark="bar", role="fifth", text="collective under way")),
    )]  # fmt: skip


def _lane(rank: int, what: str) -> str:
    return f"rank {rank}, comm" if what == COMMUNICATION else f"rank {rank}"


def _caption() -> str:
    return (
        "A step of median length. Phases are laid one after the other from the rank's own begin, for their lengths are measured and not the "
        "gaps between them; a collective lasts until it was complete on the rank, waiting for others included."
    )


def _words(found: StepTimeline) -> str:
    first = [span for span in found.spans if span.what == COMMUNICATION]
    if not first:
        return f"Step {found.step} of launch {found.launch}."
    begin, end = min(span.begin_s for span in first), max(span.end_s for span in first)
    return (
        f"Step {found.step} of launch {found.launch}: {found.collectives} collectives on the ranks shown, the first begun after "
        f"{reading(begin, 's')}, the last complete after {reading(end, 's')}."
    )
