"""How is a reproduction shown?  In the terminal and as JSON: every condition that differs, every metric with its agreement."""

from __future__ import annotations

from typing import Final

from assay.printable import printable
from assay.reports.check import difference_fields, value_fields
from assay.reports.documents.values import encode
from assay.verdict.comparison.change_phrases import difference_text
from assay.verdict.reproduction import STATES, Reproduction

SCHEMA: Final = "assay-reproduction/1"
CLASSES: Final = ("identity", "hardware", "condition", "context")


def to_text(found: Reproduction) -> str:
    """The sentence, the metrics, the conditions that differ by class, notes."""
    lines = [found.sentence, ""]
    for row in found.rows:
        shown = f" {difference_text(row.difference)}" if row.difference is not None else ""
        mark = "" if row.decides else " *"
        told = shown if row.difference is not None else f" {row.sentence}"
        lines.append(f"  {row.agreement.replace('_', ' ') + mark:<16}{row.metric} at {row.configuration}:{told}")
    if found.rows:
        lines += ["  * is told and decides nothing", ""]
    for kind in CLASSES:
        own = [m for m in found.mismatches if m.kind == kind]
        if own:
            lines.append(f"{kind} that differs:")
            lines += [f"  {m.field}: {' against '.join(m.values)}" for m in own]
    if not found.mismatches:
        lines.append("no recorded condition differs")
    lines += [f"note: {note}" for note in found.notes]
    return printable("\n".join(lines) + "\n")


def to_json(found: Reproduction, *, record: str = "") -> str:
    """One JSON object of the shape SCHEMA; the keys are those of `assay check --json` where they mean the same."""
    document = {
        "schema": SCHEMA,
        "state": found.state,
        "exit_code": STATES[found.state][0],
        "first": found.first,
        "second": found.second,
        "record": record,
        "sentence": found.sentence,
        "notes": list(found.notes),
        "rows": [
            {
                "metric": row.metric,
                "configuration": row.configuration,
                "agreement": row.agreement,
                "decides": row.decides,
                **difference_fields(row.difference),
                "launches_needed": row.launches_needed,
                "first": value_fields(row.first),
                "second": value_fields(row.second),
                "sentence": row.sentence,
            }
            for row in found.rows
        ],
        "conditions": [{"field": m.field, "class": m.kind, "values": list(m.values), "why": m.why} for m in found.mismatches],
    }
    return encode(document)
