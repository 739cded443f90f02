"""Do any launches repeat another launch's times to the nanosecond?

No two launches take equal times: if their longest 64 steps, trials, requests or collectives have equal durations to the nanosecond, one was
copied from the other. Applies if at least 8 of these durations are distinct and not whole microseconds: on a coarser clock, equal times are
no evidence. INVALID, since copies narrow every interval. Cannot tell: copies with added noise.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import polars as pl

from fireassay.frames.record_data import RecordData
from fireassay.metrics.metric import EVERYTHING, Results
from fireassay.verdict.audits.every.simulated import is_simulated
from fireassay.verdict.audits.support.audit import Audit
from fireassay.verdict.evidence.impossible_rows import FOREIGN, impossible
from fireassay.verdict.types import Finding

LONGEST, DIFFERENT = 64, 8
FINER_NS: Final = 1000
TIMED: Final = {
    "steps": ("begin_ns", "end_ns"),
    "trials": ("begin_ns", "end_ns"),
    "requests": ("sent_ns", "done_ns"),
    "collectives": ("begin_ns", "end_ns"),
}


def examine(measured: RecordData, _: Results) -> tuple[Finding, ...]:
    """At most one finding per table."""
    if measured.foreign is not None or is_simulated(measured):
        return ()
    return tuple(finding for table in TIMED for finding in _copies(measured, table))


def _copies(measured: RecordData, table: str) -> Iterator[Finding]:
    begin, end = TIMED[table]
    lengths = measured.table(table).select("launch", _length=pl.col(end) - pl.col(begin)).drop_nulls()
    longest = lengths.group_by("launch").agg(pl.col("_length").top_k(LONGEST).sort(descending=True)).sort("launch")
    first: dict[tuple[int, ...], int] = {}
    for launch, durations in longest.iter_rows():
        if len({length for length in durations if length % FINER_NS}) < DIFFERENT:
            continue
        earlier = first.setdefault(tuple(durations), launch)
        if earlier != launch:
            bad = pl.DataFrame({"launch": [launch], "_earlier": [earlier], "_rows": [len(durations)], "_longest": [durations[0]]})
            words = "its {_rows} longest durations equal those of launch {_earlier}; the longest is {_longest} ns"
            yield from impossible("rows_copied", table, bad, words)
            return


def blind(measured: RecordData, _: Results) -> str | None:
    """Blind with a single launch."""
    if measured.foreign is not None:
        return FOREIGN
    return None if measured.table("launches").height > 1 else "there is only one launch"


AUDIT = Audit(
    name="copied_rows",
    title="copied launches",
    question="Do any launches repeat another launch's times?",
    examine=examine,
    about=EVERYTHING,
    blind=blind,
)
