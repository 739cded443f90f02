"""How much does a run, a step and an item cost?

Cost is workers x price x wall time, including start-up, evaluation and failed time. The price is an input with its date and
source. Useful work is what finally counted (`fireassay.frames.training.work`).

How many joules does a run and an item take?

Joules of all counters (RAPL packages and DRAM, NVML GPUs) between the first and last reading of a launch. A modelled estimate exists
only on request and is marked in its method and signature.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial
from operator import mul

import polars as pl

from fireassay.estimates.estimate import Absent, Estimate, Value
from fireassay.estimates.over_launches import exact, transform
from fireassay.frames.costs import NO_PRICES, energy_method, launch_joules, launch_usd, no_energy, usd_per_worker_second
from fireassay.frames.per_launch import from_frame
from fireassay.frames.record_data import RecordData
from fireassay.frames.training.work import UNCOUNTED, work_per_launch
from fireassay.metrics.metric import ALL, EVERYTHING, Metric, Results
from fireassay.units import COUNT, ITEMS_PER_USD, JOULES, JOULES_PER_ITEM, USD, USD_PER_ITEM, USD_PER_STEP

measure = partial(Metric, better="lower", dimension="cost")
FREE = Absent("undefined", "the price is 0 dollars per worker-hour")


def _cost(measured: RecordData, _: Results) -> Mapping[str, Value]:
    price = usd_per_worker_second(measured)
    if price is None:
        return dict.fromkeys(measured.configurations, NO_PRICES)
    return from_frame(
        measured,
        launch_usd(measured.timed, price),
        unit=USD,
        name="cost",
        missing="no launch ended",
        aggregate="workers x price x wall time",
    )


COST = measure(
    name="cost",
    title="Cost of a run",
    unit=USD,
    kind="cost",
    formula="workers x price x wall_time",
    compute=_cost,
    about=EVERYTHING,
    primary=True,
    question="What does one run cost?",
    caveat="Excludes what idle or reserved machines cost besides the run.",
    rank=550,
)


def _per_item(measured: RecordData, _: Results) -> Mapping[str, Value]:
    price = usd_per_worker_second(measured)
    if price is None:
        return dict.fromkeys(measured.configurations, NO_PRICES)
    if price == 0.0:
        return dict.fromkeys(measured.configurations, FREE)
    work = work_per_launch(measured).rename({"value": "work"})
    ratio = launch_usd(measured.timed, price).join(work, on="launch").filter(pl.col("work") > 0)
    return from_frame(
        measured,
        ratio.select("launch", (pl.col("value") / pl.col("work")).alias("value")),
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
    price = usd_per_worker_second(measured)
    if price is None:
        return dict.fromkeys(measured.configurations, NO_PRICES)
    levels = zip(measured.levels, measured.configurations, strict=True)
    return {name: _step_cost(results["step_time"][name], level * price) for level, name in levels}


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


def _per_effective_work(measured: RecordData, results: Results) -> Mapping[str, Value]:
    return {name: _effective(results["cost_per_step"][name], results["efficiency"][name]) for name in measured.configurations}


def _effective(cost: Value, efficiency: Value) -> Value:
    if isinstance(cost, Absent):
        return cost
    if isinstance(efficiency, Absent):
        return efficiency
    return Estimate(
        value=cost.value / efficiency.value,
        low=cost.low / efficiency.high,
        high=cost.high / efficiency.low if 0.0 < efficiency.low < math.inf else math.inf,
        unit=USD_PER_STEP,
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
    compute=_per_effective_work,
    question="What does a step cost, if idle capacity is charged to useful work?",
    caveat="The interval is wider than needed: cost and efficiency come from the same launches.",
    rank=554,
)


def _total(measured: RecordData, _: Results) -> Mapping[str, Value]:
    price = usd_per_worker_second(measured)
    if price is None:
        return {ALL: NO_PRICES}
    launches = measured.table("launches").sort("launch")
    return {
        ALL: exact(
            float(launch_usd(launches, price)["value"].sum()),
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
        missing=f"no {method} energy reading in these launches",
        aggregate="MODELLED, not measured: watts per worker x time" if method == "modelled" else "sum of hardware counters",
    )


ENERGY = Metric(
    name="energy",
    title="Energy of a run",
    unit=JOULES,
    kind="cost",
    better="lower",
    dimension="cost",
    formula="sum over devices of the energy counter over the launch",
    compute=_energy,
    about=EVERYTHING,
    question="How many joules does one run use?",
    caveat="Counters measure whole devices, including other programs' use.",
    rank=580,
)


def _energy_per_item(measured: RecordData, _: Results) -> Mapping[str, Value]:
    method = energy_method(measured)
    if method is None:
        return dict.fromkeys(measured.configurations, no_energy(measured))
    work = work_per_launch(measured).rename({"value": "work"}).filter(pl.col("work") > 0)
    return from_frame(
        measured,
        launch_joules(measured).join(work, on="launch").select("launch", (pl.col("value") / pl.col("work")).alias("value")),
        unit=JOULES_PER_ITEM,
        name=f"energy_per_item|method:{method}",
        aggregate="MODELLED joules / useful work" if method == "modelled" else "counted joules / useful work",
        missing=UNCOUNTED,
    )


ENERGY_PER_ITEM = Metric(
    name="energy_per_item",
    title="Energy of an item",
    unit=JOULES_PER_ITEM,
    kind="rate",
    better="lower",
    dimension="cost",
    formula="energy / useful work",
    compute=_energy_per_item,
    question="How many joules does one unit of useful work use, start-up included?",
    caveat="Counters measure whole devices, including other programs' use.",
    rank=581,
)


METRICS = (COST, COST_PER_ITEM, ITEMS_PER_DOLLAR, COST_PER_STEP, COST_PER_EFFECTIVE_WORK, COST_TOTAL, USEFUL_WORK, ENERGY, ENERGY_PER_ITEM)
