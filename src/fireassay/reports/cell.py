"""What can a cell of a table hold?  A value rather than a string: a workbook keeps numbers, a terminal words.

A workbook gets raw numbers, in the unit of the record; only Excel formats them, and nothing is rounded.  An end of an interval gets as many
decimals as Excel needs to round it outwards.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, Literal

from fireassay.estimates.estimate import Estimate, Value
from fireassay.estimates.format import Scale, Shown, count, show
from fireassay.estimates.rounding import Way, rounded

# gain: recommended; void: inadmissible; open: undecided; struck: does not count
Tone = Literal["good", "gain", "bad", "void", "open", "absent", "struck", "plain"]
GENERAL: Final = "General"
DIGEST: Final = 12  # digits of a digest that identify a file
DASH: Final = "–"


@dataclass(frozen=True, kw_only=True)
class Mark:
    """A status as a word; colour only repeats it. `why` is the reason."""

    word: str
    tone: Tone = "plain"
    why: str = ""
    sign: str = ""  # before the word if there is room; empty: that of the tone


@dataclass(frozen=True, kw_only=True)
class Number:
    """A value with its interval, or the reason for its absence."""

    shown: Shown
    bare: bool = False  # its unit is in the column head
    interval: bool = True
    strong: bool = False
    struck: bool = False
    extra: str = ""  # below its interval

    @property
    def value(self) -> Value:
        """The number itself."""
        return self.shown.value


@dataclass(frozen=True, kw_only=True)
class Figure:
    """A raw number with the Excel format that suits its unit."""

    value: float
    style: str = GENERAL
    text: str = ""  # for people; empty: as it is


@dataclass(frozen=True, kw_only=True)
class Words:
    """Text in a cell; text formats convert every other cell to it."""

    text: str
    below: str = ""
    tone: Tone = "plain"
    strong: bool = False
    code: bool = False
    title: str = ""  # of the folded text
    fold: str = ""
    note: str = ""  # how a number was made, or why there is none


@dataclass(frozen=True, kw_only=True)
class Link:
    """Text that leads to another page of the same site; only the text in formats without links."""

    text: str
    target: str  # relative address, made by us


@dataclass(frozen=True, kw_only=True)
class Shot:
    """The small copy of an image; formats that show none name its file and digest."""

    name: str
    digest: str = ""  # SHA-256 of the file
    caption: tuple[str, ...] = ()  # "CLIPScore 0.91", ...
    mark: Mark | None = None  # "chosen"
    missing: str = ""  # why there is no image
    copy: Callable[[], bytes] | None = field(default=None, repr=False, compare=False)  # a JPEG; raises RecordError: why it cannot be shown

    @property
    def text(self) -> str:
        """What other formats say: "chosen 0.91 b/3.png (ab12cd34ef56)"."""
        parts = (self.mark.word if self.mark is not None else "", ", ".join(self.caption), self.name)
        named = f"({self.digest[:DIGEST]})" if self.digest else ""
        return " ".join(part for part in (*parts, named, f"no image: {self.missing}" if self.missing else "") if part)


@dataclass(frozen=True, kw_only=True)
class Images:
    """Images side by side; `left` further ones are counted."""

    shots: tuple[Shot, ...]
    left: int = 0


Cell = str | int | float | Mark | Number | Figure | Words | Link | Images | None


def number(value: Value, scale: Scale | None = None, work: str = "items", *, bare: bool = False) -> Number:
    """A value as displayed in its scale."""
    return Number(shown=show(value, scale, work), bare=bare)


def said(cell: Cell) -> Words:
    """A cell as text."""
    match cell:
        case Words():
            return cell
        case Mark():
            return Words(text=cell.word, tone=cell.tone, title="why", fold=cell.why)
        case Number():
            return _number_words(cell)
        case Link():
            return Words(text=cell.text)
        case Images():
            more = (f"{cell.left} more",) if cell.left else ()
            return Words(text="; ".join((*(shot.text for shot in cell.shots), *more)))
        case None:
            return Words(text=DASH, tone="absent")
        case Figure():
            return Words(text=cell.text or f"{cell.value:g}")
        case float():
            return Words(text=f"{cell:g}")
        case _:
            return Words(text=str(cell))


def _number_words(cell: Number) -> Words:
    shown, value = cell.shown, cell.value
    if not isinstance(value, Estimate):
        brief = "too few data" if value.reason == "insufficient" else DASH
        return Words(text=brief if cell.bare else shown.text, below=cell.extra, tone="struck" if cell.struck else "absent", note=shown.note)
    method = f"{value.method}. {count(value.n_launches, 'launches')}, {count(value.n_trials, 'trials')}."
    text = _without_unit(shown, value.unit) if cell.bare else shown.text
    below = "\n".join(line for line in (shown.interval if cell.interval else "", cell.extra) if line)
    return Words(text=text, below=below, tone="struck" if cell.struck else "plain", strong=cell.strong, note=method)


def _without_unit(shown: Shown, unit: str) -> str:
    minus = "−" if shown.text.startswith("−") else ""
    kept = shown.text.removeprefix(minus).removeprefix(shown.scale.before)
    return f"{minus}{kept if unit == 'fraction' else kept.removesuffix(shown.scale.after)}"


def one_line(cell: Cell) -> str:
    """A cell's text and the text below it, in one line; the reason if there is no number."""
    if isinstance(cell, Number) and not cell.bare and cell.interval:
        return f"{cell.shown.full} {cell.extra}".strip()
    words = said(cell)
    return "" if cell is None else f"{words.text} {words.below}".strip().replace("\n", " ")


