"""Does a run stay within its budget?

The whole interval of `cost` must lie below gates.budget_usd.
"""

from __future__ import annotations

from assay.estimates.estimate import Absent
from assay.estimates.over_launches import exact
from assay.frames.record_data import RecordData
from assay.metrics.base import EVERYTHING, Results
from assay.units import USD
from assay.verdict.gates.support.gate import Gate, threshold
from assay.verdict.types import GateResult

NOT_COMPUTED = Absent(reason="not_measured", detail="the cost of a run was not computed")


def check(measured: RecordData, results: Results) -> tuple[GateResult, ...]:
    """One result per configuration; none if the experiment sets no budget."""
    most = measured.experiment.gates.budget_usd
    if most is None:
        return ()
    bound = exact(most, unit=USD, name="gate", n_launches=0, n_trials=0, how="threshold")
    return tuple(
        threshold("budget", name, "cost", results.get("cost", {}).get(name, NOT_COMPUTED), bound, "at most")
        for name in measured.configurations
    )


GATE = Gate(name="budget", question="Does a run stay within its budget?", check=check, about=EVERYTHING)
