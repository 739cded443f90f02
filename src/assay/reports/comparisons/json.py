"""How do other programs read a comparison?  As strict JSON of a stable, documented shape: `assay-comparison/1`.

Numbers are raw, in the unit of the metric; texts for people are not part of the contract.  JSON knows no infinity: an end of
an interval that the data do not bound is null.  An exploratory comparison says so at the top and in every change.  Keys may be
added; none changes its meaning.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from assay.reports.comparisons.view import ChangeRow, ComparisonView
from assay.reports.json import Row, encode, finite, key_tables, value_object
from assay.verdict.comparison.types import Change

SCHEMA: Final = "assay-comparison/1"

FIELDS: Final[Mapping[str, tuple[Row, ...]]] = {
    "(top)": (
        ("schema", "string", f"always `{SCHEMA}`; another number is another shape"),
        ("state", "string", "`compared`, `exploratory` (forced), `incomparable` or `nothing_measured`"),
        ("exploratory", "boolean", "whether it was forced although conditions differ: nothing of it may be quoted as a result"),
        ("sentence", "string", "the sentence that may be quoted; says EXPLORATORY if it is"),
        ("sides", "list of strings", "labels, the baseline first"),
        ("varying", "list of strings", "what was declared to be studied"),
        ("primary", "string", "name of the metric that decides"),
        ("configuration", "string", "where it decides"),
        ("confidence", "number", "of the intervals, 0..1"),
        ("floor", "number", "smallest relative difference that the machines can show, by `assay doctor`; 0: not known"),
        ("equivalence", "number", "relative margin of equivalence"),
        ("smallest_effect", "number", "relative differences up to this are not acted on"),
        ("quality", "object", "label -> `HELD`, `DEGRADED`, `INCONCLUSIVE` or `NOT_MEASURED` against the baseline"),
        ("changes", "list of objects", "one for each metric, configuration and side; the primary first"),
        ("mismatches", "list of objects", "the conditions that differ, those that refuse first"),
        ("table", "list of objects", "every value of every side at the deciding configuration"),
        ("notes", "list of strings", "what limits this comparison"),
    ),
    "changes[]": (
        ("metric", "string", "name of the metric"),
        ("configuration", "string", "key of the configuration"),
        ("side", "string", "label of the side that is compared with the baseline"),
        ("outcome", "string", "`improved`, `worse`, `higher`, `lower`, `equivalent`, `inconclusive`, `not_measured` or `struck_out`"),
        ("word", "string", "for people: faster, slower, cheaper ..."),
        ("exploratory", "boolean", "as at the top"),
        ("primary", "boolean", "whether this one decides"),
        ("ratio", "number or null", "side / baseline; null where there is none"),
        ("difference", "number or null", "side - baseline in the metric's unit, only where there is no ratio"),
        ("low", "number or null", "lower end of the interval of the ratio or the difference"),
        ("high", "number or null", "upper end of it"),
        ("p_value", "number or null", "two-sided, of no difference"),
        ("p_adjusted", "number or null", "corrected for the other metrics; of the primary for the number of sides"),
        ("minimum_detectable_effect", "number or null", "found with 80 % power; relative, or in the unit of a difference; null: none"),
        ("launches_needed", "integer or null", "on each side, for a decision; null where decided or not known"),
        ("method", "string", "how the interval was made"),
        (
            "evidence",
            "string or null",
            "`in turn`, `alternating` (sittings), `history` or `assumed` (two sessions), `constant`; null: not tested",
        ),
        (
            "launches_alone",
            "object or null",
            "value, low and high by the launches alone, where the variation between sessions is in the interval",
        ),
        ("sentence", "string", "in words"),
        ("baseline", "object", "the baseline's value, as in the JSON report of a record"),
        ("value", "object", "the side's value, likewise"),
    ),
    "mismatches[]": (
        ("field", "string", "name in the catalogue of conditions"),
        ("class", "string", "`identity`, `hardware`, `condition` or `context`"),
        ("values", "list of strings", "one for each side"),
        ("why", "string", "why it matters"),
        ("refuses", "boolean", "whether it forbids the comparison unless it is declared"),
        ("declared", "boolean", "whether it is what is studied, or follows from that"),
        ("override", "string", "the flag that lets the comparison go on; empty: none does"),
    ),
    "table[]": (
        ("side", "string", "label"),
        ("metric", "string", "name of the metric"),
        ("measured", "boolean", "and the further keys of a value, as in the JSON report of a record"),
    ),
}


def document(view: ComparisonView) -> dict[str, Any]:
    """The comparison as plain Python values, in the shape of FIELDS."""
    made = view.comparison
    return {
        "schema": SCHEMA,
        "state": made.state,
        "exploratory": made.exploratory,
        "sentence": made.sentence,
        "sides": list(made.sides),
        "varying": list(made.varying),
        "primary": made.primary,
        "configuration": made.configuration,
        "confidence": made.confidence,
        "floor": made.floor,
        "equivalence": made.equivalence,
        "smallest_effect": made.smallest_effect,
        "quality": dict(made.quality),
        "changes": [_change(row, exploratory=made.exploratory) for row in view.rows],
        "mismatches": [
            {
                "field": one.field,
                "class": one.kind,
                "values": list(one.values),
                "why": one.why,
                "refuses": one.refuses,
                "declared": one.declared,
                "override": one.override,
            }
            for one in made.mismatches
        ],
        "table": [
            {"side": side, "metric": name, **value_object(value)} for side, values in made.table.items() for name, value in values.items()
        ],
        "notes": list(made.notes),
    }


def _change(row: ChangeRow, *, exploratory: bool) -> dict[str, Any]:
    change = row.change
    return {
        "metric": change.metric,
        "configuration": change.configuration,
        "side": change.side,
        "outcome": change.outcome,
        "word": change.word,
        "exploratory": exploratory,
        "primary": change.primary,
        "ratio": finite(change.ratio),
        "difference": finite(change.difference),
        "low": finite(change.low),
        "high": finite(change.high),
        "p_value": change.p_value,
        "p_adjusted": change.p_adjusted,
        "minimum_detectable_effect": change.minimum_detectable_effect,
        "launches_needed": change.launches_needed,
        "method": change.method,
        "sentence": change.sentence,
        "baseline": value_object(change.baseline),
        "value": value_object(change.value),
        "evidence": change.occasion.evidence if change.occasion is not None else None,
        "launches_alone": _alone(change),
    }


def _alone(change: Change) -> dict[str, float | None] | None:
    if change.occasion is None or not change.occasion.allowance:
        return None
    found = change.occasion.launches
    return {"value": finite(found.value), "low": finite(found.low), "high": finite(found.high)}


def render(view: ComparisonView) -> str:
    """The document as strict JSON, indented, in UTF-8 text."""
    return encode(document(view))


def reference() -> str:
    """The page docs/reference/comparison.md, generated from FIELDS."""
    lines = [
        "# The JSON of a comparison",
        "",
        "<!-- generated by assay.reports.comparisons.json.reference(); do not edit -->",
        "",
        f"`assay compare A B --json` writes one JSON object of the shape `{SCHEMA}`.",
        "",
        *(__doc__ or "").split("\n\n", 1)[1].strip().splitlines(),
        *key_tables(FIELDS),
    ]
    return "\n".join(lines) + "\n"
