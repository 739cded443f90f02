"""How many joules does an output token take?

energy_per_token = joules in the window / output tokens in it.  Joules by hardware counters (RAPL, NVML, or an endpoint of
the server that exposes them), read between two samples by interpolation; counters measure whole devices, idle power and
other programs included.  Modelled joules say so in the method. Where the engine runs on another machine, whose counters
nobody reads, the joules are those of the client: see the devices in telemetry.
"""

from __future__ import annotations

from collections.abc import Mapping

from assay.estimates.estimate import Value
from assay.frames.joules import energy_method, no_energy
from assay.frames.record_data import Measured
from assay.metrics.base import Metric, Results
from assay.metrics.load_cost import joules_per, tokens_in_window
from assay.metrics.rates import all_of
from assay.units import JOULES_PER_TOKEN


def compute(measured: Measured, _: Results) -> Mapping[str, Value]:
    """The quotient per configuration."""
    if energy_method(measured) is None:
        return all_of(measured, no_energy(measured))
    amount = tokens_in_window(measured)
    return joules_per(
        measured,
        amount,
        unit=JOULES_PER_TOKEN,
        name="energy_per_token",
        aggregate="joules in the window / output tokens in it",
        missing="no energy reading before and after the window, or nothing was made in it",
    )


METRIC = Metric(
    name="energy_per_token",
    title="Energy per output token",
    unit=JOULES_PER_TOKEN,
    kind="rate",
    better="lower",
    dimension="cost",
    formula="joules in the window / output tokens in it",
    compute=compute,
    about=("serving",),
)
