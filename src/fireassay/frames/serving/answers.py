"""Which answers are right?

Scores of answers against their reference, and canaries that must return to their sender. Requests of kind normal may have a
reference answer (prompts.answer_field); the score is 1 if the answer, stripped of surrounding white space, equals it, or
contains it if the metric is "contains", else 0; or any other score of one answer that needs no library, such as f1 or rouge_l.
A missing answer has no score: error_rate counts it. An example requested more than once in a launch scores the mean.
A canary carries a nonce unique to its request; its answer must contain it, and no other.
Cannot tell: whether a different wording is also right.

What is each request's number by each other tool's definition (`fireassay.metrics.serving.other_tools`)?
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import polars as pl
import polars.selectors as cs
from numpy.typing import NDArray

from fireassay import catalog
from fireassay.quality.scoring.text_metric import TextMetric
from fireassay.spec.experiment import Experiment
from fireassay.spec.rules.evaluation import scores_of_a_load
from fireassay.units import NS_PER_S

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
    given, wanted = (pl.col(name).str.normalize("NFC").str.strip_chars() for name in ("text", "expected"))
    if metric == CONTAINS:
        return given.str.contains(wanted, literal=True).cast(pl.Float64).alias("score")
    if metric in PLAIN:
        return (given == wanted).cast(pl.Float64).alias("score")
    declared: TextMetric = catalog.load("quality.scoring.metrics", metric)
    pairs = list(zip(answers["text"].to_list(), answers["expected"].to_list(), strict=True))
    long = [bool(declared.beyond(*pair)) for pair in pairs]  # these have no score
    kept = [("", "") if beyond else pair for beyond, pair in zip(long, pairs, strict=True)]
    rows = declared.prepare(declared.options).statistics([text for text, _ in kept], [[text] for _, text in kept])
    return pl.Series("score", np.where(long, np.nan, declared.item_scores(rows)), pl.Float64, nan_to_null=True)


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
    joined = held.explode("nonce").drop_nulls("nonce").unique().join(nonces.rename({"request": "owner"}), on=["launch", "nonce"])
    leaked = joined.join(nonces.rename({"nonce": "own"}), on=["launch", "request"], how="left")
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


CONTENT: Final = (1,)  # kinds of chunks: fireassay.record.tables
SPOKEN: Final = (1, 2)  # content and reasoning
TEXT: Final = (1, 2, 3)  # and tool calls
CHOICES: Final = (0, 1, 2, 3, 4)  # any chunk with choices
DONE: Final = 6
KINDS: Final = 9
SLICE: Final = 1 << 16  # requests whose chunks are processed at once, to bound memory
MIN_S: Final = 1e-3  # genai-bench excludes shorter outputs
GROUPS: Final = {"content": CONTENT, "spoken": SPOKEN, "text": TEXT, "choices": CHOICES}


def numbers(tables: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    """One row per answered request: launch, request, and per tool its numbers in seconds; null: it would not report one.

    ttft_*, tpot_* and itl_* by tool; of pooled gaps itl_vllm, itl_sglang and itl_inference_perf are sums, and gaps_* their number.
    """
    requests = tables["requests"]
    launches = requests["launch"].unique(maintain_order=True).to_list()
    parts = [_launch(requests.filter(pl.col("launch") == launch), tables, launch) for launch in launches]
    return pl.concat(parts) if parts else _launch(requests, tables, 0)


def _launch(requests: pl.DataFrame, tables: Mapping[str, pl.DataFrame], launch: int) -> pl.DataFrame:
    answered = requests.filter(pl.col("status") == "ok").select(
        "launch", "request", pl.col("connect_ns").fill_null(0), pl.col("tokens_out").alias("usage"), "chunk_ns", "chunk_kind"
    )
    tokenizer = _of(tables["token_counts"], launch).select("request", pl.col("tokens_out").alias("tokenizer"))
    requested = _of(tables["arrivals"], launch).select("request", pl.col("tokens_out").alias("asked"))
    counted = answered.drop("chunk_ns", "chunk_kind").join(tokenizer, on="request", how="left").join(requested, on="request", how="left")
    instants = pl.concat(_instants(part) for part in answered.iter_slices(SLICE)) if answered.height else _instants(answered)
    timed = counted.join(instants, on="request", how="left")
    return _numbers(timed)


def _of(table: pl.DataFrame, launch: int) -> pl.DataFrame:
    return table.filter(pl.col("launch") == launch)


def _instants(requests: pl.DataFrame) -> pl.DataFrame:
    """Per request and group of kinds: times of the first and the last chunk, in seconds after the tools' clocks started, and count.

    On flat arrays: for a million answers, polars' group_by takes ten times as long.
    """
    chunked = requests.filter(pl.col("chunk_ns").list.len() > 0)
    sizes = chunked["chunk_ns"].list.len().to_numpy()
    kind, ns = chunked["chunk_kind"].explode().to_numpy(), chunked["chunk_ns"].explode().to_numpy()
    begins = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64) if len(sizes) else np.zeros(0, dtype=np.int64)
    since = (ns + np.repeat(chunked["connect_ns"].to_numpy(), sizes)) / NS_PER_S
    columns: dict[str, NDArray[Any]] = {}
    for name, kinds in GROUPS.items():
        held = np.isin(np.arange(KINDS), kinds)[kind]
        columns[f"{name}_n"] = _each(np.add, held.astype(np.int64), begins)
        columns[f"{name}_first"] = _each(np.minimum, np.where(held, since, np.inf), begins)
        columns[f"{name}_last"] = _each(np.maximum, np.where(held, since, -np.inf), begins)
    columns["line_last"] = since[begins + sizes - 1]
    columns["data_n"] = _each(np.add, (kind != DONE).astype(np.int64), begins)
    seen = pl.DataFrame({"request": chunked["request"], **columns})
    return seen.with_columns(pl.when(cs.float().is_finite()).then(cs.float()))


def _each(fold: np.ufunc, values: NDArray[Any], begins: NDArray[np.int64]) -> NDArray[Any]:
    """A ufunc over the chunks of each request."""
    return np.asarray(fold.reduceat(values, begins)) if len(begins) else values


def _numbers(seen: pl.DataFrame) -> pl.DataFrame:
    usage, tokenizer = pl.col("usage"), pl.col("tokenizer")
    vllm, genai = pl.coalesce(usage, tokenizer, pl.lit(1)), pl.coalesce(usage, tokenizer)
    sglang, guidellm = pl.coalesce(usage, "asked"), pl.coalesce(usage, pl.col("text_n").cast(pl.Int64))
    client = pl.coalesce(tokenizer, usage)

    def first(group: str) -> pl.Expr:
        return pl.col(f"{group}_first")

    def span(group: str, end: str = "") -> pl.Expr:
        return pl.col(end or f"{group}_last") - first(group)

    def over(amount: pl.Expr, count: pl.Expr) -> pl.Expr:
        return pl.when(count > 0).then(amount / count)

    def gaps(group: str) -> pl.Expr:
        return pl.when(pl.col(f"{group}_n") > 0).then(pl.col(f"{group}_n").cast(pl.Int64) - 1)

    output = span("spoken", "line_last")
    return seen.select(
        "launch",
        "request",
        ttft_vllm=first("choices"),
        ttft_sglang=first("spoken"),
        ttft_genai_bench=first("spoken"),
        ttft_guidellm=first("text"),
        ttft_aiperf=first("spoken"),
        ttft_inference_perf=first("content"),
        ttft_llmperf=first("content"),
        tpot_vllm=over(span("choices"), vllm - 1),
        tpot_sglang=over(output, sglang - 1),
        tpot_genai_bench=pl.when(output >= MIN_S).then(over(output, genai - 1)),
        tpot_guidellm=over(pl.col("text_last"), guidellm),
        tpot_inference_perf=over(span("content"), client - 1),
        itl_vllm=span("choices"),
        gaps_vllm=gaps("choices"),
        itl_sglang=span("spoken"),
        gaps_sglang=gaps("spoken"),
        itl_guidellm=over(span("text"), guidellm - 1),
        itl_aiperf=over(span("spoken"), client - 1),
        itl_inference_perf=pl.when(client > 1).then(span("content")),
        gaps_inference_perf=pl.when((client > 1) & (pl.col("content_n") > 0)).then(client - 1),
        itl_llmperf=over(pl.col("content_last"), pl.col("data_n")),
    )
