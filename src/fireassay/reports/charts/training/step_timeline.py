"""Does communication overlap with computation, or follow it?"""

from __future__ import annotations

from typing import Final

from fireassay.estimates.format import count, reading, scale_for
from fireassay.reports.charts.chart import WIDTH, Drawing, Key, Missing, Rows, above, bars, colour, horizontal, sized
from fireassay.reports.charts.training.ranks import NAMES, ROLES
from fireassay.reports.series.ranks import EXPOSED, HIDDEN, PARTS, STILL, UNTOLD, StepTimeline
from fireassay.reports.view import View

NAME = "step-timeline"
TITLE: Final = "One step, with its communication"
COLOURS: Final = {**{part: ROLES[part] for part in PARTS}, STILL: "fifth", EXPOSED: "fifth", HIDDEN: "rest", UNTOLD: "sixth"}
KEYS: Final = (
    *((part, NAMES.get(part, part)) for part in PARTS),
    (EXPOSED, "exposed: the rank waits for communication"),
    (HIDDEN, "hidden: a collective during computation"),
    (UNTOLD, "collective in flight"),
)

FINEST: Final = 1.5 / WIDTH  # of the chart's width: a one-pixel bar, whose edges have the background colour


def draw(view: View) -> list[Drawing | Missing]:
    """Two lanes per rank: computation, and collectives in flight; empty if no collective was recorded."""
    timeline = view.series.step
    if timeline is None:
        return []
    last = max(span.end_s for span in timeline.spans)
    scale = scale_for("s", (last,))
    ranks = list(dict.fromkeys(span.rank for span in timeline.spans))
    lanes = [lane for rank in sorted(ranks) for lane in (_lane(rank, PARTS[0]), _lane(rank, EXPOSED))]
    rows: Rows = [
        {
            "y": _lane(span.rank, span.what),
            "from": span.begin_s * scale.factor,
            "to": span.end_s * scale.factor,
            "role": colour(COLOURS[span.what]),
        }
        for span in timeline.spans
    ]
    low, top = min(0.0, *(span.begin_s for span in timeline.spans)) * scale.factor, last * scale.factor * 1.02
    x = horizontal(low, top, f"{scale.label} since the first of these ranks began", grid=False)
    chart = bars(rows, lanes, x("from"), padding=0.2, opacity=0.85, strokeWidth=0.5)
    seen = _visible(timeline, (top - low) / scale.factor)
    title = above(f"{view.label(timeline.configuration)}, step {timeline.step} of launch {timeline.launch}")
    return [
        Drawing(
            title=TITLE,
            chart=sized(chart.properties(title=title), 70 + 22 * len(lanes)),
            caption=_caption(timeline),
            description=_words(timeline),
            key=tuple(Key(mark="bar", role=COLOURS[what], text=text) for what, text in KEYS if what in seen),
        )
    ]


def _visible(timeline: StepTimeline, width_s: float) -> set[str]:
    """Kinds of bars wide enough to see, so that the key lists no bar thinner than `FINEST` on every lane."""
    lengths: dict[tuple[str, str], float] = {}
    for span in timeline.spans:
        what = EXPOSED if span.what == STILL else span.what
        lane = (what, _lane(span.rank, span.what))
        lengths[lane] = lengths.get(lane, 0.0) + span.end_s - span.begin_s
    return {what for (what, _), length in lengths.items() if length >= FINEST * width_s}


def _lane(rank: int, what: str) -> str:
    return f"rank {rank}" if what in (*PARTS, STILL) else f"rank {rank}, comm"


def _caption(timeline: StepTimeline) -> str:
    """How to read the chart, and its assumptions."""
    still = "waiting is drawn at the end of its phase" if timeline.exposed_s else "its exposed part was not recorded"
    return (
        "A step of median length. Phases are drawn end to end from the rank's begin, since their lengths are measured and the gaps "
        f"between them are not; {still}. A collective lasts until it was complete on the rank, waiting for others included."
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
