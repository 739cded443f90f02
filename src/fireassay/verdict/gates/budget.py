"""Does a run stay within its budget?

The whole interval of `cost` must lie below gates.budget_usd.
"""

from __future__ import annotations

from fireassay.estimates.estimate import Absent
from fireassay.frames.record_data import RecordData
from fireassay.metrics.metric import EVERYTHING, Results
from fireassay.verdict.gates.support.gate import Gate, threshold
from fireassay.verdict.types import GateResult

NOT_COMPUTED = Absent(reason="not_measured", detail="the cost of a run was not computed")


def check(measured: RecordData, results: Results) -> tuple[GateResult, ...]:
    """One result per configuration; none if the experiment sets no budget."""
    most = measured.experiment.gates.budget_usd
    if most is None:
        return ()
    return tuple(
        threshold("budget", name, "cost", results.get("cost", {}).get(name, NOT_COMPUTED), most, "at most")
        for name in measured.configurations
    )


GATE = Gate(name="budget", question="Does a run stay within its budget?", check=check, about=EVERYTHING)
