"""What does a person see who compared records in a terminal?

The sentence first, then what refuses or limits the comparison, the deciding metric, the others, and the sides beside one
another.  Words carry every verdict; colour only repeats them.  Without a terminal the text is plain ASCII.
"""

from __future__ import annotations

from typing import Final

from rich import box
from rich.console import RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from assay.reports.comparisons.view import ChangeRow, ComparisonView, MismatchRow
from assay.reports.hanging import hanging
from assay.reports.terminal import WIDTH, draw, title

TONES: Final = {"good": "green", "bad": "bold red", "open": "yellow", "struck": "strike dim"}
STATES: Final = {"compared": "bold", "exploratory": "bold yellow", "incomparable": "bold red", "nothing_measured": "bold red"}


def render(view: ComparisonView, *, width: int = WIDTH, colour: bool = False) -> str:
    """The comparison as text of at most `width` columns; with `colour` for a terminal, else plain ASCII."""
    return draw(_sections(view, width), width=width, colour=colour)


def _sections(view: ComparisonView, width: int) -> list[RenderableType]:
    head = Text.assemble((view.word.upper(), STATES[view.state]), f"  {' | '.join(view.sides)}")
    parts: list[RenderableType] = [head, Text(), Padding(Text(view.sentence, style="bold"), (0, 2))]
    if view.important:
        parts += [title("What differs"), *(_mismatch(row, view.sides) for row in view.important)]
    if view.deciding:
        rows = tuple(row for row in view.deciding if len(view.sides) == 2 or row.shown or row.primary)
        parts += [title(f"Changes{_at(view)}"), _changes(rows, width)]
    elsewhere = [row for row in view.elsewhere if row.shown]
    if elsewhere:
        parts += [title("Other configurations"), _changes(tuple(elsewhere), width)]
    if len(view.sides) > 2 or not view.deciding:
        parts += _overview(view)
    if view.notes:
        parts += [title("To know"), *(hanging(Text(note)) for note in view.notes)]
    return [*parts, *_footer(view)]


def _at(view: ComparisonView) -> str:
    places = {row.configuration for row in view.deciding}
    return f" at {places.pop()}" if len(places) == 1 else ""


def _mismatch(row: MismatchRow, sides: tuple[str, ...]) -> Table:
    style = {"refuses": "bold red", "forced": "bold yellow"}.get(row.standing, "dim")
    values = "; ".join(f"{side}: {value}" for side, value in zip(sides, row.values, strict=False))
    text = Text.assemble((row.standing, style), " ", (row.field, "bold"), f" ({row.kind})  {values}. It matters because {row.why}.")
    if row.standing == "refuses":
        text.append(f" To compare all the same: {row.override}." if row.override else " Nothing overrides this.")
    return hanging(text)


def _changes(rows: tuple[ChangeRow, ...], width: int) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    several = len({row.side for row in rows}) > 1 or len({row.configuration for row in rows}) > 1
    for name in ("", "verdict", "change", "from", "to", *(("p",) if width >= 90 else ())):
        table.add_column(name, overflow="fold")
    for row in rows:
        place = "" if row.side.endswith(row.configuration) else f", {row.configuration}"
        where = f"\n{row.side}{place}" if several else ""
        mark = " (decides)" if row.primary else ""
        style = "strike dim" if row.struck else ""
        word = Text(row.word, style=TONES[row.tone].replace("strike ", ""))
        cells = [
            Text.assemble((row.title, "bold" if row.primary else ""), mark, (where, "dim")),
            word,
            Text.assemble(
                (row.effect.replace(" [", "\n[") or "-", style), ("\n" + row.detectable if row.primary and row.detectable else "", "dim")
            ),
            Text(row.baseline, style=style),
            Text(row.value, style=style),
        ]
        table.add_row(*cells, *((Text(row.probability, style="dim"),) if width >= 90 else ()))
    return table


def _overview(view: ComparisonView) -> list[RenderableType]:
    if not view.overview:
        return []
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for head in ("", *view.heads, "against the first"):
        table.add_column(head, overflow="fold")
    for row in view.overview:
        cells = (Text.assemble(shown.text, "\n", (shown.interval, "dim")) for shown in row.cells)
        table.add_row(row.side, *cells, row.word)
    return [title("Side by side"), table]


def _footer(view: ComparisonView) -> list[RenderableType]:
    struck = [Text("Struck out: the numbers stay, and decide nothing.", style="dim")] if any(r.struck for r in view.rows) else []
    line = Text(f"Intervals: {view.confidence} confidence, the launch is the unit. Noise floor by assay doctor: {view.floor}.", style="dim")
    return [Text(), *struck, line] if view.rows else []
