"""How is a page shown in a terminal?

The sentence, then every front section, within the window. Words carry every status; colour only repeats them. Without a terminal the text
is plain ASCII. Columns that do not fit continue in a further table, which repeats the row names.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Final

from rich import box
from rich.console import Console, Group, JustifyMethod, RenderableType
from rich.padding import Padding
from rich.rule import Rule
from rich.segment import Segment, Segments
from rich.table import Table as Grid
from rich.text import Text

from fireassay.estimates.format import count
from fireassay.printable import printable
from fireassay.reports.page import (
    Block,
    Bullet,
    Bullets,
    Cell,
    Chart,
    Facts,
    Head,
    Mark,
    Number,
    Page,
    Prose,
    Section,
    Sum,
    Table,
    Tone,
    data_of,
    said,
)
from fireassay.reports.writers.support import one_screen
from fireassay.reports.writers.writer import Writer

WIDTH: Final = 100
GAP: Final = 3  # characters between two columns
NAMES: Final = 24  # width of a row's name, unless a word is longer
TEXTS: Final = 40  # width of other text in a cell
MIN_WIDTH: Final = 20  # minimum width of text
SHOWN: Final = 2  # sentences shown per item; the others are counted
STYLES: Final[dict[Tone, str]] = {
    "good": "green",
    "gain": "bold",
    "bad": "bold red",
    "void": "bold red",
    "open": "yellow",
    "absent": "dim",
    "struck": "strike dim",
    "plain": "",
}
WEIGHTS: Final = {"lead": "bold", "body": "", "quiet": "dim", "code": ""}
_ASCII: Final = {"µ": "u", "−": "-", "–": "-", "—": "-", "≥": ">=", "≤": "<=", "×": "x", "·": "-", "…": "...", "’": "'", "“": '"', "”": '"'}
PLAIN: Final = str.maketrans(_ASCII | {"±": "+-", "→": "->", "─": "-", "━": "-", "█": "#", "░": "."})
LONGER: Final = str.maketrans({sign: text for sign, text in _ASCII.items() if len(text) > 1})  # replaced before lines are broken


def write(page: Page, *, width: int = WIDTH, colour: bool = False, plain: bool = False) -> str:
    """Render the page as text of at most `width` columns; with `colour` for a terminal, else plain ASCII."""
    if page.brief is not None:
        return one_screen.write(page, page.brief, one_screen.Style(width=width, colour=colour, plain=plain))
    sections = page.whole if page.answer is not None else page.of_depth("front")
    return _drawn([*_head(page), *(part for section in sections for part in _section(section, width)), *_foot(page)], width, colour)


def _head(page: Page) -> Iterator[RenderableType]:
    title = f"{page.title}: {page.meaning}" if page.meaning else page.title
    yield Text.assemble((page.mark.word.upper(), STYLES[page.mark.tone] or "bold"), f"  {title}") if page.mark else Text(title)
    yield from (Text(line, style="dim") for line in page.about)
    if page.lead:
        yield from (Text(), Padding(Text(page.lead, style="bold"), (0, 2)))


def _foot(page: Page) -> Iterator[RenderableType]:
    if page.footer:
        yield from (Text(), *(Text(line, style="dim") for line in page.footer))


def _section(section: Section, width: int) -> Iterator[RenderableType]:
    if section.title:
        yield from (Text(), Rule(Text(section.title, style="bold"), align="left", characters="─", style="dim"))
    for index, block in enumerate(section.blocks):
        if index and ((isinstance(block, Table) and block.title) or (isinstance(block, Prose) and block.weight == "lead")):
            yield Text()
        if isinstance(block, Table) and block.title:
            yield Text(block.title, style="bold")
        yield from _block(block, width)


def _block(block: Block, width: int) -> Iterator[RenderableType]:
    match block:
        case Table():
            yield from _table(block.in_text, width)
        case Facts():
            yield _grid([(Text(name), Text(text)) for name, text in block.rows])
        case Bullets():
            yield from map(_hanging, map(_bullet, block.items))
            yield from () if block.items else (Text(block.empty),)
        case Prose(weight="code"):
            yield from (_indented(line) for line in block.text.splitlines())
        case Prose():
            yield Text(block.text.translate(LONGER), style=WEIGHTS[block.weight])
        case Chart():
            for table in data_of(block):
                yield from (Text(), Text(table.title, style="bold"), *_table(table, width))
        case Sum():
            yield from map(Text, one_screen.sum_lines(block, one_screen.Style(width=width, colour=False, plain=False)))


def _indented(line: str) -> RenderableType:
    """A line that keeps its indentation when wrapped."""
    text = line.lstrip()
    return Padding(Text(text), (0, 0, 0, len(line) - len(text)))


def _bullet(item: Bullet) -> Text:
    text = Text()
    if item.mark:
        text.append(f"{item.mark.word} ", STYLES[item.mark.tone])
    name = (
        f"{item.title} ({item.where})" if item.title and item.where and not item.more else item.title or ("" if item.more else item.where)
    )
    if name:
        text.append(name, "bold" if item.title and not item.mark else "").append(": ")
    pairs = ((item.where, item.text), *item.more)
    sentences = [f"{where}: {sentence}" if item.more and where else sentence for where, sentence in pairs[:SHOWN]]
    left = len(pairs) - SHOWN
    text.append("; ".join((*sentences, *([f"and {count(left, 'others')}"] if left > 0 else []))))
    if item.todo:
        text.append(". ").append("To do: ", "bold").append(f"{item.todo}.")
    return text


# ---- tables ----------------------------------------------------------------------------------------------------------


def _table(table: Table, width: int) -> Iterator[RenderableType]:
    rows = [row for row in table.rows if not table.whole(row)]
    texts = [[_text(cell, table) for cell in row] for row in rows]
    sizes = _sizes(table, texts, width)
    if rows:
        for part in _parts(table, sizes, width):
            yield _grid_of(table, texts, sizes, [*range(table.stub), *part], width)
    for row in table.rows:
        if table.whole(row):
            yield _hanging(Text(f"{' '.join(said(cell).text for cell in row[: table.stub])}: {_in_full(row[-1])}"))
    yield from (_hanging(_bullet(item)) for item in table.reasons)
    yield from (_hanging(Text(note)) for note in table.notes)


def _in_full(cell: Cell) -> str:
    return cell.shown.full if isinstance(cell, Number) else said(cell).text


def _text(cell: Cell, table: Table) -> Text:
    words = said(cell)
    style = "bold" if words.strong else STYLES[words.tone] if isinstance(cell, Mark) or words.tone in ("absent", "struck") else ""
    if not words.below:
        return Text(words.text, style=style)
    below = STYLES["struck"] if words.tone == "struck" else "dim"
    return Text.assemble((words.text, style), " " if table.inline else "\n", (words.below, "" if table.inline else below))


def _sizes(table: Table, texts: Sequence[Sequence[Text]], width: int) -> list[int]:
    """Column widths; running text is narrowed if that keeps the columns side by side."""
    sizes = [_size(table, texts, column) for column in range(len(table.heads))]
    texts_only = [column for column in range(len(sizes)) if not table.numeric(column)]
    for _ in range(_wide(range(len(sizes)), sizes) - width - 1):
        widest = max(texts_only, key=lambda column: sizes[column], default=None)
        if widest is None or sizes[widest] <= MIN_WIDTH:
            break
        sizes[widest] -= 1
    return sizes


def _size(table: Table, texts: Sequence[Sequence[Text]], column: int) -> int:
    """A column's natural width: the longest word of its head, and at most a readable width of running text."""
    widest = max((len(line) for row in texts for line in row[column].plain.split("\n")[:2]), default=0)
    longest = max((len(word) for word in f"{table.heads[column].above} {table.heads[column].text}".split()), default=0)
    if column < table.stub:
        words = max((len(word) for row in texts for word in row[column].plain.split()), default=0)
        return max(longest, min(widest, max(NAMES, words)))
    return max(longest, min(widest, max(TEXTS, _widest_number(table, column))))


