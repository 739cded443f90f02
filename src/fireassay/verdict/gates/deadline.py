"""Does a run finish in time?

The whole interval of `wall_time` must lie below gates.deadline_s.
"""

from __future__ import annotations

from fireassay.frames.record_data import RecordData
from fireassay.metrics.metric import Results
from fireassay.verdict.gates.support.gate import Gate, threshold
from fireassay.verdict.types import GateResult


def check(measured: RecordData, results: Results) -> tuple[GateResult, ...]:
    """One result per configuration; none if the experiment sets no deadline."""
    most = measured.experiment.gates.deadline_s
    if most is None:
        return ()
    return tuple(threshold("deadline", name, "wall time", results["wall_time"][name], most, "at most") for name in measured.configurations)


GATE = Gate(name="deadline", question="Does a run finish in time?", check=check)
