"""What does the page of an audit show?

The pitfalls of a record or claim, with question, evidence and remedy, and what to measure. Words carry the state; colour only repeats
it. Text of claims is untrusted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Final

from fireassay.estimates.format import count
from fireassay.printable import one_line
from fireassay.reports.answering import shortened
from fireassay.reports.page import (
    Answer,
    Block,
    Blocks,
    Bullet,
    Bullets,
    Case,
    Mark,
    Next,
    Outcome,
    Page,
    Prose,
    Section,
    Table,
    Tone,
    heads,
)
from fireassay.verdict.claims.claim import Audited, Quantity
from fireassay.verdict.pitfalls import STATES, Pitfall
from fireassay.verdict.types import Finding

HEADINGS: Final = {"fallen into": "Fallen into", "not examined": "Could not be examined", "clear": "Clear"}
OUTCOMES: Final[dict[str, Outcome]] = {"fallen into": "failure", "not examined": "skipped", "clear": "passed"}
TONES: Final[dict[str, Tone]] = {"sound": "good", "PASS": "good", "unsound": "bad", "FAIL": "bad", "INVALID": "void"}
SEVERITIES: Final[dict[str, Tone]] = {"invalid": "void", "fail": "bad", "warning": "open", "note": "absent"}
UNSEEN: Final = {"claim": "not said", "record": "not examined"}
FALLEN: Final = Mark(word="fallen into", tone="bad")
MAX_TOLD: Final = 7  # pitfalls with their evidence; others are named
MAX_EVIDENCE_LENGTH: Final = 110  # characters: two lines
MEASURE: Final = "To measure in the same launches"
OTHERWISE: Final = "To settle pitfalls that could not be examined, state these; if they are unknown, measure them too"


@dataclass(frozen=True, kw_only=True)
class Sheet:
    """The pitfalls of a claim or a record, to be shown."""

    kind: str  # "claim" or "record"
    subject: str  # the claim's text, or the record's name
    source: str  # its origin
    status: str
    sentence: str
    pitfalls: tuple[Pitfall, ...]
    quantities: tuple[Quantity, ...]
    otherwise: tuple[Quantity, ...] = ()


def of_claim(text: str, source: str, audited: Audited) -> Sheet:
    """The sheet of a claim."""
    return Sheet(
        kind="claim",
        subject=one_line(text),
        source=one_line(source),
        status=audited.status,
        sentence=audited.sentence,
        pitfalls=audited.pitfalls,
        quantities=audited.quantities,
        otherwise=audited.otherwise,
    )


def page(sheet: Sheet) -> Page:
    """The page of an audit."""
    return Page(
        title=sheet.subject,
        mark=_mark(sheet),
        lead=one_line(sheet.sentence),
        about=(f"{sheet.kind}: {sheet.source}",),
        sections=(*brief(sheet), *_sections(sheet), *_of_page(sheet)),
        answer=answer(sheet),
        properties={"verb": "audit", "status": sheet.status, "source": sheet.source},
        cases=tuple(_case(pitfall) for pitfall in sheet.pitfalls),
    )


def answer(sheet: Sheet) -> Answer:
    """How many pitfalls, and the smallest measurement that settles all of them."""
    words = ((UNSEEN[sheet.kind], "not examined"), ("clear", "clear"))
    rest = [f"{number} {word}" for word, state in words if (number := len(_in_state(sheet, state)))]
    return Answer(
        mark=_mark(sheet),
        headline=", ".join((count(len(_in_state(sheet, "fallen into")), "pitfalls"), *rest)),
        next=tuple(_next(sheet)),
        record=f"{sheet.kind}: {sheet.source}; --full shows the question behind each pitfall",
    )


def _mark(sheet: Sheet) -> Mark:
    return Mark(word=sheet.status.lower().replace("_", " "), tone=TONES.get(sheet.status, "open"))


def brief(sheet: Sheet) -> Iterator[Section]:
    """A line for each pitfall with its evidence; what was not said is one list."""
    fallen = _in_state(sheet, "fallen into")
    items = [_pitfall(pitfall) for pitfall in fallen[:MAX_TOLD]]
    fitting = sum(total <= MAX_TOLD * MAX_EVIDENCE_LENGTH for total in accumulate(len(item.text) for item in items))
    items = items[: max(1, fitting)]
    if further := fallen[len(items) :]:
        items.append(Bullet(mark=FALLEN, title="also", text=", ".join(pitfall.title for pitfall in further)))
    if unseen := _in_state(sheet, "not examined"):
        text = ", ".join(pitfall.title for pitfall in unseen)
        items.append(Bullet(mark=Mark(word="not said", tone="open"), title=UNSEEN[sheet.kind], text=text))
    if items:
        yield Section(key="brief-pitfalls", title="", role="answer", content=(Bullets(items=tuple(items)),))


def _in_state(sheet: Sheet, state: str) -> list[Pitfall]:
    return [pitfall for pitfall in sheet.pitfalls if pitfall.state == state]


def _pitfall(pitfall: Pitfall) -> Bullet:
    finding = next(iter(pitfall.findings), None)
    text = finding.evidence if finding is not None else pitfall.reason
    return Bullet(mark=FALLEN, title=pitfall.title, text=shortened(one_line(text), MAX_EVIDENCE_LENGTH))


def _next(sheet: Sheet) -> Iterator[Next]:
    """What settles all of it; for a record, what its gravest finding asks for."""
    if sheet.quantities:
        how = f" ({sheet.quantities[0].how})" if len(sheet.quantities) == 1 else ""
        yield Next(reason=f"measure in the same launches: {'; '.join(quantity.name for quantity in sheet.quantities)}{how}")
    elif sheet.otherwise:
        yield Next(reason=f"state, or measure: {'; '.join(quantity.name for quantity in sheet.otherwise)}")


def _sections(sheet: Sheet) -> Iterator[Section]:
    for state in STATES:
        if members := [pitfall for pitfall in sheet.pitfalls if pitfall.state == state]:
            content = (_names(members),) if state == "clear" else tuple(block for member in members for block in _blocks(member))
            yield Section(key=state.replace(" ", "-"), title=f"{HEADINGS[state]} ({len(members)})", content=content)
    if sheet.quantities:
        items = tuple(Bullet(title=q.name, text=f"{q.what}. How: {q.how}.") for q in sheet.quantities)
        otherwise = (Prose(text=f"{OTHERWISE}: {'; '.join(q.name for q in sheet.otherwise)}.", weight="quiet"),) if sheet.otherwise else ()
        yield Section(key="measure", title=f"{MEASURE} ({len(sheet.quantities)})", content=(Bullets(items=items), *otherwise))
    elif sheet.otherwise:
        yield Section(key="measure", title=MEASURE, content=(Prose(text=f"{OTHERWISE}: {'; '.join(q.name for q in sheet.otherwise)}."),))
    if clear := [pitfall for pitfall in sheet.pitfalls if pitfall.state == "clear"]:
        yield Section(key="examined", title="Examined and clear", depth="detail", content=_clear(clear))


def _of_page(sheet: Sheet) -> Iterator[Section]:
    """The same for a page: a list of what is wrong, tables of the rest."""
    if fallen := _in_state(sheet, "fallen into"):
        items = tuple(_wrong(pitfall, finding) for pitfall in fallen for finding in pitfall.findings)
        yield Section(
            key="fallen-into", title=f"{HEADINGS['fallen into']} ({len(fallen)})", role="question", content=(Bullets(items=items),)
        )
    yield from (replace(section, role="question") for section in _sections(sheet) if section.key == "measure")
    for state in ("not examined", "clear"):
        if members := _in_state(sheet, state):
            title = f"{HEADINGS[state]} ({len(members)})"
            yield Section(key=state.replace(" ", "-"), title=title, role="question", content=_clear(members))


def _wrong(pitfall: Pitfall, finding: Finding) -> Bullet:
    where = f"{pitfall.question} {one_line(finding.configuration)}" if finding.configuration else pitfall.question
    return replace(_finding(finding, graded=True), title=pitfall.title, where=where)


def _names(pitfalls: Iterable[Pitfall]) -> Prose:
    return Prose(text=", ".join(pitfall.title for pitfall in pitfalls))


def _clear(pitfalls: Sequence[Pitfall]) -> Blocks:
    rows = tuple((pitfall.title, pitfall.question, one_line(pitfall.reason)) for pitfall in pitfalls)
    return (Table(name=f"examined-{pitfalls[0].state.replace(' ', '-')}", heads=heads("Pitfall", "Question", "Evidence"), rows=rows),)


def _blocks(pitfall: Pitfall) -> Iterator[Block]:
    yield Prose(text=f"{pitfall.title}: {pitfall.question}", weight="lead")
    if pitfall.findings:
        yield Bullets(items=tuple(_finding(finding, graded=pitfall.state == "fallen into") for finding in pitfall.findings))
    else:
        yield Bullets(items=(Bullet(text=one_line(pitfall.reason)),))


def _finding(finding: Finding, *, graded: bool) -> Bullet:
    return Bullet(
        mark=Mark(word=finding.severity, tone=SEVERITIES[finding.severity]) if graded else None,
        title=finding.rule if graded else "",
        where=one_line(finding.configuration) if finding.configuration and graded else "",
        text=one_line(finding.evidence),
        todo=one_line(finding.remedy),
    )


def _case(pitfall: Pitfall) -> Case:
    text = "; ".join(one_line(finding.evidence) for finding in pitfall.findings) or one_line(pitfall.reason)
    return Case(name=pitfall.name, group="pitfalls", outcome=OUTCOMES[pitfall.state], kind=pitfall.state, text=text or pitfall.question)
