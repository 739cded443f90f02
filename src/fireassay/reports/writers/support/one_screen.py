"""How does an answer fit one screen of text?

Answer, evidence, tables, plots, one line per dimension, doubts, next, record; in this order, for every kind.  A status is a sign, a word
and a colour together; colour only repeats.  Numbers are never cut: a table too wide loses columns from the right, and says so.
"""

from __future__ import annotations

import re
import textwrap
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, zip_longest
from typing import Final

from fireassay.estimates.estimate import Estimate
from fireassay.estimates.format import count, show
from fireassay.printable import command, printable
from fireassay.reports.page import Answer, Block, Bullets, Cell, Chart, Facts, Line, Mark, Next, Number, Page, Prose, Sum, Table, Tone, said
from fireassay.reports.writers.support import character_plot
from fireassay.reports.writers.support.character_plot import ASCII, UNICODE, Marks
from fireassay.reports.writers.support.rows import SumRow, written_sum

INTERVAL: Final = re.compile(r"\S+ \[[^][]{1,40}\]")  # a number with its interval, on one line
LABEL: Final = 13  # width of a line's label
FILLS: Final = 100  # columns that text fills at most
GAP: Final = "  "
NAME: Final = 26  # characters of a row's name in a line; a longer one is folded
NARROW: Final = 14  # where that leaves a column no room
MAX_TITLE_LENGTH: Final = 24  # of bullets whose texts begin in one column
MAX_BAR: Final = 22
SIGNS: Final[dict[Tone, str]] = {"good": "✓", "gain": "▸", "bad": "✗", "void": "!", "open": "?", "absent": "-", "struck": "-", "plain": " "}
PLAIN_SIGNS: Final[dict[str, str]] = {"✓": "+", "✗": "x", "▸": ">", "█": "#"}
ANSI: Final[dict[str, str]] = {"green": "32", "red": "31", "yellow": "33", "bold": "1", "dim": "2"}
COLOURS: Final[dict[Tone, str]] = {"good": "green", "gain": "bold", "bad": "red", "void": "red", "open": "yellow", "absent": "dim"}
UNIT: Final = re.compile(r"(?<=\d) (?=(?:%|ms|s|µs|us)(?![\w]))")  # the blank before the unit of a number
_TYPED: Final = str.maketrans({"−": "-", "–": "-"})  # numbers can be pasted
_ASCII: Final = str.maketrans(
    {"µ": "u", "—": "-", "≥": ">=", "≤": "<=", "×": "x", "·": "-", "…": "...", "’": "'", "“": '"', "”": '"', "±": "+-", "→": "->"}
)


@dataclass(frozen=True, kw_only=True)
class Style:
    """How text is written: its width, and whether with colour and with characters beyond ASCII."""

    width: int
    colour: bool
    plain: bool

    @property
    def fills(self) -> int:
        """The width of running text."""
        return min(self.width, FILLS)

    @property
    def marks(self) -> Marks:
        """The characters of plots."""
        return ASCII if self.plain else UNICODE

    def paint(self, text: str, colour: str) -> str:
        """The text in a colour, if there is one."""
        return f"\x1b[{ANSI[colour]}m{text}\x1b[0m" if self.colour and colour and text.strip() else text

    def sign(self, mark: Mark | None) -> str:
        """A mark's sign, in its colour."""
        sign = " " if mark is None else mark.sign or SIGNS[mark.tone]
        return self.paint(PLAIN_SIGNS.get(sign, sign) if self.plain else sign, COLOURS.get(mark.tone, "") if mark else "")


def write(page: Page, answer: Answer, style: Style) -> str:
    """The answer of a page and its brief sections as text."""
    parts = [list(_head(page, answer, style))]
    parts += [list(_block(block, style)) for section in page.of_role("answer") for block in section.blocks]
    parts.append(list(_foot(answer, style)))
    drawn = [part for part in parts if part]
    return "\n\n".join("\n".join(line.rstrip() for line in part) for part in drawn) + "\n"


