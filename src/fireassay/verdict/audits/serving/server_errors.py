"""Which requests failed, and with what message?

A failed request misses every objective; here failures are counted by class, with the commonest message of each. A warning from 1 % of a
configuration's due requests, below that a note. Server messages are untrusted text: shown on one line, without control characters,
truncated. Cannot tell: a wrong answer with status 200; `cross_talk`, `output_lengths` and quality check for those.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import polars as pl

from fireassay.estimates.format import percent
from fireassay.frames.record_data import RecordData
from fireassay.metrics.metric import Results
from fireassay.printable import one_line
from fireassay.verdict.audits.support.audit import Audit
from fireassay.verdict.evidence.affected import by_configuration
from fireassay.verdict.evidence.sent_requests import main
from fireassay.verdict.types import Finding

MANY: Final = 0.01
LONGEST: Final = 100  # characters of a server's message
NOT_SERVERS: Final = ("ok", "cancelled", "unsent", "lost")  # the client's own: reported by `send_lag` and `ledger`


def examine(measured: RecordData, _: Results) -> Iterator[Finding]:
    """One finding per configuration with failed requests."""
    for name, rows in by_configuration(measured, main(measured, "status", "error")):
        failed = rows.filter(~pl.col("status").is_in(NOT_SERVERS))
        if failed.height == 0:
            continue
        share = failed.height / rows.height
        evidence = f"{failed.height:,} of {rows.height:,} requests due failed ({percent(share)}): {_classes(failed)}"
        remedy = "read the server's log at these times; failed requests count as misses, and their time is in no latency"
        yield Finding("server_errors", "warning" if share >= MANY else "note", name, evidence, remedy)


def _classes(failed: pl.DataFrame) -> str:
    """ "12 5xx ("out of memory"), 3 timeout"; the commonest class first."""
    classes = failed.group_by("status").agg(pl.len().alias("n"), _commonest().alias("said")).sort("n", "status", descending=[True, False])
    return ", ".join(f"{row['n']:,} {row['status']}{_quoted(row['said'])}" for row in classes.iter_rows(named=True))


def _commonest() -> pl.Expr:
    return pl.col("error").drop_nulls().mode().sort().first()


def _quoted(words: str | None) -> str:
    if not words:
        return ""
    shown = one_line(words)
    return f' ("{shown if len(shown) <= LONGEST else shown[: LONGEST - 1] + "…"}")'


AUDIT = Audit(
    name="server_errors",
    title="failed requests",
    question="Which requests failed, and with what message?",
    examine=examine,
    about=("serving",),
)
