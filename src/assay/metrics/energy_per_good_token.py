"""How many joules does an output token of a request that met every objective take?

energy_per_good_token = joules in the window / tokens of good requests that ended in it.  Joules by hardware counters, read
between two samples by interpolation; counters measure whole devices, idle power and other programs included.  Modelled
joules say so in the method. Late and failed answers take joules and are not counted.
"""

from __future__ import annotations

from collections.abc import Mapping

from assay.estimates.estimate import Value
from assay.frames.joules import energy_method, no_energy
from assay.frames.record_data import Measured
from assay.frames.serving.objectives import no_objectives
from assay.metrics.base import Metric, Results
from assay.metrics.load_cost import good_tokens, joules_per
from assay.metrics.rates import all_of
from assay.units import JOULES_PER_TOKEN


def compute(measured: Measured, _: Results) -> Mapping[str, Value]:
    """The quotient per configuration."""
    why = no_objectives(measured) or (no_energy(measured) if energy_method(measured) is None else None)
    if why is not None:
        return all_of(measured, why)
    return joules_per(
        measured,
        good_tokens(measured),
        unit=JOULES_PER_TOKEN,
        name="energy_per_good_token",
        aggregate="joules in the window / tokens of good requests that ended in it",
        missing="no energy reading before and after the window, or no request met every objective",
    )


METRIC = Metric(
    name="energy_per_good_token",
    title="Energy per good token",
    unit=JOULES_PER_TOKEN,
    kind="rate",
    better="lower",
    dimension="cost",
    formula="joules in the window / output tokens of good requests",
    compute=compute,
    about=("serving",),
)
