"""How is a check shown?  In the terminal, as JSON for programs, as JUnit for CI servers, as Markdown for a job's summary.

JUnit: one testcase for each metric and configuration.  regression: failure; nothing measured and not comparable: error;
inconclusive: skipped; pass and improvement: passed; whatever decides nothing: skipped, with what was seen.  A reader of the
file alone sees the same outcome as the exit code, apart from states that the command line was told to accept.
Labels and metric names come from records of anybody: text is cleaned of control characters and escaped for its format.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final
from xml.etree import ElementTree

from assay.estimates.estimate import Absent, Estimate, Value
from assay.estimates.format import show
from assay.printable import columns, printable
from assay.reports.json import Row as Key
from assay.reports.json import encode, finite, key_tables
from assay.reports.markup import plain, table
from assay.stats.comparing.comparison import Difference
from assay.verdict.checking.types import STATES, Check, Row
from assay.verdict.comparison.change_phrases import difference_text

SCHEMA: Final = "assay-check/1"
FIELDS: Final[Mapping[str, tuple[Key, ...]]] = {
    "(top)": (
        ("schema", "string", f"always `{SCHEMA}`; another number is another shape"),
        ("state", "string", f"one of {', '.join(f'`{state}`' for state in STATES)}"),
        ("exit_code", "number", "of the state, before `--accept`"),
        ("accepted", "boolean", "whether `--accept` turned the exit code into 0"),
        ("design", "string", "`in turn`, `alternating sittings`, `two records`, `two records and a history`, `a history` or `none`"),
        ("confirmation", "string", "`not needed`, `unconfirmed`, `confirmed`, `refuted` or `undecided`"),
        ("exploratory", "boolean", "whether conditions differ that must not, and `--force` was given"),
        ("record", "string", "the record that was checked"),
        ("baseline", "string", "what it was checked against"),
        ("sentence", "string", "the one that may be quoted"),
        ("rows", "list of objects", "one for each metric and configuration, those that decide first"),
        ("refused", "list of objects", "conditions that forbid the comparison"),
        ("gaps", "list of strings", "what of the plan is missing, so that it cannot pass"),
        ("notes", "list of strings", "what limits the check"),
        ("fresh_records", "list of strings", "records that were made to confirm, baseline first"),
    ),
    "rows[]": (
        ("metric", "string", "its name; `quality`, or the rule of a finding, where the result itself is compared"),
        ("configuration", "string", "for example `workers=2`"),
        ("state", "string", "as above, or `listed`: it decides nothing"),
        ("decides", "boolean", "whether it can fail the build"),
        ("primary", "boolean", "whether it is the metric that was named beforehand"),
        ("suspected", "boolean", "whether only one day, or fewer than 3 records, carry a change for the worse"),
        ("scale", "string or null", "`ratio` (record / baseline) or `difference`; null: not compared by numbers"),
        ("value, low, high", "number or null", "the ratio or difference with its interval; null: not bounded"),
        ("p_value, p_adjusted", "number or null", "of no change, and after correction for the other metrics"),
        ("minimum_detectable_effect", "number or null", "relative, at 80 % power"),
        ("launches_needed", "number or null", "on each side, for a decision"),
        ("margin", "number or null", "a regression beyond it must be excluded for a pass"),
        ("baseline, record", "object or null", "value, low, high, unit; or `measured: false` with the reason"),
        ("method", "string or null", "how the interval was made"),
        ("sentence", "string", "for people"),
    ),
    "refused[]": (
        ("field", "string", "the condition"),
        ("values", "list of strings", "baseline and record"),
        ("why", "string", "why it matters"),
        ("override", "string", "the flag that lets the check go on all the same"),
    ),
}


# ---- terminal --------------------------------------------------------------------------------------------------------


def to_text(found: Check) -> str:
    """The sentence, the rows that decide, what was refused, notes; others in one line each."""
    lines = [found.sentence, *_between(found)]
    lines += [""] if found.rows or found.refused or found.notes else []
    for mismatch in found.refused:
        lines.append(f"  differs: {mismatch.field}: {' against '.join(mismatch.values)}")
        lines += [f"    it matters because {mismatch.why}", f"    allowed by: {mismatch.override or 'nothing'}"]
    if found.rows:
        lines += [*columns([("", "METRIC", "AT", "CHANGE", "BASELINE", "RECORD"), *(_cells(row, found) for row in found.rows)]), ""]
    lines += [f"note: {note}" for note in (*_legend(found), *found.gaps, *found.notes)]
    return printable("\n".join(lines).rstrip() + "\n")


def _between(found: Check) -> list[str]:
    """Which two were checked: `latest` and a store's address do not say it."""
    return [f"{found.record} against {found.baseline}"] if found.baseline else []


