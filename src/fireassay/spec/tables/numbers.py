"""Which number does a cell hold, among thousands separators, decimal commas, percent signs, units and notes?

The table's other cells decide what a comma or a point is: "1.234,5" or "0,87" imply decimal commas, "12.5" or "1,345.8" decimal
points; both in one table are refused.  "1,345" alone is read as 1345 with a note, except in semicolon-separated tables, where the
user must decide.  "~", "± 3", "(10.0x)", "*" and footnote asterisks are dropped.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal

PLAIN: Final = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")
MISSING: Final = frozenset({"-", "--", "—", "–", "n/a", "na", "n.a.", "none", "null", "oom", "tbd", "fail", "failed", "..."})
_NUMBER: Final = re.compile(r"(?P<sign>[+-]?)(?P<digits>\d[\d.,'’]*|\.\d+)(?P<power>[eE][+-]?\d+)?\s*(?P<rest>.*)", re.DOTALL)
_GROUPS: Final = r"\d{1,3}(?:%s\d{3})+"
_CLOCK: Final = re.compile(r"(\d+):([0-5]\d):([0-5]\d(?:\.\d+)?)")

Mark = Literal["point", "comma"]


@dataclass(frozen=True, kw_only=True)
class Number:
    """A number and the text after it."""

    value: float
    unit: str = ""
    percent: bool = False
    grouped: bool = False  # "1,345", which might be 1.345 elsewhere


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
    """Whether a cell states that there is no value: "-", "n/a", "OOM"."""
    return cell.strip().lower() in MISSING


def number(cell: str, decimal: Mark = "point") -> Number | None:
    """The number in a cell; None: unreadable."""
    clock = _CLOCK.fullmatch(cell.strip())
    if clock:
        return Number(value=3600.0 * int(clock[1]) + 60.0 * int(clock[2]) + float(clock[3]), unit="s")
    match = _NUMBER.fullmatch(_bare(cell))
    if match is None:
        return None
    digits = match["digits"].rstrip(",") if decimal == "point" else match["digits"].rstrip(".")
    plain = _plain(re.sub(r"['’]", "", digits), decimal)
    if plain is None:
        return None
    rest = match["rest"].strip()
    percent = rest.startswith("%")
    grouped = decimal == "point" and re.fullmatch(_GROUPS % ",", digits) is not None
    return Number(
        value=float(f"{match['sign']}{plain}{match['power'] or ''}"), unit=rest.removeprefix("%").strip(), percent=percent, grouped=grouped
    )


def _plain(digits: str, decimal: Mark) -> str | None:
    """The digits with a decimal point; None if groups are not of three."""
    mark, other = (".", ",") if decimal == "point" else (",", ".")
    whole, _, rest = digits.partition(mark)
    if other in rest or mark in rest:
        return None
    if other in whole and not re.fullmatch(_GROUPS % re.escape(other), whole):
        return None
    return f"{whole.replace(other, '') or '0'}.{rest or '0'}"
