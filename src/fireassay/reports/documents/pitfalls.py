"""How do other programs read an audit?

As JSON: each pitfall with its findings, and the quantities to measure.
"""

from __future__ import annotations

import json
from typing import Final

from fireassay.printable import json_text, one_line
from fireassay.reports.documents.values import Key, Keys, made
from fireassay.reports.pages.pitfalls import Sheet
from fireassay.verdict.claims.claim import Quantity
from fireassay.verdict.claims.pitfalls import Pitfall
from fireassay.verdict.types import Finding

FINDING: Final[Keys[Finding]] = (
    Key("rule", "string", "name of the rule", lambda found: found.rule),
    Key("severity", "string", "`invalid`, `fail`, `warning` or `note`", lambda found: found.severity),
    Key("where", "string or null", "the configuration", lambda found: one_line(found.configuration) if found.configuration else None),
    Key("evidence", "string", "what was seen", lambda found: one_line(found.evidence)),
    Key("remedy", "string", "what to do", lambda found: one_line(found.remedy)),
    Key("needs", "list of strings", "facts that would settle it", lambda found: list(found.needs)),
)
PITFALL: Final[Keys[Pitfall]] = (
    Key("pitfall", "string", "name of the audit", lambda pitfall: pitfall.name),
    Key("title", "string", "in words", lambda pitfall: pitfall.title),
    Key("question", "string", "what is asked", lambda pitfall: pitfall.question),
    Key("state", "string", "`fallen into`, `not examined` or `clear`", lambda pitfall: pitfall.state),
    Key("reason", "string or null", "why it could not be examined", lambda pitfall: one_line(pitfall.reason) or None),
    Key("findings", "list of objects", "the evidence", lambda pitfall: [made(FINDING, found) for found in pitfall.findings]),
)
QUANTITY: Final[Keys[Quantity]] = (
    Key("quantity", "string", "its name", lambda quantity: quantity.name),
    Key("what", "string", "what it is", lambda quantity: quantity.what),
    Key("how", "string", "how it is measured", lambda quantity: quantity.how),
)
DOCUMENT: Final[Keys[Sheet]] = (
    Key("kind", "string", "`claim` or `record`", lambda sheet: sheet.kind),
    Key("subject", "string", "the claim's words, or the record's name", lambda sheet: sheet.subject),
    Key("source", "string", "where it is from", lambda sheet: sheet.source),
    Key(
        "status",
        "string",
        "of a claim `sound`, `unsound` or `cannot be judged`; of a record that of its verdict",
        lambda sheet: sheet.status,
    ),
    Key("sentence", "string", "the one that may be quoted", lambda sheet: one_line(sheet.sentence)),
    Key("pitfalls", "list of objects", "every pitfall", lambda sheet: [made(PITFALL, pitfall) for pitfall in sheet.pitfalls]),
    Key("measure", "list of objects", "what would make it sound", lambda sheet: [made(QUANTITY, q) for q in sheet.quantities]),
    Key("measure_if_unknown", "list of objects", "as well, if nobody knows it", lambda sheet: [made(QUANTITY, q) for q in sheet.otherwise]),
)


def render(sheet: Sheet) -> str:
    """Render the sheet as a JSON document."""
    return json_text(json.dumps(made(DOCUMENT, sheet), indent=2, ensure_ascii=False)) + "\n"
