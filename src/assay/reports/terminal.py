"""What does a person see who ran assay in a terminal?

The verdict's sentence, the four-dimension vector, the primary numbers with their intervals, the gates, what was found
and what to do.  Words carry every status; colour only repeats them.  Without a terminal the text is plain ASCII.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from rich import box
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.rule import Rule
from rich.segment import Segment, Segments
from rich.table import Table
from rich.text import Text

from assay.estimates.format import Shown, count
from assay.metrics.base import ALL
from assay.printable import printable
from assay.reports import grouping, load_terminal
from assay.reports.base import Report
from assay.reports.hanging import hanging
from assay.reports.rows import profile
from assay.reports.view import DIMENSION_TITLES, STATUS_WORDS, Cell, Column, Fact, MetricRow, View

WIDTH: Final = 100
LABEL_WIDTH: Final = 20
CELL_WIDTH: Final = 18
STATUS_WIDTH: Final = 15  # the longest status word and the space beside it
PROFILE_ROWS: Final = 5  # of each list of kernels and operators
NARROW: Final = 78  # columns; below that the four dimensions stand under one another
STYLES: Final = {
    "PASS": "green",
    "FAIL": "bold red",
    "INVALID": "bold red",
    "INCONCLUSIVE": "yellow",
    "NOT_MEASURED": "dim",
    "invalid": "bold red",
    "fail": "bold red",
    "warning": "yellow",
    "note": "dim",
    "pass": "green",
    "not run": "dim",
    "advice": "",
}
PLAIN: Final = str.maketrans(
    {
        "µ": "u",
        "−": "-",
        "–": "-",
        "—": "-",
        "≥": ">=",
        "≤": "<=",
        "×": "x",
        "·": "-",
        "…": "...",
        "’": "'",
        "“": '"',
        "”": '"',
        "±": "+-",
        "→": "->",
        "─": "-",
        "━": "-",
    }
)


def render(view: View, *, width: int = WIDTH, colour: bool = False) -> str:
    """The report as text of at most `width` columns; with `colour` for a terminal, else plain ASCII."""
    return draw(_sections(view, width), width=width, colour=colour)


def draw(parts: Iterable[RenderableType], *, width: int, colour: bool) -> str:
    """What rich makes of the parts, in at most `width` columns; no character of a record steers the terminal."""
    console = Console(
        width=width,
        force_terminal=colour,
        color_system="auto" if colour else None,
        no_color=not colour,
        legacy_windows=False,
        highlight=False,
        emoji=False,
        markup=False,
        record=False,
    )
    with console.capture() as capture:
        drawn = console.render(Group(*parts))
        # rich's own colours stand in the segments' styles: what steers inside of their text came from elsewhere
        console.print(Segments(Segment(printable(one.text), one.style) for one in drawn))
    text = "\n".join(line.rstrip() for line in capture.get().splitlines()) + "\n"
    return text if colour else text.translate(PLAIN).encode("ascii", "replace").decode("ascii")


def _sections(view: View, width: int) -> list[RenderableType]:
    if view.timing:
        return [
            *_headline(view),
            title("Numbers"),
            *_numbers(view, width),
            title("What they rest on"),
            _facts(view),
            title("Findings"),
            _findings(view),
            Text(),
            *_footer(view),
        ]
    if view.serving is not None:
        return _of_load(view, width)
    if view.of_links:
        return _of_collectives(view, width)
    parts: list[RenderableType] = [*_headline(view), *_vector(view, width)]
    if view.shown_layers:
        parts += [title("Correctness by layer"), *_layers(view)]
    parts += [title("Numbers"), *_numbers(view, width)]
    if view.gates:
        parts += [title("Gates"), _gates(view)]
    if view.profiles:
        parts += [title("Profile"), *(_indented(line) for one in view.profiles for line in profile.launch_lines(one, most=PROFILE_ROWS))]
    parts += [title("Findings"), _grouped_findings(view)]
    parts += [title("Recommendation"), _recommendations(view)]
    return [*parts, Text(), *_footer(view)]


def _of_load(view: View, width: int) -> list[RenderableType]:
    parts: list[RenderableType] = [*_headline(view), *_vector(view, width)]
    parts += [title("Numbers"), *load_terminal.numbers(view, width), *load_terminal.details(view, width)]
    if view.gates:
        parts += [title("Gates"), _grouped_gates(view)]
    if view.foreign:
        parts += [title("Imported"), _pairs(view.foreign)]
    parts += [title("Findings"), _grouped_findings(view)]
    parts += [title("Recommendation"), _recommendations(view)]
    return [*parts, Text(), *_footer(view)]


def _of_collectives(view: View, width: int) -> list[RenderableType]:
    parts: list[RenderableType] = [*_headline(view), *_vector(view, width), title("Numbers"), *load_terminal.of_collectives(view, width)]
    if view.foreign:
        parts += [title("Imported"), _pairs(view.foreign)]
    return [*parts, title("Findings"), _grouped_findings(view), Text(), *_footer(view)]


def _indented(line: str) -> RenderableType:
    """A line whose continuation keeps its indentation in a narrow window."""
    text = line.lstrip()
    return Padding(Text(text), (0, 0, 0, len(line) - len(text)))


def title(text: str, style: str = "bold") -> RenderableType:
    """A heading with a rule behind it."""
    return Group(Text(), Rule(Text(text, style=style), align="left", characters="─", style="dim"))


def _headline(view: View) -> list[RenderableType]:
    verdict = Text.assemble((f"{view.word.upper()}", STYLES[view.status]), f"  {view.name}: {view.meaning}")
    return [verdict, Text(), Padding(Text(view.sentence, style="bold"), (0, 2))]


def _vector(view: View, width: int) -> list[RenderableType]:
    """Status words as a table; the sentences behind all that did not pass below it."""
    tables = [_dimensions_across(view, width)] if width >= NARROW else _dimensions_down(view, width)
    return [title(view.dimensions_title), *tables, *(hanging(reason) for reason in _reasons(view))]


def _dimensions_across(view: View, width: int) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("", min_width=10)
    for dimension in view.dimensions:
        table.add_column(DIMENSION_TITLES[dimension], max_width=max(12, (width - 14) // 4), overflow="fold")
    for row in view.vector:
        table.add_row(row.column.label, *(_status(row.cells[d].status, row.cells[d].word) for d in view.dimensions))
    return table


def _dimensions_down(view: View, width: int) -> list[Table]:
    """Configurations side by side, as many as fit, so that no word is broken in a narrow window."""
    fitting = max(1, (width - LABEL_WIDTH) // STATUS_WIDTH)
    tables = []
    for first in range(0, len(view.vector), fitting):
        rows = view.vector[first : first + fitting]
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
        table.add_column("", max_width=LABEL_WIDTH)
        for row in rows:
            table.add_column(row.column.label, overflow="fold")
        for d in view.dimensions:
            table.add_row(DIMENSION_TITLES[d], *(_status(row.cells[d].status, row.cells[d].word) for row in rows))
        tables.append(table)
    return tables


def _reasons(view: View) -> list[Text]:
    """The sentences behind all that did not pass; configurations that share one are named together."""
    if view.serving is not None:
        return [
            Text.assemble(f"{where}, {dimension}: ", _status(status, STATUS_WORDS[status]), f", {sentence}")
            for where, dimension, status, sentence in load_terminal.reasons(view)
        ]
    shared: dict[tuple[str, Cell], list[str]] = {}
    for row in view.vector:
        for dimension in view.dimensions:
            if (cell := row.cells[dimension]).status != "PASS":
                shared.setdefault((dimension, cell), []).append(row.column.key)
    return [
        Text.assemble(
            f"{grouping.places(view, keys)}, {DIMENSION_TITLES[dimension].lower()}: ", _status(cell.status, cell.word), f", {cell.sentence}"
        )
        for (dimension, cell), keys in shared.items()
    ]


def _layers(view: View) -> list[RenderableType]:
    """One line for each layer; configurations that share one are named together."""
    shared: dict[tuple[str, str, str], list[str]] = {}
    for row in view.shown_layers:
        shared.setdefault((row.title, row.state, row.sentence), []).append(row.configuration)
    return [
        hanging(Text.assemble(f"{name}: ", (state, STYLES[state]), f", {grouping.places(view, keys)}: {sentence}"))
        for (name, state, sentence), keys in shared.items()
    ]


def _status(status: str, word: str) -> Text:
    return Text(word, style=STYLES[status])


def _numbers(view: View, width: int) -> list[RenderableType]:
    """The primary metrics; configurations that do not fit side by side continue in a further table."""
    rows = [row for row in view.primary if set(row.cells) != {ALL}]
    whole = [row for row in view.primary if ALL in row.cells]
    per_table = max(1, (width - LABEL_WIDTH) // (CELL_WIDTH + 2))
    chunks = [view.columns[i : i + per_table] for i in range(0, len(view.columns), per_table)]
    parts: list[RenderableType] = [_metric_table(rows, chunk) for chunk in chunks]
    parts += [hanging(Text(f"{row.title}: {row.cells[ALL].full}")) for row in whole]
    return [*parts, *(hanging(Text(note)) for note in _absences(rows, view))]


def _metric_table(rows: list[MetricRow], columns: tuple[Column, ...]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("", max_width=LABEL_WIDTH)
    for column in columns:
        table.add_column(column.label, justify="right")
    for row in rows:
        table.add_row(row.title, *(_value(row.cells.get(column.key)) for column in columns))
    return table


def _value(shown: Shown | None) -> Text:
    if shown is None:
        return Text("–", style="dim")
    if not shown.measured:
        return Text(shown.text, style="dim")
    return Text.assemble(shown.text, "\n", (shown.interval, "dim"))


def _absences(rows: list[MetricRow], view: View) -> list[str]:
    """Why a primary number is missing, once per reason."""
    found: dict[str, list[str]] = {}
    for row in rows:
        for key, shown in row.cells.items():
            if not shown.measured:
                found.setdefault(f"{row.title}, {shown.text}: {shown.note}", []).append(view.label(key))
    everywhere = count(len(view.columns), "configurations")
    return [f"{reason} ({', '.join(where) if len(where) < len(view.columns) else everywhere})" for reason, where in found.items()]


def _gates(view: View) -> Table:
    grid = Table.grid(padding=(0, 2, 0, 0))
    for gate in view.gates:
        grid.add_row(_status(gate.status, gate.word), gate.label, gate.gate, gate.sentence)
    return grid


def _findings(view: View) -> RenderableType:
    if not view.findings:
        return Text("none: every audit passed")
    return Group(
        *(
            hanging(
                Text.assemble(
                    (finding.severity, STYLES[finding.severity]),
                    f" {finding.rule} ({finding.where}): {finding.evidence}. ",
                    ("To do: ", "bold"),
                    f"{finding.remedy}.",
                )
            )
            for finding in view.findings
        )
    )


def _grouped_gates(view: View) -> Table:
    grid = Table.grid(padding=(0, 2, 0, 0))
    for gate in grouping.gates(view):
        told = load_terminal.said(gate.told)
        where = load_terminal.where(gate.told)
        grid.add_row(_status(gate.status, gate.word), gate.gate, f"{where}: {told}" if where else told)
    return grid


def _grouped_findings(view: View) -> RenderableType:
    if not view.findings:
        return Text("none: every audit passed")
    return Group(
        *(
            hanging(
                Text.assemble(
                    (found.severity, STYLES[found.severity]),
                    f" {found.rule}{f' ({where})' if (where := load_terminal.where(found.told)) else ''}: ",
                    f"{load_terminal.said(found.told, len(found.told) if view.serving is None else load_terminal.SHOWN)}. ",
                    ("To do: ", "bold"),
                    f"{found.remedy}.",
                )
            )
            for found in grouping.findings(view)
        )
    )


def _facts(view: View) -> Table:
    return _pairs(view.timing)


def _pairs(facts: Iterable[Fact]) -> Table:
    grid = Table.grid(padding=(0, 2, 0, 0))
    for fact in facts:
        grid.add_row(fact.name, fact.text)
    return grid


def _recommendations(view: View) -> Table:
    grid = Table.grid(padding=(0, 2, 0, 0))
    for _ in range(3):
        grid.add_column(overflow="fold")
    for pick in view.recommendations:
        grid.add_row(Text(pick.goal, style="bold" if pick.goal == "recommended" else ""), pick.label, pick.sentence)
    return grid


def _footer(view: View) -> list[RenderableType]:
    cost = "; ".join(grouping.costs(view))
    name = "Instrument's own cost" if view.serving is None else "Client"
    own = "" if view.timing or view.of_links else f" {name}: {cost}."  # of a timing the floor tells it
    return [
        Text(f"Intervals: {view.confidence} confidence, the launch is the unit.{own}", style="dim"),
        Text(f"Record {view.record}: {view.state}, {view.seal_words}.", style="dim"),
    ]


REPORT = Report(name="terminal", suffix=".txt", summary="the verdict and its numbers as text", render=render)
