"""How many joules does a run and an item take?

Joules of all counters (RAPL packages and DRAM, NVML GPUs) between the first and last reading of a launch. A modelled estimate exists
only on request and is marked in its method and signature.
"""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from fireassay.estimates.estimate import Value
from fireassay.frames.costs import energy_method, launch_joules, no_energy
from fireassay.frames.per_launch import from_frame
from fireassay.frames.record_data import RecordData
from fireassay.frames.training.work import UNCOUNTED, work_per_launch
from fireassay.metrics.metric import EVERYTHING, Metric, Results
from fireassay.units import JOULES, JOULES_PER_ITEM


def _energy(measured: RecordData, _: Results) -> Mapping[str, Value]:
    method = energy_method(measured)
    if method is None:
        return dict.fromkeys(measured.configurations, no_energy(measured))
    return from_frame(
        measured,
        launch_joules(measured),
        unit=JOULES,
        name=f"energy|method:{method}",
        trials="",
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


def _per_item(measured: RecordData, _: Results) -> Mapping[str, Value]:
    method = energy_method(measured)
    if method is None:
        return dict.fromkeys(measured.configurations, no_energy(measured))
    work = work_per_launch(measured).rename({"value": "work"}).filter(pl.col("work") > 0)
    return from_frame(
        measured,
        launch_joules(measured).join(work, on="launch").select("launch", (pl.col("value") / pl.col("work")).alias("value")),
        unit=JOULES_PER_ITEM,
        name=f"energy_per_item|method:{method}",
        trials="",
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
    compute=_per_item,
    question="How many joules does one unit of useful work use, start-up included?",
    caveat="Counters measure whole devices, including other programs' use.",
    rank=581,
)
METRICS = (ENERGY, ENERGY_PER_ITEM)
