"""Is the record whole, real and free of errors of the instrument?"""

from __future__ import annotations

import json
from collections.abc import Iterator

import polars as pl

from fireassay.estimates.format import count
from fireassay.frames.record_data import RecordData
from fireassay.metrics.metric import EVERYTHING, Results
from fireassay.verdict.audits.support.audit import Audit
from fireassay.verdict.types import Finding

# ---- sealed ----


def examine_sealed(measured: RecordData, _: Results) -> tuple[Finding, ...]:
    """One finding for an interrupted, failed or unsealed record.

    Only a complete, sealed record carries a verdict.
    """
    if measured.state == "complete" and measured.sealed:
        return ()
    reason = str(measured.manifest.get("reason") or "").strip()
    suffix = f": {reason}" if reason else ""
    if measured.state == "failed":
        return (_sealed_finding("failed", f"the experiment failed{suffix}", "fix the workload and run the experiment again"),)
    if measured.state == "running":
        return (_sealed_finding("running", "launches are still running", "wait until the experiment has ended"),)
    remedy = "finish it with `assay resume RECORD`"
    if measured.state == "complete":
        return (_sealed_finding("unsealed", "all launches have ended but the record was never sealed", remedy),)
    return (_sealed_finding("interrupted", f"the experiment was interrupted, and planned launches are missing{suffix}", remedy),)


def _sealed_finding(rule: str, evidence: str, remedy: str) -> Finding:
    return Finding(f"record_{rule}", "invalid", None, evidence, remedy)


# ---- simulated ----

RUNNER = "simulated"


def is_simulated(measured: RecordData) -> bool:
    """True if the record comes from a simulator, directly or through a replay."""
    if measured.experiment.workload.runner == RUNNER or measured.manifest.get("simulated") is not None:
        return True
    steps = measured.table("steps")
    return steps.height > 0 and steps["method"][0] == RUNNER


def examine_simulated(measured: RecordData, _: Results) -> tuple[Finding, ...]:
    """One finding that makes a simulated record invalid.

    A record of the runner `simulated` (`assay simulate`) holds computed times. It is judged and shown like any other, so that a model can
    be tested on a cluster with known properties, but it is INVALID as evidence.
    """
    if not is_simulated(measured):
        return ()
    evidence = "simulated, not measured: every time in this record was computed by a simulator from numbers given to it"
    remedy = "use it to explore what would happen; measure with assay run before quoting anything"
    return (Finding("simulated", "invalid", None, evidence, remedy),)


# ---- instrument errors ----


def examine_instrument_errors(measured: RecordData, _: Results) -> Iterator[Finding]:
    """One finding for disabled probes, one for dropped rows, in launches whose numbers count.

    The probe disables itself rather than break a training job, and the writer drops a row rather than block; both record it (events
    `probe_error` and `rows_dropped`). A partial launch proves nothing: samples would look lost and steps fast. So data loss in a launch
    whose numbers count makes the record inadmissible.
    """
    used = measured.table("launches").filter(pl.col("status") == "ok")
    events = measured.table("events").join(used, on="launch", how="semi")
    gave_up, dropped = (events.filter(pl.col("kind") == kind) for kind in ("probe_error", "rows_dropped"))
    if gave_up.height:
        yield _instrument_errors_finding(
            "probe_error",
            gave_up,
            f"the probe met an error and stopped recording; the first, {_where(gave_up)}: {_error(gave_up['detail'][0])}",
            "check that the script passes the probe valid arguments (how-to: mark your script); if it does, this is a defect "
            "in assay. These launches are incomplete",
        )
    if dropped.height:
        rows = int(dropped["value"].sum())
        yield _instrument_errors_finding(
            "rows_dropped",
            dropped,
            f"{count(rows, 'rows')} could not be written and are missing, first {_where(dropped)}: {dropped['detail'][0]}",
            "write the record to a faster disk, or report fewer rows",
        )


def _instrument_errors_finding(rule: str, events: pl.DataFrame, evidence: str, remedy: str) -> Finding:
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


AUDITS = (
    Audit("sealed", "Is this record complete and sealed?", examine_sealed, title="incomplete record", about=EVERYTHING),
    Audit("simulated", "Were these times measured at all?", examine_simulated, title="simulation instead of measurement"),
    Audit(
        "instrument_errors",
        "Did the instrument itself lose data?",
        examine_instrument_errors,
        title="measurements lost by the instrument",
        about=EVERYTHING,
    ),
)
