"""Did the instrument itself lose data?

The probe disables itself rather than break a training job, and the writer drops a row rather than block; both record it (events
`probe_error` and `rows_dropped`). A partial launch proves nothing: samples would look lost and steps fast. So data loss in a launch whose
numbers count makes the record inadmissible.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

import polars as pl

from fireassay.estimates.format import count
from fireassay.frames.record_data import RecordData
from fireassay.metrics.metric import EVERYTHING, Results
from fireassay.verdict.audits.support.audit import Audit
from fireassay.verdict.types import Finding


def examine(measured: RecordData, _: Results) -> Iterator[Finding]:
    """One finding for disabled probes, one for dropped rows, in launches whose numbers count."""
    used = measured.table("launches").filter(pl.col("status") == "ok")
    events = measured.table("events").join(used, on="launch", how="semi")
    gave_up, dropped = (events.filter(pl.col("kind") == kind) for kind in ("probe_error", "rows_dropped"))
    if gave_up.height:
        yield _finding(
            "probe_error",
            gave_up,
            f"the probe met an error and stopped recording; the first, {_where(gave_up)}: {_error(gave_up['detail'][0])}",
            "check that the script passes the probe valid arguments (how-to: mark your script); if it does, this is a defect "
            "in assay. These launches are incomplete",
        )
    if dropped.height:
        rows = int(dropped["value"].sum())
        yield _finding(
            "rows_dropped",
            dropped,
            f"{count(rows, 'rows')} could not be written and are missing, first {_where(dropped)}: {dropped['detail'][0]}",
            "write the record to a faster disk, or report fewer rows",
        )


def _finding(rule: str, events: pl.DataFrame, evidence: str, remedy: str) -> Finding:
    launches = ", ".join(str(launch) for launch in events["launch"].unique().sort().to_list()[:8])
    return Finding(rule, "invalid", None, f"{evidence} (launches {launches})", remedy)


def _error(detail: str | None) -> str:
    """The error's message, else the whole detail."""
    try:
        return str(json.loads(detail or "")["error"])
    except (ValueError, TypeError, KeyError):
        return detail or "no detail"


def _where(events: pl.DataFrame) -> str:
    rank = events["rank"][0]
    return f"in launch {events['launch'][0]}" + ("" if rank is None else f" on rank {rank}")


AUDIT = Audit(
    name="instrument_errors",
    title="measurements lost by the instrument",
    question="Did the instrument itself lose data?",
    examine=examine,
    about=EVERYTHING,
)
