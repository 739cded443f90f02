"""Which share of the canaries came back with their nonce?

canaries_answered = answers of canaries that contain their own nonce / answers of canaries, over all requests of the timed
launches. A model need not do as it is told; but where few do, few could have shown that their answer went to another asker
(cross_talk).
"""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from assay.estimates.estimate import Value
from assay.frames.record_data import Measured
from assay.frames.serving.answers import answered
from assay.metrics.base import Metric, Results
from assay.metrics.rates import shares, tally
from assay.units import FRACTION


def compute(measured: Measured, _: Results) -> Mapping[str, Value]:
    """The share per configuration."""
    canaries = answered(measured.tables).filter((pl.col("kind") == "canary") & pl.col("text").is_not_null())
    return shares(
        measured,
        tally(canaries, pl.col("text").str.contains(pl.col("expected"), literal=True)),
        name="canaries_answered",
        aggregate="answers with their own nonce / answers of canaries",
        missing="no canary was answered, or answers were not kept; give serving.correctness.canaries and client.keep_text",
    )


METRIC = Metric(
    name="canaries_answered",
    title="Canaries answered",
    unit=FRACTION,
    kind="ratio",
    better="higher",
    dimension="correctness",
    formula="answers with their own nonce / answers of canaries",
    compute=compute,
    about=("serving",),
)
