"""Are there enough launches, and is each planned one accounted for?

At least 5 per configuration carry an interval between launches, fewer than 3 carry no verdict (methodology 3.1).
A planned launch that failed or is missing is named: a summary over the ones that went well would be cherry-picked.
"""

from __future__ import annotations

import polars as pl

from assay.metrics.base import Results
from assay.metrics.format import count
from assay.metrics.measured import Measured
from assay.verdict.audits.base import Audit
from assay.verdict.types import Finding

ENOUGH = 5


def examine(measured: Measured, _: Results) -> tuple[Finding, ...]:
    """Findings on too few, failed and skipped launches."""
    return (*_few(measured), *_failed(measured))


def _few(measured: Measured) -> list[Finding]:
    found = []
    for name in measured.configurations:
        done = measured.timed.filter(pl.col("configuration") == name).height
        if done < ENOUGH:
            found.append(Finding(
                rule="few_launches", severity="warning", configuration=name,
                evidence=f"{count(done, 'successful launches')}; {ENOUGH} carry an interval worth relying on",
                remedy=f"run with launches.per_configuration = {ENOUGH} or more",
            ))  # fmt: skip
    return found


def _failed(measured: Measured) -> list[Finding]:
    launches = measured.table("launches")
    bad = launches.filter(pl.col("status").is_in(["failed", "timeout", "skipped"])).sort("launch")
    found = []
    for name in bad["configuration"].unique(maintain_order=True).to_list():
        own = bad.filter(pl.col("configuration") == name)
        found.append(Finding(
            rule="failed_launches", severity="warning", configuration=name,
            evidence=f"{count(own.height, 'launches')} did not end well; the first (launch {own['launch'][0]}): {own['reason'][0]}",
            remedy="read the launch's log in the record; the failed launches are kept and cost money, but carry no timing",
        ))  # fmt: skip
    return found


AUDIT = Audit(name="launches", question="Are there enough launches, and is each accounted for?", examine=examine)