def clean(text: str, style: Style) -> str:
    """Untrusted text in one line that can neither control the terminal nor, if plain, leave ASCII."""
    safe = printable(" ".join(text.split())).translate(_TYPED)
    return safe.translate(_ASCII).encode("ascii", "replace").decode("ascii") if style.plain else safe


def wide(text: str) -> int:
    """The columns that a text takes in a terminal: two for a wide character, none for a combining one."""
    if text.isascii():
        return len(text)
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 0 if unicodedata.combining(c) else 1 for c in text)


# ---- the answer ------------------------------------------------------------------------------------------------------


def _head(page: Page, answer: Answer, style: Style) -> Iterator[str]:
    word = clean(answer.mark.word.upper(), style)
    colour = COLOURS.get(answer.mark.tone, "")
    title = clean(page.title, style)
    first = f"{title}: {clean(answer.headline, style)}" if title else clean(answer.headline, style)
    indent = " " * min(6, len(word) + 2)
    lines = _folded(first, style.fills - len(word) - 2) or [""]
    yield f"{style.paint(word, colour)}  {lines[0]}"
    yield from _wrapped(" ".join(lines[1:]), style, indent)
    yield from _wrapped(clean(answer.evidence, style), style, indent)


def _wrapped(text: str, style: Style, indent: str) -> list[str]:
    return _folded(text, style.fills, indent, indent)


def _folded(text: str, width: int, first: str = "", rest: str = "") -> list[str]:
    """The text in lines, none of which begins with the unit or the interval of a number; `first` and `rest` indent them."""
    kept = INTERVAL.sub(lambda found: found.group().replace(" ", "\xa0"), UNIT.sub("\xa0", text))
    lines = textwrap.wrap(kept, width, initial_indent=first, subsequent_indent=rest, break_on_hyphens=False)
    return [line.replace("\xa0", " ") for line in lines]


def _foot(answer: Answer, style: Style) -> Iterator[str]:
    for line in answer.lines:
        yield from _line(line, style)
    for step in answer.next:
        yield from _next(step, style)
    if answer.record:
        yield from (style.paint(text, "dim") for text in _labelled(answer.source, clean(answer.record, style), style))


def _line(line: Line, style: Style) -> Iterator[str]:
    sign = f"{style.sign(line.mark)} " if line.mark else ""
    room = 2 if line.mark else 0
    first, *rest = _labelled(line.label, clean(line.text, style), style, room)
    yield f"{first[:LABEL]}{sign}{first[LABEL + room :]}"
    yield from rest


def _labelled(label: str, text: str, style: Style, room: int = 0) -> list[str]:
    head = clean(label, style).ljust(LABEL)
    indent = " " * LABEL
    blank = " " * room
    return _folded(text, style.fills, head + blank, indent + blank) or [head]


def _next(step: Next, style: Style) -> Iterator[str]:
    reason = clean(step.reason, style).rstrip(".:")
    yield from _labelled("next", f"{reason}:" if step.command else reason, style)
    if step.command:  # on lines of its own, to be copied
        yield from (style.paint(line, "bold") for line in command(f"  {clean(step.command, style)}", style.width).split("\n"))


# ---- tables ----------------------------------------------------------------------------------------------------------


def _block(block: Block, style: Style) -> Iterator[str]:
    match block:
        case Table():
            yield from _table(block, style)
        case Chart():
            yield from _plot(block, style)
        case Sum():
            yield from sum_lines(block, style)
        case Prose():
            yield from _wrapped(clean(block.text, style), style, "")
        case Facts():
            for name, text in block.rows:
                yield from _labelled(name, clean(text, style), style)
        case Bullets():
            yield from _bullets(block, style)
        case _:
            pass  # raw tables are for a workbook


