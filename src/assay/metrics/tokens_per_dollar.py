"""How many output tokens does a dollar buy?

tokens_per_dollar = output tokens in the window / (replicas x price x window).  The price of a worker-hour ([prices], with
its date and source) is that of a replica; ramp and drain are neither paid for nor credited, so that the length of a launch
does not change it.  The reciprocal of cost_per_token.
"""

from __future__ import annotations

from collections.abc import Mapping

from assay.estimates.estimate import Value
from assay.frames.record_data import Measured
from assay.metrics.base import Metric, Results
from assay.metrics.load_cost import per_dollar, tokens_in_window
from assay.units import TOKENS_PER_USD


def compute(measured: Measured, _: Results) -> Mapping[str, Value]:
    """The quotient per configuration."""
    amount = tokens_in_window(measured)
    return per_dollar(
        measured,
        amount,
        unit=TOKENS_PER_USD,
        name="tokens_per_dollar",
        aggregate="output tokens in the window / (replicas x price x window)",
        missing="no tokens in the window, or nobody counted them: name the model's tokenizer (serving.tokenizer)",
    )


METRIC = Metric(
    name="tokens_per_dollar",
    title="Output tokens per dollar",
    unit=TOKENS_PER_USD,
    kind="rate",
    better="higher",
    dimension="cost",
    formula="output tokens in the window / (replicas x price x window)",
    compute=compute,
    about=("serving",),
)
