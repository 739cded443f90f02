"""How is the list of pitfalls shown: in a terminal, as JSON, as Markdown?

The same list for a record and for a claim: each pitfall with its state, question, evidence and mend.  Words carry the state, colour only
repeats it.  Text of claims is somebody else's: what steers a terminal is taken out, Markdown is escaped.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from assay.printable import json_text, one_line
from assay.verdict.claims.claim import Audited, Quantity
from assay.verdict.claims.pitfalls import STATES, Pitfall
from assay.verdict.types import Finding

WIDTH = 100
STYLES = {"fallen into": "bold red", "not examined": "yellow", "clear": "green"}
HEADINGS = {"fallen into": "Fallen into", "not examined": "Could not be examined", "clear": "Clear"}
MEASURE = "To measure in the same launches"
OTHERWISE = "What could not be examined is settled by saying it; if nobody knows it any more, measure as well"


@dataclass(frozen=True, kw_only=True)
class Sheet:
    """What is shown: of a claim or of a record."""

    kind: str  # "claim" or "record"
    subject: str  # the claim's words, or the record's name
    source: str  # where it is from
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


def as_json(sheet: Sheet) -> str:
    """The sheet as a JSON document."""
    document = {
        "kind": sheet.kind,
        "subject": sheet.subject,
        "source": sheet.source,
        "status": sheet.status,
        "sentence": one_line(sheet.sentence),
        "pitfalls": [_pitfall(pitfall) for pitfall in sheet.pitfalls],
        "measure": [_quantity(quantity) for quantity in sheet.quantities],
        "measure_if_unknown": [_quantity(quantity) for quantity in sheet.otherwise],
    }
    return json_text(json.dumps(document, indent=2, ensure_ascii=False))


def _pitfall(pitfall: Pitfall) -> dict[str, Any]:
    return {
        "pitfall": pitfall.name,
        "title": pitfall.title,
        "question": pitfall.question,
        "state": pitfall.state,
        "reason": one_line(pitfall.reason) or None,
        "findings": [
            {
                "rule": found.rule,
                "severity": found.severity,
                "where": one_line(found.configuration) if found.configuration else None,
                "evidence": one_line(found.evidence),
                "remedy": one_line(found.remedy),
                "needs": list(found.needs),
            }
            for found in pitfall.findings
        ],
    }


def _quantity(quantity: Quantity) -> dict[str, str]:
    return {"quantity": quantity.name, "what": quantity.what, "how": quantity.how}


def as_markdown(sheet: Sheet) -> str:
    """The sheet for an issue or a pull request."""
    from assay.reports.markup import plain, table

    parts = [
        f"# {plain(sheet.subject)}: {plain(sheet.status.upper())}",
        f"> {plain(one_line(sheet.sentence))}",
        f"Source: {plain(sheet.source)}",
    ]
    for state, pitfalls in _grouped(sheet):
        cells = [row for pitfall in pitfalls for row in _rows(pitfall)]
        parts += [f"## {HEADINGS[state]}", table(("Pitfall", "Question", "Where", "Evidence", "To do"), cells)]
    if sheet.quantities:
        rows = [(quantity.name, quantity.what, quantity.how) for quantity in sheet.quantities]
        parts += [f"## {MEASURE}", table(("Quantity", "What", "How"), rows)]
    if sheet.otherwise:
        parts += [f"{OTHERWISE}: {plain(_names(sheet.otherwise))}."]
    return "\n\n".join(parts) + "\n"


def _rows(pitfall: Pitfall) -> list[tuple[str, str, str, str, str]]:
    head = (pitfall.title, pitfall.question)
    if pitfall.state == "clear" or not pitfall.findings:
        return [(*head, "", one_line(pitfall.reason), "")]
    return [(*head, one_line(f.configuration or ""), one_line(f.evidence), one_line(f.remedy)) for f in pitfall.findings]


def _grouped(sheet: Sheet) -> list[tuple[str, list[Pitfall]]]:
    groups: list[tuple[str, list[Pitfall]]] = [(state, [p for p in sheet.pitfalls if p.state == state]) for state in STATES]
    return [(state, members) for state, members in groups if members]


def as_text(sheet: Sheet, *, width: int = WIDTH, colour: bool = False) -> str:
    """The sheet as text of at most `width` columns; with `colour` for a terminal, else plain ASCII."""
    from assay.reports.terminal import draw

    return draw(_sections(sheet), width=width, colour=colour)


def _sections(sheet: Sheet) -> list[Any]:
    from rich.padding import Padding
    from rich.text import Text

    from assay.reports.hanging import hanging
    from assay.reports.terminal import title

    parts: list[Any] = [
        Text(sheet.subject),
        Text(f"{sheet.kind}: {sheet.source}", style="dim"),
        Text(),
        Padding(Text(one_line(sheet.sentence), style="bold"), (0, 2)),
    ]
    for state, pitfalls in _grouped(sheet):
        parts += [title(f"{HEADINGS[state]} ({len(pitfalls)})", STYLES[state])]
        parts += [_clear(pitfalls)] if state == "clear" else [_block(pitfall) for pitfall in pitfalls]
    if sheet.quantities:
        parts += [title(f"{MEASURE} ({len(sheet.quantities)})", "bold")]
        parts += [
            hanging(Text.assemble((q.name, "bold"), f": {q.what}. ", ("How: ", "bold"), f"{q.how}."), str(place))
            for place, q in enumerate(sheet.quantities, 1)
        ]
    if sheet.otherwise:
        parts += [Text(), Text(f"{OTHERWISE}: {_names(sheet.otherwise)}.", style="dim")]
    return parts


def _names(quantities: Iterable[Quantity]) -> str:
    return "; ".join(quantity.name for quantity in quantities)


def _clear(pitfalls: Iterable[Pitfall]) -> Any:
    from rich.text import Text

    return Text(", ".join(pitfall.title for pitfall in pitfalls))


def _block(pitfall: Pitfall) -> Any:
    from rich.console import Group
    from rich.text import Text

    from assay.reports.hanging import hanging

    head = Text.assemble((pitfall.title, "bold"), f"  {pitfall.question}")
    shown = pitfall.findings if pitfall.state == "fallen into" or pitfall.findings else ()
    if not shown:
        return Group(head, hanging(Text(one_line(pitfall.reason))))
    return Group(head, *(hanging(_finding(found, graded=pitfall.state == "fallen into")) for found in shown))


def _finding(found: Finding, *, graded: bool) -> Any:
    from rich.text import Text

    from assay.reports.terminal import STYLES as SEVERITY

    where = f" ({one_line(found.configuration)})" if found.configuration else ""
    head = Text.assemble((found.severity, SEVERITY[found.severity]), f" {found.rule}{where}: ") if graded else Text()
    return Text.assemble(head, f"{one_line(found.evidence)}. ", ("To do: ", "bold"), f"{one_line(found.remedy)}.")
