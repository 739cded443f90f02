"""How does a chart of intervals become rows of a picture?"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

from fireassay.estimates.estimate import Estimate
from fireassay.estimates.format import percent
from fireassay.reports.charts.axes import linear, rows_axis
from fireassay.reports.charts.model import Chart, Edge, Key, Panel, Role, Rule
from fireassay.reports.charts.points import has_width, level_point
from fireassay.reports.page import Tone

ROLES: dict[Tone, Role] = {"good": "pass", "gain": "gold", "bad": "fail", "void": "fail", "open": "open"}
ROOM = 0.08  # of the range, on both sides
CLOSE = 0.2  # of the range: texts of two edges would overlap on a phone
MAX_NAME_LENGTH = 48  # letters of a row's name with its number, on a phone
MIN_NAME_LENGTH = 12  # of the name alone


def in_rows(chart: Chart) -> Chart:
    """Its rows below each other, with the edges that an interval may cross."""
    known = [(row, row.number.value) for row in chart.rows if isinstance(row.number.value, Estimate)]
    if not known:
        return replace(chart, panels=(), missing="No row has a number.")
    scale = known[0][0].number.shown.scale
    values = [end * scale.factor for _, value in known for end in (value.value, value.low, value.high) if math.isfinite(end)]
    values += [edge.value * scale.factor for edge in chart.edges]
    room = ROOM * (max(values) - min(values)) or abs(max(values)) * 0.1 or 1.0
    edges = _edges(chart.edges, scale.factor, CLOSE * (max(values) - min(values)))
    points = [
        level_point(row.name, index, value, scale, role=ROLES.get(row.mark.tone, "blue") if row.mark else "blue", target=row.target)
        for index, (row, value) in enumerate(known)
    ]
    names = (_name(f"{row.name}{_noun(row.name, chart.stub)}", row.number.shown.full) for row, _ in known)
    level = next((value.confidence for _, value in known if has_width(value)), 0.95)
    return replace(
        chart,
        title=f"{chart.title[:1].upper()}{chart.title[1:]}",
        panels=(Panel(x=linear(min(values) - room, max(values) + room), y=rows_axis(names), marks=(*edges, *points)),),
        description="; ".join(f"{row.name}: {row.number.shown.full}" for row, _ in known),
        key=(Key(mark="point", role="soft", text=f"value and {percent(level, 4)} interval"),),
    )


def _edges(edges: Sequence[Edge], factor: float, close: float) -> Iterator[Rule]:
    """Lines with their texts; the second of two that nearly touch has its text beside that of the first."""
    texts = [edge.text for edge in edges]
    for index in range(len(edges) - 1, 0, -1):
        if abs(edges[index].value - edges[index - 1].value) * factor < close and texts[index] and texts[index - 1]:
            texts[index - 1], texts[index] = f"{texts[index - 1]}, {texts[index]}", ""
    for edge, text in zip(edges, texts, strict=True):
        yield Rule(x=edge.value * factor, dashed=True, text=text)


def _name(name: str, number: str) -> str:
    """A row's name and number; a name that leaves no room for the number is cut in its middle, the number never."""
    room = max(MAX_NAME_LENGTH - len(f": {number}"), MIN_NAME_LENGTH)
    end = room // 2
    return f"{name if len(name) <= room else f'{name[: room - end - 1]}…{name[-end:]}'}: {number}"


def _noun(name: str, stub: str) -> str:
    """What a number counts: "2" alone is no name of a row."""
    noun = stub.removesuffix("s") if name == "1" else stub
    return f" {noun}" if noun and name.replace(".", "").isdigit() else ""
