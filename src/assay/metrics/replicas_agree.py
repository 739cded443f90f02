"""Do all replicas hold the same parameters, from step 0 on?

replicas_agree = share of the hashed steps at which the parameter hashes of all ranks were equal (quality.md section 4,
layer C; exact).  Equal replicas are necessary and not sufficient: seven of eight injected faults keep them equal.
"""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from assay.estimates.estimate import Absent, Value
from assay.estimates.over_launches import exact
from assay.frames.record_data import Measured
from assay.frames.training.hashed_state import hashes
from assay.frames.training.parallelism import absent
from assay.metrics.base import Metric, Results
from assay.units import FRACTION

NO_HASHES = Absent(reason="not_measured", detail="no parameter hashes were taken; call probe.watch(model)")

SHARDED = Absent(
    reason="not_applicable",
    detail="ranks hold parts of the parameters, or stages of a pipeline: neither these are compared, nor the replicas of one of them",
)


def compute(measured: Measured, _: Results) -> Mapping[str, Value]:
    """Share of agreeing hashed steps per configuration."""
    compared = hashes(measured)
    found: dict[str, Value] = {}
    for level, name in zip(measured.levels, measured.configurations, strict=True):
        own = compared.filter(pl.col("configuration") == name)
        if level == 1:
            found[name] = Absent(reason="not_applicable", detail="one worker has no replica to agree with")
        elif (unfit := absent(measured, name, "replicas")) is not None:
            found[name] = unfit
        elif own.height == 0:
            found[name] = SHARDED if hashes(measured, what="parameter_shard_hash").filter(configuration=name).height else NO_HASHES
        else:
            found[name] = exact(
                float(own["agree"].mean()),  # type: ignore[arg-type]
                unit=FRACTION,
                name="replicas_agree",
                n_launches=own["launch"].n_unique(),
                n_trials=int(own["ranks"].sum()),
                how=f"{own.height} hashed steps compared over all ranks, exactly: after 0, 1, 2, 4, 8, ... steps and at the end",
            )
    return found


METRIC = Metric(
    name="replicas_agree",
    title="Replicas in step",
    unit=FRACTION,
    kind="ratio",
    better="higher",
    dimension="correctness",
    formula="hashed steps with equal hashes on all ranks / hashed steps",
    compute=compute,
)
