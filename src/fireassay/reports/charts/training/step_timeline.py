"""Does communication overlap with computation, or follow it?"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from fireassay.estimates.format import count, reading, scale_for
from fireassay.reports.charts.chart import Drawing, Key, Missing, linear, rows_axis, written_tick
from fireassay.reports.charts.marks import Bar, Look, Mark, Panel, Reading, Role
from fireassay.reports.charts.training.ranks import NAMES, ROLES
from fireassay.reports.series.ranks import EXPOSED, HIDDEN, PARTS, STILL, UNTOLD, Span, StepTimeline
from fireassay.reports.view import View

NAME = "step-timeline"
TITLE: Final = "One step, with its communication"
COLOURS: Final[dict[str, tuple[Role, Look]]] = {
    **{part: ROLES[part] for part in PARTS},
    STILL: ("orange", "wait"),
    EXPOSED: ("orange", ""),
    HIDDEN: ("grey", ""),
    UNTOLD: ("gold", ""),
}
KEYS: Final = (
    *((part, NAMES.get(part, part)) for part in PARTS),
    (STILL, "the rank waits for communication"),
    (EXPOSED, "a collective, exposed"),
    (HIDDEN, "a collective, hidden by computation"),
    (UNTOLD, "a collective in flight"),
)
THICK, THIN = 14, 5
FINEST: Final = 1.5 / 400  # of the chart's width: a pixel and a half of a narrow one


def draw(view: View) -> list[Drawing | Missing]:
    """A row per rank: computation, and thin below it the collectives in flight; empty if no collective was recorded."""
    timeline = view.series.step
    if timeline is None:
        return []
    last = max(span.end_s for span in timeline.spans)
    scale = scale_for("s", (last,))
    ranks = sorted({span.rank for span in timeline.spans})
    marks: list[Mark] = [_bar(span, ranks.index(span.rank), scale.factor) for span in timeline.spans]
    low = min(0.0, *(span.begin_s for span in timeline.spans)) * scale.factor
    x = linear(low, last * scale.factor * 1.02, f"{scale.label} since the first of these ranks began")
    seen = _visible(timeline.spans, last - min(0.0, *(span.begin_s for span in timeline.spans)))
    where = f"{view.label(timeline.configuration)}, step {timeline.step} of launch {timeline.launch}"
    return [
        Drawing(
            title=TITLE,
            panels=(Panel(x=x, y=rows_axis((f"rank {rank}" for rank in ranks), 42), marks=tuple(marks)),),
            caption=f"{where}. {_caption(timeline)}",
            description=_words(timeline),
            key=tuple(Key(mark="bar", role=COLOURS[what][0], look=COLOURS[what][1], text=text) for what, text in KEYS if what in seen),
            quantity=f"length, {scale.label}",
        )
    ]


def _visible(spans: Iterable[Span], width_s: float) -> set[str]:
    """Kinds of bars wide enough to see, so that the key lists no bar thinner than `FINEST` on every rank."""
    lengths: dict[tuple[str, int], float] = {}
    for span in spans:
        lengths[span.what, span.rank] = lengths.get((span.what, span.rank), 0.0) + span.end_s - span.begin_s
    return {what for (what, _), length in lengths.items() if length >= FINEST * width_s}


def _bar(span: Span, row: int, factor: float) -> Bar:
    role, look = COLOURS[span.what]
    phase = span.what in (*PARTS, STILL)
    name = dict(KEYS)[span.what]
    told = Reading(
        name=f"rank {span.rank}, {name}",
        text=reading(span.end_s - span.begin_s, "s"),
        value=(span.end_s - span.begin_s) * factor,
        more=f"from {written_tick(span.begin_s * factor)} to {written_tick(span.end_s * factor)}",
    )
    height, drop = (THICK, -2) if phase else (THIN, 10)
    return Bar(row=row, left=span.begin_s * factor, right=span.end_s * factor, role=role, look=look, height=height, drop=drop, reading=told)


def _caption(timeline: StepTimeline) -> str:
    """How to read the chart, and its assumptions."""
    still = "waiting is drawn at the end of its phase" if timeline.exposed_s else "its exposed part was not recorded"
    return (
        "A step of median length. Phases are drawn end to end from the rank's begin, since their lengths are measured and the gaps "
        f"between them are not; {still}. Thin bars: a collective lasts until it was complete on the rank, waiting for others included."
    )


def _words(timeline: StepTimeline) -> str:
    calls = [span for span in timeline.spans if span.what in (EXPOSED, HIDDEN, UNTOLD)]
    if not calls:
        return f"Step {timeline.step} of launch {timeline.launch}."
    begin, end = min(span.begin_s for span in calls), max(span.end_s for span in calls)
    still = "".join(f" Rank {rank} waited for communication for {reading(length, 's')}." for rank, length in timeline.exposed_s)
    return (
        f"Step {timeline.step} of launch {timeline.launch}: {count(timeline.collectives, 'collectives')} on the ranks shown, the first begun after "
        f"{reading(begin, 's')}, the last complete after {reading(end, 's')}.{still}"
    )
