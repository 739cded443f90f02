"""How do other programs read a reproduction?

As strict JSON, with the keys of a check where they mean the same.
"""

from __future__ import annotations

from typing import Final

from fireassay.reports.documents.values import Key, Keys, difference_keys, encode, made, value_fields
from fireassay.verdict.comparison.types import Mismatch
from fireassay.verdict.reproduction import STATES, Reproduction, Row

SCHEMA: Final = "assay-reproduction/1"
ROW: Final[Keys[Row]] = (
    Key("metric", "string", "its name", lambda row: row.metric),
    Key("configuration", "string", "for example `workers=2`", lambda row: row.configuration),
    Key("agreement", "string", "whether the two agree", lambda row: row.agreement),
    Key("decides", "boolean", "whether it decides the state", lambda row: row.decides),
    *difference_keys(lambda row: row.difference),
    Key("launches_needed", "number or null", "on each side, for a decision", lambda row: row.launches_needed),
    Key("first", "object or null", "value, low, high, unit; or the reason", lambda row: value_fields(row.first)),
    Key("second", "object or null", "likewise", lambda row: value_fields(row.second)),
    Key("sentence", "string", "for people", lambda row: row.sentence),
)
CONDITION: Final[Keys[Mismatch]] = (
    Key("field", "string", "the condition", lambda m: m.field),
    Key("class", "string", "`identity`, `hardware`, `condition` or `context`", lambda m: m.kind),
    Key("values", "list of strings", "first and second", lambda m: list(m.values)),
    Key("why", "string", "why it matters", lambda m: m.why),
)
DOCUMENT: Final[Keys[Reproduction]] = (
    Key("schema", "string", f"always `{SCHEMA}`", lambda found: SCHEMA),
    Key("state", "string", f"one of {', '.join(f'`{state}`' for state in STATES)}", lambda found: found.state),
    Key("exit_code", "number", "of the state", lambda found: STATES[found.state][0]),
    Key("first", "string", "the record", lambda found: found.first),
    Key("second", "string", "the one made again", lambda found: found.second),
    Key("record", "string", "its path", lambda found: ""),
    Key("sentence", "string", "the one that may be quoted", lambda found: found.sentence),
    Key("notes", "list of strings", "what limits it", lambda found: list(found.notes)),
    Key("rows", "list of objects", "every metric", lambda found: [made(ROW, row) for row in found.rows]),
    Key("conditions", "list of objects", "those that differ", lambda found: [made(CONDITION, m) for m in found.mismatches]),
)


def render(found: Reproduction, *, record: str = "") -> str:
    """Render the document as strict JSON."""
    return encode({**made(DOCUMENT, found), "record": record})
