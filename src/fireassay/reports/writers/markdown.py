"""How does a page go into an issue, a pull request or a wiki?

As GitHub-flavoured Markdown; all untrusted text is escaped. A comment answers in at most `LINES` lines, `full` shows everything: the
answer of the page with its evidence, or, if a page has none, its front as far as it goes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from fireassay.estimates.format import given
from fireassay.estimates.rounding import limit
from fireassay.printable import printable
from fireassay.reports.page import (
    Answer,
    Block,
    Bullet,
    Bullets,
    Cell,
    Chart,
    Facts,
    Mark,
    Number,
    Page,
    Prose,
    Section,
    Sum,
    Table,
    data_of,
    one_line,
    said,
)
from fireassay.reports.writers.support.one_screen import SIGNS
from fireassay.reports.writers.support.rows import written_sum
from fireassay.reports.writers.writer import Writer

LINES: Final = 60  # of a comment
_SPECIAL = str.maketrans({mark: f"\\{mark}" for mark in "\\`*_[]<>|#~"} | {"\n": " ", "\r": " ", "&": "&amp;"})


def write(page: Page) -> str:
    """Render the answer of the page, or the whole page if it is `full` or fits."""
    if page.brief is not None:
        return _text(_shortened([*_answer(page, page.brief)], []))
    head, footer = [*_head(page)], [plain(line) for line in page.footer]
    sections = (page.whole if page.answer is not None else page.of_depth("front", "detail")) or page.of_role("publication")
    body = [(section, [*_section(section)]) for section in sections]
    whole = [*head, *(part for _, parts in body for part in parts)]
    if page.full or page.mark is None or _lines([*whole, *footer]) <= LINES:
        return _text([*whole, *footer])
    front = [*head, *(part for section, parts in body if section.role == "report" and section.depth == "front" for part in parts)]
    return _text(_shortened(front, footer, left=_lines(whole) - _lines(front)))


def _text(parts: Iterable[str]) -> str:
    return "\n\n".join(parts) + "\n"


def _lines(parts: Sequence[str]) -> int:
    """The lines of a text of these parts."""
    return sum(part.count("\n") + 2 for part in parts) - 1 if parts else 0


def _shortened(parts: Sequence[str], footer: Sequence[str], left: int = 0) -> list[str]:
    """As many parts as fit, the last one cut if it is a table or a list; what is left out is counted, and `left` that was before."""
    if _lines([*parts, *footer]) <= LINES and not left:
        return [*parts, *footer]
    kept: list[str] = []
    for part in parts:
        if (room := LINES - _lines([*kept, "", "", *footer])) < _lines([part]):
            kept += [cut] if (cut := _cut(part, room)) else []
            break
        kept.append(part)
    while kept and kept[-1].startswith("#") and len(kept) > 1:
        kept.pop()  # a heading of nothing
    return [*kept, f"*{_lines(parts) - _lines(kept) + left} more lines with `--full`.*", *footer]


def _cut(part: str, room: int) -> str:
    """The head and the first rows of a table or the first items of a list; nothing of other parts."""
    lines = part.split("\n")
    whole = 3 if part.startswith("| ") else 1
    divisible = part.startswith(("| ", "- ", "* "))
    return "\n".join(lines[:room]) if divisible and room >= whole else ""


# ---- the answer ------------------------------------------------------------------------------------------------------


def _answer(page: Page, answer: Answer) -> Iterator[str]:
    """Status and advice, evidence, tables, a line per dimension, what to do next, the record."""
    title = f"{plain(page.title)}: " if page.title else ""
    yield f"### {_sign(answer.mark)}{plain(answer.mark.word.upper())} {title}{plain(answer.headline)}"
    if answer.evidence:
        yield plain(answer.evidence)
    for section in page.of_role("answer"):
        yield from _section(section)
    if answer.lines:
        yield "\n".join(f"- **{plain(line.label)}** {_sign(line.mark)}{plain(line.text)}" for line in answer.lines)
    for step in answer.next:
        yield f"**Next:** {plain(step.reason.rstrip('.:'))}{':' if step.command else '.'}"
        if step.command:
            yield _code(step.command, "sh")
    if answer.record:
        yield f"*{plain(answer.record)}*"


def _sign(mark: Mark | None) -> str:
    sign = "" if mark is None else mark.sign or SIGNS[mark.tone]
    return f"{plain(sign)} " if sign.strip() else ""


def _plot(chart: Chart) -> str:
    """The intervals as a table, with their edges in the head."""
    factor, rows = chart.rows[0].number.shown.scale.factor, chart.rows
    edges = "".join(f"; {edge.text} {given(limit(edge.value * factor))}" for edge in chart.edges if edge.text)
    unit = " %" if chart.title.endswith(", %") else ""
    lines = ((_sign(row.mark).strip(), plain(row.name), plain(_bare(row.number, unit))) for row in rows)
    return grid(("", plain(chart.stub), plain(f"{chart.title}{edges}")), lines)


def _bare(number: Number, unit: str) -> str:
    """A number with its interval, without the unit that is in the head."""
    words = said(replace(number, bare=True))
    return f"{words.text.removesuffix(unit)} {words.below}".strip()


def _sum(block: Sum) -> Iterator[str]:
    """The parts, which add up as printed."""
    rows = written_sum(block).parts
    yield f"**{plain(block.title)}**"
    if rows:
        unit = plain(block.unit)
        yield grid(("part", unit, "interval"), ((plain(row.text), plain(row.number), plain(row.interval)) for row in rows))
    yield from (plain(note) for note in block.notes)


def plain(text: str) -> str:
    """Escape untrusted text for Markdown, HTML and terminals."""
    return printable(text.translate(_SPECIAL))


def _head(page: Page) -> Iterator[str]:
    if page.title:
        word = f": {plain(page.mark.word.upper())}" if page.mark else ""
        yield f"# {plain(page.title)}{word}"
    if page.lead:
        yield f"> {plain(page.lead)}"
    yield from (plain(line) for line in page.about)


def _section(section: Section) -> Iterator[str]:
    if section.title:
        yield f"## {plain(section.title)}"
    if section.question:
        yield plain(section.question)
    for block in section.blocks:
        yield from _block(block)


def _block(block: Block) -> Iterator[str]:
    match block:
        case Table():
            yield from _table(block)
        case Facts():
            yield grid(("What", "Value"), ((plain(name), plain(text)) for name, text in block.rows))
        case Bullets():
            yield "\n".join(_bullet(item) for item in block.items) or plain(block.empty)
        case Chart() if block.rows:
            yield _plot(block)
        case Sum():
            yield from _sum(block)
        case Prose(weight="code"):
            yield _code(block.text, "text")
        case Prose(weight="lead"):
            yield f"**{plain(block.text)}**"
        case Prose():
            yield plain(block.text)
        case Chart():
            yield from (part for table in data_of(block) for part in _table(table))


def _code(text: str, language: str) -> str:
    return f"```{language}\n{printable(text).replace('`', chr(39))}\n```"


def _table(table: Table) -> Iterator[str]:
    table = table.in_text
    if table.title:
        yield f"### {plain(table.title)}"
    if table.rows:
        yield grid([plain(head.full) for head in table.heads], (_row(row, table) for row in table.rows))
    if table.notes:
        yield "\n".join(f"* {plain(note)}" for note in table.notes)


def _row(row: tuple[Cell, ...], table: Table) -> list[str]:
    cells = [
        _sign(cell).strip() if isinstance(cell, Mark) and not head.full else _cell(cell, table)
        for head, cell in zip(table.heads, row, strict=False)
    ]
    if table.whole(row):
        cells[-1] += ", whole experiment" if isinstance(row[-1], Number) else ""
    return cells + [""] * (len(table.heads) - len(cells))


def _cell(cell: Cell, table: Table) -> str:
    if isinstance(cell, Mark):
        why = f": {plain(cell.why)}" if table.explained and cell.why else ""
        return f"{plain(cell.word.upper() if table.explained else cell.word)}{why}"
    words, text = said(cell), plain(one_line(cell))
    if words.tone == "struck" and text:
        return f"~~{text}~~"
    return f"**{text}**" if words.strong and text else text


def _bullet(item: Bullet) -> str:
    mark = f"**{plain(item.mark.word)}** " if item.mark else ""
    name = f"**{plain(item.title)}** " if item.title else ""
    todo = f" To do: {plain(item.todo)}." if item.todo else ""
    if item.more:
        lines = (f"  - {plain(where)}: {plain(text)}" for where, text in ((item.where, item.text), *item.more))
        return "\n".join((f"- {mark}{name}{todo}".rstrip(), *lines))
    where = f"({plain(item.where)}) " if item.where and item.title else f"{plain(item.where)}: " if item.where else ""
    return f"- {mark}{name}{where}{plain(item.text)}{'.' if item.todo else ''}{todo}"


def grid(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of cells that are already escaped."""
    lines = ["| " + " | ".join(row) + " |" for row in (head, *rows)]
    return "\n".join([lines[0], "|" + "---|" * len(head), *lines[1:]])


WRITER = Writer(
    name="markdown",
    suffix=".md",
    summary="an answer of at most 60 lines for a pull request or an issue, everything with --full",
    write=write,
    streams=True,
)
