"""What is on a page?  Sections of tables, facts, bullets, prose and charts, from which every format is made by one walk.

A page holds values, not strings: a workbook keeps numbers, a terminal words.  It answers first (`Answer` with its evidence), then reports
everything.  A section says what it is for, its role, and a section of the report how deep in it it stands; which of them are shown, each
writer decides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, Literal

from fireassay.reports.cell import DASH, GENERAL, Cell, Figure, Images, Link, Mark, Number, Shot, Tone, Words, number, one_line, said
from fireassay.reports.charts.model import MARKS, Axis, Chart, Key, Panel

if TYPE_CHECKING:
    import polars as pl

    from fireassay.reports.view import View

# What a page is made of comes from here.
__all__ = [
    "DASH",
    "GENERAL",
    "Cell",
    "Chart",
    "Figure",
    "Images",
    "Link",
    "Mark",
    "Number",
    "Shot",
    "Tone",
    "Words",
    "number",
    "one_line",
    "said",
]

Depth = Literal["front", "detail", "appendix"]  # how far a reader of the report must go for it
# What a section is for: a part of the report; evidence beside the answer; a drawing next to it; a question of a reader with its answer and
# evidence; long tables of raw numbers; sentences and a table for a publication.
Role = Literal["report", "answer", "exhibit", "question", "data", "publication"]
Weight = Literal["lead", "body", "quiet", "code"]
Outcome = Literal["passed", "failure", "error", "skipped"]
DIGITS: Final = frozenset("0123456789$−–")

# ---- blocks ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Head:
    """The head of a column; neighbours with the same `above` share a spanning head."""

    text: str
    above: str = ""

    @property
    def full(self) -> str:
        """Both, in one line."""
        return f"{self.above}, {self.text}" if self.above and self.text else self.above or self.text


@dataclass(frozen=True, kw_only=True)
class Bullet:
    """An item of a list: `text` and `where` it holds, and `more` such pairs."""

    text: str
    mark: Mark | None = None
    title: str = ""
    where: str = ""
    more: tuple[tuple[str, str], ...] = ()
    todo: str = ""
    folded: bool = False  # the text is hidden until the item is opened, in formats that can fold


@dataclass(frozen=True, kw_only=True)
class Table:
    """Rows whose first `stub` cells are names; a row with only one more cell applies to all columns."""

    name: str  # anchor
    heads: tuple[Head, ...]
    rows: tuple[tuple[Cell, ...], ...]
    title: str = ""
    stub: int = 1
    notes: tuple[str, ...] = ()
    reasons: tuple[Bullet, ...] = ()  # for its marks and dashes, for formats whose cells hold only text
    explained: bool = False  # the marks' reasons are in the cells, if there is room
    opens: bool = False  # a number can be expanded to its method
    inline: bool = False  # an interval is on the line of its number, for tables of many rows
    folded: str = ""  # summary shown while the table is folded; empty: not foldable
    opened: bool = False  # initially open although foldable
    anchor: str = ""  # a row can be linked to as this and its name: "launch-7"
    sheet: bool = False  # rows are tiles, in formats that can show images
    most: int = 0  # of a table of long texts: rows in formats that can be neither searched nor sorted; 0: all

    @property
    def in_text(self) -> Table:
        """With as many rows as such formats show, and the number of the others."""
        left = len(self.rows) - self.most if self.most else 0
        return self if left <= 0 else replace(self, rows=self.rows[: self.most], notes=(f"{left:,} more rows: --html", *self.notes))

    def whole(self, row: tuple[Cell, ...]) -> bool:
        """True if a row holds one cell for all columns."""
        return len(row) == self.stub + 1 < len(self.heads)

    def numeric(self, column: int) -> bool:
        """True if a column holds numbers, or only texts that begin like one."""
        return self._numeric[column]

    @cached_property  # writers ask for every cell
    def _numeric(self) -> tuple[bool, ...]:
        return tuple(map(self._holds_numbers, range(len(self.heads))))

    def _holds_numbers(self, column: int) -> bool:
        cells = [row[column] for row in self.rows if not self.whole(row)]
        if any(isinstance(cell, (Number, Figure, int, float)) for cell in cells):
            return True
        return column >= self.stub and not self.most and bool(cells) and all(said(cell).text[:1] in DIGITS for cell in cells)


@dataclass(frozen=True, kw_only=True)
class Facts:
    """Names and their texts."""

    rows: tuple[tuple[str, str], ...]


@dataclass(frozen=True, kw_only=True)
class Bullets:
    """Findings, gates, recommendations, reasons; `empty` is shown if there are none."""

    items: tuple[Bullet, ...]
    empty: str = ""


@dataclass(frozen=True, kw_only=True)
class Prose:
    """A paragraph; with weight `code`, preformatted lines."""

    text: str
    weight: Weight = "body"


@dataclass(frozen=True, kw_only=True)
class Raw:
    """A table of any length, for a workbook alone; `rows` follow those of the frame."""

    name: str
    heads: tuple[str, ...]
    frame: pl.DataFrame = field(repr=False)
    rows: tuple[tuple[Cell, ...], ...] = ()


@dataclass(frozen=True, kw_only=True)
class Part:
    """A summand; `role` names its colour: computing, transfer, waiting, data, uneven, unexplained; or ideal, base, total."""

    text: str
    number: Number
    role: str = "unexplained"


@dataclass(frozen=True, kw_only=True)
class Sum:
    """Parts that add up: `start` and all parts are `total`; the last part is what is not explained."""

    name: str
    title: str  # "why not faster: 4 workers take 188 ms a step, 121 more than 267 / 4"
    unit: str
    start: Part
    parts: tuple[Part, ...]
    total: Part
    measured: tuple[Part, ...] = ()  # whole amounts shown before `start`, such as the base
    notes: tuple[str, ...] = ()


Block = Table | Facts | Bullets | Prose | Chart | Raw | Sum
Blocks = tuple[Block, ...]


@dataclass(frozen=True, kw_only=True)
class Section:
    """A heading and its content, which is made when a writer shows it."""

    key: str
    title: str
    content: Blocks | Callable[[], Blocks]
    role: Role = "report"
    depth: Depth = "front"  # of the report
    question: str = ""  # answered by the section
    reply: str = ""  # the answer to the question, in a sentence
    half: bool = False  # side by side with another such section, if there is room

    @cached_property
    def blocks(self) -> Blocks:
        """The content."""
        return self.content if isinstance(self.content, tuple) else self.content()

    @property
    def only_drawn(self) -> bool:
        """True if it holds nothing but charts whose numbers stand elsewhere."""
        return bool(self.blocks) and all(isinstance(block, Chart) and not data_of(block) for block in self.blocks)


@dataclass(frozen=True, kw_only=True)
class Case:
    """A test case for a CI server."""

    name: str
    group: str
    outcome: Outcome
    kind: str
    text: str


@dataclass(frozen=True, kw_only=True)
class Tile:
    """One of at most four sides of an answer: a status, one large number, what it means."""

    title: str
    mark: Mark
    text: str  # one or two short sentences
    big: str = ""  # "1.36 times"; empty if there is no number
    small: str = ""  # next to it: "[1.11, 1.66] with 2 workers"
    marks: tuple[Mark, ...] = ()  # by configuration; each word is its name
    target: str = ""  # key of the section with its evidence


@dataclass(frozen=True, kw_only=True)
class Line:
    """A labelled line of an answer: a dimension, the doubts, what was not measured."""

    label: str
    text: str
    mark: Mark | None = None
    target: str = ""
    beside_tile: bool = False  # also shown if a tile with less detail has the same title


@dataclass(frozen=True, kw_only=True)
class Next:
    """What to do next: the reason, and a complete command, if one does it."""

    reason: str
    command: str = ""


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What a reader wants first; sections of role `answer` are its evidence."""

    mark: Mark  # the status
    headline: str  # what to do, with the number that decides; the subject is the page's title
    evidence: str = ""
    tiles: tuple[Tile, ...] = ()
    lines: tuple[Line, ...] = ()
    next: tuple[Next, ...] = ()
    record: str = ""  # which record, how many launches, what was not asked for
    source: str = "record"  # what that is: a record, or a table
    about: str = ""  # the subject in one line, for a page: "Training, strong scaling, ... "


