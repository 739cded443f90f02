"""Which cells does a table of text hold (CSV, TSV, semicolons, white space, Markdown, a frame or LaTeX), and which number does a cell hold?

The separator is the one that gives the most known headings, then the most cells.  Lines that begin with # are comments; text
around a Markdown table is ignored, and so are its asterisks, links and notes.  A table with worker counts along the top is
transposed.  Rows are numbered as in a spreadsheet or editor, including the header.

Numbers have thousands separators, decimal commas, percent signs, units and notes.  The table's other cells decide what a comma or a point
is: "1.234,5" or "0,87" imply decimal commas, "12.5" or "1,345.8" decimal points; both in one table are refused.  "1,345" alone is read as
1345 with a note, except in semicolon-separated tables, where the user must decide.  "~", "± 3", "(10.0x)", "*" and footnote asterisks are
dropped.
"""

from __future__ import annotations

import csv
import io
import itertools
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from fireassay.errors import refuse
from fireassay.spec.tables.headings import SECONDS, heading
from fireassay.spec.tables.latex import rows_of
from fireassay.spec.tables.spaced import MAX_HEADING, RULER, printed

SEPARATORS: Final = (",", "\t", ";", "|")
MAX_REMARKS: Final = 100  # comment lines before the header
_RULE: Final = re.compile(r"^\s*\|?\s*:?-+:?\s*([|+]\s*:?-+:?\s*)+\|?\s*$")
_BOX: Final = str.maketrans(
    {
        **dict.fromkeys("│┃║┆┇┊┋╎╏", "|"),
        **dict.fromkeys("─━═╌╍┄┅┈┉", "-"),
        **dict.fromkeys("┌┐└┘├┤┬┴┼┏┓┗┛┣┫┳┻╋┡┩╇╪╞╡╔╗╚╝╠╣╦╩╬╭╮╰╯╤╧╟╢╫┢┪┠┨┯┷┿╂", "+"),
    }
)
_FRAME: Final = re.compile(r"\s*\+(?:[-=]+\+){2,}\s*")
_MARKUP: Final = re.compile(r"\*\*|`|<br\s*/?>|<su[bp]>.*?</su[bp]>|</?[bi]>|\[\^\w+\]", re.IGNORECASE)
_LINK: Final = re.compile(r"\[([^\]]*)\]\([^)]*\)")

Cells = tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Table:
    """A header and rows of text, each with its number."""

    header: Cells
    rows: tuple[tuple[int, Cells], ...]
    separator: str
    notes: tuple[str, ...] = ()  # lines that are not read
    doubts: tuple[str, ...] = ()  # what of them may weaken a verdict


def read_table(text: str, source: str) -> Table | None:
    """The table in a text; None without any row. Raises SpecError if it cannot be split into cells."""
    if re.search("[│┃║]", text):
        text = text.translate(_BOX)
    lines = text.splitlines()
    if (latex := rows_of(text, source)) is not None:
        return _headed(latex, "&")
    if sum(map(bool, map(_FRAME.fullmatch, lines))) > 1:
        return _framed(lines)
    if (columns := printed(lines, source, _known_headings, MAX_REMARKS)) is not None:
        return replace(_headed(columns.rows, " "), notes=columns.notes, doubts=columns.doubts)
    rules = [index for index, line in enumerate(lines) if _RULE.match(line)]
    if rules:
        return _markdown(lines, rules, source)
    numbered, separator = _delimited(text, source)
    return _headed(numbered, separator) if numbered else None


def _headed(numbered: Sequence[tuple[int, Cells]], separator: str) -> Table:
    """The first row as the header."""
    (_, header), *rows = numbered
    return _upright(Table(header=header, rows=tuple(rows), separator=separator))


def _framed(lines: Sequence[str]) -> Table:
    """A table in a frame of + - and |; it ends at the next blank line."""
    rows: list[tuple[int, Cells]] = []
    for number, line in enumerate(lines, start=1):
        if RULER.fullmatch(line) or _FRAME.fullmatch(line) or (line.strip() and "|" not in line):
            continue
        if line.strip():
            rows.append((number, _bars(line)))
        elif rows:
            break
    if len(rows) > 2 and set("".join(rows[1][1])) == {"-"}:  # polars prints the columns' types below such a row
        del rows[1:3]
    return _headed(rows, "|")


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
    lines = [line for line in text.splitlines() if line.strip()][:MAX_REMARKS]
    if max(map(len, lines), default=0) > MAX_HEADING:
        raise refuse("a row", f"more than {MAX_HEADING:,} characters", "a table of timings, one row for each worker count", source=source)
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


def _known_headings(line: str) -> int:
    """Known headings of a line that commas, tabs, semicolons or bars part."""
    worths = [_worth(line, sign) for sign in SEPARATORS] if len(line) <= MAX_HEADING else []
    return max((known for known, cells in worths if cells), default=0)


