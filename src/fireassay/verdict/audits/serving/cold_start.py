"""How much longer does the first request after a start take?

Cold requests are sent one by one to each replica before the load and excluded from all other numbers. If their median time to first token
is more than twice that of the load's requests, this reports it: a service started on demand has this latency. Cannot tell: a server used
before the experiment and not restarted.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import polars as pl

from fireassay.estimates.format import given, reading
from fireassay.frames.record_data import RecordData
from fireassay.metrics.metric import Results
from fireassay.units import SECONDS
from fireassay.verdict.audits.support.audit import Audit
from fireassay.verdict.evidence.affected import by_configuration
from fireassay.verdict.evidence.sent_requests import number, rows, seconds
from fireassay.verdict.types import Finding

WORTH_SAYING: Final = 2.0


def examine(measured: RecordData, _: Results) -> Iterator[Finding]:
    """A note per configuration with much slower cold requests."""
    for name, requests in by_configuration(measured, _first(measured)):
        cold, warm = (number(requests.filter((pl.col("phase") == "cold") == is_cold)["first"]) for is_cold in (True, False))
        if cold is None or not warm or cold <= WORTH_SAYING * warm:
            continue
        evidence = (
            f"the first requests after a start took {reading(cold, SECONDS)} to the first text, {given(cold / warm, 2)} times the load's median of "
            f"{reading(warm, SECONDS)}; they are in no other number"
        )
        yield Finding("cold_start", "note", name, evidence, "nothing; warm up a new replica before it gets traffic")


def _first(measured: RecordData) -> pl.DataFrame:
    """(configuration, phase, first): seconds from sending to the first text, else to the end, of answered requests."""
    answered = rows(measured, "kind", "sent_ns", "first_token_ns", "done_ns", "status").filter(
        (pl.col("status") == "ok") & pl.col("phase").is_in(["cold", "main"]) & (pl.col("kind") == "normal")
    )  # other kinds in the cold phase are references for answers under load
    seen = answered.with_columns(pl.col("first_token_ns").fill_null(pl.col("done_ns")).alias("seen_ns"))
    return seen.select("launch", "configuration", "phase", seconds("seen_ns", "sent_ns").alias("first")).drop_nulls("first")


def blind(measured: RecordData, _: Results) -> str | None:
    """Blind without cold requests."""
    return None if _first(measured).filter(pl.col("phase") == "cold").height else "no cold request was answered (serving.arrivals.cold)"


AUDIT = Audit(
    name="cold_start",
    title="cold start",
    question="How much longer does the first request after a start take?",
    examine=examine,
    about=("serving",),
    blind=blind,
)
