"""What do the metrics of memory share?  The largest rank's peak of each launch, from what the processes said at their end."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from assay.estimates.estimate import Value
from assay.frames.per_launch import from_frame
from assay.frames.record_data import Measured
from assay.units import BYTES


def largest(measured: Measured, counter: str, *, name: str, missing: str, of: str) -> Mapping[str, Value]:
    """Per configuration: the peak of the rank (and of its devices the one) that needed most."""
    own = measured.table("telemetry").filter(pl.col("counter") == counter)
    most = own.group_by("launch").agg(pl.col("value").max())
    return from_frame(measured, most, unit=BYTES, name=name, trials="", missing=missing, aggregate=f"largest rank's {of}")
