"""Which cells does a LaTeX table have in the source of a paper?

The rows of a `tabular` or of a relative, or bare rows "a & b \\\\".  Rules, comments, spacing and formatting are dropped; "3\\,600" is 3600, and
`\\num{3600}` its argument.  `\\multicolumn` takes its columns.  Of the first rows the header is the one with the most known headings.

Cannot tell: what a macro of the author stands for; its argument is taken.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from fireassay.errors import refuse
from fireassay.spec.tables.headings import heading

MAX_HEADERS: Final = 3  # rows among which the header is searched
_BEGIN: Final = re.compile(r"\\begin\{(tabular[*xy]?|longtable|array|tabu|NiceTabular)\}")
_ROW_END: Final = re.compile(r"\\\\(?:\*|\[[^\]]*\])?|\\tabularnewline")
_BARE: Final = re.compile(r"[^&\n]+(?<!\\)&.*\\\\(?:\[[^\]]*\])?\s*(?:\\[a-z]+rule|\\hline)?\s*")
_LAYOUT: Final = re.compile(
    r"\\(?:(?:top|mid|bottom)rule|hline|endhead|endfirsthead|endfoot|endlastfoot|addlinespace|centering|small|footnotesize|scriptsize|noalign)\b(?:\[[^\]]*\])?"
    r"|\\(?:cline|cmidrule|rowcolor|cellcolor|label|vspace|footnotemark|footnote|cite[a-z]*|tnote|ref)(?:\([^)]*\)|\[[^\]]*\])*\{[^{}]*\}"
    r"|\\(?:bfseries|itshape|bf|it|em|tt|rm)\b"
)
_SPAN: Final = re.compile(r"\\multicolumn\s*\{(\d+)\}\s*\{[^{}]*\}")
_SIGNS: Final = {
    **{rf"\{sign}": sign for sign in "%#&_"},
    r"\$": "\0",
    r"\times": "x",
    r"\pm": "±",
    r"\approx": "~",
    r"\sim": "~",
    "{,}": ",",
    "---": "-",
    "--": "-",
    **dict.fromkeys((r"\,", r"\;", r"\:", r"\ ", "~", r"\quad"), " "),
}

Row = tuple[int, tuple[str, ...]]


def rows_of(text: str, source: str) -> list[Row] | None:
    """Header and rows, each with its line number; None: no table of LaTeX.

    Raises:
        SpecError: several tables.
    """
    begins = list(_BEGIN.finditer(text))
    if len(begins) > 1:
        lines = ", ".join(str(text.count("\n", 0, found.start()) + 1) for found in begins)
        raise refuse(f"lines {lines}", f"{len(begins)} tables", "one table", "Keep one of them.", source=source)
    if not begins and sum(map(bool, map(_BARE.fullmatch, text.splitlines()))) < 2:
        return None
    at = begins[0].end() if begins else 0
    end = text.find(r"\end{", at)
    rows = list(_rows(text[at : end if end > 0 else len(text)], 1 + text.count("\n", 0, at), formed=bool(begins)))
    if not rows:
        return None
    known = [sum(heading(cell) is not None for cell in cells) for _, cells in rows[:MAX_HEADERS]]
    return rows[known.index(max(known)) if max(known) > 1 else 0 :]  # a single one begins a row of a table on its side


def _rows(body: str, line: int, *, formed: bool) -> Iterator[Row]:
    """The rows with several cells; `formed`: the form of the columns stands before the first one."""
    body = re.sub(r"(?<!\\)%[^\n]*", "", body)
    if formed:
        body = _without_form(body)
    for row in _ROW_END.split(body):
        text = _LAYOUT.sub(" ", row)
        begun = line + text[: len(text) - len(text.lstrip())].count("\n")
        line += row.count("\n")
        cells = tuple(cell for part in re.split(r"(?<!\\)&", text) for cell in _spanned(part))
        if len(cells) > 1 and any(cells):
            yield begun, cells


def _without_form(body: str) -> str:
    """Without the arguments behind \\begin{tabular}: "[t]{l|rr}", "{\\textwidth}{lrr}"."""
    argument = re.compile(r"\s*(?:\[[^\]]*\]|\{(?:[^{}]|\{[^{}]*\})*\})")
    while (found := argument.match(body)) is not None:
        body = "\n" * found.group().count("\n") + body[found.end() :]
    return body


def _spanned(cell: str) -> tuple[str, ...]:
    """A cell, and the empty ones that it takes with it."""
    found = _SPAN.search(cell)
    return (_plain(_SPAN.sub("", cell)), *[""] * (min(int(found[1]), 64) - 1 if found else 0))


def _plain(cell: str) -> str:
    """A cell without its commands."""
    cell = re.sub(r"\\multirow\s*(?:\[[^\]]*\])?\s*\{[^{}]*\}\s*\{[^{}]*\}", "", cell)
    cell = re.sub(r"\\(?:SI|qty)\s*(\{[^{}]*\})\s*\{[^{}]*\}", r"\1", cell)
    for sign, plain in _SIGNS.items():
        cell = cell.replace(sign, plain)
    cell = re.sub(r"\^\{?\\?[a-zA-Z*]+\}?|\\(?:dag|ddag|dagger|ddagger)\b", "", cell)  # a note
    cell = re.sub(r"\\[a-zA-Z]+\*?", "", cell)
    return re.sub(r"\s+", " ", re.sub(r"[{}$]", "", cell)).replace("\0", "$").strip()