@dataclass(frozen=True, kw_only=True)
class Page:
    """A page about one subject."""

    title: str
    sections: tuple[Section, ...]
    mark: Mark | None = None
    meaning: str = ""
    lead: str = ""  # the sentence that may be quoted
    about: tuple[str, ...] = ()  # lines below it, in a subdued style
    footer: tuple[str, ...] = ()
    properties: Mapping[str, str] = field(default_factory=dict)
    cases: tuple[Case, ...] = ()
    answer: Answer | None = None
    full: bool = False  # text formats show everything, not only the answer

    @property
    def brief(self) -> Answer | None:
        """The answer, if text formats show it instead of the sections."""
        return None if self.full else self.answer

    def of_role(self, role: Role) -> tuple[Section, ...]:
        """The sections of this role, in their order, without empty ones."""
        return tuple(section for section in self.sections if section.role == role and (section.reply or section.blocks))

    @property
    def whole(self) -> tuple[Section, ...]:
        """Everything: the report at every depth, then what only a reader's questions draw."""
        report = self.of_depth("front", "detail", "appendix")
        seen = {block.name for section in report for block in section.blocks if isinstance(block, (Chart, Sum))}
        asked = (section for role in ("exhibit", "question") for section in self.of_role(role))
        further = (
            replace(section, role="report", question="", reply="", content=blocks)
            for section in asked
            if (blocks := tuple(block for block in section.blocks if isinstance(block, (Chart, Sum)) and block.name not in seen))
        )
        return tuple(section for section in (*report, *further) if not section.only_drawn)

    def of_depth(self, *depths: Depth) -> tuple[Section, ...]:
        """The sections of the report at these depths, likewise."""
        return tuple(section for section in self.of_role("report") if section.depth in depths)


