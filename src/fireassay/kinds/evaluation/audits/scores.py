"""Do scores agree with a reference engine, with the model's confidence, and with the totals of the harness?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from fireassay.estimates.format import bracketed, count, given, reading, with_interval
from fireassay.frames.evaluation.forced import Side, TailKL, doubted, floor_of, sides
from fireassay.frames.evaluation.item_scores import choices_were_rated, confidences
from fireassay.frames.record_data import RecordData
from fireassay.kinds.evaluation.recorded import reported
from fireassay.metrics.metric import Results
from fireassay.stats.calibration import reliability
from fireassay.units import SCORE
from fireassay.verdict.audits.audit import Audits
from fireassay.verdict.types import Finding, Severity

AUDITS = Audits(about=("evaluation",))


# ---- corrupt engine ----

SEVERITIES: Mapping[str, Severity] = {"corrupt": "fail", "different": "warning", "coarser": "note"}
WORDS: Mapping[str, str] = {
    "identical": "identical: every distribution is the reference's",
    "rounded": "rounding: no further than the reference is from itself",
    "coarser": "beyond rounding, and evenly: a coarser number format, or other weights throughout",
    "corrupt": "one weight or layer differs, not rounding",
    "different": "another model: most tokens have another most probable successor",
}
OF_REFERENCE: Final = "far from the reference, as others are, at the same tokens"
CORRUPT_ENGINE_REMEDIES: Mapping[str, str] = {
    "corrupt": "compare the digests of its weight files with the reference's, load it again, then evaluate again",
    "different": "check which checkpoint it serves",
    "coarser": "if it is meant to be the same number format, check how it was loaded; else let a margin decide",
}


def corrupt_engine_called(measured: RecordData, side: Side) -> str:
    """ "engine b", "replica 1 of engine b"."""
    targets = {configuration.name: configuration.target for configuration in measured.varied}
    name = f"engine {targets[side.configuration]}"
    return name if side.replica is None else f"replica {side.replica} of {name}"


@AUDITS.add("corrupt_engine", "Does an engine compute otherwise than rounding explains?", title="an engine with a wrong weight")
def examine_corrupt_engine(measured: RecordData, _: Results) -> Iterator[Finding]:
    """One finding for each engine or replica that is not merely rounded, and one if the comparison failed.

    Every engine scored the same texts.  Rounding moves all tokens alike, a wrong weight few of them far: the tail of the KL divergence then
    is many times its median (`fireassay.frames.evaluation.forced`).  Another number format is a note, another checkpoint a warning:
    both may be meant. Where no other side is close to the reference, and several are far from it at the same tokens, the reference is
    named; where one is, either may be wrong.
    """
    noted = measured.before.get("divergence")
    noted = noted if isinstance(noted, Mapping) else {}
    if noted.get("failed"):
        yield _corrupt_engine_missing(f"the engines were not compared token by token: {noted['failed']}")
    for name, left in (noted.get("left_out") or {}).items():
        yield _corrupt_engine_missing(
            f"{name}: {left['texts']:,} of {count(int(noted.get('texts') or 0), 'texts')} were not compared: {left['first']}"
        )
    floor, doubt = floor_of(measured), doubted(sides(measured))
    if floor is not None and doubt == "reference":
        yield _of_reference(measured, floor)
    for side in sides(measured):
        if doubt == "reference" and side.nature == "corrupt":
            continue
        if not side.floor and floor is not None and side.nature in SEVERITIES:
            either = (
                f"; or the weights of {corrupt_engine_called(measured, floor)}: a third of the same number format would tell"
                if doubt == "either"
                else ""
            )
            yield Finding(
                rule="corrupt_engine",
                severity=SEVERITIES[side.nature],
                configuration=side.configuration,
                evidence=f"{corrupt_engine_called(measured, side)}: {_corrupt_engine_evidence(side.tail, floor.tail, side)}{either}",
                remedy=CORRUPT_ENGINE_REMEDIES[side.nature],
            )


def _of_reference(measured: RecordData, floor: Side) -> Finding:
    others = [side for side in sides(measured) if side.nature == "corrupt" and not side.floor]
    far = min(side.tail.local for side in others)
    evidence = (
        f"{corrupt_engine_called(measured, floor)}, the reference: {len(others):,} others differ from it at the same tokens, by a 99.9th percentile of the KL "
        f"divergence of at least {_corrupt_engine_short(far)} times the median: one weight or layer of the reference differs, not of theirs"
    )
    return Finding(
        "corrupt_engine",
        "fail",
        floor.configuration,
        evidence,
        CORRUPT_ENGINE_REMEDIES["corrupt"].replace("the reference's", "the others'"),
    )


def _corrupt_engine_evidence(tail: TailKL, floor: TailKL, side: Side) -> str:
    """How far its tail goes, what that means, and how far the reference is from itself."""
    bound = " at least" if side.bound else ""
    against = f"{tail.p999 / floor.p999:.3g} times" if floor.p999 else "against 0:"
    itself = "asked again" if side.bound else "against itself in another number format"
    return (
        f"the 99.9th percentile of the KL divergence over {count(tail.positions, 'tokens')},{bound} {_corrupt_engine_short(tail.p999)}, is "
        f"{_corrupt_engine_short(tail.local)} times its median: {WORDS[side.nature]} ({against} that of the reference {itself})"
    )


def _corrupt_engine_short(value: float) -> str:
    return given(float(f"{value:.2g}"))


def _corrupt_engine_missing(evidence: str) -> Finding:
    return Finding(
        rule="corrupt_engine",
        severity="warning",
        configuration=None,
        evidence=evidence,
        remedy="use engines of one tokenizer and a context that holds the texts, then evaluate again",
    )


# ---- overconfident ----

OVERCONFIDENT_MIN_ITEMS: Final = 20


@AUDITS.add("overconfident", "Are choices that the model is sure of right as often as it says?")
def examine_overconfident(measured: RecordData, _: Results) -> Iterator[Finding]:
    """The worst bin of each configuration, if it is off.

    Items are put into ten bins by stated confidence.  A bin of which the interval of right answers excludes the mean stated confidence,
    with at least `OVERCONFIDENT_MIN_ITEMS` items, is a note: confidences of this model are no probabilities.
    """
    for name in measured.configurations if choices_were_rated(measured) else ():
        found = confidences(measured, name)
        if not len(found.stated):
            continue
        bins = reliability(found.stated, found.right, measured.confidence, clusters=found.labels)
        off = [one for one in bins if one.items >= OVERCONFIDENT_MIN_ITEMS and not one.right.low <= one.confidence <= one.right.high]
        if off:
            worst = max(off, key=lambda one: abs(one.confidence - one.right.value))
            ends = (worst.right.low, worst.right.high)
            shown = with_interval(*bracketed(worst.right.value, *ends, SCORE, beside=(worst.confidence,)))
            sure = reading(worst.confidence, SCORE, beside=ends)
            evidence = f"{count(worst.items, 'choices')} with a mean confidence of {sure} are right in {shown}"
            yield Finding("overconfident", "note", name, evidence, "do not use its confidences as probabilities without calibration")


# ---- reported totals ----

REPORTED_TOTALS_REMEDY = "import the files of one run, complete and unchanged"


@AUDITS.add(
    "reported_totals",
    "Do the numbers that a harness reports follow from the items that it logs?",
    title="totals that do not follow from their items",
)
def examine_reported_totals(measured: RecordData, _: Results) -> Iterator[Finding]:
    """One finding for each configuration with a number that does not follow.

    Its mean and its standard error of the mean are computed again from its own scores of the items, and must agree to 1e-9.  A difference
    means that items are missing from the log, were logged twice, or that the harness computes something else than it says.
    """
    for configuration in measured.configurations:
        wrong = [row for row in reported(measured) if row.configuration == configuration and row.differs]
        if not wrong:
            continue
        first = wrong[0]
        ours = "no number" if first.ours is None else f"{first.ours:.10g}"
        more = f", and {count(len(wrong) - 1, 'more numbers')} differ" if len(wrong) > 1 else ""
        yield Finding(
            rule="reported_totals",
            severity="warning",
            configuration=configuration,
            evidence=f"{first.name} of {first.task} is reported as {first.theirs:.10g}, and its items make {ours}{more}",
            remedy=REPORTED_TOTALS_REMEDY,
        )


OTHER_FOLD_REMEDY: Final = "quote the number whose definition you mean, and compare sides by the same one"


@AUDITS.add("folded_otherwise", "Does the harness make another number of the same items than their mean?", title="a score folded otherwise")
def examine_folded_otherwise(measured: RecordData, _: Results) -> Iterator[Finding]:
    """One finding for each configuration of which the harness's own number is no mean of its items' scores, and another one.

    Inspect reduces the epochs of a sample first (by their mode, or their maximum), so that its accuracy of .933 stands beside a mean of .867.
    """
    for configuration in measured.configurations:
        rows = [row for row in reported(measured) if row.configuration == configuration and row.mean and not row.same and row.apart]
        if rows:
            first = rows[0]
            assert first.ours is not None
            more = f"; {count(len(rows) - 1, 'more numbers')} likewise" if len(rows) > 1 else ""
            title = (measured.foreign or {}).get("title")
            evidence = (
                f"{title} reports {first.theirs:.4g} as {first.name} of {first.task}, and the mean of its items is {first.ours:.4g}: "
                f"it folds them otherwise, and here the mean counts{more}"
            )
            yield Finding("folded_otherwise", "warning", configuration, evidence, OTHER_FOLD_REMEDY)


# ---- foreign doubts ----

FOREIGN_DOUBTS_REMEDY = "evaluate again to the end, and import the complete log"


@AUDITS.add("foreign_doubts", "Does the log of another harness contradict itself?", title="logs that contradict themselves")
def examine_foreign_doubts(measured: RecordData, _: Results) -> Iterator[Finding]:
    """One finding for each contradiction.

    A run that stopped early, items that are reported and not logged, requests that failed and were scored: the import found it, and says so
    here.
    """
    for sentence in (measured.foreign or {}).get("doubts") or ():
        yield Finding(rule="foreign_doubts", severity="warning", configuration=None, evidence=str(sentence), remedy=FOREIGN_DOUBTS_REMEDY)
