"""How does a page go into a LaTeX paper?

The sections meant for papers, else those of the front, as paragraphs and tables that fit a column of a two-column paper. Needs the
packages booktabs and siunitx, and pgfplots where a chart is drawn. All text is untrusted and escaped.
"""

from __future__ import annotations

from collections.abc import Iterator

from fireassay.reports.page import Block, Bullet, Bullets, Chart, Facts, Page, Prose, Section, Table
from fireassay.reports.writers.support import pgfplots
from fireassay.reports.writers.support.latex_table import breakable, table, tex
from fireassay.reports.writers.writer import Writer


def write(page: Page) -> str:
    """Render the page as a fragment of a paper."""
    sections = page.of_role("publication")
    charts = [block for section in page.of_role("exhibit") for block in section.blocks if isinstance(block, Chart)] if not sections else []
    lead = [] if sections else [breakable(line) for line in (page.lead, *page.about) if line]
    shown = sections or page.of_depth("front")
    footer = [] if sections else [breakable(line) for line in page.footer]
    drawn = [pgfplots.figure(chart) for chart in charts if pgfplots.drawable(chart)]
    parts = [*lead, *drawn, *(text for section in shown if (text := _section(section))), *footer]
    packages = f"booktabs,siunitx{',pgfplots' if any(pgfplots.BEGIN in part for part in parts) else ''}"
    head = f"% {tex(page.properties.get('comment', page.title))}\n% needs \\usepackage{{{packages}}}"
    body = (r"\begingroup\emergencystretch=3em", *parts, r"\par\endgroup")
    return "\n\n".join((head, *body)) + "\n"


def _section(section: Section) -> str:
    parts = [part for block in section.blocks for part in _block(block)]
    if not any(parts):
        return ""
    title = f"\\paragraph{{{tex(section.title)}.}}\n" if section.title else ""
    return title + "\n\n".join(parts)


def _block(block: Block) -> Iterator[str]:
    match block:
        case Prose(weight="code"):
            yield "\\\\\n".join(breakable(line) for line in block.text.splitlines())
        case Prose():
            yield "\n".join(breakable(line) for line in block.text.split("\n"))
        case Table() if block.rows:
            yield table(block)
            yield from (breakable(note) for note in block.notes)
        case Chart() if pgfplots.drawable(block):
            yield pgfplots.figure(block)
        case Facts():
            yield _items([f"{name}: {text}" for name, text in block.rows])
        case Bullets():
            yield _items([_bullet(item) for item in block.items]) if block.items else breakable(block.empty)


def _items(texts: list[str]) -> str:
    return "\n".join((r"\begin{itemize}", *(rf"\item {breakable(text)}" for text in texts), r"\end{itemize}"))


def _bullet(item: Bullet) -> str:
    names = ", ".join(name for name in (item.mark.word if item.mark else "", item.title) if name)
    pairs = "; ".join(f"{where}: {text}" if where else text for where, text in ((item.where, item.text), *item.more))
    todo = f". To do: {item.todo}." if item.todo else ""
    return f"{names}: {pairs}{todo}" if names else f"{pairs}{todo}"


WRITER = Writer(
    name="latex", suffix=".tex", summary="paragraphs and tables for a column of a paper, with booktabs and siunitx", write=write
)
