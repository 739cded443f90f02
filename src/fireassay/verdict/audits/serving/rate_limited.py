"""Was the engine measured, or a rate limit in front of it?

Status 429 (too many requests) or 503 (unavailable) comes from a limit: a gateway, a quota or the engine's own queue. A warning from 1 % of
a configuration's due requests, below that a note. In a closed loop the stream then waits (`Retry-After`, else serving.client.first_pause_s,
doubled), so the load is smaller than requested; the wait is read from the due times of the following requests. Throughput and goodput are
then the limit's. Sources: RFC 6585, section 4; RFC 9110, section 15.6.4. Cannot tell: a limit that delays answers instead of refusing them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import polars as pl

from fireassay.estimates.format import count, percent, reading
from fireassay.frames.record_data import RecordData
from fireassay.metrics.metric import Results
from fireassay.units import NS_PER_S, SECONDS
from fireassay.verdict.audits.support.audit import Audit
from fireassay.verdict.evidence.affected import by_configuration
from fireassay.verdict.evidence.sent_requests import main
from fireassay.verdict.types import Finding

LIMITS: Final = (429, 503)
MANY: Final = 0.01


def examine(measured: RecordData, _: Results) -> Iterator[Finding]:
    """One finding per rate-limited configuration."""
    for name, rows in by_configuration(measured, main(measured, "http_status", "stream", "scheduled_ns", "done_ns")):
        limited = rows.filter(pl.col("http_status").is_in(LIMITS))
        if limited.height == 0:
            continue
        share = limited.height / rows.height
        kinds = ", ".join(f"{n:,} with {status}" for status, n in limited["http_status"].value_counts(sort=True).iter_rows())
        evidence = f"{count(limited.height, 'requests')} of {rows.height:,} were rejected ({percent(share)}: {kinds}){_waited(rows)}"
        remedy = "raise the limit, or reduce the load: these rates are the limit's, not the engine's"
        yield Finding("rate_limited", "warning" if share >= MANY else "note", name, evidence, remedy)


def _waited(rows: pl.DataFrame) -> str:
    """How long streams waited after these answers."""
    ordered = rows.drop_nulls(["stream", "done_ns"]).sort("launch", "stream", "request")
    following = pl.col("scheduled_ns").shift(-1).over("launch", "stream")
    limited = pl.col("http_status").is_in(LIMITS).fill_null(False)
    waited = ordered.select((following - pl.col("done_ns")).filter(limited).clip(lower_bound=0).sum() / NS_PER_S).item()
    return f"; streams waited {reading(float(waited), SECONDS)} after them in total" if waited else ""


AUDIT = Audit(
    name="rate_limited",
    title="rate limit",
    question="Was the engine measured, or a rate limit in front of it?",
    examine=examine,
    about=("serving",),
)
