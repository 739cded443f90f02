"""What happened second by second?

Requests due, good and failed, with everything outside of the measured window, faults and outages tinted.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from fireassay.estimates.format import given, reading, scale_for
from fireassay.reports.charts.chart import Drawing, Key, Missing, linear, written_tick
from fireassay.reports.charts.marks import Area, Box, Dot, Line, Mark, Panel, Role
from fireassay.reports.series.serving import LoadTimeline, Span
from fireassay.reports.view import View

NAME = "load-timeline"
HEIGHT: Final = 130
LOWER: Final = 80
KINDS: Final[tuple[tuple[str, str, Role], ...]] = (
    ("good", "answered, every objective met", "blue"),
    ("late", "answered, an objective missed", "orange"),
    ("failed", "failed", "fail"),
)


def draw(view: View) -> list[Drawing | Missing]:
    """One chart per launch shown, those with faults first."""
    return [_of(view, line) for line in view.load.timelines]


def _of(view: View, line: LoadTimeline) -> Drawing:
    label = f"{view.label(line.configuration)}, launch #{line.launch}"
    return Drawing(
        title=f"Under a fault: {label}" if line.role == "fault" else f"Over time: {label}",
        panels=(_requests(line), *_latency(line)),
        caption=_caption(line),
        description=_words(line),
        key=_keys(line),
    )


def _requests(line: LoadTimeline) -> Panel:
    """Bars of requests due per second, by outcome."""
    boxes = tuple(_stacked(line))
    top = max((box.high for box in boxes), default=1.0) * 1.05
    title = "" if _latency_seen(line) else "seconds after the load began"
    x = linear(0, line.bins[-1].end_s, title, grid=False)
    return Panel(x=x, y=linear(0, top, most=4), marks=(*_shades(line), *boxes), height=HEIGHT, title="requests due per second")


def _stacked(line: LoadTimeline) -> Iterator[Box]:
    for time_bin in line.bins:
        width, bottom = time_bin.end_s - time_bin.begin_s, 0.0
        for (kind, words, role), number in zip(KINDS, (time_bin.met, time_bin.ok - time_bin.met, time_bin.failed), strict=True):
            if number:
                high, a, b = bottom + number / width, time_bin.begin_s, time_bin.end_s
                tip = f"{written_tick(a)} to {written_tick(b)} s\n{number} {words}"
                yield Box(left=a, right=b, low=bottom, high=high, role=role, series=kind, tip=tip)
                bottom = high


def _latency_seen(line: LoadTimeline) -> bool:
    return any(time_bin.ttft_s is not None for time_bin in line.bins)


def _latency(line: LoadTimeline) -> list[Panel]:
    """Median time to first token in the same bins; empty if no answer had one."""
    if not _latency_seen(line):
        return []
    known = [(time_bin, time_bin.ttft_s) for time_bin in line.bins if time_bin.ttft_s is not None]
    scale = scale_for("s", (seconds for _, seconds in known))
    at = [((b.begin_s + b.end_s) / 2, None if b.ttft_s is None else b.ttft_s * scale.factor) for b in line.bins]
    top = max(seconds for _, seconds in known) * scale.factor * 1.1
    dots: list[Mark] = [
        Dot(x=(b.begin_s + b.end_s) / 2, y=s * scale.factor, role="ink", tip=f"{written_tick(b.begin_s)} s: {reading(s, 's')}")
        for b, s in known
    ]
    x = linear(0, line.bins[-1].end_s, "seconds after the load began", grid=False)
    marks: tuple[Mark, ...] = (*_shades(line), Line(points=tuple(at), role="ink", thin=True), *dots)
    title = f"median TTFT, {scale.label}, by when the request was due"
    return [Panel(x=x, y=linear(0, top, most=3), marks=marks, height=LOWER, title=title)]


def _shades(line: LoadTimeline) -> list[Mark]:
    """Tints outside of the measured window, of faults and of outages."""
    end = line.bins[-1].end_s
    outside = [] if line.window_s is None else [(0.0, line.window_s[0]), (line.window_s[1], end)]
    faults = [_ends(span, end) for span in line.spans if span.kind == "fault"]
    down = [_ends(span, end) for span in line.spans if span.kind == "down"]
    shades: tuple[tuple[Role, list[tuple[float, float]], float], ...] = (
        ("soft", outside, 0.2),
        ("fail", faults, 0.16),
        ("plum", down, 0.22),
    )
    return [
        Area(left=left, right=right, role=role, strong=strong) for role, spans, strong in shades for left, right in spans if right > left
    ]


def _ends(span: Span, end: float) -> tuple[float, float]:
    return max(0.0, span.begin_s), min(end, end if span.end_s is None else span.end_s)


def _caption(line: LoadTimeline) -> str:
    if not line.spans:
        return "Requests are drawn when they were due, not when they were answered."
    return f"{'; '.join(_span_words(span) for span in line.spans)}."


def _span_words(span: Span) -> str:
    until = f"to {given(round(span.end_s, 2))} s" if span.end_s is not None else "on"
    return f"{span.what} from {given(round(span.begin_s, 2))} s {until}"


def _words(line: LoadTimeline) -> str:
    due, ok, met = (sum(getattr(time_bin, name) for time_bin in line.bins) for name in ("due", "ok", "met"))
    return f"{due} requests were due, {ok} were answered, {met} of them met every objective, {due - ok} failed. {_caption(line)}"


def _keys(line: LoadTimeline) -> tuple[Key, ...]:
    """Key entries for what the chart contains."""
    kinds = {box.series for box in _stacked(line)}
    keys = [Key(mark="bar", role=role, text=words, series=kind) for kind, words, role in KINDS if kind in kinds]
    if line.window_s is not None:
        keys.append(Key(mark="band", role="soft", text="outside of the measured window"))
    if any(span.kind == "fault" for span in line.spans):
        keys.append(Key(mark="band", role="fail", text="fault"))
    if any(span.kind == "down" for span in line.spans):
        keys.append(Key(mark="band", role="plum", text="a replica was down, by the prober"))
    return tuple(keys)
