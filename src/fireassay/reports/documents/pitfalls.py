"""How do other programs read an audit?

As JSON: each pitfall with its findings, and the quantities to measure.
"""

from __future__ import annotations

from fireassay.printable import one_line
from fireassay.reports.documents.json_object import Document, JsonObject, key


class Finding(JsonObject):  # of `Finding`
    rule: str = key("name of the rule")
    severity: str = key("`invalid`, `fail`, `warning` or `note`")
    where: str | None = key("the configuration", lambda finding: one_line(finding.configuration) if finding.configuration else None)
    evidence: str = key("the evidence", lambda finding: one_line(finding.evidence))
    remedy: str = key("what to do", lambda finding: one_line(finding.remedy))
    needs: list[str] = key("facts that would settle it")


class Pitfall(JsonObject):  # of `Pitfall`
    pitfall: str = key("name of the audit", "name")
    title: str = key("in words")
    question: str = key("the question it answers")
    state: str = key("`fallen into`, `not examined` or `clear`")
    reason: str | None = key("why it could not be examined", lambda pitfall: one_line(pitfall.reason) or None)
    findings: list[Finding] = key("the evidence")


class Quantity(JsonObject):  # of `Quantity`
    quantity: str = key("its name", "name")
    what: str = key("its definition")
    how: str = key("how it is measured")


class AuditDocument(Document):  # of `Sheet`
    VERB = "audit"

    kind: str = key("`claim` or `record`")
    subject: str = key("the claim's words, or the record's name")
    source: str = key("its origin")
    status: str = key("of a claim `sound`, `unsound` or `not stated`; of a record that of its verdict")
    sentence: str = key("the sentence that may be quoted", lambda sheet: one_line(sheet.sentence))
    pitfalls: list[Pitfall] = key("every pitfall")
    measure: list[Quantity] = key("measurements that would make it sound", "quantities")
    measure_if_unknown: list[Quantity] = key("further measurements, where the value is unknown", "otherwise")


DOCUMENT = AuditDocument
render = DOCUMENT.render
