"""How does a page go into a LaTeX paper?

The sections meant for papers, else those of the front, as paragraphs and tables; needs no package. All text is untrusted: every character
that TeX interprets is escaped, so that a name that looks like a command stays a name.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from fireassay.reports.page import Block, Bullet, Bullets, Cell, Facts, Page, Prose, Section, Table, one_line
from fireassay.reports.writers.writer import Writer

_ESCAPES: Final = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "{": r"\{",
        "}": r"\}",
        "$": r"\$",
        "&": r"\&",
        "#": r"\#",
        "_": r"\_",
        "%": r"\%",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "<": r"$<$",
        ">": r"$>$",
        "|": r"$|$",
        '"': "''",
        "−": r"$-$",
        "×": r"$\times$",
        "≥": r"$\geq$",
        "≤": r"$\leq$",
        "µ": r"$\mu$",
        "μ": r"$\mu$",
        "–": "--",
        "±": r"$\pm$",
        "∞": r"$\infty$",
        "\n": " ",
        "\r": " ",
        "[": "{[}",
        "]": "{]}",
    }
)


def write(page: Page) -> str:
    """Render the page as a fragment of a paper."""
    sections = page.of_depth("paper")
    head = [f"% {tex(line)}" for line in (page.properties.get("comment", page.title),)]
    lead = [] if sections else [tex(line) for line in (page.lead, *page.about) if line]
    shown = sections or page.of_depth("front")
    footer = [] if sections else [tex(line) for line in page.footer]
    return "\n\n".join([*head, *lead, *(_section(section) for section in shown), *footer]) + "\n"


def tex(text: str) -> str:
    """Escape untrusted text for TeX; characters that plain TeX cannot set become question marks."""
    escaped = (piece.translate(_ESCAPES) for piece in text)
    return "".join(piece if piece.isascii() and (piece.isprintable() or piece == " ") else "?" for piece in escaped)


def _section(section: Section) -> str:
    parts = [part for block in section.blocks for part in _block(block)]
    title = f"\\paragraph{{{tex(section.title)}.}}\n" if section.title else ""
    return title + "\n\n".join(parts)


def _block(block: Block) -> Iterator[str]:
    match block:
        case Prose(weight="code"):
            yield "\\\\\n".join(tex(line) for line in block.text.splitlines())
        case Prose():
            yield "\n".join(tex(line) for line in block.text.split("\n"))
        case Table() if block.rows:
            yield _table(block)
            yield from (tex(note) for note in block.notes)
        case Facts():
            yield _items([f"{name}: {text}" for name, text in block.rows])
        case Bullets():
            yield _items([_bullet(item) for item in block.items]) if block.items else tex(block.empty)


def _items(texts: list[str]) -> str:
    return "\n".join((r"\begin{itemize}", *(rf"\item {tex(text)}" for text in texts), r"\end{itemize}"))


def _bullet(item: Bullet) -> str:
    names = ", ".join(name for name in (item.mark.word if item.mark else "", item.title) if name)
    pairs = "; ".join(f"{where}: {text}" if where else text for where, text in ((item.where, item.text), *item.more))
    todo = f". To do: {item.todo}." if item.todo else ""
    return f"{names}: {pairs}{todo}" if names else f"{pairs}{todo}"


def _table(table: Table) -> str:
    lines = [" & ".join(tex(cell) for cell in row) + r" \\" for row in ([head.full for head in table.heads], *map(_cells, table.rows))]
    caption = [rf"\caption{{{tex(table.title)}}}"] if table.title else []
    stub = max(1, table.stub)
    return "\n".join(
        (
            r"\begin{table}",
            r"\centering\small",
            *caption,
            rf"\begin{{tabular}}{{{'l' * stub}{'r' * (len(table.heads) - stub)}}}",
            r"\hline",
            lines[0],
            r"\hline",
            *lines[1:],
            r"\hline",
            r"\end{tabular}",
            r"\end{table}",
        )
    )


def _cells(row: tuple[Cell, ...]) -> list[str]:
    return [one_line(cell) for cell in row]


WRITER = Writer(name="latex", suffix=".tex", summary="paragraphs and tables for a paper", write=write)
