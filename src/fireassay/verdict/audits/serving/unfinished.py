"""Were answers cut off because the load had ended?

After the last request is due, the client waits serving.arrivals.drain_s for requests under way; any that remain are timeouts and misses. A
warning from 1 % of a configuration's requests, below that a note: its slowest answers are then missing from every latency, and their number
depends on the drain. Cannot tell: how long those answers would have taken.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import polars as pl

from fireassay.estimates.format import given, percent
from fireassay.frames.record_data import RecordData
from fireassay.metrics.metric import Results
from fireassay.verdict.audits.support.audit import Audit
from fireassay.verdict.evidence.affected import by_configuration
from fireassay.verdict.evidence.sent_requests import main, serving_of
from fireassay.verdict.types import Finding

MANY: Final = 0.01
WORDS: Final = "after the last request was due"  # the client's wording; other timeouts of a request are the server's


def examine(measured: RecordData, _: Results) -> Iterator[Finding]:
    """One finding per configuration with requests cut off by the drain."""
    drain_s = serving_of(measured).arrivals.drain_s
    for name, rows in by_configuration(measured, main(measured, "status", "error")):
        cut = rows.filter((pl.col("status") == "timeout") & pl.col("error").str.contains(WORDS, literal=True)).height
        if cut:
            evidence = (
                f"{cut:,} of {rows.height:,} requests ({percent(cut / rows.height)}) had not ended {given(drain_s)} s after the last one was due; they "
                "count as misses, and are in no latency"
            )
            remedy = "raise serving.arrivals.drain_s, or reduce the load"
            yield Finding("answers_cut_off", "warning" if cut >= MANY * rows.height else "note", name, evidence, remedy)


AUDIT = Audit(
    name="unfinished",
    title="answers cut off",
    question="Were answers cut off because the load had ended?",
    examine=examine,
    about=("serving",),
)
