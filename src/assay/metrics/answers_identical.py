"""Do equal prompts get equal answers, whichever replica and whenever?

answers_identical = prompts whose answers were all the same text / prompts that were answered more than once, over requests
of kind identity, rerun and needle (serving.correctness.identity), launch by launch.  The method says where the first of the
others left the common text. Equal text at temperature 0 is more than a model's quality needs: near ties flip with the
batch; the grades of quality.md tell them apart.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import polars as pl

from assay.estimates.estimate import Estimate, Value
from assay.frames.record_data import Measured
from assay.frames.serving.answers import repeated
from assay.metrics.base import Metric, Results
from assay.metrics.rates import shares, tally
from assay.units import FRACTION


def compute(measured: Measured, _: Results) -> Mapping[str, Value]:
    """The share per configuration."""
    prompts = repeated(measured.tables)
    found = shares(
        measured,
        tally(prompts, pl.col("same")),
        name="answers_identical",
        aggregate="prompts with one answer / prompts asked again",
        missing="no prompt was answered more than once; give serving.correctness.identity",
    )
    named = prompts.join(measured.timed.select("launch", "configuration"), on="launch")
    return {name: _told(value, named.filter(pl.col("configuration") == name)) for name, value in found.items()}


def _told(value: Value, prompts: pl.DataFrame) -> Value:
    """With the earliest divergence in the method."""
    if not isinstance(value, Estimate):
        return value
    other = prompts.filter(~pl.col("same"))
    if other.height == 0:
        return replace(value, method=f"{value.method}; no answer differed")
    first = other.sort("common").row(0, named=True)
    where = f"example {first['example']} of launch {first['launch']} after {first['common']} characters"
    return replace(value, method=f"{value.method}; {other.height} differed, the earliest: {where}")


METRIC = Metric(
    name="answers_identical",
    title="Identical answers",
    unit=FRACTION,
    kind="ratio",
    better="higher",
    dimension="correctness",
    formula="prompts whose answers were all equal / prompts asked again",
    compute=compute,
    about=("serving",),
)
