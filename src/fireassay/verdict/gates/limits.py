"""Does a run keep the limits of the experiment: deadline, budget, efficiency, objectives?

The whole interval of a metric must lie on one side of the limit. A gate gives no results if the experiment does not set its limit.
"""

from __future__ import annotations

import math
from dataclasses import replace

import polars as pl

from fireassay.estimates.estimate import Absent, Value
from fireassay.estimates.format import percent
from fireassay.frames.record_data import RecordData
from fireassay.frames.serving.outages import still_open
from fireassay.metrics.metric import EVERYTHING, Results
from fireassay.metrics.training.quality_target import beyond
from fireassay.verdict.evidence.sent_requests import serving_of
from fireassay.verdict.gates.gate import Gate, threshold
from fireassay.verdict.types import GateResult

NO_COST = Absent("not_measured", "the cost of a run was not computed")
NO_ATTAINMENT = Absent("not_measured", "the share of requests within the objectives was not computed")


def check_deadline(measured: RecordData, results: Results) -> tuple[GateResult, ...]:
    """The whole interval of `wall_time` must lie below gates.deadline_s."""
    most = measured.experiment.gates.deadline_s
    if most is None:
        return ()
    return tuple(threshold("deadline", name, "wall time", results["wall_time"][name], most, "at most") for name in measured.configurations)


def check_budget(measured: RecordData, results: Results) -> tuple[GateResult, ...]:
    """The whole interval of `cost` must lie below gates.budget_usd."""
    most = measured.experiment.gates.budget_usd
    if most is None:
        return ()
    costs = results.get("cost", {})
    return tuple(threshold("budget", name, "cost", costs.get(name, NO_COST), most, "at most") for name in measured.configurations)


def check_target(measured: RecordData, results: Results) -> tuple[GateResult, ...]:
    """The whole interval of `time_to_quality` must lie below target.within_s; a median that lies beyond it, or was not reached by then, FAILs."""
    target = measured.experiment.target
    if target is None or target.within_s is None:
        return ()
    title, most = f"time to {target.parsed}", target.within_s
    gates = {name: threshold("target", name, title, value, most, "at most") for name, value in results["time_to_quality"].items()}
    return tuple(
        replace(gate, status="FAIL") if gate.status == "INCONCLUSIVE" and beyond(measured, name, most) else gate
        for name, gate in gates.items()
    )


def check_efficiency(measured: RecordData, results: Results) -> tuple[GateResult, ...]:
    """The whole interval of `efficiency` must lie above gates.efficiency. No results if performance is not judged."""
    least = measured.experiment.gates.efficiency
    if least is None or "performance" not in measured.experiment.verdict.wanted:
        return ()
    efficiency = results["efficiency"]
    return tuple(
        above_floor(
            threshold("efficiency", name, "efficiency", efficiency[name], least, "at least"), efficiency[name], least, measured.noise_floor
        )
        for name in measured.configurations
    )


def above_floor(result: GateResult, value: Value, least: float, floor: float | None) -> GateResult:
    """INCONCLUSIVE if the efficiency is closer to the threshold than the machine's noise floor (`assay doctor`)."""
    if floor is None or isinstance(value, Absent) or value.value <= 0.0 or result.status not in ("PASS", "FAIL"):
        return result
    if value.confidence == 1.0 or abs(math.log(value.value / least)) >= math.log1p(floor):
        return result  # exact: the base against itself
    sentence = f"{result.sentence}; it is closer to the gate than the noise floor of this machine, {percent(floor)} by assay doctor"
    return replace(result, status="INCONCLUSIVE", sentence=sentence)


def check_objectives(measured: RecordData, results: Results) -> tuple[GateResult, ...]:
    """slo_attainment = requests that met every objective / requests that were due; a failed request meets none. PASS if its whole interval
    lies at or above serving.objectives.attainment, FAIL if it lies below, else INCONCLUSIVE. The
    interval holds both ends of what is unknown.
    """
    wanted = serving_of(measured).objectives
    if not wanted.any:
        return ()
    shares = results.get("slo_attainment", {})
    return tuple(_objectives(measured, name, shares.get(name, NO_ATTAINMENT), wanted.attainment) for name in measured.configurations)


def _objectives(measured: RecordData, name: str, share: Value, least: float) -> GateResult:
    result = threshold("objectives", name, "requests within the objectives", share, least, "at least")
    why = "" if isinstance(share, Absent) else still_open(measured.counted_requests.filter(pl.col("configuration") == name))
    return replace(result, sentence=f"{result.sentence}; {why}") if why else result


OBJECTIVES = Gate(
    name="objectives", question="Do enough requests meet the objectives at this load?", check=check_objectives, about=("serving",)
)
GATES = (
    Gate(name="deadline", question="Does a run finish in time?", check=check_deadline),
    Gate(name="budget", question="Does a run stay within its budget?", check=check_budget, about=EVERYTHING),
    Gate(name="target", question="Is the target reached in time?", check=check_target, about=("training",)),
    Gate(name="efficiency", question="Is the parallel efficiency high enough?", check=check_efficiency),
    OBJECTIVES,
)