def _bullets(block: Bullets, style: Style) -> Iterator[str]:
    """Sign, title, text; texts begin in one column if the titles are short."""
    titles = [clean(item.title, style) for item in block.items]
    named = max(map(wide, titles), default=0)
    for item, title in zip(block.items, titles, strict=True):
        text = clean(item.text, style)
        aligned = bool(title) and named <= MAX_TITLE_LENGTH
        begin = f"{GAP}{_padded(title, named) if aligned else title}{GAP if title else ''}"
        indent = " " * wide(begin) if aligned else GAP
        lines = _folded(text, style.fills, begin, indent) or [begin]
        yield f"{style.sign(item.mark)} {lines[0].removeprefix(GAP)}"
        yield from lines[1:]


@dataclass(frozen=True, kw_only=True)
class Column:
    """A column ready to print: its head, and the cells of its rows, all of one width; marks are signs."""

    head: str
    cells: tuple[str, ...]

    @property
    def width(self) -> int:
        """Characters."""
        return max([wide(self.head), *(wide(line) for cell in self.cells for line in cell.split("\n"))])


def _table(table: Table, style: Style) -> Iterator[str]:
    rows = [row for row in table.rows if not table.whole(row)]
    marks = tuple(row[0] if isinstance(row[0], Mark) else None for row in rows) if rows else ()
    signed = bool(rows) and not table.heads[0].full and any(mark is not None for mark in marks)
    room = style.width - (2 if signed else 0)
    columns = _columns(table, rows, style, int(signed), NAME)
    if len(_fitting(columns, room)) < len(columns):  # narrower names before fewer digits
        columns = _columns(table, rows, style, int(signed), NARROW)
    if len(_fitting(columns, room)) < len(columns):  # fewer digits before fewer columns
        columns = _columns(table, [tuple(map(_briefer, row)) for row in rows], style, int(signed), NARROW)
    kept = _whole(table, _fitting(columns, room), int(signed))
    if table.title:
        yield from _wrapped(clean(table.title, style), style, "")
    before = "  " if signed else ""
    if any(head.above for head in table.heads):
        yield _joined(before, _above(table, kept, style, int(signed)))
    yield _joined(before, [column.head.ljust(column.width) for column in kept])
    for index, mark in enumerate(marks):
        first, *more = zip_longest(*(column.cells[index].split("\n") for column in kept), fillvalue="")
        line = GAP.join(_padded(text, column.width) for text, column in zip(first, kept, strict=True))
        recommended = mark is not None and mark.tone == "gain"
        yield f"{style.sign(mark)} {style.paint(line, 'bold') if recommended else line}" if signed else line
        for texts in more:  # of a name that is folded
            yield _joined(before, [_padded(text, column.width) for text, column in zip(texts, kept, strict=True)])
    for row in table.rows:
        if table.whole(row):
            yield from _wrapped(clean(f"{said(row[0]).text}: {said(row[-1]).text}", style), style, "")
    if len(kept) < len(columns):
        yield f"  ({count(len(columns) - len(kept), 'more columns')} in a wider window)"
    yield from (line for note in table.notes for line in _wrapped(clean(note, style), style, "  "))


def _columns(table: Table, rows: Sequence[tuple[Cell, ...]], style: Style, first: int, most: int) -> list[Column]:
    """Ready to print; names of rows are folded to so many characters."""
    columns = [_column(table, index, [row[index] for row in rows], style) for index in range(first, len(table.heads))]
    for at, column in enumerate(columns[: max(0, table.stub - first)]):
        columns[at] = replace(column, cells=tuple("\n".join(folded(cell, most)) for cell in column.cells))
    for span in _spans(table, first):  # a head above others widens the last of them if it needs room
        missing = wide(clean(table.heads[first + span[0]].above, style)) - _width(columns[span[0] : span[-1] + 1])
        last = columns[span[-1]]
        if missing > 0:
            columns[span[-1]] = replace(last, head=_padded(last.head, last.width + missing))
    return columns


def _spans(table: Table, first: int) -> list[list[int]]:
    """Neighbouring columns with the same head above them."""
    heads = list(enumerate(table.heads[first:]))
    return [[index for index, _ in members] for _, members in groupby(heads, key=lambda pair: pair[1].above)]


def _width(columns: Sequence[Column]) -> int:
    return sum(column.width + len(GAP) for column in columns) - len(GAP)


