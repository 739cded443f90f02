"""Do equal prompts get answers that agree as closely as required?

serving.correctness.grade is the weakest acceptable agreement; `assay.verdict.evidence.answer_agreement` grades the answers. A lower grade
is a failure: replicas with different weights, a stale cache or a batch-dependent kernel answer wrongly at any speed. A grade that the
record can neither show nor exclude is a warning, with the missing evidence. Without a required grade, differing answers are a note. Cannot
tell: which of two different answers is right; quality does.
"""

from __future__ import annotations

from assay.estimates.format import count
from assay.frames.record_data import RecordData
from assay.metrics.base import Results
from assay.verdict.audits.support.audit import Audit
from assay.verdict.evidence.answer_agreement import GRADES, Agreement, agreements
from assay.verdict.evidence.sent_requests import finding, serving_of
from assay.verdict.types import Finding


def examine(measured: RecordData, _: Results) -> tuple[Finding, ...]:
    """At most one finding per configuration; a note if a grade is required and no prompt was sent twice."""
    asked = serving_of(measured).correctness.grade
    known = agreements(measured)
    if not known:
        return (
            (
                finding(
                    "agreement_not_measured",
                    "warning",
                    None,
                    f"the grade {asked} is asked for, but no prompt was answered more than once",
                    "serving.correctness.identity = 10",
                ),
            )
            if asked != "none"
            else ()
        )
    return tuple(f for name, one in known.items() if (f := _judged(name, one, asked)) is not None)


def _judged(name: str, one: Agreement, asked: str) -> Finding | None:
    if asked == "none":
        if not one.differing:
            return None
        return finding("answers_differ", "note", name, _words(one), "serving.correctness.grade says which agreement is enough")
    least = GRADES.index(asked)
    if GRADES.index(one.possible) < least:
        return finding(
            "agreement",
            "fail",
            name,
            f"the agreement of answers to equal prompts is graded {_graded(one)}, {asked} is asked for: {_words(one)}",
            "look whether all replicas hold the same weights, precision and template, and whether the engine's kernels depend on the batch",
        )
    if GRADES.index(one.shown) < least:
        return finding(
            "agreement_not_shown",
            "warning",
            name,
            f"whether answers to equal prompts agree as {asked} is not known: {_words(one)}",
            "an engine that tells log probabilities, one token a chunk, can show it",
        )
    return None


def _graded(one: Agreement) -> str:
    return one.possible if one.possible == one.shown else f"{one.possible} at best"


def _words(one: Agreement) -> str:
    again = count(one.prompts, "prompts")
    if not one.differing:
        return f"the texts of {one.answers:,} answers to {again} are equal, and nothing is told of their probabilities"
    return f"{one.differing:,} of {one.answers:,} answers to {again} differ, the worst: {one.where}"


def blind(measured: RecordData, _: Results) -> str | None:
    """Blind if no prompt was sent twice."""
    return None if agreements(measured) else "no prompt was answered more than once (serving.correctness.identity)"


AUDIT = Audit(
    name="agreement",
    title="answers that do not agree",
    question="Do equal prompts get answers that agree as closely as was asked?",
    examine=examine,
    about=("serving",),
    blind=blind,
)