def _mark(found: Check) -> str:
    """Before every verdict that conditions forbid and --force asked for."""
    return "EXPLORATORY " if found.exploratory else ""


def _legend(found: Check) -> list[str]:
    starred = any(not row.decides and row.state != "listed" for row in found.rows)
    return ["*: decides nothing; only the primary metric and quality do, unless --all is given"] if starred else []


def _cells(row: Row, found: Check) -> tuple[str, ...]:
    change = "–" if row.difference is None else difference_text(row.difference)
    state = f"{row.state.replace('_', ' ')}{' (suspected)' if row.suspected else ''}{'' if row.decides else ' *'}"
    return (
        f"{_mark(found)}{state}" if row.state != "listed" else "listed",
        row.metric,
        row.configuration,
        change,
        *(_shown(value, row) for value in (row.baseline, row.value)),
    )


def _shown(value: Value | None, row: Row) -> str:
    """The two do not read alike where they are said to differ."""
    if value is None:
        return "–"
    pair = (row.baseline, row.value) if row.state in ("regression", "improvement") else ()
    shown = show(value, beside=[one.value for one in pair if isinstance(one, Estimate) and one is not value])
    return f"{shown.text} {shown.interval}".strip()


# ---- JSON ------------------------------------------------------------------------------------------------------------


def to_json(found: Check, *, accepted: bool = False, fresh: Iterable[str] = ()) -> str:
    """The document of FIELDS."""
    document = {
        "schema": SCHEMA,
        "state": found.state,
        "exit_code": STATES[found.state][0],
        "accepted": accepted,
        "design": found.design,
        "confirmation": found.confirmation,
        "exploratory": found.exploratory,
        "record": found.record,
        "baseline": found.baseline,
        "sentence": found.sentence,
        "rows": [_row(row, found) for row in found.rows],
        "refused": [{"field": m.field, "values": list(m.values), "why": m.why, "override": m.override} for m in found.refused],
        "gaps": list(found.gaps),
        "notes": list(found.notes),
        "fresh_records": list(fresh),
    }
    return encode(document)


def _row(row: Row, check: Check) -> dict[str, Any]:
    found = row.difference
    return {
        "metric": row.metric,
        "configuration": row.configuration,
        "state": row.state,
        "decides": row.decides,
        "primary": row.primary,
        "suspected": row.suspected,
        **difference_fields(found),
        "p_adjusted": row.p_adjusted,
        "launches_needed": row.launches_needed,
        "margin": row.margin,
        "baseline": value_fields(row.baseline),
        "record": value_fields(row.value),
        "sentence": f"{_mark(check)}{row.sentence}",
    }


def difference_fields(found: Difference | None) -> dict[str, Any]:
    """A difference without infinities."""
    if found is None:
        names = ("scale", "value", "low", "high", "p_value", "minimum_detectable_effect", "method")
        return dict.fromkeys(names)
    return {
        "scale": found.scale,
        "value": finite(found.value),
        "low": finite(found.low),
        "high": finite(found.high),
        "p_value": finite(found.p_value),
        "minimum_detectable_effect": finite(found.minimum_detectable_effect),
        "method": found.method,
    }


def value_fields(value: Value | None) -> dict[str, Any] | None:
    """A number with its interval and unit, or why there is none."""
    if value is None:
        return None
    if isinstance(value, Absent):
        return {"measured": False, "reason": value.reason, "detail": value.detail}
    ends = {"low": finite(value.low), "high": finite(value.high)}
    return {"measured": True, "value": finite(value.value), **ends, "unit": value.unit}


