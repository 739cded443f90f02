"""Which scores do the rankings of a search have, against what is relevant or against the base's ranking in the same round?"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import polars as pl

from fireassay.frames.record_tables import RecordTables
from fireassay.quality.scoring import rankings
from fireassay.spec.sections.program import RANKING

SCHEMA = {"launch": pl.Int32, "example": pl.String, "score": pl.Float64, "cluster": pl.String, "empty": pl.Boolean}


def ranked(measured: RecordTables, metric: str) -> pl.DataFrame:
    """(launch, example, score, cluster, empty) of a score of the record's rankings; a query to which nothing is relevant has none."""
    rows = measured.tables["examples"].filter(pl.col("metric") == RANKING)
    launches = measured.timed.select("launch", "block", "configuration")
    placed = rows.join(launches, on="launch").sort("launch", "example")
    of_base = {
        (block, example): tuple(json.loads(ids))
        for block, example, ids in placed.filter(pl.col("configuration") == measured.base)
        .select("block", "example", "prediction")
        .iter_rows()
    }
    found = [
        (launch, example, score, cluster, ids == "[]")
        for launch, example, block, ids, target, cluster in placed.select(
            "launch", "example", "block", "prediction", "target", "cluster"
        ).iter_rows()
        if (score := _score(metric, ids, target, of_base.get((block, example)))) is not None
    ]
    return pl.DataFrame(found, schema=SCHEMA, orient="row")


def _score(metric: str, ids: str, target: str | None, of_base: tuple[str, ...] | None) -> float | None:
    relevant: Mapping[str, float] | Any = json.loads(target) if target is not None else of_base
    return None if relevant is None else rankings.score(metric, json.loads(ids), relevant)
