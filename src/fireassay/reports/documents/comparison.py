"""How do other programs read a comparison, as strict JSON of a stable, documented shape (`assay-comparison/1`)?

Numbers are raw, in the unit of the metric; texts for people are not part of the contract.  JSON has no infinity: an end of
an interval that the data do not bound is null.  An exploratory comparison says so at the top and in every change.  Keys may be
added; none changes its meaning.
"""

from __future__ import annotations

from typing import Final

from fireassay.estimates.estimate import Value
from fireassay.frames.evaluation.flipped import Flip
from fireassay.reports.documents.values import DIFFERENCE, VALUE, Document, Key, Keys, key_tables, lifted
from fireassay.reports.pages.flips import LONGEST, shortened
from fireassay.stats.comparing.comparison import Difference
from fireassay.verdict.comparison.types import Change, Comparison, Mismatch


def _alone(change: Change) -> Difference | None:
    return change.occasion.launches if change.occasion is not None and change.occasion.allowance else None


SUBJECT: Final[Keys[Change]] = (
    Key("metric", "string", "name of the metric"),
    Key("configuration", "string", "key of the configuration"),
    Key("side", "string", "label of the side compared with the baseline"),
    Key("outcome", "string", "`improved`, `worse`, `higher`, `lower`, `equivalent`, `inconclusive`, `not_measured` or `struck_out`"),
    Key("word", "string", "for people: faster, slower, cheaper ..."),
)
EFFECT: Final[Keys[Change]] = (
    Key("primary", "boolean", "whether this one decides"),
    Key("ratio", "number or null", "side / baseline; null where there is none"),
    Key("difference", "number or null", "side - baseline in the metric's unit, only where there is no ratio"),
    Key("low", "number or null", "lower end of the interval of the ratio or the difference"),
    Key("high", "number or null", "upper end of it"),
    Key("p_value", "number or null", "two-sided, of no difference"),
    Key("p_adjusted", "number or null", "corrected for the other metrics; of the primary for the number of sides"),
    Key("minimum_detectable_effect", "number or null", "found with 80 % power; relative, or in the unit of a difference; null: none"),
    Key("launches_needed", "integer or null", "on each side, for a decision; null where decided or unknown"),
    Key("method", "string", "how the interval was made"),
    Key("sentence", "string", "in words"),
    Key("baseline", "object", "the baseline's value, as in the JSON report of a record", shape=VALUE),
    Key("value", "object", "the side's value, likewise", shape=VALUE),
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
        tuple(key for key in DIFFERENCE if key.name in ("value", "low", "high")),
    ),
)
CHANGE: Final[Keys[tuple[bool, Change]]] = (
    *lifted(SUBJECT, lambda item: item[1]),
    Key("exploratory", "boolean", "as at the top", lambda item: item[0]),
    *lifted(EFFECT, lambda item: item[1]),
)
MISMATCH: Final[Keys[Mismatch]] = (
    Key("field", "string", "name in the catalogue of conditions"),
    Key("class", "string", "`identity`, `hardware`, `condition` or `context`", lambda m: m.kind),
    Key("values", "list of strings", "one for each side"),
    Key("why", "string", "why it matters"),
    Key("refuses", "boolean", "whether it forbids the comparison unless it is declared"),
    Key("declared", "boolean", "whether it is declared as studied, or follows from that"),
    Key("override", "string", "the flag that allows the comparison nevertheless; empty: none"),
)
TABLE: Final[Keys[tuple[str, str, Value]]] = (
    Key("side", "string", "label", lambda item: item[0]),
    Key("metric", "string", "name of the metric", lambda item: item[1]),
    *lifted(VALUE, lambda item: item[2]),
)
CUT: Final = f"at most {LONGEST} characters of it"
FLIP: Final[Keys[Flip]] = (
    Key("task", "string", "the item's task"),
    Key("item", "string", "its id"),
    Key("side", "string", "label of the side compared with the baseline"),
    Key("better", "boolean", "whether the side is the better one"),
    Key("score_before", "number", "score of the baseline's answer, by the metric that decides the task"),
    Key("score_after", "number", "score of the side's answer"),
    Key("reference", "string", f"the acceptable answers, {CUT}", lambda flip: shortened(flip.reference, LONGEST)),
    Key("before", "string", f"the baseline's answer, of several the first, {CUT}", lambda flip: shortened(flip.before, LONGEST)),
    Key("after", "string", f"the side's answer, {CUT}", lambda flip: shortened(flip.after, LONGEST)),
)
KEYS: Final[Keys[Comparison]] = (
    Key("state", "string", "`compared`, `exploratory` (forced), `incomparable` or `nothing_measured`"),
    Key("exploratory", "boolean", "whether it was forced although conditions differ: nothing in it may be quoted as a result"),
    Key("sentence", "string", "the sentence that may be quoted; says EXPLORATORY if it is"),
    Key("sides", "list of strings", "labels, the baseline first"),
    Key("varying", "list of strings", "the conditions declared as studied"),
    Key("primary", "string", "name of the deciding metric"),
    Key("configuration", "string", "the deciding configuration"),
    Key("confidence", "number", "of the intervals, 0..1"),
    Key("floor", "number", "smallest relative difference that the machines can resolve, by `assay doctor`; 0: unknown"),
    Key("equivalence", "number", "relative margin of equivalence"),
    Key("smallest_effect", "number", "relative differences up to this are not acted on"),
    Key("quality", "object", "label -> `HELD`, `DEGRADED`, `INCONCLUSIVE` or `NOT_MEASURED` against the baseline"),
    Key(
        "changes",
        "list of objects",
        "one for each metric, configuration and side; the primary first",
        lambda c: [(c.exploratory, change) for change in c.changes],
        CHANGE,
    ),
    Key(
        "flips",
        "list of objects",
        "of evaluations: every item that scores otherwise than at the baseline, largest changes first",
        shape=FLIP,
    ),
    Key("mismatches", "list of objects", "the conditions that differ, those that refuse first", shape=MISMATCH),
    Key(
        "table",
        "list of objects",
        "every value of every side at the deciding configuration",
        lambda c: [(side, name, value) for side, values in c.table.items() for name, value in values.items()],
        TABLE,
    ),
    Key("notes", "list of strings", "limits of this comparison"),
)
DOCUMENT: Final = Document(verb="compare", schema="assay-comparison/1", keys=KEYS)
render = DOCUMENT.render


def reference() -> str:
    """The page docs/reference/comparison.md."""
    lines = [
        "# The JSON of a comparison",
        "",
        "<!-- generated by fireassay.reports.documents.comparison.reference(); do not edit -->",
        "",
        f"`assay compare A B --json` writes one JSON object of the shape `{DOCUMENT.schema}`.",
        "",
        *(__doc__ or "").split("\n\n", 1)[1].strip().splitlines(),
        *key_tables(DOCUMENT.fields),
    ]
    return "\n".join(lines) + "\n"