def _above(table: Table, columns: Sequence[Column], style: Style, first: int) -> Iterator[str]:
    """The heads above the heads, each as wide as the columns that it spans."""
    for span in _spans(table, first):
        if members := columns[span[0] : span[-1] + 1]:
            yield _padded(clean(table.heads[first + span[0]].above, style), _width(members))


def folded(name: str, most: int) -> list[str]:
    """A name in lines of at most so many characters, which end behind a separator where there is one."""
    lines = [""]
    for part in (piece for word in re.findall(r"[^-_/.:,@ ]*[-_/.:,@ ]*", name) for piece in _pieces(word, most)):
        if lines[-1] and wide((lines[-1] + part).rstrip()) > most:
            lines.append("")
        lines[-1] += part
    return [line.rstrip() for line in lines] if wide(name) > most else [name]


def _pieces(word: str, most: int) -> list[str]:
    return [word[at : at + most] for at in range(0, len(word), most)]


def _briefer(cell: Cell) -> Cell:
    """A number with a digit less; a change keeps its sign."""
    if not isinstance(cell, Number) or not isinstance(cell.value, Estimate):
        return cell
    shown = show(cell.value, cell.shown.scale, brief=True)
    return replace(cell, shown=replace(shown, text=f"+{shown.text}") if cell.shown.text.startswith("+") else shown)


def _joined(before: str, texts: Iterable[str]) -> str:
    return f"{before}{GAP.join(texts)}".rstrip()


def _padded(text: str, width: int) -> str:
    return text + " " * (width - wide(text))


def _fitting(columns: Sequence[Column], width: int) -> list[Column]:
    """The columns that fit, from the left; at least two."""
    kept: list[Column] = []
    for column in columns:
        used = sum(other.width + len(GAP) for other in kept)
        if len(kept) >= 2 and used + column.width > width:
            break
        kept.append(column)
    return kept


def _whole(table: Table, kept: list[Column], first: int) -> list[Column]:
    """Without a last span of which a part is missing: half of a comparison is none."""
    cut = next((span[0] for span in _spans(table, first) if span[0] < len(kept) <= span[-1]), 0)
    return kept[:cut] if cut and table.heads[first + cut].above else kept


def _column(table: Table, index: int, cells: Sequence[Cell], style: Style) -> Column:
    """Values are aligned at their ends, intervals follow them; names of rows and counts are aligned to the right if they are numbers."""
    pairs = [_pair(cell, style) for cell in cells]
    head = clean(table.heads[index].text, style)
    if not table.numeric(index) and not any(isinstance(cell, (Number, int, float)) for cell in cells):
        return Column(head=head, cells=tuple(text for text, _ in pairs))
    widest = max((wide(text) for text, interval in pairs if interval or _short(text, head)), default=0)
    bare = all(not interval for _, interval in pairs)
    if bare:
        widest = max([widest, wide(head) if index < table.stub + 1 else 0, *(wide(text) for text, _ in pairs)])
        head = head.rjust(widest)
    return Column(head=head, cells=tuple(f"{' ' * max(0, widest - wide(text))}{text} {interval}".rstrip() for text, interval in pairs))


def _short(text: str, head: str) -> bool:
    return len(text) <= max(6, len(head))


def _pair(cell: Cell, style: Style) -> tuple[str, str]:
    """A cell's value, and its interval or what stands instead."""
    if isinstance(cell, Mark):
        sign = style.sign(Mark(word=cell.word, tone=cell.tone, sign=cell.sign)) if not style.colour else SIGNS[cell.tone]
        return f"{sign} {clean(cell.word, style)}".strip(), ""
    words = said(cell)
    if isinstance(cell, Number) and isinstance(cell.value, Estimate):
        interval = words.below.partition("\n")[0] if cell.interval else ""
        return clean(words.text, style), clean(_in_words(interval), style)
    text = "-" if isinstance(cell, Number) or cell is None else f"{words.text} {words.below}".strip()
    return clean(text, style), ""


