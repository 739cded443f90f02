"""What does a model in this process spend before its first token (backend `process`)?  Servers do not tell it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

import polars as pl

from assay.estimates.estimate import Absent, Value
from assay.frames.record_data import Measured
from assay.metrics.latencies import percentile

BEHIND_A_SERVER: Final = "the answers came from a server, which does not tell it; a model in this process does (backend process)"


def middle(measured: Measured, column: str, name: str) -> Mapping[str, Value]:
    """The pooled median of a column per configuration; not applicable where no model ran in this process."""
    found = percentile(measured, column, 0.5, name, "no answer tells it", pl.col(column).is_not_null())
    serving = measured.experiment.serving
    if serving is not None and any(target.backend == "process" for target in serving.targets):
        return found
    return {
        configuration: replace(value, reason="not_applicable", detail=BEHIND_A_SERVER) if isinstance(value, Absent) else value
        for configuration, value in found.items()
    }
