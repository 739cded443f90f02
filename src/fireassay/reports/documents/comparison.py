"""How do other programs read a comparison, as strict JSON of a stable, documented shape (`assay-comparison/1`)?

Numbers are raw, in the unit of the metric; texts for people are not part of the contract.  JSON knows no infinity: an end of
an interval that the data do not bound is null.  An exploratory comparison says so at the top and in every change.  Keys may be
added; none changes its meaning.
"""

from __future__ import annotations

from typing import Any, Final

from fireassay.reports.documents.values import Key, Keys, declared, encode, finite, key_tables, made, value_object
from fireassay.verdict.comparison.types import Change, Comparison, Mismatch

SCHEMA: Final = "assay-comparison/1"


def _changes(comparison: Comparison) -> list[dict[str, Any]]:
    rows = (made(CHANGE, change) for change in comparison.changes)
    return [{name: comparison.exploratory if name == "exploratory" else value for name, value in row.items()} for row in rows]


def _table(comparison: Comparison) -> list[dict[str, Any]]:
    sides = comparison.table.items()
    return [{"side": side, "metric": name, **value_object(value)} for side, values in sides for name, value in values.items()]


def _alone(change: Change) -> dict[str, float | None] | None:
    if change.occasion is None or not change.occasion.allowance:
        return None
    launches = change.occasion.launches
    return {"value": finite(launches.value), "low": finite(launches.low), "high": finite(launches.high)}


CHANGE: Final[Keys[Change]] = (
    Key("metric", "string", "name of the metric", lambda c: c.metric),
    Key("configuration", "string", "key of the configuration", lambda c: c.configuration),
    Key("side", "string", "label of the side that is compared with the baseline", lambda c: c.side),
    Key(
        "outcome",
        "string",
        "`improved`, `worse`, `higher`, `lower`, `equivalent`, `inconclusive`, `not_measured` or `struck_out`",
        lambda c: c.outcome,
    ),
    Key("word", "string", "for people: faster, slower, cheaper ...", lambda c: c.word),
    Key("exploratory", "boolean", "as at the top", lambda c: None),
    Key("primary", "boolean", "whether this one decides", lambda c: c.primary),
    Key("ratio", "number or null", "side / baseline; null where there is none", lambda c: finite(c.ratio)),
    Key(
        "difference", "number or null", "side - baseline in the metric's unit, only where there is no ratio", lambda c: finite(c.difference)
    ),
    Key("low", "number or null", "lower end of the interval of the ratio or the difference", lambda c: finite(c.low)),
    Key("high", "number or null", "upper end of it", lambda c: finite(c.high)),
    Key("p_value", "number or null", "two-sided, of no difference", lambda c: c.p_value),
    Key("p_adjusted", "number or null", "corrected for the other metrics; of the primary for the number of sides", lambda c: c.p_adjusted),
    Key(
        "minimum_detectable_effect",
        "number or null",
        "found with 80 % power; relative, or in the unit of a difference; null: none",
        lambda c: c.minimum_detectable_effect,
    ),
    Key("launches_needed", "integer or null", "on each side, for a decision; null where decided or not known", lambda c: c.launches_needed),
    Key("method", "string", "how the interval was made", lambda c: c.method),
    Key("sentence", "string", "in words", lambda c: c.sentence),
    Key("baseline", "object", "the baseline's value, as in the JSON report of a record", lambda c: value_object(c.baseline)),
    Key("value", "object", "the side's value, likewise", lambda c: value_object(c.value)),
    Key(
        "evidence",
        "string or null",
        "`in turn`, `alternating` (sittings), `history` or `assumed` (two sessions), `constant`; null: not tested",
        lambda c: c.occasion.evidence if c.occasion is not None else None,
    ),
    Key(
        "launches_alone",
        "object or null",
        "value, low and high by the launches alone, where the variation between sessions is in the interval",
        _alone,
    ),
)
MISMATCH: Final[Keys[Mismatch]] = (
    Key("field", "string", "name in the catalogue of conditions", lambda m: m.field),
    Key("class", "string", "`identity`, `hardware`, `condition` or `context`", lambda m: m.kind),
    Key("values", "list of strings", "one for each side", lambda m: list(m.values)),
    Key("why", "string", "why it matters", lambda m: m.why),
    Key("refuses", "boolean", "whether it forbids the comparison unless it is declared", lambda m: m.refuses),
    Key("declared", "boolean", "whether it is what is studied, or follows from that", lambda m: m.declared),
    Key("override", "string", "the flag that lets the comparison go on; empty: none does", lambda m: m.override),
)
VALUE = (
    ("side", "string", "label"),
    ("metric", "string", "name of the metric"),
    ("measured", "boolean", "and the further keys of a value, as in the JSON report of a record"),
)
DOCUMENT: Final[Keys[Comparison]] = (
    Key("schema", "string", f"always `{SCHEMA}`; another number is another shape", lambda c: SCHEMA),
    Key("state", "string", "`compared`, `exploratory` (forced), `incomparable` or `nothing_measured`", lambda c: c.state),
    Key(
        "exploratory",
        "boolean",
        "whether it was forced although conditions differ: nothing of it may be quoted as a result",
        lambda c: c.exploratory,
    ),
    Key("sentence", "string", "the sentence that may be quoted; says EXPLORATORY if it is", lambda c: c.sentence),
    Key("sides", "list of strings", "labels, the baseline first", lambda c: list(c.sides)),
    Key("varying", "list of strings", "what was declared to be studied", lambda c: list(c.varying)),
    Key("primary", "string", "name of the metric that decides", lambda c: c.primary),
    Key("configuration", "string", "where it decides", lambda c: c.configuration),
    Key("confidence", "number", "of the intervals, 0..1", lambda c: c.confidence),
    Key("floor", "number", "smallest relative difference that the machines can show, by `assay doctor`; 0: not known", lambda c: c.floor),
    Key("equivalence", "number", "relative margin of equivalence", lambda c: c.equivalence),
    Key("smallest_effect", "number", "relative differences up to this are not acted on", lambda c: c.smallest_effect),
    Key(
        "quality", "object", "label -> `HELD`, `DEGRADED`, `INCONCLUSIVE` or `NOT_MEASURED` against the baseline", lambda c: dict(c.quality)
    ),
    Key("changes", "list of objects", "one for each metric, configuration and side; the primary first", _changes),
    Key(
        "mismatches",
        "list of objects",
        "the conditions that differ, those that refuse first",
        lambda c: [made(MISMATCH, mismatch) for mismatch in c.mismatches],
    ),
    Key("table", "list of objects", "every value of every side at the deciding configuration", _table),
    Key("notes", "list of strings", "what limits this comparison", lambda c: list(c.notes)),
)
FIELDS: Final = {**declared(top=DOCUMENT, changes=CHANGE, mismatches=MISMATCH), "table[]": VALUE}


def document(comparison: Comparison) -> dict[str, Any]:
    """The comparison as plain Python values."""
    return made(DOCUMENT, comparison)


def render(comparison: Comparison) -> str:
    """Render the document as strict, indented JSON."""
    return encode(document(comparison))


def reference() -> str:
    """The page docs/reference/comparison.md."""
    lines = [
        "# The JSON of a comparison",
        "",
        "<!-- generated by fireassay.reports.documents.comparison.reference(); do not edit -->",
        "",
        f"`assay compare A B --json` writes one JSON object of the shape `{SCHEMA}`.",
        "",
        *(__doc__ or "").split("\n\n", 1)[1].strip().splitlines(),
        *key_tables(FIELDS),
    ]
    return "\n".join(lines) + "\n"
