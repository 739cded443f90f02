"""How do other programs read a comparison, as strict JSON of a stable, documented shape (`assay-comparison/1`)?

Numbers are raw, in the unit of the metric; texts for people are not part of the contract.  JSON has no infinity: an end of
an interval that the data do not bound is null.  An exploratory comparison says so at the top and in every change.  Keys may be
added; none changes its meaning.
"""

from __future__ import annotations

from typing import Any, Final

from fireassay.frames.evaluation import flipped
from fireassay.reports.documents.images import Image
from fireassay.reports.documents.json_object import Bounds, Document, JsonObject, Measured, key, reference_page, spread
from fireassay.reports.pages.comparison_view import MAX_SENTENCE_LENGTH
from fireassay.reports.words import cut
from fireassay.stats.comparing.comparison import Difference
from fireassay.verdict.comparison import types


def _alone(change: types.Change) -> Difference | None:
    return change.occasion.launches if change.occasion is not None and change.occasion.allowance else None


class Subject(JsonObject):
    """What changed, and how; made from a `Change`."""

    metric: str = key("name of the metric")
    configuration: str = key("key of the configuration")
    side: str = key("label of the side compared with the baseline")
    outcome: str = key("`improved`, `worse`, `higher`, `lower`, `equivalent`, `inconclusive`, `not_measured` or `struck_out`")
    word: str = key("for people: faster, slower, cheaper ...")


class Effect(JsonObject):
    """By how much, with which certainty; made from a `Change`."""

    primary: bool = key("whether this one decides")
    ratio: float | None = key("side / baseline; null where there is none")
    difference: float | None = key("side - baseline in the metric's unit, only where there is no ratio")
    low: float | None = key("lower end of the interval of the ratio or the difference")
    high: float | None = key("upper end of it")
    p_value: float | None = key("two-sided, of no difference")
    p_adjusted: float | None = key("corrected for the other metrics; of the primary for the number of sides")
    minimum_detectable_effect: float | None = key("found with 80 % power; relative, or in the unit of a difference; null: none")
    launches_needed: int | None = key("on each side, for a decision; null where decided or unknown")
    method: str = key("how the interval was made")
    sentence: str = key("in words")
    baseline: Measured = key("the baseline's value, as in the JSON report of a record")
    value: Measured = key("the side's value, likewise")
    evidence: str | None = key(
        "`in turn`, `alternating` (sittings), `history` or `assumed` (two sessions), `constant`; null: not tested",
        lambda change: change.occasion.evidence if change.occasion is not None else None,
    )
    launches_alone: Bounds | None = key(
        "value, low and high by the launches alone, where the variation between sessions is in the interval", _alone
    )


class Change(JsonObject):
    """One metric of one side."""

    subject: Subject = spread()
    exploratory: bool = key("as at the top")
    effect: Effect = spread()


class Mismatch(JsonObject):  # of `Mismatch`
    field: str = key("name in the catalogue of conditions")
    class_: str = key("`identity`, `hardware`, `condition` or `context`", "kind")
    values: list[str] = key("one for each side")
    why: str = key("why it matters")
    refuses: bool = key("whether it forbids the comparison unless it is declared")
    declared: bool = key("whether it is declared as studied, or follows from that")
    override: str = key("the flag that allows the comparison nevertheless; empty: none")


class OfSide(JsonObject):
    """A value of a side."""

    side: str = key("label")
    metric: str = key("name of the metric")
    value: Measured = spread()


CUT: Final = f"at most {MAX_SENTENCE_LENGTH} characters of it"


def _drawn(flip: flipped.Flip) -> bool:
    return flip.images is not None


class Flip(JsonObject):  # of `Flip`
    task: str = key("the item's task")
    item: str = key("its id")
    side: str = key("label of the side compared with the baseline")
    better: bool = key("whether the side is the better one")
    score_before: float = key("score of the baseline's answer, by the metric that decides the task")
    score_after: float = key("score of the side's answer")
    reference: str = key(f"the acceptable answers, {CUT}", lambda flip: cut(flip.reference, MAX_SENTENCE_LENGTH))
    before: str = key(f"the baseline's answer, of several the first, {CUT}", lambda flip: cut(flip.before, MAX_SENTENCE_LENGTH))
    after: str = key(f"the side's answer, {CUT}", lambda flip: cut(flip.after, MAX_SENTENCE_LENGTH))
    image_before: Image = key("only if answers are images: the baseline's", lambda flip: flip.images[0], when=_drawn)
    image_after: Image = key("only if answers are images: the side's", lambda flip: flip.images[1], when=_drawn)


def _changes(of: types.Comparison) -> list[Change]:
    return [Change(subject=change, exploratory=of.exploratory, effect=change) for change in of.changes]


def _table(of: types.Comparison) -> list[OfSide]:
    return [OfSide(side=side, metric=name, value=value) for side, values in of.table.items() for name, value in values.items()]


class ComparisonDocument(Document):  # of `Comparison`
    VERB = "compare"
    VERSION = "assay-comparison/1"

    state: str = key("`compared`, `exploratory` (forced), `incomparable` or `nothing_measured`")
    exploratory: bool = key("whether it was forced although conditions differ: nothing in it may be quoted as a result")
    sentence: str = key("the sentence that may be quoted; says EXPLORATORY if it is")
    sides: list[str] = key("labels, the baseline first")
    varying: list[str] = key("the conditions declared as studied")
    primary: str = key("name of the deciding metric")
    configuration: str = key("the deciding configuration")
    confidence: float = key("of the intervals, 0..1")
    floor: float = key("smallest relative difference that the machines can resolve, by `assay doctor`; 0: unknown")
    equivalence: float = key("relative margin of equivalence")
    smallest_effect: float = key("relative differences up to this are not acted on")
    quality: dict[str, Any] = key(
        "label -> `HELD`, `DEGRADED`, `INCONCLUSIVE`, `MEASURED` (no margin) or `NOT_MEASURED` against the baseline"
    )
    changes: list[Change] = key("one for each metric, configuration and side; the primary first", _changes)
    flips: list[Flip] = key("of evaluations: every item that scores otherwise than at the baseline, largest changes first")
    mismatches: list[Mismatch] = key("the conditions that differ, those that refuse first")
    table: list[OfSide] = key("every value of every side at the deciding configuration", _table)
    notes: list[str] = key("limits of this comparison")


DOCUMENT = ComparisonDocument
render = DOCUMENT.render


def reference() -> str:
    """The page docs/reference/comparison.md."""
    return reference_page("The JSON of a comparison", __name__, DOCUMENT, "assay compare A B --json", __doc__)
