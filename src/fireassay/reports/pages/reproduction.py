"""What does the page of a reproduction show?

Every metric with its agreement, and every condition that differs.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from fireassay.estimates.format import count
from fireassay.reports import answering
from fireassay.reports.answering import shortened
from fireassay.reports.charts.model import Edge, Interval, intervals
from fireassay.reports.page import (
    Answer,
    Bullet,
    Bullets,
    Case,
    Cell,
    Line,
    Mark,
    Number,
    Outcome,
    Page,
    Section,
    Table,
    Tile,
    Tone,
    heads,
    notes,
    number,
)
from fireassay.reports.pages.check import difference_number
from fireassay.verdict.comparison.phrases import UNKNOWN, difference_text, values_apart
from fireassay.verdict.comparison.types import Mismatch
from fireassay.verdict.reproduction import AgreementRow, Reproduction

MAX_TILES: Final = 4
MAX_ROWS: Final = 6  # drawn
MAX_TOLD: Final = 4  # in words
MAX_SENTENCE_LENGTH: Final = 220  # characters of the sentence
CLASSES: Final = ("identity", "hardware", "condition", "context")
TONES: Final[dict[str, Tone]] = {"reproduced": "good", "agrees": "good", "identical": "good", "differs": "bad", "not_comparable": "void"}
OUTCOMES: Final[dict[Tone, Outcome]] = {"good": "passed", "bad": "failure"}


def page(reproduction: Reproduction) -> Page:
    """The page of a reproduction."""
    return Page(
        title=f"{reproduction.first} again as {reproduction.second}",
        mark=_mark(reproduction),
        lead=reproduction.sentence,
        sections=(*_brief(reproduction), *_sections(reproduction)),
        answer=_answer(reproduction),
        properties={"verb": "reproduce", "state": reproduction.state, "first": reproduction.first, "second": reproduction.second},
        cases=tuple(_case(row) for row in reproduction.rows),
    )


def _mark(reproduction: Reproduction) -> Mark:
    return Mark(word=reproduction.state.replace("_", " "), tone=TONES.get(reproduction.state, "open"))


def _answer(reproduction: Reproduction) -> Answer:
    """True if the numbers agree, and which conditions differ."""
    return Answer(
        mark=_mark(reproduction),
        headline=_headline(reproduction),
        evidence=next((row.days for row in reproduction.rows if row.decides and row.difference is not None), ""),  # of the headline
        tiles=tuple(_tiles(reproduction)),
        lines=tuple(_lines(reproduction)),
        record=f"{reproduction.first}, {reproduction.second}; --full shows every metric and condition",
    )


def _headline(reproduction: Reproduction) -> str:
    """The change that decides; without one, the sentence."""
    row = next((row for row in reproduction.rows if row.decides and row.difference is not None), None)
    if row is not None and row.difference is not None:
        return f"{row.title.lower()} {difference_text(row.difference)} at {row.configuration}"
    return shortened(
        reproduction.sentence.removeprefix(f"{reproduction.state.replace('_', ' ').upper()}: ").rstrip("."), MAX_SENTENCE_LENGTH
    )


def _brief(reproduction: Reproduction) -> tuple[Section, ...]:
    """The changes that decide on one scale; what is exact, and quality, in words."""
    rows = [row for row in reproduction.rows if row.decides]
    drawn = [row for row in rows if row.difference is not None and row.difference.scale == "ratio"][:MAX_ROWS]
    told = tuple(
        Bullet(mark=_agreement(row), title=row.title.lower(), text=shortened(row.sentence.partition(";")[0]))
        for row in rows
        if row not in drawn
    )[:MAX_TOLD]
    words = (Section(key="brief-exact", title="", role="answer", content=(Bullets(items=told),)),) if told else ()
    shown = tuple(Interval(name=row.title.lower(), number=number, mark=_agreement(row)) for row in drawn if (number := _percent(row)))
    plot = intervals(name="changes", title="change, %", stub="metric", rows=shown, edges=(Edge(value=0.0),))
    return (*(answering.brief_sections(plot) if shown else ()), *words)


def _tiles(reproduction: Reproduction) -> Iterator[Tile]:
    """What decides, and how many metrics agree."""
    rows = sorted((row for row in reproduction.rows if row.decides), key=lambda row: row.difference is None)
    for row in rows[: MAX_TILES - 1]:
        drawn = row.difference is not None and row.difference.scale == "ratio"
        text = f"at {row.configuration}" if drawn else shortened(row.sentence.partition(";")[0])
        yield answering.change_tile(row.title, _agreement(row), _percent(row) if drawn else None, text)
    if rows := list(reproduction.rows):
        worst = min((_agreement(row) for row in rows), key=lambda mark: ("bad", "open", "good").index(mark.tone))
        words = [row.agreement.replace("_", " ") for row in rows]
        text = ", ".join(f"{words.count(word)} {word}" for word in dict.fromkeys(words))
        yield Tile(title=count(len(rows), "metrics"), mark=worst, text=text, target="metrics")


def _percent(row: AgreementRow) -> Number | None:
    found = row.difference
    if found is None:
        return None
    return answering.in_percent(found.value, found.low, found.high, confidence=found.confidence, method=found.method)


def _agreement(row: AgreementRow) -> Mark:
    return Mark(word=row.agreement.replace("_", " "), tone=TONES.get(row.agreement, "open"))


def _lines(reproduction: Reproduction) -> Iterator[Line]:
    differing = [mismatch.field for mismatch in reproduction.mismatches if mismatch.kind != "context"]
    if differing:
        text = shortened(", ".join(differing))
        yield Line(label="differs", text=text, mark=Mark(word="differs", tone="open", sign="~"), target="differs")
    yield answering.noted_doubts(
        [note for note in reproduction.notes if not note.startswith((UNKNOWN, f"{reproduction.second}: "))], most=1
    )


def _sections(reproduction: Reproduction) -> Iterator[Section]:
    if reproduction.rows:
        columns = heads("Metric", "Agreement", "At", "Difference", "First", "Second")
        table = Table(name="metrics", heads=columns, rows=tuple(map(_row, reproduction.rows)), notes=("*: listed, decides nothing",))
        yield Section(key="metrics", title="Metrics", content=(table,))
    tables = tuple(_class(kind, rows) for kind in CLASSES if (rows := [m for m in reproduction.mismatches if m.kind == kind]))
    yield Section(key="differs", title="Differences", content=tables or (Bullets(items=(), empty="No recorded condition differs."),))
    if remarks := (*_apart(reproduction), *reproduction.notes):
        yield Section(key="notes", title="Notes", content=(notes(remarks),))


def _apart(reproduction: Reproduction) -> Iterator[str]:
    """Rows whose two numbers in the table point one way and the difference another."""
    for row in reproduction.rows:
        if text := values_apart(row.first, row.second, row.difference):
            yield f"{row.title} at {row.configuration}: {text}"


def _row(row: AgreementRow) -> tuple[Cell, ...]:
    word = row.agreement.replace("_", " ") + ("" if row.decides else " *")
    mark = Mark(word=word, tone=TONES.get(row.agreement, "open"), why=row.sentence)
    ends: list[Number | None] = [None if value is None else number(value) for value in (row.first, row.second)]
    return (row.metric, mark, row.configuration, difference_number(row.difference), *ends)


def _class(kind: str, rows: list[Mismatch]) -> Table:
    wide = max(len(row.values) for row in rows)
    return Table(
        name=kind,
        title=kind,
        heads=heads("Condition", *("First", "Second", *(f"value {n}" for n in range(3, wide + 1)))[:wide]),
        rows=tuple((row.field, *row.values, *[""] * (wide - len(row.values))) for row in rows),
    )


def _case(row: AgreementRow) -> Case:
    outcome = OUTCOMES.get(TONES.get(row.agreement, "open"), "skipped") if row.decides else "skipped"
    return Case(
        name=f"{row.metric} at {row.configuration}", group=row.configuration, outcome=outcome, kind=row.agreement, text=row.sentence
    )
