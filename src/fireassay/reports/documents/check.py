"""How do other programs read a check?

As strict JSON of a stable, documented shape: `assay-check/1`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from fireassay.reports.documents.values import Key, Keys, declared, difference_keys, encode, key_tables, made, value_fields
from fireassay.reports.pages.check import mark_of
from fireassay.reports.writers import junit
from fireassay.verdict.checking.types import STATES, Check, Row
from fireassay.verdict.comparison.types import Mismatch

SCHEMA: Final = "assay-check/1"


@dataclass(frozen=True, kw_only=True)
class Told:
    """A check and its outcome on the command line."""

    check: Check
    accepted: bool = False
    fresh: tuple[str, ...] = ()


def _rows(result: Told) -> list[dict[str, Any]]:
    mark = mark_of(result.check)
    return [{**row, "sentence": f"{mark}{row['sentence']}"} for row in (made(ROW, row) for row in result.check.rows)]


ROW: Final[Keys[Row]] = (
    Key("metric", "string", "its name; `quality`, or the rule of a finding, where the result itself is compared", lambda row: row.metric),
    Key("configuration", "string", "for example `workers=2`", lambda row: row.configuration),
    Key("state", "string", "as above, or `listed`: it decides nothing", lambda row: row.state),
    Key("decides", "boolean", "whether it can fail the build", lambda row: row.decides),
    Key("primary", "boolean", "whether it is the metric that was named beforehand", lambda row: row.primary),
    Key("suspected", "boolean", "whether only one day, or fewer than 3 records, carry a change for the worse", lambda row: row.suspected),
    *difference_keys(lambda row: row.difference),
    Key("p_adjusted", "number or null", "the p-value after correction for the other metrics", lambda row: row.p_adjusted),
    Key("launches_needed", "number or null", "on each side, for a decision", lambda row: row.launches_needed),
    Key("margin", "number or null", "a regression beyond it must be excluded for a pass", lambda row: row.margin),
    Key(
        "baseline", "object or null", "value, low, high, unit; or `measured: false` with the reason", lambda row: value_fields(row.baseline)
    ),
    Key("record", "object or null", "likewise", lambda row: value_fields(row.value)),
    Key("sentence", "string", "for people", lambda row: row.sentence),
)
REFUSED: Final[Keys[Mismatch]] = (
    Key("field", "string", "the condition", lambda m: m.field),
    Key("values", "list of strings", "baseline and record", lambda m: list(m.values)),
    Key("why", "string", "why it matters", lambda m: m.why),
    Key("override", "string", "the flag that lets the check go on all the same", lambda m: m.override),
)
DOCUMENT: Final[Keys[Told]] = (
    Key("schema", "string", f"always `{SCHEMA}`; another number is another shape", lambda told: SCHEMA),
    Key("state", "string", f"one of {', '.join(f'`{state}`' for state in STATES)}", lambda told: told.check.state),
    Key("exit_code", "number", "of the state, before `--accept`", lambda told: STATES[told.check.state][0]),
    Key("accepted", "boolean", "whether `--accept` turned the exit code into 0", lambda told: told.accepted),
    Key(
        "design",
        "string",
        "`in turn`, `alternating sittings`, `two records`, `two records and a history`, `a history` or `none`",
        lambda told: told.check.design,
    ),
    Key(
        "confirmation", "string", "`not needed`, `unconfirmed`, `confirmed`, `refuted` or `undecided`", lambda told: told.check.confirmation
    ),
    Key("exploratory", "boolean", "whether conditions differ that must not, and `--force` was given", lambda told: told.check.exploratory),
    Key("record", "string", "the record that was checked", lambda told: told.check.record),
    Key("baseline", "string", "what it was checked against", lambda told: told.check.baseline),
    Key("sentence", "string", "the one that may be quoted", lambda told: told.check.sentence),
    Key("rows", "list of objects", "one for each metric and configuration, those that decide first", _rows),
    Key("refused", "list of objects", "conditions that forbid the comparison", lambda told: [made(REFUSED, m) for m in told.check.refused]),
    Key("gaps", "list of strings", "what of the plan is missing, so that it cannot pass", lambda told: list(told.check.gaps)),
    Key("notes", "list of strings", "what limits the check", lambda told: list(told.check.notes)),
    Key("fresh_records", "list of strings", "records that were made to confirm, baseline first", lambda told: list(told.fresh)),
)
FIELDS: Final = declared(top=DOCUMENT, rows=ROW, refused=REFUSED)


def render(check: Check, *, accepted: bool = False, fresh: Iterable[str] = ()) -> str:
    """Render the document as strict JSON."""
    return encode(made(DOCUMENT, Told(check=check, accepted=accepted, fresh=tuple(fresh))))


def reference() -> str:
    """The page docs/reference/check.md: the states, their exit codes, and the JSON document."""
    lines = ["# assay check", "", "<!-- generated by fireassay.reports.documents.check.reference(); do not edit -->", ""]
    lines += ["| state | exit code | meaning |", "|---|---|---|"]
    lines += [f"| `{state}` | {code} | {meaning} |" for state, (code, meaning) in STATES.items()]
    lines += [
        "",
        f"`--json` prints one JSON object of the shape `{SCHEMA}`. Numbers are raw; null is an end that the data do not",
        "bound, or what does not exist. Keys may be added; none changes its meaning.",
    ]
    lines += [*key_tables(FIELDS), "", "## JUnit", "", *(junit.__doc__ or "").split("\n\n", 1)[1].strip().splitlines()]
    return "\n".join(lines) + "\n"
