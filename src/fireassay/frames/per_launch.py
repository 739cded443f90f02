"""How do values per launch become one estimate per configuration, or values per block?"""

from __future__ import annotations

import math

import polars as pl

from fireassay.estimates.estimate import Absent, Value
from fireassay.estimates.over_launches import no_launch, no_logarithm, positive
from fireassay.frames.record_data import RecordData


def from_frame(
    measured: RecordData, values: pl.DataFrame, *, unit: str, aggregate: str, name: str, missing: str, trials: str
) -> dict[str, Value]:
    """One estimate per configuration from a frame (launch, value[, trials]); positive values, Student t on their logs.

    `missing` completes the sentence of an absent value; `aggregate` says how a launch's value is formed.
    """
    known = {row["launch"]: row for row in values.iter_rows(named=True)}
    estimates: dict[str, Value] = {}
    for configuration in measured.configurations:
        launches = measured.timed_by_block.get(configuration, ())
        rows = [known[launch] for launch, _ in launches if launch in known]
        present = [row for row in rows if row["value"] is not None and math.isfinite(row["value"])]
        numbers = [row["value"] for row in present]
        if not launches:
            estimates[configuration] = no_launch(configuration)
        elif not present:
            estimates[configuration] = Absent(reason="not_measured", detail=missing)
        elif (refused := no_logarithm(numbers, name)) is not None:
            estimates[configuration] = refused
        else:
            n_trials = int(sum(row[trials] or 0 for row in present)) if trials in values.columns else len(numbers)
            estimates[configuration] = positive(numbers, measured.confidence, unit=unit, aggregate=aggregate, name=name, n_trials=n_trials)
    return estimates


def in_blocks(measured: RecordData, values: pl.DataFrame, configuration: str) -> dict[int, float]:
    """block -> value of the configuration's launch in that block, from a frame (launch, value)."""
    known = dict(zip(values["launch"], values["value"], strict=True))
    launches = measured.timed_by_block.get(configuration, ())
    return {block: known[launch] for launch, block in launches if known.get(launch) is not None}
