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

from assay.spec.rules.quality import SCORED

if TYPE_CHECKING:
    from assay.spec.experiment import Experiment

CONTAINS: Final = "contains"
SHORTEST: Final = 6  # characters of a nonce; a shorter one could stand in any text
IDENTITY: Final = ("identity", "rerun", "needle")
NO_SCORES: Final = {"launch": pl.Int32, "example": pl.String, "score": pl.Float64, "cluster": pl.String, "empty": pl.Boolean}


def scored(experiment: Experiment, tables: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    """(launch, example, score, cluster, empty) of the requests with a reference answer, warm-up included: a right answer is
    right at any time.  `empty`: it was answered with no text.
    """
    metric = experiment.quality.metric if experiment.quality else ""
    if metric not in SCORED:
        return pl.DataFrame(schema=NO_SCORES)
    wanted = pl.col("expected").str.strip_chars()
    answers = answered(tables).filter((pl.col("kind") == "normal") & pl.col("text").is_not_null() & (wanted != ""))
    given = pl.col("text").str.strip_chars()
    right = given.str.contains(wanted, literal=True) if metric == CONTAINS else given == wanted
    scores = answers.with_columns(
        right.cast(pl.Float64).alias("score"),
        pl.coalesce("example", pl.col("request").cast(pl.String)).alias("example"),
        (given == "").alias("empty"),
    )
    kept = (pl.col("score").mean(), pl.col("cluster").first(), pl.col("empty").all())
    return scores.group_by("launch", "example").agg(*kept).sort("launch", "example")


def answered(tables: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    """(launch, request, kind, replica, text, example, expected, cluster) of the successful requests that must contain or equal
    something.
    """
    asked = tables["arrivals"].filter(pl.col("expected").is_not_null()).select("launch", "request", "example", "expected", "cluster")
    rows = tables["requests"].filter(pl.col("status") == "ok")
    return rows.select("launch", "request", "kind", "replica", "text").join(asked, on=["launch", "request"])


def strangers(tables: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    """(launch, request) of the answers that hold the nonce of another request of their launch.

    A nonce that stands inside of the asker's own ("n1" in "n12") is no stranger's; one of fewer than 6 characters is not looked for.
    """
    nonces = (
        tables["arrivals"]
        .filter((pl.col("kind") == "canary") & (pl.col("expected").str.len_chars() >= SHORTEST))
        .select("launch", "request", pl.col("expected").alias("nonce"))
    )
    every = nonces["nonce"].unique().sort().to_list()
    rows = tables["requests"].select("launch", "request", "text")
    if not every:
        return rows.select("launch", "request").clear()
    answers = rows.filter(pl.col("text").is_not_null())
    held = answers.select("launch", "request", pl.col("text").str.extract_many(every, overlapping=True).alias("nonce"))
    met = held.explode("nonce").drop_nulls("nonce").unique().join(nonces.rename({"request": "owner"}), on=["launch", "nonce"])
    own = met.join(nonces.rename({"nonce": "own"}), on=["launch", "request"], how="left")
    inside = pl.col("own").fill_null("").str.contains(pl.col("nonce"), literal=True)
    return own.filter((pl.col("owner") != pl.col("request")) & ~inside).select("launch", "request").unique().sort("launch", "request")


def repeated(tables: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    """(launch, example, answers, same, common): the prompts of the identity check that were answered more than once, with text.

    `common` is the number of characters that all answers begin with.
    """
    asked = tables["arrivals"].filter(pl.col("kind").is_in(IDENTITY) & pl.col("example").is_not_null())
    rows = tables["requests"].filter((pl.col("status") == "ok") & pl.col("text").is_not_null())
    texts = rows.select("launch", "request", "text").join(asked.select("launch", "request", "example"), on=["launch", "request"])
    grouped = (
        texts.sort("launch", "request")
        .group_by("launch", "example", maintain_order=True)
        .agg(pl.len().alias("answers"), (pl.col("text").n_unique() == 1).alias("same"), pl.col("text").unique(maintain_order=True))
        .filter((pl.col("answers") > 1) & pl.col("text").list.eval(pl.element().str.strip_chars() != "").list.any())
    )
    common = pl.Series("common", [len(commonprefix(found)) for found in grouped["text"].to_list()], pl.Int64)
    return grouped.drop("text").with_columns(common)


def commonprefix(texts: list[str]) -> str:
    """What all the texts begin with."""
    first, last = min(texts), max(texts)
    length = next((place for place, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), min(len(first), len(last)))
    return first[:length]
