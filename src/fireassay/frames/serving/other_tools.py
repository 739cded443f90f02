"""What is each request's number by each other tool's definition (`fireassay.metrics.serving.other_tools`)?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import polars as pl
import polars.selectors as cs
from numpy.typing import NDArray

from fireassay.units import NS_PER_S

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
