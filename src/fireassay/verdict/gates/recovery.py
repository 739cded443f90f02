"""Did the job survive its faults?

Every fault launch must be hit, end well and train on after the fault. A planned fault that never struck fails: it must not pass for a fault
survived.

Under load, requests must meet their objectives as before the fault (without objectives: be answered) before the load ends
(`fireassay.frames.serving.outages`). Requests may be lost; the sentence states how many, and the attainment before, during and after the fault.
"""

from __future__ import annotations

from typing import Final

import polars as pl

from fireassay.estimates.estimate import Absent, Estimate
from fireassay.estimates.format import count, show
from fireassay.frames.record_data import RecordData
from fireassay.frames.training.recovery import strikes
from fireassay.metrics.metric import EVERYTHING, WORKLOADS, Results
from fireassay.metrics.serving.faults import RECOVERY_TIME, REQUESTS_LOST, SLO_AFTER, SLO_BEFORE, SLO_DURING
from fireassay.verdict.gates.gate import Gate
from fireassay.verdict.types import GateResult, Status


def check(measured: RecordData, results: Results) -> tuple[GateResult, ...]:
    """One result per configuration that had a fault launch."""
    launches = measured.table("launches").filter(pl.col("role") == "fault")
    struck = set(strikes(measured)["launch"].to_list())
    check_launches = next(of_kind for of_kind, about in CHECKS if measured.kind.concerns(about))
    gate_results = []
    for name in measured.configurations:
        rows = launches.filter((pl.col("configuration") == name) & pl.col("status").is_in(["ok", "failed", "timeout"]))
        if rows.height:
            gate_results.append(check_launches(rows, struck, results, name))
    return tuple(gate_results)


def _load(launches: pl.DataFrame, struck: set[int], results: Results, configuration: str) -> GateResult:
    faulted = launches.filter(pl.col("launch").is_in(list(struck)))
    failed = launches.filter(pl.col("status") != "ok")
    if faulted.height == 0:
        why = f"the launch failed before: {failed['reason'][0]}" if failed.height else "the load had ended, or the fault missed"
        return _result(configuration, "NOT_MEASURED", f"no fault struck: {why}")
    if failed.height:
        text = f"the load did not survive {count(failed.height, 'fault launches')}: {failed['reason'][0]}"
        return _result(configuration, "FAIL", text)
    value = results.get(RECOVERY_TIME.name, {}).get(configuration, NOT_COMPUTED)
    text = _meanwhile(results, configuration)
    if isinstance(value, Absent):
        status: Status = "FAIL" if value.reason == "undefined" else "INCONCLUSIVE"
        return _result(configuration, status, f"after the fault: {value.detail}{text}")
    if value.value == 0.0 and value.high == 0.0:
        return _result(configuration, *_never_left(results, configuration, text))
    return _result(configuration, "PASS", f"survived the fault: {show(value).full} until requests were served as before{text}")


def _never_left(results: Results, configuration: str, meanwhile: str) -> tuple[Status, str]:
    """No window was bad enough to be attributed to the fault; with few requests that is weak evidence."""
    before, during, after = (results.get(name, {}).get(configuration) for name in SHARES)
    if not (isinstance(before, Estimate) and isinstance(during, Estimate) and during.value < _least(before)):
        return "PASS", f"survived the fault: as many requests were served well as before{meanwhile}"
    if isinstance(after, Estimate) and after.value >= _least(before):
        return ("PASS", f"survived the fault: served well after it as before, with too few requests to time the recovery{meanwhile}")
    return "INCONCLUSIVE", f"too few requests to see whether the load recovered{meanwhile}"


def _least(before: Estimate) -> float:
    """The interval's lower end; for a single launch, which has none, ten points below the value."""
    return before.low if before.low > 0.0 else before.value - CLEARLY


CLEARLY = 0.1
NOT_COMPUTED = Absent("not_measured", "the recovery was not computed")
SHARES = {SLO_BEFORE.name: "before", SLO_DURING.name: "during", SLO_AFTER.name: "after"}


def _meanwhile(results: Results, configuration: str) -> str:
    """ "; 12 requests lost; served well before 100 %, during 61 %, after 99 %"."""
    lost = results.get(REQUESTS_LOST.name, {}).get(configuration)
    parts = [f"{show(lost).text} lost"] if isinstance(lost, Estimate) else []
    known = [(words, value) for name, words in SHARES.items() if isinstance(value := results.get(name, {}).get(configuration), Estimate)]
    if known:
        parts.append("served well " + ", ".join(f"{words} it {show(value).full}" for words, value in known))
    return "".join(f"; {part}" for part in parts)


def _one(launches: pl.DataFrame, struck: set[int], results: Results, configuration: str) -> GateResult:
    faulted, spared = (launches.filter(pl.col("launch").is_in(list(struck))), launches.filter(~pl.col("launch").is_in(list(struck))))
    if spared.height:
        status, reason = spared.select("status", "reason").row(0)
        why = reason or "the job ended before the planned step" if status == "ok" else f"the launch failed before: {reason}"
        return _result(configuration, "FAIL", f"{_which(spared.height, launches.height)} never struck: {why}")
    lost = faulted.filter(pl.col("status") != "ok")
    if lost.height:
        reason = lost["reason"][0]
        return _result(configuration, "FAIL", f"the job did not survive {count(lost.height, 'fault launches')}: {reason}")
    time, steps = results["recovery_time"][configuration], results["steps_lost"][configuration]
    if isinstance(time, Absent) or isinstance(steps, Absent):
        detail = time.detail if isinstance(time, Absent) else "the lost steps could not be counted"
        return _result(configuration, "INCONCLUSIVE", f"the job ended well after the fault; {detail}")
    return _result(configuration, "PASS", _sentence(time, steps))


def _which(spared: int, faults: int) -> str:
    return "the fault" if faults == 1 else f"{spared} of {count(faults, 'faults')}"


def _sentence(time: Estimate, steps: Estimate) -> str:
    shown = show(time)
    return f"survived the fault: {shown.text} until progress was regained ({shown.interval}), {show(steps).text} lost"


def _result(configuration: str, status: Status, sentence: str) -> GateResult:
    return GateResult(gate="recovery", configuration=configuration, status=status, sentence=sentence)


CHECKS: Final = ((_load, ("serving",)), (_one, EVERYTHING))  # with the kinds of record that each concerns
GATE = Gate(name="recovery", question="Did the job survive its faults?", check=check, about=WORKLOADS)
