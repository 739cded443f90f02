"""Was the machine dedicated to the experiment?

The counterpart of `contention` for claims: a record shows other users of the machine or network in its counters, a claim must state them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fireassay.verdict.audits.support.audit import Audit, claims_only
from fireassay.verdict.evidence.claimed_numbers import found, speeds, unsaid
from fireassay.verdict.types import Finding

if TYPE_CHECKING:
    from fireassay.spec.claim import Claim


def claim(said: Claim) -> tuple[Finding, ...]:
    """A shared machine, or an unstated one."""
    fast = speeds(said)
    if not fast or said.claim.exclusive:
        return ()
    if said.claim.exclusive is False:
        evidence = "others used the machines or the network during the measurement"
        remedy = "measure again on dedicated machines, or record the disturbance and publish it"
        return (found("machine_shared", "warning", None, evidence, remedy, "counters"),)
    return unsaid("machine_unsaid", fast, "whether others used the machines", "state claim.exclusive", "counters")


AUDIT = Audit(
    name="quiet_machine",
    title="disturbed machine",
    question="Was the machine dedicated to the experiment?",
    examine=claims_only,
    claim=claim,
)
