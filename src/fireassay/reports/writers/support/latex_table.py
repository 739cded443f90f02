r"""How does a table fit a column of a two-column paper?

A number stands in an S column of siunitx, aligned at its decimal point, with its interval beside it and its unit in the head, or in the
name of the row where rows have different units. Columns that do not fit beside each other continue in a further panel of the same
table. A number that was not measured is a dash with its reason as a note below the table.
Every character that TeX interprets is escaped, so that a name that looks like a command stays a name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import count, islice, pairwise
from string import ascii_lowercase
from textwrap import wrap
from typing import Final

from fireassay.estimates.estimate import Absent
from fireassay.reports.page import DASH, Cell, Mark, Number, Table, one_line, said

COLUMN_PT: Final = 226  # of article, two columns; those of IEEE and ACM are wider
BETWEEN_PT: Final = 6  # two column separations
NAMES_PT: Final = 75  # of the names of rows, above which they wrap
HEAD_PT: Final = 48  # of a line of a head, at least
SPELLED: Final = {"/s": "per second"}
HEAD_ROWS: Final = 4  # of a panel, rules and gap included
MAX_ROWS: Final = 45  # of one float; a column of a page has some 60 lines of this size
WIDTHS: Final = ((".,:;[]()|!' ilj", 2.5), ("0123456789+", 4.3), ("mwMW%−", 7.1), ("ABCDEFGHIJKLNOPQRSTUVXYZ$", 6.1))  # at footnotesize
LETTER_PT: Final = 4.4
NUMBER: Final = re.compile(r"(?P<minus>[+−-]?)(?P<before>\$?)(?P<digits>[\d,]+(?:\.\d+)?)(?P<power>e[−-]?\d+)?(?P<after>.*)")
INTERVAL: Final = re.compile(r"\[(?P<low>.+), (?P<high>[^\]]+)\](?P<caution>.*)", re.DOTALL)
WITHOUT: Final = {"exact": "(exact)", "no interval: one launch": "(1 launch)", "no interval: the data bound neither side": "(no bound)"}


@dataclass(frozen=True, kw_only=True)
class Quantity:
    """A cell as parts: digits that siunitx reads, or escaped text; the interval beside it; its unit; what a note says."""

    digits: str = ""
    text: str = ""
    interval: str = ""
    shown_interval: str = ""  # as printed, for its width
    unit: str = ""
    notes: tuple[str, ...] = ()

    @property
    def width(self) -> float:
        """Of the value in its column, in points."""
        return width(self.digits or self.text)


@dataclass(frozen=True, kw_only=True)
class Column:
    """A column with its cells; `aligned` at the decimal point."""

    head: str
    cells: tuple[Quantity, ...]
    aligned: bool
    width: float
    paired: bool  # with a column of intervals

    @property
    def format(self) -> str:
        """Its specification."""
        if not self.aligned:
            fixed = max((width(cell.text) for cell in self.cells if not cell.digits), default=0.0) > self.width
            left = rf">{{\raggedright\arraybackslash}}p{{{self.width:.0f}pt}}" if fixed else "l"
            return r"r@{\,}l" if self.paired else left
        plus = any(cell.digits.startswith("+") for cell in self.cells)
        signs = "+" if plus else "-" if any(cell.digits.startswith("-") for cell in self.cells) else ""
        parts = [cell.digits.lstrip("+-").partition(".") for cell in self.cells if cell.digits]
        whole, decimals = (max(len(part[place]) for part in parts) for place in (0, 2))
        return rf"S[{'retain-explicit-plus,' if plus else ''}table-format={signs}{whole}.{decimals}]" + (r"@{\,}l" if self.paired else "")

    @property
    def span(self) -> int:
        """Columns of TeX that it takes."""
        return 2 if self.paired else 1


@dataclass
class Notes:
    """The notes below a table, each with its letter; those that differ only in their numbers share one, with the first as an example."""

    alike: dict[str, dict[str, None]] = field(default_factory=dict)  # by text without numbers, the texts

    def marks(self, cell: Quantity) -> str:
        """The letters of a cell's notes."""
        letters = ",".join(self._letter(note) for note in cell.notes)
        return rf"\textsuperscript{{{letters}}}" if letters else ""

    def lines(self) -> Iterator[str]:
        """All of them as one paragraph."""
        listed = "; ".join(
            rf"\textsuperscript{{{letter}}}{'for example: ' if len(texts) > 1 else ''}{breakable(next(iter(texts)))}"
            for letter, texts in zip(_letters(), self.alike.values(), strict=False)
        )
        if listed:
            yield rf"\par\smallskip\raggedright\scriptsize {listed}."

    def _letter(self, note: str) -> str:
        pattern = re.sub(r"\d[\d,.]*", "0", note)
        self.alike.setdefault(pattern, {})[note] = None
        return next(islice(_letters(), list(self.alike).index(pattern), None))


