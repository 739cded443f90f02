"""Which cells does a table of text hold, be it CSV, TSV, semicolons or Markdown?

The separator is the one that gives the most known headings, then the most cells.  Lines that begin with # are comments; text
around a Markdown table is ignored, and so are its asterisks, links and notes.  A table with worker counts along the top is
transposed.  Rows are numbered as in a spreadsheet or editor, including the header.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from fireassay.errors import refuse
from fireassay.spec.tables.headings import heading
from fireassay.spec.tables.numbers import PLAIN

SEPARATORS: Final = (",", "\t", ";", "|")
MOST_REMARKS: Final = 100  # comment lines before the header
_RULE: Final = re.compile(r"^\s*\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)+\|?\s*$")
_MARKUP: Final = re.compile(r"\*\*|`|<br\s*/?>|<su[bp]>.*?</su[bp]>|</?[bi]>|\[\^\w+\]", re.IGNORECASE)
_LINK: Final = re.compile(r"\[([^\]]*)\]\([^)]*\)")

Cells = tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Table:
    """A header and rows of text, each with its number."""

    header: Cells
    rows: tuple[tuple[int, Cells], ...]
    separator: str


def read_table(text: str, source: str) -> Table | None:
    """The table in a text; None without any row. Raises SpecError if it cannot be split into cells."""
    lines = text.splitlines()
    rules = [index for index, line in enumerate(lines) if _RULE.match(line)]
    if rules:
        return _markdown(lines, rules, source)
    numbered, separator = _delimited(text, source)
    if not numbered:
        return None
    (_, header), *rows = numbered
    return _upright(Table(header=header, rows=tuple(rows), separator=separator))


def _markdown(lines: Sequence[str], rules: Sequence[int], source: str) -> Table:
    """The only table of a page: the line above the rule and those with bars below it."""
    if len(rules) > 1:
        where = ", ".join(str(index) for index in rules)
        raise refuse(f"lines {where}", f"{len(rules)} tables", "one table", "Keep one of them in the file.", source=source)
    rule, rows = rules[0], list[tuple[int, Cells]]()
    if rule == 0:
        raise refuse("line 1", "a rule of dashes", "a header above it", source=source)
    for index in range(rule + 1, len(lines)):
        if "|" not in lines[index]:
            break
        rows.append((index + 1, _bars(lines[index])))
    return _upright(Table(header=_bars(lines[rule - 1]), rows=tuple(row for row in rows if any(row[1])), separator="|"))


def _bars(line: str) -> Cells:
    inner = re.sub(r"^\s*\||(?<!\\)\|\s*$", "", line.rstrip())
    return tuple(plain(cell.replace("\\|", "|")) for cell in re.split(r"(?<!\\)\|", inner))


def plain(cell: str) -> str:
    """A cell without its formatting."""
    return _MARKUP.sub("", _LINK.sub(r"\1", cell)).strip()


def _delimited(text: str, source: str) -> tuple[list[tuple[int, Cells]], str]:
    lines = [line for line in text.splitlines() if line.strip()][:MOST_REMARKS]
    first = next(
        (line for line in lines if not line.lstrip().startswith("#") or max(_worth(line, sign) for sign in SEPARATORS) >= (1, 2)), ""
    )
    separator = max(SEPARATORS, key=lambda sign: _worth(first, sign))
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    rows: list[tuple[int, Cells]] = []
    try:
        for number, cells in enumerate(reader, start=1):
            if any(cell.strip() for cell in cells) and not _remark(cells, headed=bool(rows)):
                rows.append((number, tuple(cells)))
    except csv.Error as error:
        remedy = f"{str(error).capitalize()}: look for a quotation mark without its other half."
        raise refuse(f"row {len(rows) + 1} or later", "broken CSV", "CSV", remedy, source=source) from None
    return rows, separator


def _remark(cells: Sequence[str], *, headed: bool) -> bool:
    """A line that begins with #, except the heading "# GPUs"."""
    first = cells[0].lstrip()
    return first.startswith("#") and (headed or len(cells) < 2 or heading(first) is None)


def _worth(line: str, separator: str) -> tuple[int, int]:
    """(known headings, cells) of a line split by this separator."""
    try:
        cells = next(csv.reader([line], delimiter=separator), [])
    except csv.Error:
        return 0, 0
    return sum(heading(cell) is not None for cell in cells), len(cells) if len(cells) > 1 else 0


def _upright(table: Table) -> Table:
    """Transpose a table whose header holds the worker counts."""
    first, *counts = table.header
    known = heading(first)
    if known is None or known.meaning != "workers" or len(counts) < 2 or not all(PLAIN.fullmatch(count.strip()) for count in counts):
        return table
    names = (first, *(cells[0] for _, cells in table.rows))
    rows = [
        (index + 2, (count, *(cells[index + 1] if index + 1 < len(cells) else "" for _, cells in table.rows)))
        for index, count in enumerate(counts)
    ]
    return Table(header=names, rows=tuple(rows), separator=table.separator)