def _in_words(interval: str) -> str:
    """An interval as printed, or in brackets why there is none; a count is exact and bare."""
    if interval.startswith("["):
        return interval
    return {"exact": "", "no interval: one launch": "(1 launch)"}.get(interval, f"({interval})" if interval else "")


# ---- plots and sums --------------------------------------------------------------------------------------------------


def _plot(plot: Chart, style: Style) -> Iterator[str]:
    known = [(row, ends) for row in plot.rows if (ends := _ends(row.number)) is not None]
    if not known:
        return
    names = [clean(row.name, style) for row, _ in known]
    percent = plot.title.endswith(", %")
    pairs = [(text.removesuffix(" %") if percent else text, interval) for text, interval in (_pair(row.number, style) for row, _ in known)]
    stub, title = clean(plot.stub, style), clean(plot.title, style)
    lines = [folded(name, NAME) for name in names]
    named = max([wide(stub), *(wide(line) for some in lines for line in some)])
    value = max(wide(text) for text, _ in pairs)
    numbers = [f"{' ' * (value - wide(text))}{text} {interval}".rstrip() for text, interval in pairs]
    told = max([wide(title), *map(wide, numbers)])
    factor = known[0][0].number.shown.scale.factor
    words = {round(edge.value * factor, 12): edge.text for edge in plot.edges}
    edges = tuple(sorted(words))
    left = 2 + named + len(GAP) + told + len(GAP)
    axis = character_plot.axis([ends for _, ends in known], edges, style.fills - left)
    above = character_plot.ticks(axis, words, style.marks, style.fills - left) if axis else ""
    counts = all(name.isdecimal() for name in names)
    yield f"  {stub.rjust(named) if counts else stub.ljust(named)}{GAP}{_padded(title, told)}{GAP}{above}".rstrip()
    for (row, ends), (name, *more), text in zip(known, lines, numbers, strict=True):
        drawn = (
            style.paint(character_plot.draw(axis, *ends, style.marks), COLOURS.get(row.mark.tone, "") if row.mark else "") if axis else ""
        )
        blank = " " * (named - wide(name))
        yield f"{style.sign(row.mark)} {f'{blank}{name}' if counts else f'{name}{blank}'}{GAP}{_padded(text, told)}{GAP}{drawn}".rstrip()
        yield from (f"  {line}" for line in more)


def _ends(number: Number) -> tuple[float, float, float] | None:
    """Value and ends in the unit that is shown."""
    value = number.value
    if not isinstance(value, Estimate):
        return None
    factor = number.shown.scale.factor
    return value.value * factor, value.low * factor, value.high * factor


def sum_lines(block: Sum, style: Style) -> Iterator[str]:
    """The parts, which add up as printed, each with a bar."""
    every = written_sum(block).parts
    rows = [row for row in every if row.number.strip("0.") or row is every[-1]]  # what prints as 0 adds nothing
    yield from _wrapped(clean(block.title, style), style, "")
    if not rows:
        return
    named = max(wide(clean(row.text, style)) for row in rows)
    number = max(len(row.number) for row in rows)
    interval = max(len(row.interval) for row in rows)
    used = 2 + named + len(GAP) + number + 1 + interval + len(GAP)
    unit = _bar_unit(rows, min(MAX_BAR, style.fills - used))
    for row in rows:
        name = _padded(clean(row.text, style), named)
        full, hollow = ("#", ".") if style.plain else ("█", "░")  # hollow: the interval contains zero
        bar = (full if row.sure else hollow) * max(0, round(row.size / unit)) if unit else ""
        told = clean(f"{row.number.rjust(number)} {row.interval}", style).ljust(number + 1 + interval)
        yield f"  {name}{GAP}{told}{GAP}{bar}".rstrip()
    yield from (line for note in block.notes for line in _wrapped(clean(note, style), style, GAP))


def _bar_unit(rows: Sequence[SumRow], room: int) -> float:
    largest = max((row.size for row in rows), default=0.0)
    if largest <= 0.0 or room < 3:
        return 0.0
    return next(step for step in character_plot.round_steps(largest / room))
