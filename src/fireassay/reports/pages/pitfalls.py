"""What does the page of an audit show?

The pitfalls of a record or claim, with question, evidence and remedy, and what to measure. Words carry the state; colour only repeats
it. Text of claims is untrusted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from fireassay.printable import one_line
from fireassay.reports.page import Block, Blocks, Bullet, Bullets, Case, Mark, Outcome, Page, Prose, Section, Table, Tone, heads
from fireassay.verdict.claims.claim import Audited, Quantity
from fireassay.verdict.claims.pitfalls import STATES, Pitfall
from fireassay.verdict.types import Finding

HEADINGS: Final = {"fallen into": "Fallen into", "not examined": "Could not be examined", "clear": "Clear"}
OUTCOMES: Final[dict[str, Outcome]] = {"fallen into": "failure", "not examined": "skipped", "clear": "passed"}
TONES: Final[dict[str, Tone]] = {"sound": "good", "PASS": "good", "unsound": "bad", "FAIL": "bad", "INVALID": "void"}
SEVERITIES: Final[dict[str, Tone]] = {"invalid": "void", "fail": "bad", "warning": "open", "note": "absent"}
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
        mark=Mark(word=sheet.status, tone=TONES.get(sheet.status, "open")),
        lead=one_line(sheet.sentence),
        about=(f"{sheet.kind}: {sheet.source}",),
        sections=tuple(_sections(sheet)),
        properties={"verb": "audit", "status": sheet.status, "source": sheet.source},
        cases=tuple(_case(pitfall) for pitfall in sheet.pitfalls),
    )


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


def _names(pitfalls: Iterable[Pitfall]) -> Prose:
    return Prose(text=", ".join(pitfall.title for pitfall in pitfalls))


def _clear(pitfalls: Iterable[Pitfall]) -> Blocks:
    rows = tuple((pitfall.title, pitfall.question, one_line(pitfall.reason)) for pitfall in pitfalls)
    return (Table(name="examined", heads=heads("Pitfall", "Question", "Evidence"), rows=rows),)


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
