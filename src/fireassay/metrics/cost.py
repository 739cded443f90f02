"""How much does a run, a step and an item cost?

Cost is all that was paid for a run: compute (workers x price x wall time, including start-up, evaluation and failed time), storage,
egress, tokens, unused reservations and work lost to interruptions of spot workers (`fireassay.frames.costs`). Prices are inputs with
their date and source. Useful work is what finally counted (`fireassay.frames.training.work`).

How many joules does a run and an item take?

Joules of all counters (RAPL packages and DRAM, NVML GPUs) between the first and last reading of a launch. A modelled estimate exists
only on request and is marked in its method and signature.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from operator import mul
from typing import Final

import polars as pl

from fireassay.estimates.estimate import Absent, Estimate, Value
from fireassay.estimates.over_launches import averaged, exact, transform
from fireassay.frames.costs import (
    NO_PRICES,
    components,
    energy_gaps,
    energy_method,
    energy_words,
    launch_bound,
    launch_joules,
    launch_usd,
    ledger,
    no_energy,
    usd_per_second,
)
from fireassay.frames.per_launch import from_frame
from fireassay.frames.record_data import RecordData
from fireassay.frames.training.work import UNCOUNTED, work_per_launch
from fireassay.metrics.metric import ALL, EVERYTHING, Metric, Results
from fireassay.units import COUNT, ITEMS_PER_USD, JOULES, JOULES_PER_ITEM, JOULES_PER_STEP, USD, USD_PER_ITEM, USD_PER_STEP

measure = partial(Metric, better="lower", dimension="cost")
FREE = Absent("undefined", "the price is 0 dollars")
UNPRICED = "no launch ended, or the tokens that are paid for were not counted, or the engine has no price"


def _cost(measured: RecordData, _: Results) -> Mapping[str, Value]:
    prices = measured.experiment.prices
    if prices is None:
        return dict.fromkeys(measured.configurations, NO_PRICES)
    return from_frame(
        measured,
        launch_usd(measured, measured.timed),
        unit=USD,
        name="cost",
        missing=UNPRICED,
        aggregate=" + ".join(components(measured, prices)),
    )


COST = measure(
    name="cost",
    title="Cost of a run",
    unit=USD,
    kind="cost",
    formula="compute (workers x price x wall_time) + storage + egress + tokens + unused reservation + work lost to interruptions",
    compute=_cost,
    about=EVERYTHING,
    primary=True,
    question="What does one run cost?",
    caveat="Only what [prices] names is in it; idle machines besides the run are not.",
    rank=550,
)


def _component(measured: RecordData, _: Results, *, part: str) -> Mapping[str, Value]:
    prices = measured.experiment.prices
    if prices is None or part not in components(measured, prices):
        return dict.fromkeys(
            measured.configurations, NO_PRICES if prices is None else Absent("not_measured", f"[prices] says nothing of it ({part})")
        )
    dollars = dict(ledger(measured, measured.timed).select("launch", part).iter_rows())
    values: dict[str, Value] = {}
    for name in measured.configurations:
        found = [dollars[launch] for launch, _ in measured.timed_by_block.get(name, ()) if launch in dollars]
        values[name] = _mean(found, measured.confidence, part) if found else Absent("not_measured", UNPRICED)
    return values


def _mean(found: list[float], confidence: float, part: str) -> Estimate:
    name, how = "cost_lost_work" if part == "lost" else f"cost_{part}", "mean over launches"
    if max(found) == min(found):
        return exact(found[0], unit=USD, name=name, n_launches=len(found), n_trials=len(found), how="the same in every launch")
    return averaged(found, confidence, unit=USD, aggregate=how, name=name, n_trials=len(found))


PARTS: Final = {  # component -> (title, formula, question, caveat)
    "compute": (
        "Cost of compute",
        "workers x price x wall_time, without lost work of spot workers",
        "What do the workers of one run cost?",
        "Start-up, evaluation and idle time are paid for.",
    ),
    "reserved": (
        "Cost of unused reservation",
        "max(0, reserved_worker_hours x price - compute)",
        "What does one run pay for reserved hours that it does not use?",
        "If other runs use them, the reservation is not this run's.",
    ),
    "storage": (
        "Cost of storage",
        "flat, or GB x price x hours / 730",
        "What does one run pay for storage?",
        "As given: nothing is measured.",
    ),
    "egress": ("Cost of egress", "flat, or GB x price", "What does one run pay for data sent out?", "As given: nothing is measured."),
    "tokens": (
        "Cost of tokens",
        "uncached prompt tokens x price + cached x price + output x price",
        "What do the tokens of one run cost?",
        "Tokens of failed requests count where the server reported any.",
    ),
    "lost": (
        "Cost of lost work",
        "(time from a failure to regained progress + earlier attempts of the run) x price; not on spot: attempts that ended with their nodes",
        "What do interruptions cost in one run: of spot workers, and of nodes that a cluster took away?",
        "Without recorded steps, time lost inside a launch is part of compute.",
    ),
}
COMPONENTS: Final = tuple(
    measure(
        name=f"cost_{part}" if part != "lost" else "cost_lost_work",
        title=title,
        unit=USD,
        kind="cost",
        formula=formula,
        compute=partial(_component, part=part),
        about=EVERYTHING,
        question=question,
        caveat=caveat,
        rank=rank,
    )
    for rank, (part, (title, formula, question, caveat)) in enumerate(PARTS.items(), 557)
)


Below = Callable[[RecordData], pl.DataFrame]  # (launch, value)


def per_launch(above: pl.DataFrame, below: pl.DataFrame) -> pl.DataFrame:
    """(launch, value): the quotients of launches with both, where the divisor is above 0."""
    known = above.join(below.rename({"value": "below"}).filter(pl.col("below") > 0), on="launch")
    return known.select("launch", (pl.col("value") / pl.col("below")).alias("value"))


def _per_item(measured: RecordData, _: Results) -> Mapping[str, Value]:
    if measured.experiment.prices is None:
        return dict.fromkeys(measured.configurations, NO_PRICES)
    paid = launch_usd(measured, measured.timed)
    if paid.height and paid["value"].max() == 0.0:
        return dict.fromkeys(measured.configurations, FREE)
    return from_frame(
        measured,
        per_launch(paid, work_per_launch(measured)),
        unit=USD_PER_ITEM,
        name="cost_per_item",
        missing=UNCOUNTED,
        aggregate="cost / useful work",
    )


COST_PER_ITEM = measure(
    name="cost_per_item",
    title="Cost of an item",
    unit=USD_PER_ITEM,
    kind="rate",
    formula="cost / useful work",
    compute=_per_item,
    question="What does one unit of useful work cost, start-up included?",
    caveat="All paid time is charged; only work that counted is credited.",
    rank=551,
)


def _per_dollar(measured: RecordData, results: Results) -> Mapping[str, Value]:
    return {name: _inverse(results["cost_per_item"][name]) for name in measured.configurations}


def _inverse(cost: Value) -> Value:
    if isinstance(cost, Absent):
        return cost
    return transform(cost, _one_over, unit=ITEMS_PER_USD, name="items_per_dollar", how="1 / cost_per_item")


def _one_over(cost: float) -> float:
    return 1.0 / cost if cost > 0.0 else math.inf


ITEMS_PER_DOLLAR = measure(
    name="items_per_dollar",
    title="Items per dollar",
    unit=ITEMS_PER_USD,
    kind="rate",
    better="higher",
    formula="useful work / cost",
    compute=_per_dollar,
    question="How much useful work does one dollar buy?",
    caveat="The inverse of cost_per_item, interval included, because both are formed on logarithms.",
    rank=552,
)


def _per_step(measured: RecordData, results: Results) -> Mapping[str, Value]:
    rates = usd_per_second(measured)
    if rates is None:
        return dict.fromkeys(measured.configurations, NO_PRICES)
    return {name: _step_cost(results["step_time"][name], rates[name]) if name in rates else NO_PRICES for name in measured.configurations}


def _step_cost(step: Value, rate: float) -> Value:
    if isinstance(step, Absent):
        return step
    return transform(step, partial(mul, rate), unit=USD_PER_STEP, name="cost_per_step", how="workers x price x step time")


COST_PER_STEP = measure(
    name="cost_per_step",
    title="Cost of a step",
    unit=USD_PER_STEP,
    kind="rate",
    formula="workers x price x step_time",
    compute=_per_step,
    question="What does one training step cost in steady state?",
    caveat="Start-up is left out: compare cost for what a run costs.",
    rank=553,
)


def _per_effective(measured: RecordData, results: Results, *, cost: str) -> Mapping[str, Value]:
    return {name: _effective(results[cost][name], results["efficiency"][name]) for name in measured.configurations}


def _effective(cost: Value, efficiency: Value) -> Value:
    if isinstance(cost, Absent):
        return cost
    if isinstance(efficiency, Absent):
        return efficiency
    return Estimate(
        value=cost.value / efficiency.value,
        low=cost.low / efficiency.high,
        high=cost.high / efficiency.low if 0.0 < efficiency.low < math.inf else math.inf,
        unit=cost.unit,
        confidence=cost.confidence,
        n_launches=cost.n_launches,
        n_trials=cost.n_trials,
        method="ends of the cost interval divided by the opposite ends of the efficiency interval (conservative)",
        signature=f"cost_per_effective_work|of:{cost.signature}|over:{efficiency.signature}",
    )


COST_PER_EFFECTIVE_WORK = measure(
    name="cost_per_effective_work",
    title="Cost of an effective step",
    unit=USD_PER_STEP,
    kind="rate",
    formula="cost_per_step / efficiency",
    compute=partial(_per_effective, cost="cost_per_step"),
    question="What does a step cost, if idle capacity is charged to useful work?",
    caveat="Compute of the step alone, in steady state; cost_per_effective_item is of the total.",
    rank=554,
)
COST_PER_EFFECTIVE_ITEM = measure(
    name="cost_per_effective_item",
    title="Cost of an effective item",
    unit=USD_PER_ITEM,
    kind="rate",
    formula="cost_per_item / efficiency",
    compute=partial(_per_effective, cost="cost_per_item"),
    question="What does an item cost, storage and egress included, if idle capacity is charged to useful work?",
    caveat="The interval is wider than needed: cost and efficiency come from the same launches.",
    rank=563,
)


def _total(measured: RecordData, _: Results) -> Mapping[str, Value]:
    if measured.experiment.prices is None:
        return {ALL: NO_PRICES}
    launches = measured.table("launches").sort("launch")
    paid = ledger(measured, launches)
    if paid.height < launches.height:
        return {ALL: Absent("not_measured", UNPRICED)}
    once = pl.sum_horizontal(*PARTS) - pl.col("earlier")  # attempts are launches of their own here
    return {
        ALL: exact(
            float(paid.select(once.sum()).item()),
            unit=USD,
            name="cost_total",
            n_launches=launches.height,
            n_trials=launches.height,
            how="sum over all launches, failed and fault launches included",
        )
    }


COST_TOTAL = measure(
    name="cost_total",
    title="Cost of the whole experiment",
    unit=USD,
    kind="cost",
    formula="sum over launches of workers x price x wall_time",
    compute=_total,
    about=EVERYTHING,
    question="What did the whole experiment cost, failed, aborted and fault launches included?",
    caveat="An exact sum: every launch was paid for.",
    rank=555,
)


def _useful_work(measured: RecordData, _: Results) -> Mapping[str, Value]:
    return from_frame(
        measured,
        work_per_launch(measured),
        unit=COUNT,
        name="useful_work",
        missing=UNCOUNTED,
        aggregate="declared work, else the items of the steps that counted",
    )


USEFUL_WORK = measure(
    name="useful_work",
    title="Useful work of a run",
    unit=COUNT,
    kind="count",
    better="higher",
    formula="declared work, else sum of items over the steps that counted",
    compute=_useful_work,
    question="How much useful work did a run do?",
    caveat="The denominator of cost and energy per item; a step done again after a restart counts once.",
    rank=556,
)


# ---- energy ----


def _energy(measured: RecordData, _: Results) -> Mapping[str, Value]:
    method = energy_method(measured)
    if method is None:
        return dict.fromkeys(measured.configurations, no_energy(measured))
    return from_frame(
        measured,
        launch_joules(measured),
        unit=JOULES,
        name=f"energy|method:{method}",
        missing=next(iter(energy_gaps(measured).values()), f"no {method} energy reading in these launches"),
        aggregate=energy_words(measured),
    )


ENERGY = measure(
    name="energy",
    title="Energy of a run",
    unit=JOULES,
    kind="cost",
    formula="sum over devices of the energy counter over the launch, or of the integral of a sampled power",
    compute=_energy,
    about=EVERYTHING,
    question="How many joules does one run use?",
    caveat="Counters measure whole devices, including other programs' use.",
    rank=580,
)


def _bound(measured: RecordData, _: Results) -> Mapping[str, Value]:
    if energy_method(measured) is None:
        return dict.fromkeys(measured.configurations, no_energy(measured))
    bounds = dict(launch_bound(measured).iter_rows())
    values: dict[str, Value] = {}
    for name in measured.configurations:
        found = [bounds[launch] for launch, _ in measured.timed_by_block.get(name, ()) if launch in bounds]
        how = "most of any launch: wraps, resets, delay and step of the meters"
        values[name] = (
            exact(max(found), unit=JOULES, name="energy_bound", n_launches=len(found), n_trials=len(found), how=how)
            if found
            else Absent("not_measured", "the meters of this record state no bound")
        )
    return values


ENERGY_BOUND = measure(
    name="energy_bound",
    title="Bound of the energy of a run",
    unit=JOULES,
    kind="cost",
    formula="sum over devices of what wraps, resets, delay and step of the meter allow",
    compute=_bound,
    about=EVERYTHING,
    question="By how many joules can the energy of a run be off?",
    caveat="Of a sampled power it holds if the power between two readings stays in the range of all readings.",
    rank=582,
)


def steps_per_launch(measured: RecordData) -> pl.DataFrame:
    """(launch, value): the steps that counted, each once."""
    return measured.folded_steps.group_by("launch").agg(pl.len().alias("value"))


def _energy_per(measured: RecordData, _: Results, *, name: str, unit: str, below: Below, words: str, missing: str) -> Mapping[str, Value]:
    method = energy_method(measured)
    if method is None:
        return dict.fromkeys(measured.configurations, no_energy(measured))
    return from_frame(
        measured,
        per_launch(launch_joules(measured), below(measured)),
        unit=unit,
        name=f"{name}|method:{method}",
        aggregate=f"joules / {words}; joules: {energy_words(measured)}",
        missing=missing,
    )


UNSTEPPED: Final = "no steps were recorded: for batch in probe.steps(loader)"
ENERGY_PER_STEP = measure(
    name="energy_per_step",
    title="Energy of a step",
    unit=JOULES_PER_STEP,
    kind="rate",
    formula="energy / steps that counted",
    compute=partial(_energy_per, name="energy_per_step", unit=JOULES_PER_STEP, below=steps_per_launch, words="steps", missing=UNSTEPPED),
    question="How many joules does one step use, start-up included?",
    caveat="Counters measure whole devices, including other programs' use.",
    rank=583,
)


ENERGY_PER_ITEM = measure(
    name="energy_per_item",
    title="Energy of an item",
    unit=JOULES_PER_ITEM,
    kind="rate",
    formula="energy / useful work",
    compute=partial(
        _energy_per, name="energy_per_item", unit=JOULES_PER_ITEM, below=work_per_launch, words="useful work", missing=UNCOUNTED
    ),
    question="How many joules does one unit of useful work use, start-up included?",
    caveat="Counters measure whole devices, including other programs' use.",
    rank=581,
)


METRICS = (
    COST,
    *COMPONENTS,
    COST_PER_EFFECTIVE_ITEM,
    COST_PER_ITEM,
    ITEMS_PER_DOLLAR,
    COST_PER_STEP,
    COST_PER_EFFECTIVE_WORK,
    COST_TOTAL,
    USEFUL_WORK,
    ENERGY,
    ENERGY_BOUND,
    ENERGY_PER_STEP,
    ENERGY_PER_ITEM,
)
