"""How did requests fail?  Their classes in words, shared by error_rate, availability and requests_lost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import polars as pl

from assay.estimates.estimate import Estimate, Value


def by_class(values: Mapping[str, Value], rows: pl.DataFrame) -> dict[str, Value]:
    """The estimates with the classes of the failures among `rows` (configuration, status) in their method."""
    return {
        name: replace(value, method=f"{value.method}; {classes(rows.filter(pl.col('configuration') == name))}")
        if isinstance(value, Estimate)
        else value
        for name, value in values.items()
    }


def classes(rows: pl.DataFrame) -> str:
    """ "12 5xx, 3 timeout", the most frequent first; "none failed"."""
    failed = rows.filter(pl.col("status") != "ok")["status"].value_counts().sort(["count", "status"], descending=[True, False])
    return ", ".join(f"{number:,} {status}" for status, number in failed.iter_rows()) or "none failed"