def _letters() -> Iterator[str]:
    """a to z, then numbers."""
    yield from ascii_lowercase
    yield from map(str, count(1))


def table(made: Table) -> str:
    """Floats with the title as their caption, and a panel for as many columns as fit."""
    names, columns = _columns(made)
    panels = list(_panels(names, columns))
    together = max(1, MAX_ROWS // (len(made.rows) + HEAD_ROWS))
    floats = [panels[at : at + together] for at in range(0, len(panels), together)]
    return "\n".join(_float(made.title, some, continued=place > 0) for place, some in enumerate(floats))


def _float(title: str, panels: Sequence[Sequence[Column]], *, continued: bool) -> str:
    notes = Notes()
    body = "\n\\par\\medskip\n".join(_panel(panel, notes) for panel in panels)
    caption = rf"\caption{{{breakable(title)}{' (continued)' if continued else ''}}}\smallskip"
    head = (r"\begin{table}[tb]", r"\centering\footnotesize\setlength{\tabcolsep}{3pt}", *((caption,) if title else ()))
    return "\n".join((*head, body, *notes.lines(), r"\end{table}"))


def width(text: str) -> float:
    """Of text at footnotesize in Computer Modern, in points, rounded up by class of letter."""
    return sum(next((points for letters, points in WIDTHS if letter in letters), LETTER_PT) for letter in text)


# ---- cells -----------------------------------------------------------------------------------------------------------


def _quantity(cell: Cell) -> Quantity:
    if not isinstance(cell, Number):
        return Quantity(text=cell.word if isinstance(cell, Mark) else one_line(cell))
    if isinstance(cell.value, Absent):
        return Quantity(text=DASH, notes=(cell.value.detail.partition("; ")[0],))
    notes = tuple(note for note in (cell.extra, "does not count" if cell.struck else "") if note)
    interval, shown = _interval(cell.shown.interval) if cell.interval else ("", "")
    read = NUMBER.fullmatch(said(replace(cell, interval=False, extra="")).text)
    if read is None:
        return Quantity(text=said(cell).text, interval=interval, shown_interval=shown, notes=notes)
    digits = f"{read['minus']}{read['digits']}{read['power'] or ''}".replace(",", "").replace("−", "-")
    unit = " ".join(part for part in (read["before"], read["after"].strip()) if part)
    return Quantity(digits=digits, text=read[0], interval=interval, shown_interval=shown, unit=unit, notes=notes)


def _interval(text: str) -> tuple[str, str]:
    """An interval for TeX and as it is read."""
    found = INTERVAL.fullmatch(text)
    if found is None:
        shown = WITHOUT.get(text, text)
        return tex(shown), shown
    ends = ", ".join(_end(found[end]) for end in ("low", "high"))
    return f"{{[}}{ends}{{]}}{tex(found['caution'])}", text


def _end(text: str) -> str:
    digits = text.replace(",", "").replace("−", "-")
    return rf"\num{{{digits}}}" if re.fullmatch(r"-?\d+(\.\d+)?(e-?\d+)?", digits) else tex(text)


# ---- columns ---------------------------------------------------------------------------------------------------------


def _columns(made: Table) -> tuple[list[Column], list[Column]]:
    """The names of the rows, and the columns of values with their units in the heads, or else in the names."""
    width = len(made.heads)
    rows = [[_quantity(cell) for cell in row] + [Quantity()] * (width - len(row)) for row in made.rows]
    by_row = [{cell.unit for cell in row[made.stub :] if cell.digits} for row in rows]
    by_column = [{row[place].unit for row in rows if row[place].digits} for place in range(width)]
    in_names = made.stub > 0 and any(len(units) > 1 for units in by_column) and all(len(units) <= 1 for units in by_row)
    if in_names:
        rows = [[_named(row[0], units), *(replace(cell, unit="") for cell in row[1:])] for row, units in zip(rows, by_row, strict=True)]
    columns = [_column(head.full, [row[place] for row in rows], ragged=in_names) for place, head in enumerate(made.heads)]
    return columns[: made.stub], columns[made.stub :]


def _named(name: Quantity, units: set[str]) -> Quantity:
    unit = next(iter(units), "")
    return replace(name, text=f"{name.text}, {unit}") if unit else name


def _column(head: str, cells: Sequence[Quantity], *, ragged: bool) -> Column:
    """Aligned if all its numbers have one unit, which goes into the head; `ragged`: they have one of their own in each row."""
    units = {cell.unit for cell in cells if cell.digits}
    power = any("e" in cell.digits for cell in cells)
    unit = next(iter(units)) if len(units) == 1 else ""
    if len(units) > 1:
        cells = [replace(cell, unit="", digits="") for cell in cells]
    aligned = any(cell.digits for cell in cells) and not ragged and not power
    paired = any(cell.interval for cell in cells)
    unit = SPELLED.get(unit, unit)
    title = f"{head}, {unit}" if unit and unit not in head else head
    content = max(cell.width for cell in cells) + max(width(cell.shown_interval) for cell in cells)
    return Column(head=title, cells=tuple(cells), aligned=aligned, paired=paired, width=max(content, *map(width, title.split()), 0.0))


def _panels(names: Sequence[Column], columns: Sequence[Column]) -> Iterator[list[Column]]:
    """Columns that fit beside the names; one that is too wide alone gets the room that there is."""
    held = [replace(name, width=min(name.width, NAMES_PT / max(1, len(names)))) for name in names]
    room = COLUMN_PT - sum(name.width + BETWEEN_PT for name in held)
    panel: list[Column] = []
    used = 0.0
    for column in columns:
        fitted = column if column.aligned or column.paired else replace(column, width=min(column.width, room - BETWEEN_PT))
        if panel and used + fitted.width + BETWEEN_PT > room:
            yield [*held, *panel]
            panel, used = [], 0.0
        panel.append(fitted)
        used += fitted.width + BETWEEN_PT
    yield [*held, *panel]


# ---- TeX -------------------------------------------------------------------------------------------------------------


def _panel(columns: Sequence[Column], notes: Notes) -> str:
    head = " & ".join(_head(column, first=place == 0) for place, column in enumerate(columns))
    rows = (" & ".join(_cell(column, column.cells[row], notes) for column in columns) + r" \\" for row in range(len(columns[0].cells)))
    formats = "".join(column.format for column in columns)
    lines = (rf"\begin{{tabular}}{{@{{}}{formats}@{{}}}}", r"\toprule", rf"{head} \\", r"\midrule", *rows, r"\bottomrule", r"\end{tabular}")
    return "\n".join(lines)


def _head(column: Column, *, first: bool) -> str:
    """A head in lines as wide as its column."""
    room = max(HEAD_PT, column.width)
    lines = wrap(column.head, max(1, int(room * len(column.head) / max(1.0, width(column.head))))) or [""]
    place = "c" if column.aligned or column.paired else "l"
    text = r" \\ ".join(map(tex, lines))
    if len(lines) > 1:
        text = rf"\begin{{tabular}}[b]{{@{{}}{place}@{{}}}}{text}\end{{tabular}}"
    return rf"\multicolumn{{{column.span}}}{{{'@{}' if first else ''}{place}}}{{{text}}}"


def _cell(column: Column, cell: Quantity, notes: Notes) -> str:
    marks = notes.marks(cell)
    if column.aligned and cell.digits:
        value = cell.digits
    else:
        value = rf"\num{{{cell.digits}}}" if cell.digits else breakable(cell.text)
        value = f"{{{value}{'' if column.paired and cell.digits else marks}}}" if value else ""
    beside = f"{cell.interval}{marks if cell.digits else ''}"
    if column.paired:
        return f"{value} & {beside}"
    return f"{value}{marks}" if column.aligned and cell.digits and marks else value


MAX_WORD_LENGTH: Final = 18  # characters; a longer one may not fit on a line, so it may break
PIECE: Final = 9
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
        "’": "'",
        "±": r"$\pm$",
        "∞": r"$\infty$",
        "\n": " ",
        "\r": " ",
        "[": "{[}",
        "]": "{]}",
    }
)
_BREAK: Final = "\\allowbreak{}"


def tex(text: str) -> str:
    """Escape untrusted text for TeX; characters that plain TeX cannot set become question marks."""
    pieces = ("{}-" if pair == ("-", "-") else pair[1].translate(_ESCAPES) for pair in pairwise(f" {text}"))  # {}: two hyphens, no dash
    return "".join(piece if piece.isascii() and (piece.isprintable() or piece == " ") else "?" for piece in pieces)


def breakable(text: str) -> str:
    """Escaped text whose long words (paths, digests, names of records) may break, so that none sticks out of a column."""
    return " ".join(map(_broken, re.split("[ \n\r]", text)))


def _broken(word: str) -> str:
    if len(word) <= MAX_WORD_LENGTH:
        return tex(word)
    return _BREAK.join(tex(word[at : at + PIECE]) for at in range(0, len(word), PIECE))
