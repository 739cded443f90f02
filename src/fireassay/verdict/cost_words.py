"""What does a run cost, and for what, in one sentence?"""

from __future__ import annotations

from typing import Final

from fireassay.estimates.estimate import Estimate
from fireassay.estimates.format import show
from fireassay.metrics.cost import COST, PARTS
from fireassay.metrics.metric import Results

NAMES: Final = {"cost_lost_work": "lost work"} | {f"cost_{part}": part for part in PARTS if part != "lost"}


def parts_of_cost(results: Results, configuration: str) -> str:
    """ "compute 1.00, storage 0.05, egress 0.10"; "" where the cost has one part."""
    found = {words: value for name, words in NAMES.items() if isinstance(value := results[name].get(configuration), Estimate)}
    return ", ".join(f"{words} {_cents(value.value)}" for words, value in found.items()) if len(found) > 1 else ""


def cost_of_a_run(results: Results, configuration: str, of: str = "run") -> str:
    """ "$1.15 [1.14, 1.16] a run: compute 1.00, storage 0.05, egress 0.10"; "" where it was not measured."""
    cost = results[COST.name].get(configuration)
    if not isinstance(cost, Estimate):
        return ""
    parts = parts_of_cost(results, configuration)
    return f"{show(cost).full} a {of}{f': {parts}' if parts else ''}"


def _cents(usd: float) -> str:
    return f"{usd:.2f}" if usd >= 0.1 or usd == 0.0 or round(usd, 2) == usd else f"{usd:.3g}"
