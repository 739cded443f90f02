"""How does a page go into an issue, a pull request or a wiki?

As GitHub-flavoured Markdown; all untrusted text is escaped.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from fireassay.printable import printable
from fireassay.reports.page import Block, Bullet, Bullets, Cell, Chart, Facts, Mark, Number, Page, Prose, Section, Table, one_line, said
from fireassay.reports.writers.writer import Writer

_SPECIAL = str.maketrans({mark: f"\\{mark}" for mark in "\\`*_[]<>|#~"} | {"\n": " ", "\r": " ", "&": "&amp;"})


def write(page: Page) -> str:
    """Render the page up to its details."""
    sections = page.of_depth("front", "detail") or page.of_depth("paper")
    parts = [*_head(page), *(part for section in sections for part in _section(section)), *(plain(line) for line in page.footer)]
    return "\n\n".join(parts) + "\n"


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
        case Prose(weight="code"):
            yield "```text\n" + printable(block.text).replace("`", "'") + "\n```"
        case Prose(weight="lead"):
            yield f"**{plain(block.text)}**"
        case Prose():
            yield plain(block.text)
        case Chart():
            pass  # the tables hold the same data


def _table(table: Table) -> Iterator[str]:
    if table.title:
        yield f"### {plain(table.title)}"
    if table.rows:
        yield grid([plain(head.full) for head in table.heads], (_row(row, table) for row in table.rows))
    if table.notes:
        yield "\n".join(f"* {plain(note)}" for note in table.notes)


def _row(row: tuple[Cell, ...], table: Table) -> list[str]:
    cells = [_cell(cell, table) for cell in row]
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


WRITER = Writer(name="markdown", suffix=".md", summary="tables for an issue, a pull request or a wiki", write=write, streams=True)