def _worth(line: str, separator: str) -> tuple[int, int]:
    """(known headings, cells) of a line split by this separator."""
    try:
        cells = next(csv.reader([line], delimiter=separator), [])
    except csv.Error:
        return 0, 0
    return sum(heading(cell) is not None for cell in cells), len(cells) if len(cells) > 1 else 0


def _upright(table: Table) -> Table:
    """Transpose a table whose header holds the worker counts; a heading that stands twice gets a number: "seconds", "seconds#2"."""
    first, *counts = table.header
    known = heading(first)
    of_workers = known is not None and known.meaning == "workers"
    plainly = of_workers and all(PLAIN.fullmatch(count.strip()) for count in counts)
    in_words = (of_workers or known is None) and all(speaks_of_workers(count) and count_in(count) is not None for count in counts)
    if len(counts) < 2 or not (plainly or in_words):
        return replace(table, header=_told_apart(table.header))
    names = (first if of_workers else "workers", *(cells[0] for _, cells in table.rows))
    rows = [
        (index + 2, (count, *(cells[index + 1] if index + 1 < len(cells) else "" for _, cells in table.rows)))
        for index, count in enumerate(counts)
    ]
    return replace(table, header=_told_apart(names), rows=tuple(rows))


def _told_apart(header: Cells) -> Cells:
    before = (header[:index].count(name) if name.strip() else 0 for index, name in enumerate(header))
    return tuple(f"{name.rstrip()}#{times + 1}" if times else name for name, times in zip(header, before, strict=True))


PLAIN: Final = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")
MISSING: Final = frozenset(
    {"-", "--", "—", "–", "n/a", "na", "n.a.", "none", "null", "oom", "tbd", "fail", "failed", "timeout", "dnf", "...", "?"}
)
_NUMBER: Final = re.compile(r"(?P<sign>[+-]?)(?P<digits>\d[\d.,'’]*|\.\d+)(?P<power>[eE][+-]?\d+)?\s*(?P<rest>.*)", re.DOTALL)
_GROUPS: Final = r"\d{1,3}(?:%s\d{3})+"
_CLOCK: Final = re.compile(r"(?:(\d+)-)?(\d+):([0-5]\d):([0-5]\d(?:\.\d+)?)")
_SHORT: Final = re.compile(r"(\d{1,4}):([0-5]\d(?:\.\d+)?)")
_PART: Final = r"(\d+(?:\.\d+)?)\s*([a-zµμ]+)\.?"
_PARTS: Final = re.compile(rf"[~≈]?\s*{_PART}(?:[\s,]*(?:and )?{_PART})+", re.IGNORECASE)

Mark = Literal["point", "comma"]


@dataclass(frozen=True, kw_only=True)
class Number:
    """A number and the text after it."""

    value: float
    unit: str = ""
    percent: bool = False


@dataclass(frozen=True, kw_only=True)
class Marks:
    """Evidence of a table's decimal mark, with the cells that show it."""

    point: str | None = None
    comma: str | None = None
    doubtful: str | None = None

    @property
    def decimal(self) -> Mark:
        """The decimal mark; a point without evidence."""
        return "comma" if self.comma is not None and self.point is None else "point"


def marks(cells: Iterable[str]) -> Marks:
    """Combine the evidence of all cells."""
    shown: dict[str, str] = {}
    for cell in cells:
        digits = _digits(cell)
        kind = _kind(digits) if digits is not None else None
        if kind is not None:
            shown.setdefault(kind, cell.strip())
    return Marks(**shown)


def _kind(digits: str) -> str | None:
    comma, point = digits.rfind(","), digits.rfind(".")
    if comma >= 0 and point >= 0:
        return "comma" if comma > point else "point"
    if comma >= 0:
        return (
            "doubtful"
            if re.fullmatch(_GROUPS % ",", digits) and not digits.startswith("0")
            else "comma"
            if digits.count(",") == 1
            else "point"
        )
    if point >= 0:
        if digits.count(".") > 1:
            return "comma" if re.fullmatch(_GROUPS % r"\.", digits) else None
        return None if re.fullmatch(_GROUPS % r"\.", digits) and not digits.startswith("0") else "point"
    return None


def _digits(cell: str) -> str | None:
    match = _NUMBER.fullmatch(_bare(cell))
    return match["digits"].rstrip(",.") if match else None


def _bare(cell: str) -> str:
    """A cell without currency, notes, deviations and spaces between digits."""
    text = cell.strip().replace("−", "-").replace("×", "x")
    text = re.sub(r"(?<=\d)[\s\u00a0\u2009\u202f_](?=\d{3}(?!\d))", "", text)
    text = re.sub(r"\s*(?:±|\+/?-)\s*[\d.,]+\s*%?\s*$", "", text)
    text = re.sub(r"(?<=[\w%.])\s*\([^()]*\)\s*$", "", text)
    return re.sub(r"^[~≈$]\s*|^us\$\s*", "", text, flags=re.IGNORECASE).rstrip("*†‡§¹²³ ").strip()