def _widest_number(table: Table, column: int) -> int:
    cells = (row[column] for row in table.rows if not table.whole(row) and isinstance(row[column], Number))
    return max((len(said(cell).text) + len(said(cell).below) + 1 for cell in cells), default=0)


def _parts(table: Table, sizes: Sequence[int], width: int) -> Iterator[list[int]]:
    """Groups of columns that fit next to the row names; columns under one head stay together if possible."""
    room = width - sum(sizes[column] + GAP for column in range(table.stub)) + 1
    part: list[int] = []
    for _, group in groupby(range(table.stub, len(table.heads)), key=lambda column: table.heads[column].above or column):
        together = list(group)
        for some in (
            [together] if _wide([*part, *together], sizes) <= room or _wide(together, sizes) <= room else [[column] for column in together]
        ):
            if part and _wide([*part, *some], sizes) > room:
                yield part
                part = []
            part = [*part, *some]
    if part or len(table.heads) == table.stub:
        yield part


def _wide(columns: Sequence[int], sizes: Sequence[int]) -> int:
    return sum(sizes[column] + GAP for column in columns)


def _grid_of(table: Table, texts: Sequence[Sequence[Text]], sizes: Sequence[int], columns: Sequence[int], width: int) -> Grid:
    grid = Grid(box=box.SIMPLE_HEAD, pad_edge=False)
    fits = _wide(columns, sizes) <= width + 1  # else break words, not lines
    grown = _grown(table, texts, sizes, columns, width)
    for column in columns:
        side: JustifyMethod = "right" if table.numeric(column) else "left"
        name = _head_text(table.heads[column])
        align = "bottom" if table.inline else "top"
        grid.add_column(name, justify=side, vertical=align, width=grown[column] if fits else None, overflow="fold")  # type: ignore[arg-type]
    for row in texts:
        grid.add_row(*(row[column] for column in columns))
    return grid


