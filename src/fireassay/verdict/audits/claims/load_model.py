"""Was the load independent of the server's speed?

A closed loop sends its next request once the last is answered: a slow server gets fewer requests, and the waits that users would have had
are never measured (coordinated omission; Tene, "How not to measure latency", 2013). Its latencies describe a number of clients, which must
be stated, and no arrival rate. Records of loads know their arrivals, so this concerns closed loops in claims.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from fireassay.verdict.audits.support.audit import Audit, claims_only
from fireassay.verdict.evidence.claimed_numbers import found
from fireassay.verdict.stated.kinds import is_wait
from fireassay.verdict.types import Finding

if TYPE_CHECKING:
    from fireassay.spec.claim import Claim

CLOSED: Final = r"\bclosed[- _]?loop\b|^closed$"
COUNTED: Final = r"concurrency (of |=)?\s*\d|\d+ (concurrent|clients|users|streams|connections)"
CLIENTS: Final = (
    "concurrency",
    "concurrent",
    "clients",
    "users",
    "virtual_users",
    "max_concurrency",
    "streams",
    "connections",
    "in_flight",
)


def claim(said: Claim) -> tuple[Finding, ...]:
    """Latencies of a closed loop without its number of clients."""
    waits = [number for number in said.number if is_wait(number)]
    sides = (said.conditions.baseline, said.conditions.candidate, *(number.conditions for number in said.number))
    facts = [
        (re.sub(r"[\s-]+", "_", key.strip().casefold()), str(value).strip().casefold()) for side in sides for key, value in side.items()
    ]
    words = said.claim.text.casefold()
    closed = any(re.search(CLOSED, text) for text in (words, *(value for _, value in facts)))
    counted = any(key in CLIENTS for key, _ in facts) or re.search(COUNTED, words) is not None
    if not waits or not closed or counted:
        return ()
    evidence = (
        "the waiting times come from a closed loop, which sends a slow server fewer requests, and its number of clients is not stated"
    )
    remedy = "offer the load at a fixed rate (open loop), or state concurrency in number.conditions and claim the waiting times for it only"
    return (found("closed_loop_without_clients", "warning", waits[0], evidence, remedy, "tail", "goodput"),)


AUDIT = Audit(
    name="load_model", title="closed loop", question="Was the load independent of the server's speed?", examine=claims_only, claim=claim
)