def missing(cell: str) -> bool:
    """True if a cell states that there is no value: "-", "n/a", "OOM"."""
    return cell.strip().lower() in MISSING


def number(cell: str, decimal: Mark = "point") -> Number | None:
    """The number in a cell; None: unreadable."""
    clock = _CLOCK.fullmatch(cell.strip())
    if clock:
        return Number(value=86400.0 * int(clock[1] or 0) + 3600.0 * int(clock[2]) + 60.0 * int(clock[3]) + float(clock[4]), unit="s")
    if _PARTS.fullmatch(cell.strip()):
        return _of_parts(cell)
    match = _NUMBER.fullmatch(_bare(cell))
    if match is None:
        return None
    digits = match["digits"].rstrip(",") if decimal == "point" else match["digits"].rstrip(".")
    plain = _plain(re.sub(r"['’]", "", digits), decimal)
    if plain is None:
        return None
    rest = match["rest"].strip()
    percent = rest.startswith("%")
    return Number(value=float(f"{match['sign']}{plain}{match['power'] or ''}"), unit=rest.removeprefix("%").strip(), percent=percent)


def either_number(cell: str) -> Number | None:
    """The number in a cell of a table whose decimal mark is not known yet; None: unreadable."""
    return number(cell) or number(cell, "comma")


def is_short(cell: str) -> bool:
    """True for "45:00", which may be minutes and seconds, or hours and minutes."""
    return _SHORT.fullmatch(cell.strip()) is not None


def lengthened(cells: Sequence[str]) -> list[str]:
    """The times of a column, "45:00" as "2700 s" where others are h:mm:ss, as schedulers and `time` print them, or one shows a fraction."""
    found = [_SHORT.fullmatch(cell.strip()) for cell in cells]
    sure = any(_CLOCK.fullmatch(cell.strip()) for cell in cells) or any(match and "." in match[2] for match in found)
    return [f"{60 * int(match[1]) + float(match[2]):g} s" if sure and match else cell for cell, match in zip(cells, found, strict=True)]


def _of_parts(cell: str) -> Number | None:
    """A time in parts, each of a smaller unit: "10h 12m", "1 d 3 h", "2 min 30 s"."""
    parts = [(float(digits), SECONDS.get(unit.lower())) for digits, unit in re.findall(_PART, cell, flags=re.IGNORECASE)]
    units = [unit for _, unit in parts if unit is not None]
    falling = len(units) == len(parts) and all(larger > smaller for larger, smaller in itertools.pairwise(units))
    return Number(value=sum(value * (unit or 0.0) for value, unit in parts), unit="s") if falling else None


_COUNT: Final = re.compile(r"(?<![\w.,/:])(\d{1,8})(?![\w.,/:])")
_SINGLE: Final = re.compile(r"(?:single|one)[ -](?:gpu|worker|node|device|core|process|thread|rank)s?\b", re.IGNORECASE)
_PARALLEL: Final = re.compile(
    r"\b(?:jobs?|parallel|serial|sequential|gpus?|workers?|process(?:es)?|threads?|nodes?|cores?|ranks?|np|nproc|devices?)\b"
    r"|(?:^|\s)-[jtnp] ?\d|\d\s*[x×]\s*[A-Z]",
    re.IGNORECASE,
)


def count_in(cell: str) -> int | None:
    """The number of workers in words: "Serial (1)", "--jobs 4", "1x A100", "single GPU"; None: none, or more than one."""
    text = plain(cell)
    if (flag := re.search(r"(?:^|\s)-[jtnp] ?(\d{1,8})(?!\S)", text)) is not None:
        return int(flag[1])
    if (times := re.match(r"(\d{1,8})\s*[x×]\s*(?:[A-Za-z]|$)", text)) is not None:
        return int(times[1])
    found = _COUNT.findall(text)
    return int(found[0]) if len(found) == 1 else 1 if not found and _SINGLE.search(text) else None


def is_wordy(cell: str) -> bool:
    """True if a cell holds neither a number of workers nor several: "Sequential", "automatic", "original v2.9"."""
    return count_in(cell) is None and not _COUNT.search(plain(cell)) and number(cell) is None


def speaks_of_workers(cell: str) -> bool:
    """True if a cell names what runs in parallel, and so may hold its number."""
    return _PARALLEL.search(plain(cell)) is not None


def _plain(digits: str, decimal: Mark) -> str | None:
    """The digits with a decimal point; None if groups are not of three."""
    mark, other = (".", ",") if decimal == "point" else (",", ".")
    whole, _, rest = digits.partition(mark)
    if other in rest or mark in rest:
        return None
    if other in whole and not re.fullmatch(_GROUPS % re.escape(other), whole):
        return None
    return f"{whole.replace(other, '') or '0'}.{rest or '0'}"
