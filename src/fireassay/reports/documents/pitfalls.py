"""How do other programs read an audit?

As JSON: each pitfall with its findings, and the quantities to measure.
"""

from __future__ import annotations

from typing import Final

from fireassay.printable import one_line
from fireassay.reports.documents.values import Document, Key, Keys
from fireassay.reports.pages.pitfalls import Sheet
from fireassay.verdict.claims.claim import Quantity
from fireassay.verdict.pitfalls import Pitfall
from fireassay.verdict.types import Finding

FINDING: Final[Keys[Finding]] = (
    Key("rule", "string", "name of the rule"),
    Key("severity", "string", "`invalid`, `fail`, `warning` or `note`"),
    Key("where", "string or null", "the configuration", lambda finding: one_line(finding.configuration) if finding.configuration else None),
    Key("evidence", "string", "the evidence", lambda finding: one_line(finding.evidence)),
    Key("remedy", "string", "what to do", lambda finding: one_line(finding.remedy)),
    Key("needs", "list of strings", "facts that would settle it"),
)
PITFALL: Final[Keys[Pitfall]] = (
    Key("pitfall", "string", "name of the audit", lambda pitfall: pitfall.name),
    Key("title", "string", "in words"),
    Key("question", "string", "the question it answers"),
    Key("state", "string", "`fallen into`, `not examined` or `clear`"),
    Key("reason", "string or null", "why it could not be examined", lambda pitfall: one_line(pitfall.reason) or None),
    Key("findings", "list of objects", "the evidence", shape=FINDING),
)
QUANTITY: Final[Keys[Quantity]] = (
    Key("quantity", "string", "its name", lambda quantity: quantity.name),
    Key("what", "string", "its definition"),
    Key("how", "string", "how it is measured"),
)
KEYS: Final[Keys[Sheet]] = (
    Key("kind", "string", "`claim` or `record`"),
    Key("subject", "string", "the claim's words, or the record's name"),
    Key("source", "string", "its origin"),
    Key("status", "string", "of a claim `sound`, `unsound` or `cannot be judged`; of a record that of its verdict"),
    Key("sentence", "string", "the sentence that may be quoted", lambda sheet: one_line(sheet.sentence)),
    Key("pitfalls", "list of objects", "every pitfall", shape=PITFALL),
    Key("measure", "list of objects", "measurements that would make it sound", lambda sheet: sheet.quantities, QUANTITY),
    Key(
        "measure_if_unknown", "list of objects", "further measurements, where the value is unknown", lambda sheet: sheet.otherwise, QUANTITY
    ),
)
DOCUMENT: Final = Document(verb="audit", keys=KEYS)
render = DOCUMENT.render
