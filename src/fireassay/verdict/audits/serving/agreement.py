"""Do equal prompts get answers that agree as closely as required?

serving.correctness.grade is the weakest acceptable agreement; `fireassay.verdict.evidence.answer_agreement` grades the answers. A lower grade
is a failure: replicas with different weights, a stale cache or a batch-dependent kernel answer wrongly at any speed. A grade that the
record can neither show nor exclude is a warning, with the missing evidence. Without a required grade, differing answers are a note. Cannot
tell: which of two different answers is right; quality does.
"""

from __future__ import annotations

from fireassay.estimates.format import count
from fireassay.frames.record_data import RecordData
from fireassay.metrics.metric import Results
from fireassay.verdict.audits.support.audit import Audit
from fireassay.verdict.evidence.answer_agreement import GRADES, Agreement, agreements
from fireassay.verdict.evidence.sent_requests import serving_of
from fireassay.verdict.types import Finding


def examine(measured: RecordData, _: Results) -> tuple[Finding, ...]:
    """At most one finding per configuration; a note if a grade is required and no prompt was sent twice."""
    requested = serving_of(measured).correctness.grade
    known = agreements(measured)
    if not known:
        return (
            (
                Finding(
                    "agreement_not_measured",
                    "warning",
                    None,
                    f"grade {requested} is required, but no prompt was answered more than once",
                    "set serving.correctness.identity = 10",
                ),
            )
            if requested != "none"
            else ()
        )
    return tuple(f for name, agreement in known.items() if (f := _judged(name, agreement, requested)) is not None)


def _judged(name: str, agreement: Agreement, requested: str) -> Finding | None:
    if requested == "none":
        if not agreement.differing:
            return None
        return Finding("answers_differ", "note", name, _words(agreement), "set serving.correctness.grade to the agreement that is enough")
    least = GRADES.index(requested)
    if GRADES.index(agreement.possible) < least:
        evidence = f"the agreement of answers to equal prompts is graded {_graded(agreement)}, {requested} is required: {_words(agreement)}"
        remedy = (
            "check whether all replicas have the same weights, precision and template, and whether the engine's kernels depend on the batch"
        )
        return Finding("agreement", "fail", name, evidence, remedy)
    if GRADES.index(agreement.shown) < least:
        evidence = f"it is unknown whether answers to equal prompts agree at grade {requested}: {_words(agreement)}"
        remedy = "an engine that reports log probabilities, one token per chunk, can show it"
        return Finding("agreement_not_shown", "warning", name, evidence, remedy)
    return None


def _graded(agreement: Agreement) -> str:
    return agreement.possible if agreement.possible == agreement.shown else f"{agreement.possible} at best"


def _words(agreement: Agreement) -> str:
    again = count(agreement.prompts, "prompts")
    if not agreement.differing:
        return f"the texts of {agreement.answers:,} answers to {again} are equal, and their probabilities were not reported"
    return f"{agreement.differing:,} of {agreement.answers:,} answers to {again} differ, the worst: {agreement.where}"


def blind(measured: RecordData, _: Results) -> str | None:
    """Blind if no prompt was sent twice."""
    return None if agreements(measured) else "no prompt was answered more than once (serving.correctness.identity)"


AUDIT = Audit(
    name="agreement",
    title="disagreeing answers",
    question="Do equal prompts get answers that agree as closely as required?",
    examine=examine,
    about=("serving",),
    blind=blind,
)
