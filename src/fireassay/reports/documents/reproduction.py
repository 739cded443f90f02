"""How do other programs read a reproduction?

As strict JSON, with the keys of a check where they mean the same.
"""

from __future__ import annotations

from typing import Final

from fireassay.reports.documents.values import BRIEF_VALUE, DIFFERENCE, Document, Key, Keys, encode, lifted
from fireassay.verdict.comparison.types import Mismatch
from fireassay.verdict.reproduction import STATES, Reproduction, Row

ROW: Final[Keys[Row]] = (
    Key("metric", "string", "its name"),
    Key("configuration", "string", "for example `workers=2`"),
    Key("agreement", "string", "whether the two agree"),
    Key("decides", "boolean", "whether it decides the state"),
    *lifted(DIFFERENCE, lambda row: row.difference),
    Key("launches_needed", "number or null", "on each side, for a decision"),
    Key("first", "object or null", "its value", shape=BRIEF_VALUE),
    Key("second", "object or null", "likewise", shape=BRIEF_VALUE),
    Key("sentence", "string", "for people"),
)
CONDITION: Final[Keys[Mismatch]] = (
    Key("field", "string", "the condition"),
    Key("class", "string", "`identity`, `hardware`, `condition` or `context`", lambda m: m.kind),
    Key("values", "list of strings", "first and second"),
    Key("why", "string", "why it matters"),
)
KEYS: Final[Keys[Reproduction]] = (
    Key("state", "string", f"one of {', '.join(f'`{state}`' for state in STATES)}"),
    Key("exit_code", "number", "of the state", lambda result: STATES[result.state][0]),
    Key("first", "string", "the record"),
    Key("second", "string", "the repeated one"),
    Key("record", "string", "its path", lambda result: ""),
    Key("sentence", "string", "the sentence that may be quoted"),
    Key("notes", "list of strings", "its limits"),
    Key("rows", "list of objects", "every metric", shape=ROW),
    Key("conditions", "list of objects", "those that differ", lambda result: result.mismatches, CONDITION),
)
DOCUMENT: Final = Document(verb="reproduce", schema="assay-reproduction/1", keys=KEYS)


def render(reproduction: Reproduction, *, record: str = "") -> str:
    """Render the document as strict JSON."""
    return encode({**DOCUMENT.content(reproduction), "record": record})
