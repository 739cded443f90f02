"""What happened second by second?

Requests due, good and failed, with everything outside of the measured window, faults and outages shaded.
"""

from __future__ import annotations

from typing import Final

from fireassay.estimates.format import given, scale_for
from fireassay.reports.charts import vega
from fireassay.reports.charts.chart import WIDTH, Drawing, Key, Missing, Rows, above, colour, number_axis
from fireassay.reports.series.serving import LoadTimeline, Span
from fireassay.reports.view import View

NAME = "load-timeline"
HEIGHT: Final = 130
LOWER: Final = 80
WIDE: Final = WIDTH - 46  # without the labels of the vertical axis
KINDS: Final = (("good", "main"), ("late", "second"), ("failed", "bad"))


def draw(view: View) -> list[Drawing | Missing]:
    """One chart per launch shown, those with faults first."""
    return [_of(view, line) for line in view.load.timelines]


def _of(view: View, line: LoadTimeline) -> Drawing:
    label = f"{view.label(line.configuration)}, launch {line.launch}"
    parts = [_requests(line), *_latency(line)]
    return Drawing(
        title=f"Under a fault: {label}" if line.role == "fault" else f"Over time: {label}",
        chart=vega.vconcat(*parts, spacing=6) if len(parts) > 1 else parts[0],
        caption=_caption(line),
        description=_words(line),
        key=_keys(line),
    )


def _x(line: LoadTimeline, field: str, *, last: bool) -> vega.Spec:
    """Horizontal axis in seconds; only the lower chart has labels."""
    named = number_axis(title="seconds after the load began", grid=False)
    axis = named if last else vega.axis(title=None, labels=False, grid=False)
    return vega.x(f"{field}:Q", scale=vega.scale(domain=[0, line.bins[-1].end_s], nice=False), axis=axis)


def _requests(line: LoadTimeline) -> vega.Chart:
    """Bars of requests due per second, by outcome."""
    rows = _stacked(line)
    top = max((row["high"] for row in rows), default=1.0) * 1.05
    y = vega.y("low:Q", scale=vega.scale(domain=[0, top], nice=False), axis=vega.axis(tickCount=4, title=None))
    last = not _latency_seen(line)
    x = _x(line, "a", last=last)
    bars = [
        vega.chart([row for row in rows if row["kind"] == kind])
        .mark("rect", color=colour(role), stroke=colour("paper"), strokeWidth=0.4)
        .encode(x=x, x2="b:Q", y=y, y2="high:Q")
        for kind, role in KINDS
        if any(row["kind"] == kind for row in rows)
    ]
    chart = vega.layer(*_shades(line, last=last), *bars)
    return chart.properties(width=WIDE, height=HEIGHT, title=above("requests due per second"))


def _stacked(line: LoadTimeline) -> Rows:
    rows: Rows = []
    for time_bin in line.bins:
        width, bottom = time_bin.end_s - time_bin.begin_s, 0.0
        for (kind, _), number in zip(KINDS, (time_bin.met, time_bin.ok - time_bin.met, time_bin.failed), strict=True):
            if number:
                high = bottom + number / width
                rows.append({"a": time_bin.begin_s, "b": time_bin.end_s, "kind": kind, "low": bottom, "high": high})
                bottom = high
    return rows


def _latency_seen(line: LoadTimeline) -> bool:
    return any(time_bin.ttft_s is not None for time_bin in line.bins)


def _latency(line: LoadTimeline) -> list[vega.Chart]:
    """Median time to first token in the same bins; empty if no answer had one."""
    if not _latency_seen(line):
        return []
    scale = scale_for("s", (time_bin.ttft_s for time_bin in line.bins if time_bin.ttft_s is not None))
    rows: Rows = [
        {"x": (time_bin.begin_s + time_bin.end_s) / 2, "y": None if time_bin.ttft_s is None else time_bin.ttft_s * scale.factor}
        for time_bin in line.bins
    ]
    y = vega.y("y:Q", scale=vega.scale(zero=True, nice=True), axis=vega.axis(tickCount=3, title=None))
    drawn = vega.chart(rows).mark("line", color=colour("ink"), strokeWidth=1.4, point={"size": 12, "color": colour("ink"), "filled": True})
    chart = vega.layer(*_shades(line, last=True), drawn.encode(x=_x(line, "x", last=True), y=y))
    title = above(f"median TTFT, {scale.label}, by when the request was due")
    return [chart.properties(width=WIDE, height=LOWER, title=title)]


def _shades(line: LoadTimeline, *, last: bool) -> list[vega.Chart]:
    """Shading outside of the measured window, of faults and of outages."""
    end = line.bins[-1].end_s
    outside: Rows = []
    if line.window_s is not None:
        outside = [{"from": 0.0, "to": line.window_s[0]}, {"from": line.window_s[1], "to": end}]
    faults = [_ends(span, end) for span in line.spans if span.kind == "fault"]
    down = [_ends(span, end) for span in line.spans if span.kind == "down"]
    shades = []
    for role, rows, opacity in (("band", outside, 0.3), ("bad", faults, 0.16), ("fourth", down, 0.22)):
        if kept := [row for row in rows if row["to"] > row["from"]]:
            shade = vega.chart(kept).mark("rect", color=colour(role), opacity=opacity)
            shades.append(shade.encode(x=_x(line, "from", last=last), x2="to:Q"))
    return shades


def _ends(span: Span, end: float) -> dict[str, float]:
    return {"from": max(0.0, span.begin_s), "to": min(end, end if span.end_s is None else span.end_s)}


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
    kinds = {row["kind"] for row in _stacked(line)}
    keys = [
        *([Key(mark="bar", role="main", text="answered, every objective met")] if "good" in kinds else []),
        *([Key(mark="bar", role="second", text="answered, an objective missed")] if "late" in kinds else []),
        *([Key(mark="bar", role="bad", text="failed")] if "failed" in kinds else []),
    ]
    if line.window_s is not None:
        keys.append(Key(mark="band", role="band", text="outside of the measured window"))
    if any(span.kind == "fault" for span in line.spans):
        keys.append(Key(mark="band", role="bad", text="fault"))
    if any(span.kind == "down" for span in line.spans):
        keys.append(Key(mark="band", role="fourth", text="a replica was down, by the prober"))
    return tuple(keys)
