"""What happened second by second?  What was due, good and failed, with the measured window, faults and outages shaded."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import altair as alt

from assay.metrics.format import given, scale_for
from assay.reports.pictures.base import WIDTH, Drawing, Key, Missing, Rows, above, colour, data, number_axis
from assay.reports.serving_series import LoadTimeline
from assay.reports.view import View

HEIGHT = 130
LOWER = 80


def draw(view: View) -> list[Drawing | Missing]:
    """One picture per launch that is shown: those with faults first."""
    return [] if view.serving is None else [_of(view, line) for line in view.serving.timelines]


def _of(view: View, line: LoadTimeline) -> Drawing:
    label = f"{view.label(line.configuration)}, launch {line.launch}"
    title = f"Under a fault: {label}" if line.role == "fault" else f"Over time: {label}"
    end = line.bins[-1].end_s
    x_scale = alt.Scale(domain=[0, end], nice=False)

    def x(field: str, last: bool = False) -> alt.X:
        axis = (
            number_axis(title="seconds after the load began", grid=False)
            if last
            else alt.Axis(title=None, labels=False, grid=False)
        )
        return alt.X(f"{field}:Q", scale=x_scale, axis=axis)

    kinds = ("good", "answered late", "failed")
    rows: Rows = []
    for b in line.bins:
        width = b.end_s - b.begin_s
        bottom = 0.0
        for kind, number in zip(kinds, (b.met, b.ok - b.met, b.failed), strict=True):
            rows.append({"a": b.begin_s, "b": b.end_s, "kind": kind, "low": bottom, "high": bottom + number / width})
            bottom += number / width
    top = max(row["high"] for row in rows) * 1.05 or 1.0
    y = alt.Y("low:Q", scale=alt.Scale(domain=[0, top], nice=False), axis=number_axis(title=None))
    bars = alt.Chart(data([row for row in rows if row["high"] > row["low"]])).mark_rect().encode(
        x=x("a"), x2="b:Q", y=y, y2="high:Q",
        color=alt.Color("kind:N", legend=None, scale=alt.Scale(domain=list(kinds), range=[colour("main"), colour("second"), colour("bad")])),
    )  # fmt: skip
    upper = alt.layer(*_shades(line, x, end), bars).properties(
        width=WIDTH, height=HEIGHT, title=above("requests due per second")
    )
    seen = [b.ttft_s for b in line.bins if b.ttft_s is not None]
    parts = [upper]
    if seen:
        scale = scale_for("s", seen)
        dots: Rows = [
            {"x": (b.begin_s + b.end_s) / 2, "y": b.ttft_s * scale.factor} for b in line.bins if b.ttft_s is not None
        ]
        lower = alt.Chart(data(dots)).mark_line(
            color=colour("ink"), strokeWidth=1.4, point={"size": 12, "color": colour("ink"), "filled": True}
        )
        ttft = lower.encode(
            x=x("x", True), y=alt.Y("y:Q", scale=alt.Scale(zero=True, nice=True), axis=number_axis(title=None))
        )
        parts.append(
            alt.layer(*_shades(line, x, end), ttft).properties(
                width=WIDTH, height=LOWER, title=above(f"median TTFT, {scale.label}, by when the request was due")
            )
        )
    return Drawing(
        title=title,
        chart=alt.vconcat(*parts, spacing=6),
        caption=_caption(line),
        description=_words(line),
        key=_keys(line),
    )


def _shades(line: LoadTimeline, x: Callable[[str], alt.X], end: float) -> list[Any]:
    shades: list[Any] = []
    outside: Rows = []
    if line.window_s is not None:
        outside = [{"from": 0.0, "to": line.window_s[0]}, {"from": line.window_s[1], "to": end}]
    for role, rows, opacity in (
        ("band", outside, 0.3),
        ("bad", [_ends(span.begin_s, span.end_s, end) for span in line.spans if span.kind == "fault"], 0.16),
        ("fourth", [_ends(span.begin_s, span.end_s, end) for span in line.spans if span.kind == "down"], 0.22),
    ):
        kept = [row for row in rows if row["to"] > row["from"]]
        if kept:
            shades.append(
                alt.Chart(data(kept)).mark_rect(color=colour(role), opacity=opacity).encode(x=x("from"), x2="to:Q")
            )
    return shades


def _ends(begin: float, finish: float | None, end: float) -> dict[str, float]:
    return {"from": max(0.0, begin), "to": min(end, end if finish is None else finish)}


def _caption(line: LoadTimeline) -> str:
    said = [
        f"{span.what} from {given(span.begin_s)} s"
        + (f" to {given(span.end_s)} s" if span.end_s is not None else " on")
        for span in line.spans
    ]
    return (
        "; ".join(said) + "."
        if said
        else "Requests stand at the moment at which they were due, whenever they were answered."
    )


def _words(line: LoadTimeline) -> str:
    due, ok, met = (sum(getattr(b, name) for b in line.bins) for name in ("due", "ok", "met"))
    return f"{due} requests were due, {ok} were answered, {met} of them met every objective, {due - ok} failed. {_caption(line)}"


def _keys(line: LoadTimeline) -> tuple[Key, ...]:
    keys = [
        Key(mark="bar", role="main", text="answered, every objective met"), Key(mark="bar", role="second", text="answered, an objective missed"),
        Key(mark="bar", role="bad", text="failed"),
    ]  # fmt: skip
    if line.window_s is not None:
        keys.append(Key(mark="band", role="band", text="outside of the measured window"))
    if any(span.kind == "fault" for span in line.spans):
        keys.append(Key(mark="band", role="bad", text="fault"))
    if any(span.kind == "down" for span in line.spans):
        keys.append(Key(mark="band", role="fourth", text="a replica was down, by the prober"))
    return tuple(keys)
