"""What share of the requests met their objectives, per load and launch?"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from fireassay.frames.record_data import RecordData
from fireassay.spec.plan import Configuration
from fireassay.stats.models.capacity import Point


def load_points(measured: RecordData, configurations: Sequence[Configuration]) -> list[Point]:
    """A point per launch: its load, and how many of its counted requests met every objective."""
    loads = {configuration.name: float(configuration.load) for configuration in configurations if configuration.load is not None}
    rows = measured.counted_requests.filter(pl.col("configuration").is_in(list(loads)))
    per_launch = rows.group_by("launch", "configuration", "block").agg(pl.col("met").sum(), pl.len().alias("total")).sort("launch")
    return [
        Point(load=loads[row["configuration"]], hits=float(row["met"]), total=float(row["total"]), block=row["block"])
        for row in per_launch.to_dicts()
    ]
