"""Did the job survive its faults?  Every fault launch must end well and train on after the fault."""

from __future__ import annotations

import polars as pl

from assay.metrics.base import Results
from assay.metrics.estimate import Absent, Estimate
from assay.metrics.format import count, show
from assay.metrics.measured import Measured
from assay.metrics.recovery import strikes
from assay.verdict.gates.base import Gate
from assay.verdict.types import GateResult, Status


def check(measured: Measured, results: Results) -> tuple[GateResult, ...]:
    """One result per configuration that had a fault launch."""
    launches = measured.table("launches").filter(pl.col("role") == "fault")
    struck = set(strikes(measured)["launch"].to_list())
    found = []
    for name in measured.configurations:
        own = launches.filter((pl.col("configuration") == name) & pl.col("status").is_in(["ok", "failed", "timeout"]))
        if own.height:
            found.append(_one(own, struck, results, name))
    return tuple(found)


def _one(launches: pl.DataFrame, struck: set[int], results: Results, configuration: str) -> GateResult:
    hit = launches.filter(pl.col("launch").is_in(list(struck)))
    if hit.height == 0:
        failed = [reason for status, reason in launches.select("status", "reason").iter_rows() if status != "ok"]
        why = f"the launch failed before: {failed[0]}" if failed else "the job ended before the planned step"
        return _result(configuration, "NOT_MEASURED", f"no fault struck: {why}")
    lost = hit.filter(pl.col("status") != "ok")
    if lost.height:
        reason = lost["reason"][0]
        return _result(
            configuration, "FAIL", f"the job did not survive {count(lost.height, 'fault launches')}: {reason}"
        )
    time, steps = results["recovery_time"][configuration], results["steps_lost"][configuration]
    if isinstance(time, Absent) or isinstance(steps, Absent):
        detail = time.detail if isinstance(time, Absent) else "the lost steps could not be counted"
        return _result(configuration, "INCONCLUSIVE", f"the job ended well after the fault; {detail}")
    return _result(configuration, "PASS", _sentence(time, steps))


def _sentence(time: Estimate, steps: Estimate) -> str:
    shown = show(time)
    return f"survived the fault: {shown.text} until progress was regained ({shown.interval}), {show(steps).text} lost"


def _result(configuration: str, status: Status, sentence: str) -> GateResult:
    return GateResult(gate="recovery", configuration=configuration, status=status, sentence=sentence)


GATE = Gate(name="recovery", question="Did the job survive its faults?", check=check)
