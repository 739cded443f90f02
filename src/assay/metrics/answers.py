"""Which answers are right?  Scores of answers against their reference, and canaries that came back to their asker.

A reference answer is asked of requests of kind normal (prompts.answer_field); the score is 1 where the answer, without white
space around it, equals it, or contains it where the metric asked for is "contains"; else 0.  An answer that never came has no
score: error_rate tells of it.  Of an example that was asked more than once in a launch, the mean.
A canary carries a nonce that no other request has; its answer must contain it, and must contain no other's.
Cannot tell: whether another wording is right too.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

import polars as pl

if TYPE_CHECKING:
    from assay.spec.experiment import Experiment

CONTAINS: Final = "contains"
EXACT: Final = ("exact_match", "accuracy")
NO_SCORES: Final = {"launch": pl.Int32, "example": pl.String, "score": pl.Float64}


def scored(experiment: Experiment, tables: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    """(launch, example, score) of the requests with a reference answer, warm-up included: a right answer is right at any time."""
    metric = experiment.quality.metric if experiment.quality else ""
    if metric not in (CONTAINS, *EXACT):
        return pl.DataFrame(schema=NO_SCORES)
    answers = answered(tables).filter((pl.col("kind") == "normal") & pl.col("text").is_not_null())
    given, wanted = pl.col("text").str.strip_chars(), pl.col("expected").str.strip_chars()
    right = given.str.contains(wanted, literal=True) if metric == CONTAINS else given == wanted
    scores = answers.with_columns(
        right.cast(pl.Float64).alias("score"),
        pl.coalesce("example", pl.col("request").cast(pl.String)).alias("example"),
    )
    return scores.group_by("launch", "example").agg(pl.col("score").mean()).sort("launch", "example")


def answered(tables: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    """(launch, request, kind, replica, text, example, expected) of the successful requests that must contain or equal something."""
    asked = (
        tables["arrivals"].filter(pl.col("expected").is_not_null()).select("launch", "request", "example", "expected")
    )
    rows = tables["requests"].filter(pl.col("status") == "ok")
    return rows.select("launch", "request", "kind", "replica", "text").join(asked, on=["launch", "request"])
