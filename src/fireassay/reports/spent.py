"""What were the rank-seconds of a training spent on?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import polars as pl

from fireassay.frames.record_data import RecordData
from fireassay.frames.training.rank_time import CATEGORIES
from fireassay.metrics.training.faults import partition


@dataclass(frozen=True, kw_only=True)
class Spent:
    """Use of rank-seconds in a configuration's launches of one role: shares by category, summing to 1."""

    configuration: str
    role: str  # timed or fault
    launches: int
    rank_s: float
    shares: Mapping[str, float]


def spent(measured: RecordData) -> Iterator[Spent]:
    """By role and configuration; nothing if no rank marks its steps."""
    if measured.table("steps").height == 0:
        return
    for role in ("timed", "fault"):
        sums = partition(measured, role).group_by("configuration").agg(pl.len(), pl.col(list(CATEGORIES)).sum())
        by_name = {row["configuration"]: row for row in sums.iter_rows(named=True)}
        for name in (name for name in measured.configurations if name in by_name):
            row = by_name[name]
            if (whole := sum(row[category] for category in CATEGORIES)) > 0:
                shares = {category: row[category] / whole for category in CATEGORIES}
                yield Spent(configuration=name, role=role, launches=row["len"], rank_s=whole, shares=shares)
