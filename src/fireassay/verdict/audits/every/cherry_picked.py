"""Was a favourable launch selected?

A single launch may be any launch, and best-of-N improves with N. A record holds every launch; this looks for planned launches that are
missing, except those that adaptive launching did not need. A disturbed launch that was repeated stays in the record; if such launches are
as many as those that count, the selection is reported. Source: MLPerf Training rules (N consecutive runs, failed ones included).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

import polars as pl

from fireassay.estimates.format import count
from fireassay.frames.record_data import RecordData
from fireassay.metrics.metric import EVERYTHING, Results
from fireassay.spec.plan import plan
from fireassay.verdict.audits.support.audit import Audit
from fireassay.verdict.evidence.claimed_numbers import found, unsaid
from fireassay.verdict.stated.kinds import is_quality, is_relative, is_share, lower_is_better
from fireassay.verdict.stated.names import metric_name, statistic
from fireassay.verdict.types import Finding

if TYPE_CHECKING:
    from fireassay.spec.claim import Claim, Number

MIDDLE: Final = ("mean", "median", "p50")
GAIN: Final = r"(a factor of\s+)?[\d.,]+\s*-?(x\b|×|times\b(?! (as many|as much data|the data))|%|percent\b|fold\b)"
RATE: Final = r"[\d.,]+\s*[kMGTP]?(tok\w*|samples?|images?|[bB]|bit|FLOPs?)(/s| per second|ps\b|S\b)"  # requests/s may be the offered load
BEST_CASE: Final = (
    rf"\b(up to|as much as)\s+({GAIN}|{RATE})|\b(as high as|as fast as|peaks? (at|of)|a peak of)\s+({GAIN}|[\d.,]+\s*[A-Za-z]+)"
    r"|\b(best|fastest) (run )?(out )?of (\d+|all|several|N)\b|\bbest-of-\w+"
)


def examine(measured: RecordData, _: Results) -> tuple[Finding, ...]:
    """Planned launches missing from the record; replaced launches."""
    return (*_missing(measured), *_replaced(measured))


def _missing(measured: RecordData) -> list[Finding]:
    if measured.state != "complete":
        return []  # `sealed` reports the missing launches
    launches = measured.table("launches").filter(pl.col("role") == "timed")
    there = launches.group_by("configuration").agg(pl.col("block").n_unique())
    known = dict(there.iter_rows())
    planned = 0 if is_adaptive(measured) else len({launch.block for launch in plan(measured.experiment) if launch.role == "timed"})
    planned = planned or max(known.values(), default=0)
    short = {name: planned - known.get(name, 0) for name in measured.configurations if known.get(name, 0) < planned}
    return [
        Finding(
            "launches_missing",
            "warning",
            name,
            f"{missing} of {count(planned, 'launches')} of the plan are missing from the record, even as failures",
            "finish the plan with `assay resume`; a summary over some of the launches is a selection",
        )
        for name, missing in short.items()
    ]


def is_adaptive(measured: RecordData) -> bool:
    """Whether launches were added until the intervals were narrow: then the plan gives only a maximum."""
    return measured.experiment.launches.precision is not None or bool(measured.manifest.get("looks"))


def _replaced(measured: RecordData) -> Iterator[Finding]:
    launches = measured.table("launches").filter(pl.col("role") == "timed")
    for name in measured.configurations:
        rows = launches.filter(pl.col("configuration") == name)
        replaced, used = (rows.filter(pl.col("status") == status).height for status in ("contaminated", "ok"))
        if replaced and replaced >= used:
            evidence = (
                f"{count(replaced, 'launches')} were repeated because they were disturbed, {used} count: "
                "the numbers describe the quiet moments"
            )
            remedy = "dedicate the machine to the experiment, or report the disturbed launches as well: they are in the record"
            yield Finding("mostly_replaced", "warning", name, evidence, remedy)


def claim(said: Claim) -> tuple[Finding, ...]:
    """Best-of-N, a single launch, launches left out."""
    findings = [finding for number in said.number for finding in (*_extreme(said, number), *_picked(number))]
    return (
        *findings,
        *_in_words(said),
        *unsaid(
            "statistic_unsaid",
            [n for n in said.number if statistic(n) is None and not is_quality(n)],
            "which statistic of the measurements it is",
            "give the statistic (median, mean, p99 ...) of every number",
            "launch_values",
        ),
    )


def _in_words(said: Claim) -> list[Finding]:
    """Wording of the claim that admits a best case."""
    words = re.search(BEST_CASE, said.claim.text, flags=re.IGNORECASE)
    about = [
        n for n in said.number if not is_quality(n) and (is_relative(n) or not is_share(n)) and n.statistic not in ("best", "min", "max")
    ]
    if words is None or not about:
        return []
    evidence = f'claim.text says "{words[0].strip()}", which is the best of several cases or runs'
    remedy = "report every case, or the median over them with its interval"
    return [found("best_case_in_words", "invalid", about[0], evidence, remedy, "launch_values")]


def _extreme(said: Claim, number: Number) -> list[Finding]:
    """The most favourable of several; not an extreme given beside the middle of the same measurements."""
    middle = [
        n for n in said.number if metric_name(n.metric) == metric_name(number.metric) and n.of == number.of and statistic(n) in MIDDLE
    ]
    if number.statistic != "best" and (middle or number.statistic != ("min" if lower_is_better(number) else "max")):
        return []
    evidence = f"it is the {number.statistic} of several measurements (number.statistic), which improves with more measurements"
    return [found("best_of_n", "invalid", number, evidence, "report the median over launches with its interval", "launch_values")]


def _picked(number: Number) -> Iterator[Finding]:
    if number.launches == 1 or number.statistic == "single":
        evidence = "it comes from one launch, which says nothing about the next one"
        remedy = "repeat it in at least 5 launches, and report the median with its interval"
        yield found("one_launch", "warning", number, evidence, remedy, "launch_values")
    left = (number.planned_launches or 0) - (number.launches or number.planned_launches or 0)
    if left > 0:
        evidence = f"{left} of {count(number.planned_launches or 0, 'launches')} were left out of it"
        remedy = "report all launches, or the exclusion rule that was written down beforehand"
        yield found("launches_left_out", "invalid", number, evidence, remedy, "launch_values")


AUDIT = Audit(
    name="cherry_picked",
    title="cherry-picked run",
    question="Was a favourable launch picked?",
    examine=examine,
    claim=claim,
    about=EVERYTHING,
)
