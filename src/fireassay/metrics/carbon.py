"""How many grams of CO2 equivalent does a run, a step, an item or a token cause?

kWh x PUE x intensity of the hour + embodied share (`fireassay.frames.carbon`).  The joules are those of `energy`, by its one method; of
modelled joules the grams are modelled, and say so.  An unknown grid has no grams.
Source: Patterson et al., "Carbon Emissions and Large Neural Network Training", 2021; PUE: ISO/IEC 30134-2.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from fireassay.estimates.estimate import Absent, Value
from fireassay.frames.carbon import NO_GRID, grid_words, launch_grams
from fireassay.frames.costs import energy_method, energy_words, no_energy
from fireassay.frames.per_launch import from_frame
from fireassay.frames.record_data import RecordData
from fireassay.frames.training.work import UNCOUNTED, work_per_launch
from fireassay.metrics.cost import Below, per_launch, steps_per_launch
from fireassay.metrics.metric import EVERYTHING, Metric, Results
from fireassay.units import GRAMS, GRAMS_PER_ITEM, GRAMS_PER_STEP


def unknown(measured: RecordData) -> Absent | None:
    """Why no launch has grams; None: the grid and the joules are known."""
    if measured.experiment.carbon is None:
        return NO_GRID
    return no_energy(measured) if energy_method(measured) is None else None


def _carbon(measured: RecordData, _: Results, *, name: str, unit: str, below: Below | None, missing: str) -> Mapping[str, Value]:
    if (why := unknown(measured)) is not None:
        return dict.fromkeys(measured.configurations, why)
    grams, lacking = launch_grams(measured, measured.timed.select("launch", "begin_ns", "end_ns"))
    if below is not None:
        grams = per_launch(grams, below(measured))
    how = f"{energy_words(measured)}; {grid_words(measured)}"
    method = f"{name}|method:{energy_method(measured)}"
    return from_frame(measured, grams, unit=unit, name=method, missing=lacking or missing, aggregate=how)


def _metric(
    name: str, unit: str, title: str, thing: str, rank: int, below: Below | None = None, missing: str = "no launch ended"
) -> Metric:
    return Metric(
        name=name,
        title=title,
        unit=unit,
        kind="cost" if below is None else "rate",
        better="lower",
        dimension="cost",
        formula=f"(kWh x PUE x intensity of the hour + embodied share){'' if below is None else f' / {thing}s'}",
        compute=partial(_carbon, name=name, unit=unit, below=below, missing=missing),
        about=EVERYTHING if below is None else ("training",),
        question=f"How many grams of CO2 equivalent does one {thing} cause?",
        caveat="The grid's average, not what one more kilowatt-hour causes.",
        rank=rank,
    )


CARBON = _metric("carbon", GRAMS, "CO2 of a run", "run", 584)
CARBON_PER_STEP = _metric("carbon_per_step", GRAMS_PER_STEP, "CO2 of a step", "step", 585, steps_per_launch, "no steps were recorded")
CARBON_PER_ITEM = _metric("carbon_per_item", GRAMS_PER_ITEM, "CO2 of an item", "item", 586, work_per_launch, UNCOUNTED)
METRICS = (CARBON, CARBON_PER_STEP, CARBON_PER_ITEM)
