"""What does a run cost, and for what, in one sentence?"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from fireassay.estimates.estimate import Absent, Estimate, Value
from fireassay.estimates.format import show
from fireassay.frames.carbon import NO_GRID
from fireassay.metrics.carbon import CARBON
from fireassay.metrics.cost import COMPONENTS, COST, ENERGY, ENERGY_BOUND, ENERGY_PER_ITEM, ENERGY_PER_STEP
from fireassay.metrics.metric import Results
from fireassay.metrics.serving.cost import CARBON_PER_TOKEN, ENERGY_PER_TOKEN, TOKENS_OF_A_JOULE

Find = Callable[[str], Value | None]  # a metric's value at one configuration
NAMES: Final = {metric.name: metric.name.removeprefix("cost_").replace("_", " ") for metric in COMPONENTS}


def values_at(results: Results, configuration: str) -> Find:
    """The values of one configuration."""
    return lambda metric: results.get(metric, {}).get(configuration)


def parts_of_cost(find: Find) -> str:
    """ "compute 1.00, storage 0.05, egress 0.10"; "" where the cost has one part."""
    found = {words: value for name, words in NAMES.items() if isinstance(value := find(name), Estimate)}
    return ", ".join(f"{words} {_cents(value.value)}" for words, value in found.items()) if len(found) > 1 else ""


def cost_of_a_run(find: Find, of: str = "run") -> str:
    """ "$1.15 [1.14, 1.16] a run: compute 1.00, storage 0.05, egress 0.10"; "" where it was not measured."""
    cost = find(COST.name)
    if not isinstance(cost, Estimate):
        return ""
    parts = parts_of_cost(find)
    return f"{show(cost).full} a {of}{f': {parts}' if parts else ''}"


PER_UNIT: Final = (ENERGY_PER_STEP.name, ENERGY_PER_TOKEN.name, TOKENS_OF_A_JOULE.name, ENERGY_PER_ITEM.name)
WHOLE: Final = (ENERGY.name, CARBON_PER_TOKEN.name, CARBON.name)
OF: Final = {ENERGY.name: "{} a run", CARBON.name: "CO2 {} a run", CARBON_PER_TOKEN.name: "CO2 {}"}
MODELLED: Final = "method:modelled"


def footprint(find: Find) -> str:
    """ "3.2 J/step [3.1, 3.3], 0.32 kJ [...] a run (at most 4 J off), CO2 0.04 g [...] a run"; "" where no joule is known."""
    every = {name: value for name in (*PER_UNIT, *WHOLE) if isinstance(value := find(name), Estimate)}
    of_unit = [name for name in PER_UNIT if name in every]
    shown = of_unit[:2] if of_unit[:1] != [ENERGY_PER_STEP.name] else of_unit[:1]
    words = [_footed(name, every[name]) for name in (*shown, *WHOLE) if name in every]
    if ENERGY.name in every and isinstance(bound := find(ENERGY_BOUND.name), Estimate):
        at = next(place for place, word in enumerate(words) if word.startswith(_footed(ENERGY.name, every[ENERGY.name])))
        words[at] += f" (at most {show(bound).text} off)"
    modelled = any(MODELLED in value.signature for value in every.values())
    return f"{'modelled: ' if modelled else ''}{', '.join(words)}" if words else ""


def no_carbon(find: Find) -> str:
    """Why there is no CO2 although its grid is given; "" where there is, or where nobody asked."""
    value = find(CARBON.name)
    return f"CO2 not measured: {value.detail}" if isinstance(value, Absent) and value != NO_GRID else ""


def _footed(name: str, value: Estimate) -> str:
    shown = show(value)
    bracketed = shown.full if shown.interval.startswith("[") else shown.text  # the total says why there is none
    return OF.get(name, "{}").format(bracketed)


def _cents(usd: float) -> str:
    return f"{usd:.2f}" if usd >= 0.1 or usd == 0.0 or round(usd, 2) == usd else f"{usd:.3g}"