# ---- JUnit -----------------------------------------------------------------------------------------------------------


def to_junit(found: Check) -> str:
    """A JUnit file, well-formed whatever the labels hold."""
    suite = ElementTree.Element("testsuite", name="assay check")
    cases = found.rows or ()
    for row in cases:
        case = _case(suite, f"{row.metric} at {row.configuration}", row.configuration)
        _outcome(case, row.state if row.decides else "listed", _told(row, found))
    if not cases or (found.gaps and found.state == "inconclusive"):
        _outcome(_case(suite, "comparison", "assay"), found.state, found.sentence)
    counts = {kind: len(suite.findall(f"testcase/{kind}")) for kind in ("failure", "error", "skipped")}
    suite.set("tests", str(len(suite)))
    for name, kind in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        suite.set(name, str(counts[kind]))
    properties = ElementTree.Element("properties")
    told = {"state": found.state, "record": found.record, "baseline": found.baseline, "sentence": found.sentence}
    for name, value in told.items():
        ElementTree.SubElement(properties, "property", name=name, value=printable(value))
    suite.insert(0, properties)
    ElementTree.indent(suite)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(suite, encoding="unicode") + "\n"


def _told(row: Row, found: Check) -> str:
    """A metric that cannot fail the build must not fail its file, nor pass as if it had been asked."""
    listed = "" if row.decides else f"{row.state.replace('_', ' ')}, which decides nothing: "
    return f"{_mark(found)}{listed}{row.sentence}"


def _case(suite: ElementTree.Element, name: str, group: str) -> ElementTree.Element:
    return ElementTree.SubElement(suite, "testcase", classname=printable(f"assay.{group}"), name=printable(name))


def _outcome(case: ElementTree.Element, state: str, sentence: str) -> None:
    words = printable(sentence)
    if state == "regression":
        ElementTree.SubElement(case, "failure", message=words, type=state).text = words
    elif state in ("nothing_measured", "not_comparable"):
        ElementTree.SubElement(case, "error", message=words, type=state).text = words
    elif state in ("inconclusive", "listed"):
        ElementTree.SubElement(case, "skipped", message=words)
    else:
        ElementTree.SubElement(case, "system-out").text = words


# ---- Markdown --------------------------------------------------------------------------------------------------------


def to_markdown(found: Check) -> str:
    """A section for a job's summary or a comment."""
    parts = [f"## assay check: {_mark(found)}{found.state.replace('_', ' ')}", plain(found.sentence)]
    parts += [plain(printable(line)) for line in _between(found)]
    if found.refused:
        rows = [(m.field, " / ".join(m.values), m.override or "nothing") for m in found.refused]
        parts.append(table(("condition", "baseline / record", "allowed by"), rows))
    if found.rows:
        head = ("state", "metric", "at", "change", "baseline", "record")
        parts.append(table(head, [_cells(row, found) for row in found.rows]))
    parts += [f"* {plain(note)}" for note in (*_legend(found), *found.gaps, *found.notes)]
    return "\n\n".join(parts) + "\n"


def reference() -> str:
    """The page docs/reference/check.md: the states, their exit codes, and the JSON document."""
    lines = ["# assay check", "", "<!-- generated by assay.reports.check.reference(); do not edit -->", ""]
    lines += ["| state | exit code | meaning |", "|---|---|---|"]
    lines += [f"| `{state}` | {code} | {meaning} |" for state, (code, meaning) in STATES.items()]
    lines += [
        "",
        f"`--json` prints one JSON object of the shape `{SCHEMA}`. Numbers are raw; null is an end that the data do not",
        "bound, or what does not exist. Keys may be added; none changes its meaning.",
    ]
    lines += [*key_tables(FIELDS), "", "## JUnit", "", *(__doc__ or "").split("\n\n", 1)[1].strip().splitlines()]
    return "\n".join(lines) + "\n"
