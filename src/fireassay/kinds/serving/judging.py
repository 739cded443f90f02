"""What is the verdict on a load on serving engines?

INVALID: an audit found that something other than the server was measured, or that requests are unaccounted for.
FAIL: responses were misrouted, agreement is below the required grade, a fault was not survived, or no load passes its
gates.  INCONCLUSIVE: the intervals straddle a requirement, or too few launches ended.  PASS: at least one load passes every
gate, and the largest of each engine and scenario is recommended.  Without a gate (no objectives, quality or budget) there is nothing
to pass: PASS then means that every load was measured validly, and every sentence says so.
"""

from __future__ import annotations

from fireassay.kinds.serving.dimensions import dimensions, gated, unmeasured
from fireassay.kinds.serving.methods import METHODS
from fireassay.kinds.serving.recommendation import recommend
from fireassay.kinds.serving.sentence import sentence
from fireassay.verdict.judging import Evidence, Judging, admissible, forced
from fireassay.verdict.types import Recommendation, Status


def status(evidence: Evidence, _: tuple[Recommendation, ...] = ()) -> Status:
    """One status for the record."""
    data, findings, gates = evidence.data, evidence.findings, evidence.gates
    if (already := forced(findings, gates)) is not None:
        return already
    if not gated(gates):
        return "PASS" if not unmeasured(data, evidence.results) else "INCONCLUSIVE"
    standings = [admissible(name, findings, gates) for name in data.configurations]
    if "PASS" in standings:
        return "PASS"
    return "FAIL" if all(standing == "FAIL" for standing in standings) else "INCONCLUSIVE"


JUDGING = Judging(dimensions=dimensions, recommend=recommend, status=status, sentence=sentence, methods=METHODS)
