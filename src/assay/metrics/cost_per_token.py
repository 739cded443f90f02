"""What does an output token cost?

cost_per_token = replicas x price x window / output tokens in it.  The price of a worker-hour ([prices], with its date and
source) is that of a replica; ramp and drain are neither paid for nor credited, so that the length of a launch does not
change it.  Prompt tokens are paid for in it too: between loads with other prompts it is not comparable.
"""

from __future__ import annotations

from collections.abc import Mapping

from assay.estimates.estimate import Value
from assay.frames.record_data import Measured
from assay.metrics.base import Metric, Results
from assay.metrics.load_cost import dollars_per, tokens_in_window
from assay.units import USD_PER_TOKEN


def compute(measured: Measured, _: Results) -> Mapping[str, Value]:
    """The quotient per configuration."""
    amount = tokens_in_window(measured)
    return dollars_per(
        measured,
        amount,
        unit=USD_PER_TOKEN,
        name="cost_per_token",
        aggregate="replicas x price x window / output tokens in it",
        missing="no tokens in the window, or nobody counted them: name the model's tokenizer (serving.tokenizer)",
    )


METRIC = Metric(
    name="cost_per_token",
    title="Cost per output token",
    unit=USD_PER_TOKEN,
    kind="rate",
    better="lower",
    dimension="cost",
    formula="replicas x price x window / output tokens in it",
    compute=compute,
    about=("serving",),
    primary=True,
)
