"""How do intervals become rows of a picture, and how are the parts of a sum written so that they add up as printed?

All parts share one decimal.  The last part is what is not explained, and takes what rounding leaves over.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Final

from fireassay.estimates.estimate import Estimate
from fireassay.estimates.format import percent
from fireassay.estimates.rounding import outwards, rounded, significant, written
from fireassay.reports.charts.axes import linear, rows_axis
from fireassay.reports.charts.model import Chart, Edge, Key, Panel, Role, Rule
from fireassay.reports.charts.points import has_width, level_point
from fireassay.reports.page import Number, Part, Sum, Tone

ROLES: dict[Tone, Role] = {"good": "pass", "gain": "gold", "bad": "fail", "void": "fail", "open": "open"}
ROOM = 0.08  # of the range, on both sides
CLOSE = 0.2  # of the range: texts of two edges would overlap on a phone


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
    names = (f"{row.name}{_noun(row.name, chart.stub)}: {row.number.shown.full}" for row, _ in known)
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


def _noun(name: str, stub: str) -> str:
    """What a number counts: "2" alone is no name of a row."""
    noun = stub.removesuffix("s") if name == "1" else stub
    return f" {noun}" if noun and name.replace(".", "").isdigit() else ""


# ---- sums ------------------------------------------------------------------------------------------------------------


DIGITS: Final = 3  # significant digits of the total


@dataclass(frozen=True, kw_only=True)
class SumRow:
    """A printed part: its text, its number, its interval (empty: none), and its size in the sum's unit."""

    text: str
    number: str
    interval: str
    size: float
    role: str
    sure: bool = True  # its interval excludes zero


@dataclass(frozen=True, kw_only=True)
class Written:
    """A printed sum: start + parts = total."""

    start: SumRow
    parts: tuple[SumRow, ...]
    total: SumRow


def written_sum(block: Sum) -> Written:
    """The parts as printed; those without a number are left out."""
    factor = block.total.number.shown.scale.factor  # parts may have been shown in other units
    places = max(0, significant(_size(block.total.number, factor), DIGITS))
    start, total = rounded(_size(block.start.number, factor), places), _as_shown(block.total.number, places)
    known = [part for part in block.parts if isinstance(part.number.value, Estimate)]
    numbers = [rounded(_size(part.number, factor), places) for part in known]
    if numbers:
        numbers[-1] = total - start - sum(numbers[:-1], Decimal(0))
    rows = tuple(_row(part, number, places, factor) for part, number in zip(known, numbers, strict=True))
    return Written(start=_row(block.start, start, places, factor), parts=rows, total=_row(block.total, total, places, factor))


def _size(number: Number, factor: float) -> float:
    return number.value.value * factor if isinstance(number.value, Estimate) else 0.0


def _as_shown(number: Number, places: int) -> Decimal:
    """The total as tables show it, so that a page has one number for it; at these decimals if it has fewer."""
    value, factor = number.value, number.shown.scale.factor
    if not isinstance(value, Estimate):
        return Decimal(0)
    shown = outwards(value.value * factor, value.low * factor, value.high * factor).value
    return shown if -shown.as_tuple().exponent <= places else rounded(float(shown), places)  # type: ignore[operator]


def _row(part: Part, number: Decimal, places: int, factor: float) -> SumRow:
    value = part.number.value
    interval = ""
    if isinstance(value, Estimate) and value.n_launches > 1 and value.low > float("-inf") and value.high < float("inf"):
        low, high = rounded(value.low * factor, places, "down"), rounded(value.high * factor, places, "up")
        interval = f"[{written(min(low, number))}, {written(max(high, number))}]"  # a remainder of rounding is inside too
    sure = not isinstance(value, Estimate) or not value.low <= 0.0 <= value.high
    return SumRow(text=part.text, number=written(number), interval=interval, size=float(number), role=part.role, sure=sure)
