"""At which price, on which day and with which meter was it calculated?

A cost holds for a price on a day; an energy for the metered scope: board, node, or wall with cooling. A claim that states neither is left
open. Records store the price and the method of each reading beside the number, so this concerns claims.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from fireassay.verdict.audits.support.audit import Audit, claims_only
from fireassay.verdict.evidence.claimed_numbers import unsaid
from fireassay.verdict.stated.kinds import is_cost, is_energy
from fireassay.verdict.types import Finding

if TYPE_CHECKING:
    from fireassay.spec.claim import Claim, Number

PRICE: Final = r"price|rate|cost|usd|\$|eur|tariff|spot|on[ -]demand|reserved|instance|per[ -]?hour|/h"  # in conditions
METER: Final = r"scope|meter|board|node|wall|plug|rack|pdu|psu|pue|facility|tdp|nvml|rapl|ipmi|system power|gpu power|chip power"
PRICE_IN_WORDS: Final = r"(per|/)\s*([a-z0-9]+[- ])?(h|hr|hours?)\b|\bspot\b|\bon[ -]demand\b|\breserved\b|\bprices?\b"
METER_IN_WORDS: Final = r"\bat the (wall|plug|board|node|rack|socket)\b|\b(board|wall|meter|pue|tdp|nvml|rapl|ipmi|pdu)\b"


def claim(said: Claim) -> tuple[Finding, ...]:
    """Costs without a price or a day, energies without a meter."""
    dated = said.claim.as_of is not None
    priced = [n for n in said.number if is_cost(n) and not dated and not _says(said, n, PRICE, PRICE_IN_WORDS)]
    metered = [n for n in said.number if is_energy(n) and not _says(said, n, METER, METER_IN_WORDS)]
    return (
        *unsaid("price_unsaid", priced, "at which price and when", "give claim.date, and the price in the number's conditions"),
        *unsaid(
            "meter_unsaid",
            metered,
            "what the energy covers",
            "state the meter and its scope (board, node, wall, PUE) in the number's conditions",
        ),
    )


def _says(said: Claim, number: Number, words: str, in_text: str) -> bool:
    sides = (said.conditions.baseline, said.conditions.candidate, number.conditions)
    facts = " ".join(f"{key} {value}" for side in sides for key, value in side.items())
    return re.search(words, facts.casefold()) is not None or re.search(in_text, said.claim.text.casefold()) is not None


AUDIT = Audit(
    name="cost_basis",
    title="price or meter not stated",
    question="At which price, on which day and with which meter was it calculated?",
    examine=claims_only,
    claim=claim,
)