# ---- in a workbook ---------------------------------------------------------------------------------------------------


NUMBER_FORMATS: Final = {
    "fraction": "0.0000%",
    "count": "#,##0",
    "steps": "#,##0",
    "workers": "#,##0",
    "s": "0.000000",
    "1/s": "#,##0.00",
    "ratio": "0.0000",
    "score": "0.0000",
    "USD": "$0.000000",
    "USD/item": "$0.00000E+00",
    "USD/step": "$0.00000E+00",
    "items/USD": "#,##0",
    "J": "#,##0.00",
    "J/item": "0.00000E+00",
}
WAYS: Final[tuple[Way, ...]] = ("nearest", "down", "up")  # value, low, high
MORE_DECIMALS: Final = 15  # decimals of a binary fraction beyond those of a format


def ends(value: Estimate) -> list[Cell]:
    """Value, low and high as cells; words for a side that the data do not bound."""
    style = NUMBER_FORMATS.get(value.unit, GENERAL)
    single = value.n_launches <= 1
    words = ("no bound", *(("no interval: one launch",) * 2 if single else ("no lower bound", "no upper bound")))
    return [
        Figure(value=end, style=_outwards(style, end, way)) if math.isfinite(end) else word
        for end, word, way in zip((value.value, value.low, value.high), words, WAYS, strict=True)
    ]


def _outwards(style: str, end: float, way: Way) -> str:
    """The format with enough further decimals that Excel, which rounds to nearest, shows no low end higher and no high end lower."""
    mantissa, exponent, power = style.partition("E")
    if way == "nearest" or style == GENERAL:
        return style
    whole, point, decimals = mantissa.rstrip("%").partition(".")
    size = math.floor(math.log10(abs(end))) if exponent and end else 0
    digits = len(decimals) + (2 if mantissa.endswith("%") else 0) - size
    more = next((d for d in range(MORE_DECIMALS) if rounded(end, digits + d) == rounded(end, digits + d, way)), 0)
    point = point or ("." if more else "")
    return f"{whole}{point}{decimals}{'0' * more}{'%' if mantissa.endswith('%') else ''}{exponent}{power}"
