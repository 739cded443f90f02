"""How many floating-point operations does the model need for a step of all ranks?

flops_per_step = sum over ranks of the products of the first step (convention counter), or operations per token by a declared formula
x tokens of a step.  Recomputed activations are not the model's; element-wise work is not counted.  Source: METRICS.md, `mfu`;
`assay.instruments.flops.flops` and `assay.stats.models.flops` say what is counted.  The convention is part of the number: two are never
compared.
"""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from assay.estimates.estimate import Value
from assay.frames.per_launch import from_frame
from assay.frames.record_data import Measured
from assay.frames.training.flops import absent, of_steps
from assay.metrics.base import Metric, Results
from assay.units import FLOP

SCHEMA = {"launch": pl.Int32, "value": pl.Float64}


def compute(measured: Measured, _: Results) -> Mapping[str, Value]:
    """Operations of a step per configuration."""
    amounts = of_steps(measured)
    found = [(launch, amount.value) for launch, amount in amounts.items() if amount.value is not None]
    return from_frame(
        measured,
        pl.DataFrame(found, schema=SCHEMA, orient="row"),
        unit=FLOP,
        trials="",
        name=f"flops_per_step|conv:{measured.experiment.flops.convention}",
        missing=absent(amounts.values()).detail,
        aggregate=f"operations of a step of all ranks, convention {measured.experiment.flops.convention}",
    )


METRIC = Metric(
    name="flops_per_step",
    title="Work of a step",
    unit=FLOP,
    kind="count",
    better="neither",
    dimension="performance",
    formula="sum over ranks of the model's products in a step, by the convention named",
    compute=compute,
    about=("training",),
)