TEXTS: Final = (
    *(Page, Case, Table, Head, Facts, Bullets, Bullet, Prose, Mark, Words, Link, Images, Shot),
    *(Answer, Tile, Line, Next, Sum, Part, Chart, Panel, Axis, Key, *MARKS),
)


def heads(*texts: str) -> tuple[Head, ...]:
    """Heads without anything above them."""
    return tuple(Head(text=text) for text in texts)


def data_of(chart: Chart) -> tuple[Table, ...]:
    """The numbers of a chart as a table, for formats that cannot draw it."""
    if chart.in_tables:
        return ()
    rows: tuple[tuple[Cell, ...], ...] = tuple((row.name, row.number) for row in chart.rows)
    rows = rows or tuple((told.name, Words(text=told.text, below=told.interval)) for told in chart.readings)
    return (
        (Table(name=f"data-{chart.name}", title=chart.title, heads=heads(chart.stub, chart.quantity), rows=rows, inline=True),)
        if rows
        else ()
    )


def notes(texts: Iterable[str]) -> Bullets:
    """Plain sentences as a list."""
    return Bullets(items=tuple(Bullet(text=text) for text in texts))


def mapped(value: Any, change: Callable[[str], str]) -> Any:
    """A page, or a part of one, with every text changed, to redact pages of unchecked input."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, tuple):
        return tuple(mapped(item, change) for item in value)
    if isinstance(value, dict):
        return {name: change(text) for name, text in value.items()}
    if isinstance(value, Section):
        return replace(value, title=change(value.title), content=mapped(value.blocks, change))
    if isinstance(value, TEXTS):
        return replace(value, **{part.name: mapped(getattr(value, part.name), change) for part in fields(value)})
    return value


@dataclass(frozen=True, kw_only=True)
class RecordPage:
    """An additional page on a judged record; every writer can write it."""

    name: str
    summary: str  # one line, for `assay report --help`
    page: Callable[[View], Page]
    writer: str  # the default format
