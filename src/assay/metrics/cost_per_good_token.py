"""What does an output token of a request that met every objective cost?

cost_per_good_token = replicas x price x window / tokens of good requests that ended in it.  The price of a worker-hour
([prices], with its date and source) is that of a replica; ramp and drain are neither paid for nor credited, so that the
length of a launch does not change it.  Late and failed answers are paid for and not counted, so that it shows where saving
on replicas costs more than it saves.
"""

from __future__ import annotations

from collections.abc import Mapping

from assay.estimates.estimate import Value
from assay.frames.record_data import Measured
from assay.frames.serving.objectives import no_objectives
from assay.metrics.base import Metric, Results
from assay.metrics.load_cost import dollars_per, good_tokens
from assay.metrics.rates import all_of
from assay.units import USD_PER_TOKEN


def compute(measured: Measured, _: Results) -> Mapping[str, Value]:
    """The quotient per configuration."""
    if (why := no_objectives(measured)) is not None:
        return all_of(measured, why)
    amount = good_tokens(measured)
    return dollars_per(
        measured,
        amount,
        unit=USD_PER_TOKEN,
        name="cost_per_good_token",
        aggregate="replicas x price x window / tokens of good requests that ended in it",
        missing="no request met every objective",
    )


METRIC = Metric(
    name="cost_per_good_token",
    title="Cost per good token",
    unit=USD_PER_TOKEN,
    kind="rate",
    better="lower",
    dimension="cost",
    formula="replicas x price x window / tokens of good requests that ended in it",
    compute=compute,
    about=("serving",),
)
