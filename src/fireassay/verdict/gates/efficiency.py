"""Is the parallel efficiency high enough?

The whole interval of `efficiency` must lie above gates.efficiency.
"""

from __future__ import annotations

import math
from dataclasses import replace

from fireassay.estimates.estimate import Absent, Value
from fireassay.estimates.format import percent
from fireassay.frames.record_data import RecordData
from fireassay.metrics.metric import Results
from fireassay.verdict.gates.support.gate import Gate, threshold
from fireassay.verdict.types import GateResult


def check(measured: RecordData, results: Results) -> tuple[GateResult, ...]:
    """One result per configuration; none if no efficiency is required or performance is not judged."""
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


GATE = Gate(name="efficiency", question="Is the parallel efficiency high enough?", check=check)
