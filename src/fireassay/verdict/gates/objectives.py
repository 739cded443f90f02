"""Do enough requests meet the objectives at this load?

slo_attainment = requests that met every objective / requests that were due; a failed request meets none. PASS if its whole interval lies at
or above serving.objectives.attainment, FAIL if it lies below, else INCONCLUSIVE. Without objectives the gate does not apply.
"""

from __future__ import annotations

from fireassay.estimates.estimate import Absent
from fireassay.frames.record_data import RecordData
from fireassay.metrics.metric import Results
from fireassay.verdict.evidence.sent_requests import serving_of
from fireassay.verdict.gates.support.gate import Gate, threshold
from fireassay.verdict.types import GateResult

NOT_COMPUTED = Absent(reason="not_measured", detail="the share of requests within the objectives was not computed")


def check(measured: RecordData, results: Results) -> tuple[GateResult, ...]:
    """One result per configuration; none without objectives."""
    wanted = serving_of(measured).objectives
    if not wanted.any:
        return ()
    met = results.get("slo_attainment", {})
    return tuple(
        threshold("objectives", name, "requests within the objectives", met.get(name, NOT_COMPUTED), wanted.attainment, "at least")
        for name in measured.configurations
    )


GATE = Gate(name="objectives", question="Do enough requests meet the objectives at this load?", check=check, about=("serving",))
