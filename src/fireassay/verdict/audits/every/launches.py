"""Are there enough launches, and is each planned one accounted for?

An interval between launches needs at least 5 per configuration; fewer than 3 carry no verdict (docs/methodology.md, "The unit of analysis
is the launch"). Failed planned launches are named: summarising only successes would be cherry-picking (`cherry_picked` finds missing ones).
Claims: launches and an interval must be published; a spread is no interval, and trials are no launches.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import polars as pl

from fireassay.estimates.format import count, given
from fireassay.frames.record_data import RecordData
from fireassay.metrics.metric import EVERYTHING, Results
from fireassay.verdict.audits.support.audit import Audit
from fireassay.verdict.evidence.claimed_numbers import found as said_wrong
from fireassay.verdict.stated.kinds import is_quality
from fireassay.verdict.types import Finding

if TYPE_CHECKING:
    from fireassay.spec.claim import Claim, Number

ENOUGH = 5
LEAST_CONFIDENCE = 0.8  # the lowest level accepted as a confidence interval


def examine(measured: RecordData, _: Results) -> tuple[Finding, ...]:
    """Findings on too few, failed and skipped launches."""
    return (*_few(measured), *_failed(measured))


def _few(measured: RecordData) -> Iterator[Finding]:
    if measured.experiment.profile is not None and measured.experiment.profile.only:
        return  # no timed launches planned: `assay profile`
    if measured.kind.samples_items:
        return
    for name in measured.configurations:
        done = measured.timed.filter(pl.col("configuration") == name).height
        if done < ENOUGH:
            evidence = f"{count(done, 'successful launches')}; a reliable interval needs {ENOUGH}"
            yield Finding("few_launches", "warning", name, evidence, f"run with launches.per_configuration = {ENOUGH} or more")


def _failed(measured: RecordData) -> Iterator[Finding]:
    launches = measured.table("launches")
    bad = launches.filter(pl.col("status").is_in(["failed", "timeout", "skipped"])).sort("launch")
    for name in bad["configuration"].unique(maintain_order=True).to_list():
        rows = bad.filter(pl.col("configuration") == name)
        evidence = f"{count(rows.height, 'launches')} did not succeed; the first (launch {rows['launch'][0]}): {rows['reason'][0]}"
        remedy = "read the launch's log in the record; failed launches are kept and their cost counts, but they are in no timing"
        yield Finding("failed_launches", "warning", name, evidence, remedy)


def claim(said: Claim) -> tuple[Finding, ...]:
    """Numbers without launches or without an interval."""
    return tuple(finding for number in said.number if not is_quality(number) for finding in _claimed(number))


def _claimed(number: Number) -> list[Finding]:
    missing = []
    if number.launches is None:
        trials = f"; {count(number.trials, 'trials')} inside a launch say nothing about the next launch" if number.trials else ""
        missing.append(f"no number of launches is given{trials}")
    elif number.launches < ENOUGH:
        missing.append(f"{count(number.launches, 'launches')}; a reliable interval needs {ENOUGH}")
    if number.interval is None:
        missing.append("no interval is given, which claims that there is no noise")
    elif number.interval.kind != "confidence":
        kind = number.interval.kind.replace("_", " ")
        missing.append(
            f"a {kind} is given, which is not an interval for the number" if kind != "unknown" else "the kind of interval is not stated"
        )
    elif number.interval.low is not None and number.interval.low == number.interval.high:
        missing.append(f"number.interval has no width ({given(number.interval.low)} to itself), which claims that there is no noise")
    elif number.interval.confidence is not None and number.interval.confidence < LEAST_CONFIDENCE:
        missing.append(f"number.interval.confidence = {given(number.interval.confidence)}: the true value lies outside it too often")
    if not missing:
        return []
    evidence = "; ".join(missing)
    remedy = f"measure in at least {ENOUGH} launches, and publish the interval between launches"
    return [said_wrong("evidence_insufficient", "warning", number, evidence, remedy, "launch_values")]


AUDIT = Audit(
    name="launches",
    title="insufficient evidence",
    question="Are there enough launches, and is each accounted for?",
    examine=examine,
    claim=claim,
    about=EVERYTHING,
)