def _grown(table: Table, texts: Sequence[Sequence[Text]], sizes: Sequence[int], columns: Sequence[int], width: int) -> dict[int, int]:
    """Give spare width to heads, then to text, that would otherwise wrap."""
    grown = {column: sizes[column] for column in columns}
    spare = width + 1 - _wide(columns, sizes)
    heads = {column: max(map(len, _head_text(table.heads[column]).split("\n"))) for column in columns}
    cells = {column: max((len(line) for row in texts for line in row[column].plain.split("\n")), default=0) for column in columns}
    for widths in (heads, cells):
        for column in columns:
            more = max(0, min(widths[column] - grown[column], spare))
            grown[column] += more
            spare -= more
    return grown


def _head_text(head: Head) -> str:
    return f"{head.above}\n{head.text}" if head.above else head.text


# ---- drawing ---------------------------------------------------------------------------------------------------------


def _grid(rows: Sequence[tuple[Text, ...]]) -> Grid:
    grid = Grid.grid(padding=(0, 2, 0, 0))
    for _ in rows[:1] and rows[0]:
        grid.add_column(overflow="fold")
    for row in rows:
        grid.add_row(*row)
    return grid


def _hanging(text: Text, mark: str = "-") -> Grid:
    """A bullet with hanging indentation."""
    grid = Grid.grid(padding=(0, 1, 0, 0))
    grid.add_column(width=len(mark))
    grid.add_column()
    grid.add_row(mark, text)
    return grid


def _drawn(parts: Sequence[RenderableType], width: int, colour: bool) -> str:
    """Render the parts with rich; no character of a record may control the terminal."""
    console = Console(
        width=width,
        force_terminal=colour,
        color_system="auto" if colour else None,
        no_color=not colour,
        legacy_windows=False,
        highlight=False,
        emoji=False,
        markup=False,
    )
    with console.capture() as capture:
        # rich keeps its colours in the styles of segments: control characters in their text are untrusted
        console.print(Segments(Segment(printable(part.text), part.style) for part in console.render(Group(*parts))))
    lines = "\n".join(line.rstrip() for line in capture.get().splitlines()) + "\n"
    text = re.sub("\n{3,}", "\n\n", lines)
    return text if colour else text.translate(PLAIN).encode("ascii", "replace").decode("ascii")


WRITER = Writer(name="terminal", suffix=".txt", summary="text for a terminal", write=write, streams=True, fit=write)
