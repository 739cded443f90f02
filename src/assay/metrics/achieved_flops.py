"""How many of the model's floating-point operations are done per second, on all devices together?

achieved_flops = operations of the steady steps of a launch / their time, both summed, as `throughput` (PaLM, appendix B: the observed
throughput x operations per token); a median step would leave out the steps that stall.  Source: METRICS.md, `mfu`.  It needs no peak, so
that it is there for a
device that nobody knows.  It cannot tell what the hardware did beside: recomputed activations, padding, element-wise work.
"""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from assay.estimates.estimate import Value
from assay.frames.per_launch import from_frame
from assay.frames.record_data import Measured
from assay.frames.training.flops import Amount, absent, of_steps
from assay.metrics.base import Metric, Results
from assay.units import FLOP_PER_S

SCHEMA = {"launch": pl.Int32, "value": pl.Float64}


def compute(measured: Measured, _: Results) -> Mapping[str, Value]:
    """Operations per second per configuration."""
    amounts = of_steps(measured)
    speeds = speeds_of(measured, amounts)
    convention = measured.experiment.flops.convention
    return from_frame(
        measured,
        pl.DataFrame(list(speeds.items()), schema=SCHEMA, orient="row"),
        unit=FLOP_PER_S,
        trials="",
        name=f"achieved_flops|conv:{convention}",
        missing=absent(amounts.values()).detail,
        aggregate=f"operations of the steady steps, convention {convention}, / their time",
    )


def speeds_of(measured: Measured, amounts: Mapping[int, Amount]) -> dict[int, float]:
    """launch -> operations per second, where the operations of a mean step and its time are known."""
    steps = measured.steady_steps.group_by("launch").agg(pl.col("step_s").mean())
    seconds = dict(steps.iter_rows())
    return {
        launch: amount.value / seconds[launch] for launch, amount in amounts.items() if amount.value is not None and seconds.get(launch)
    }


METRIC = Metric(
    name="achieved_flops",
    title="Achieved speed",
    unit=FLOP_PER_S,
    kind="rate",
    better="higher",
    dimension="performance",
    formula="operations of the steady steps / their time",
    compute=compute,
    about=("training",),
)
