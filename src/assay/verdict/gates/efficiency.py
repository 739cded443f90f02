"""Is the parallel efficiency high enough?  The whole interval must be above the threshold of the experiment."""

from __future__ import annotations

from assay.metrics.base import Results
from assay.metrics.measured import Measured
from assay.metrics.per_launch import exact
from assay.units import FRACTION
from assay.verdict.gates.base import Gate, threshold
from assay.verdict.types import GateResult


def check(measured: Measured, results: Results) -> tuple[GateResult, ...]:
    """One result per configuration; none where the experiment asks for no efficiency."""
    least = measured.experiment.gates.efficiency
    if least is None:
        return ()
    bound = exact(least, unit=FRACTION, name="gate", n_launches=0, n_trials=0, how="threshold")
    efficiency = results["efficiency"]
    return tuple(
        threshold("efficiency", name, "efficiency", efficiency[name], bound, "at least")
        for name in measured.configurations
    )


GATE = Gate(name="efficiency", question="Is the parallel efficiency high enough?", check=check)
