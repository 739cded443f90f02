"""Which answers are right?

Scores of answers against their reference, and canaries that must return to their sender. Requests of kind normal may have a
reference answer (prompts.answer_field); the score is 1 if the answer, stripped of surrounding white space, equals it, or
contains it if the metric is "contains", else 0; or any other score of one answer that needs no library, such as f1 or rouge_l.
A missing answer has no score: error_rate counts it. An example requested more than once in a launch scores the mean.
A canary carries a nonce unique to its request; its answer must contain it, and no other.
Cannot tell: whether a different wording is also right.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

import polars as pl

from fireassay import catalog
from fireassay.spec.rules.evaluation import scores_of_a_load

if TYPE_CHECKING:
    from fireassay.quality.scoring.text_metric import TextMetric
    from fireassay.spec.experiment import Experiment

PLAIN: Final = ("exact_match", "accuracy")
CONTAINS: Final = "contains"
MIN_NONCE_LENGTH: Final = 6  # characters of a nonce; a shorter one could occur in any text
IDENTITY: Final = ("identity", "rerun", "needle")
NO_SCORES: Final = {"launch": pl.Int32, "example": pl.String, "score": pl.Float64, "cluster": pl.String, "empty": pl.Boolean}


def scored(experiment: Experiment, tables: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    """(launch, example, score, cluster, empty) of the requests with a reference answer, warm-up included: correctness does not
    depend on it. `empty`: answered with no text.
    """
    metric = experiment.quality.metric if experiment.quality else ""
    if metric not in scores_of_a_load():
        return pl.DataFrame(schema=NO_SCORES)
    wanted = pl.col("expected").str.strip_chars()
    answers = answered(tables).filter((pl.col("kind") == "normal") & pl.col("text").is_not_null() & (wanted != ""))
    given = pl.col("text").str.strip_chars()
    scores = answers.with_columns(
        _score(metric, answers), pl.coalesce("example", pl.col("request").cast(pl.String)).alias("example"), (given == "").alias("empty")
    )
    kept = (pl.col("score").mean(), pl.col("cluster").first(), pl.col("empty").all())
    return scores.group_by("launch", "example").agg(*kept).sort("launch", "example")


def _score(metric: str, answers: pl.DataFrame) -> pl.Expr | pl.Series:
    """The column `score`: plain comparisons of stripped texts by Polars, any other by the score's own code."""
    given, wanted = pl.col("text").str.strip_chars(), pl.col("expected").str.strip_chars()
    if metric == CONTAINS:
        return given.str.contains(wanted, literal=True).cast(pl.Float64).alias("score")
    if metric in PLAIN:
        return (given == wanted).cast(pl.Float64).alias("score")
    declared: TextMetric = catalog.load("quality.scoring.metrics", metric)
    rows = declared.prepare(declared.options).statistics(answers["text"].to_list(), [[text] for text in answers["expected"].to_list()])
    return pl.Series("score", declared.item_scores(rows), pl.Float64)


def answered(tables: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    """(launch, request, kind, replica, text, example, expected, cluster) of the successful requests whose answer must contain or
    equal something.
    """
    requested = tables["arrivals"].filter(pl.col("expected").is_not_null()).select("launch", "request", "example", "expected", "cluster")
    rows = tables["requests"].filter(pl.col("status") == "ok")
    return rows.select("launch", "request", "kind", "replica", "text").join(requested, on=["launch", "request"])


def strangers(tables: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    """(launch, request) of the answers that contain the nonce of another request of their launch.

    A nonce that is part of the request's own ("n1" in "n12") does not count; one of fewer than 6 characters is not searched for.
    """
    nonces = (
        tables["arrivals"]
        .filter((pl.col("kind") == "canary") & (pl.col("expected").str.len_chars() >= MIN_NONCE_LENGTH))
        .select("launch", "request", pl.col("expected").alias("nonce"))
    )
    every = nonces["nonce"].unique().sort().to_list()
    rows = tables["requests"].select("launch", "request", "text")
    if not every:
        return rows.select("launch", "request").clear()
    answers = rows.filter(pl.col("text").is_not_null())
    held = answers.select("launch", "request", pl.col("text").str.extract_many(every, overlapping=True).alias("nonce"))
    met = held.explode("nonce").drop_nulls("nonce").unique().join(nonces.rename({"request": "owner"}), on=["launch", "nonce"])
    leaked = met.join(nonces.rename({"nonce": "own"}), on=["launch", "request"], how="left")
    within_own = pl.col("own").fill_null("").str.contains(pl.col("nonce"), literal=True)
    return (
        leaked.filter((pl.col("owner") != pl.col("request")) & ~within_own).select("launch", "request").unique().sort("launch", "request")
    )


def repeated(tables: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    """(launch, example, answers, same, common): prompts of the identity check with more than one answer with text.

    `common` is the length of the answers' common prefix.
    """
    prompts = tables["arrivals"].filter(pl.col("kind").is_in(IDENTITY) & pl.col("example").is_not_null())
    rows = tables["requests"].filter((pl.col("status") == "ok") & pl.col("text").is_not_null())
    texts = rows.select("launch", "request", "text").join(prompts.select("launch", "request", "example"), on=["launch", "request"])
    grouped = (
        texts.sort("launch", "request")
        .group_by("launch", "example", maintain_order=True)
        .agg(pl.len().alias("answers"), (pl.col("text").n_unique() == 1).alias("same"), pl.col("text").unique(maintain_order=True))
        .filter((pl.col("answers") > 1) & pl.col("text").list.eval(pl.element().str.strip_chars() != "").list.any())
    )
    common = pl.Series("common", [len(commonprefix(answers)) for answers in grouped["text"].to_list()], pl.Int64)
    return grouped.drop("text").with_columns(common)


def commonprefix(texts: list[str]) -> str:
    """The longest common prefix of all texts."""
    first, last = min(texts), max(texts)
    length = next((index for index, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), min(len(first), len(last)))
    return first[:length]
