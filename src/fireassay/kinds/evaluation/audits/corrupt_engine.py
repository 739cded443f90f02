"""Does an engine compute otherwise than rounding explains?

Every engine scored the same texts.  Rounding moves all tokens alike, a wrong weight few of them far: the tail of the KL divergence then is
many times its median (`fireassay.frames.evaluation.divergence`).  Another number format is a note, another checkpoint a warning: both may be meant.
Where no other side is close to the reference, and several are far from it at the same tokens, the reference is named; where one is, either may be wrong.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from fireassay.estimates.format import count, given
from fireassay.frames.evaluation.divergence import TailKL
from fireassay.frames.evaluation.forced import Side, doubted, floor_of, sides
from fireassay.frames.record_data import RecordData
from fireassay.metrics.metric import Results
from fireassay.verdict.audits.support.audit import Audit
from fireassay.verdict.types import Finding, Severity

SEVERITIES: Mapping[str, Severity] = {"corrupt": "fail", "different": "warning", "coarser": "note"}
WORDS: Mapping[str, str] = {
    "identical": "identical: every distribution is the reference's",
    "rounded": "rounding: no further than the reference is from itself",
    "coarser": "beyond rounding, and evenly: a coarser number format, or other weights throughout",
    "corrupt": "one weight or layer differs, not rounding",
    "different": "another model: most tokens have another most probable successor",
}
OF_REFERENCE: Final = "far from the reference, as others are, at the same tokens"
REMEDIES: Mapping[str, str] = {
    "corrupt": "compare the digests of its weight files with the reference's, load it again, then evaluate again",
    "different": "check which checkpoint it serves",
    "coarser": "if it is meant to be the same number format, check how it was loaded; else let a margin decide",
}


def called(measured: RecordData, side: Side) -> str:
    """ "engine b", "replica 1 of engine b"."""
    targets = {configuration.name: configuration.target for configuration in measured.varied}
    name = f"engine {targets[side.configuration]}"
    return name if side.replica is None else f"replica {side.replica} of {name}"


def examine(measured: RecordData, _: Results) -> Iterator[Finding]:
    """One finding for each engine or replica that is not merely rounded, and one if the comparison failed."""
    noted = measured.before.get("divergence")
    noted = noted if isinstance(noted, Mapping) else {}
    if noted.get("failed"):
        yield _missing(f"the engines were not compared token by token: {noted['failed']}")
    for name, left in (noted.get("left_out") or {}).items():
        yield _missing(f"{name}: {left['texts']:,} of {count(int(noted.get('texts') or 0), 'texts')} were not compared: {left['first']}")
    floor, doubt = floor_of(measured), doubted(sides(measured))
    if floor is not None and doubt == "reference":
        yield _of_reference(measured, floor)
    for side in sides(measured):
        if doubt == "reference" and side.nature == "corrupt":
            continue
        if not side.floor and floor is not None and side.nature in SEVERITIES:
            either = (
                f"; or the weights of {called(measured, floor)}: a third of the same number format would tell" if doubt == "either" else ""
            )
            yield Finding(
                rule="corrupt_engine",
                severity=SEVERITIES[side.nature],
                configuration=side.configuration,
                evidence=f"{called(measured, side)}: {_evidence(side.tail, floor.tail, side)}{either}",
                remedy=REMEDIES[side.nature],
            )


def _of_reference(measured: RecordData, floor: Side) -> Finding:
    others = [side for side in sides(measured) if side.nature == "corrupt" and not side.floor]
    far = min(side.tail.local for side in others)
    evidence = (
        f"{called(measured, floor)}, the reference: {len(others):,} others differ from it at the same tokens, by a 99.9th percentile of the KL "
        f"divergence of at least {_short(far)} times the median: one weight or layer of the reference differs, not of theirs"
    )
    return Finding("corrupt_engine", "fail", floor.configuration, evidence, REMEDIES["corrupt"].replace("the reference's", "the others'"))


def _evidence(tail: TailKL, floor: TailKL, side: Side) -> str:
    """How far its tail goes, what that means, and how far the reference is from itself."""
    bound = " at least" if side.bound else ""
    against = f"{tail.p999 / floor.p999:.3g} times" if floor.p999 else "against 0:"
    itself = "asked again" if side.bound else "against itself in another number format"
    return (
        f"the 99.9th percentile of the KL divergence over {count(tail.positions, 'tokens')},{bound} {_short(tail.p999)}, is "
        f"{_short(tail.local)} times its median: {WORDS[side.nature]} ({against} that of the reference {itself})"
    )


def _short(value: float) -> str:
    return given(float(f"{value:.2g}"))


def _missing(evidence: str) -> Finding:
    return Finding(
        rule="corrupt_engine",
        severity="warning",
        configuration=None,
        evidence=evidence,
        remedy="use engines of one tokenizer and a context that holds the texts, then evaluate again",
    )


AUDIT = Audit(
    name="corrupt_engine",
    title="an engine with a wrong weight",
    question="Does an engine compute otherwise than rounding explains?",
    examine=examine,
    about=("evaluation",),
)
