"""Did a program end before the processes that it started?"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Final

import polars as pl

from fireassay.estimates.format import count
from fireassay.frames.record_data import RecordData
from fireassay.metrics.metric import Results
from fireassay.verdict.audits.audit import Audits
from fireassay.verdict.types import Finding

AUDITS: Final = Audits(about=("programs",))
LEFT: Final = "left_running"


@AUDITS.add(LEFT, "Does a launch end with its work, or before it?", title="processes left running")
def examine_left_running(measured: RecordData, _: Results) -> Iterator[Finding]:
    """A warning for each configuration whose program ended before its processes: what they would still have done is neither timed nor kept."""
    rows = measured.table("events").filter(pl.col("kind") == LEFT).join(measured.timed.select("launch", "configuration"), on="launch")
    for name in measured.configurations:
        left = [json.loads(detail)["processes"] for detail in rows.filter(pl.col("configuration") == name)["detail"]]
        if left:
            most, of = count(max(left), "processes"), count(measured.timed.filter(pl.col("configuration") == name).height, "launches")
            evidence = f"in {len(left)} of {of} the program ended and left up to {most} running, which were ended"
            yield Finding(
                LEFT, "warning", name, evidence, "let it wait for its workers (wait, join, shutdown): the time ends with the program"
            )
