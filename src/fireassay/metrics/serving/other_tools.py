"""What would other load generators report for these requests?

Their definitions, taken from their source code and applied to our log. All their clocks start at sending, before a new connection is
set up, so none includes a request's wait in the client; here that is sent - connection set-up. From an answer's chunks:

    name             first token               TPOT                              ITL                          tokens n
    vllm             first chunk with choices, (last choices - first) / (n - 1)  gaps between those, pooled   usage, else tokenizer, else 1
                     with or without text
    sglang           content, reasoning        (last line of all - first)/(n-1)  gaps between those, pooled   usage, else as requested
    genai_bench      content, reasoning        the same, left out below 1 ms     none                         usage, else tokenizer
    guidellm         any text                  (last text - sent) / n            (last text - first)/(n - 1)  usage, else chunks of text
    aiperf           content, reasoning        none                              (last - first) / (n - 1)     tokenizer, else usage
    inference_perf   content                   (last - first) / (n - 1)          the same, weighted by n - 1  tokenizer, else usage
    llmperf          content                   none                              (last content - sent) / all chunks but the end mark

A mean over requests, as the tools print it; pooled and weighted gaps over gaps. Covers only answered requests of our measured
window: the tools' own windows, which include ramp and drain, are not reproduced. Equal to their numbers if their time stamps are as
accurate as ours. Use these only to compare with published numbers: our own definitions start when a request was due.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Final

import polars as pl

from fireassay.estimates.estimate import Absent, Estimate, Value
from fireassay.frames.per_launch import from_frame
from fireassay.frames.record_data import RecordData
from fireassay.metrics.metric import Metric, Need, Results
from fireassay.metrics.serving.pooled import quotients, tally
from fireassay.stats.models.queueing import early_stopping_estimate, floor
from fireassay.units import SECONDS

OF_A_TOOL = partial(Metric, unit=SECONDS, kind="level", better="lower", dimension="performance", about=("serving",))
NEEDS: Final[frozenset[Need]] = frozenset({"chunks", "own_chunk_kinds"})
NOTHING: Final = "no answer meets this definition (text of its kind, or more than one token)"
TOOLS: Final = {  # our name -> its own name, and the report it appears in
    "vllm": ("vLLM", "vLLM's benchmark"),
    "sglang": ("SGLang", "SGLang's benchmark"),
    "genai_bench": ("genai-bench", "genai-bench"),
    "guidellm": ("guidellm", "guidellm"),
    "aiperf": ("AIPerf", "AIPerf"),
    "inference_perf": ("inference-perf", "inference-perf"),
    "llmperf": ("llmperf", "llmperf"),
}
QUANTITIES: Final = {"ttft": "Time to first token", "tpot": "Time per output token", "itl": "Inter-token latency"}
GAPS: Final = ("itl_vllm", "itl_sglang", "itl_inference_perf")  # over gaps; the others are means over requests
SPOKEN: Final = "content or reasoning"
DEFINITIONS: Final = (  # quantity, tool, formula, peculiarity
    (
        "ttft",
        "vllm",
        "mean of first chunk with choices - sent",
        "An empty role chunk counts as the first token, though engines send it early: far too short (vllm#3759, vllm#15106).",
    ),
    ("ttft", "sglang", f"mean of first chunk with {SPOKEN} - sent", "A tool call is no token."),
    (
        "ttft",
        "genai_bench",
        f"mean of first chunk with {SPOKEN} - sent",
        "The clock starts before a new connection is set up, as it opens one for every request.",
    ),
    (
        "ttft",
        "guidellm",
        "mean of first chunk with text - sent",
        "Content, reasoning and tool calls are text. Its wall clock, which may be set back, is not reproduced.",
    ),
    ("ttft", "aiperf", f"mean of first chunk with {SPOKEN} - sent", "A tool call is no token."),
    ("ttft", "inference_perf", "mean of first chunk with content - sent", "Reasoning is no token (its issue 559)."),
    ("ttft", "llmperf", "mean of first chunk with content - sent", "Reasoning is no token."),
    (
        "tpot",
        "vllm",
        "mean of (last chunk with choices - first) / (n - 1)",
        "n by usage, else by the tokenizer, else 1; an answer of one token has none.",
    ),
    (
        "tpot",
        "sglang",
        f"mean of (last line - first chunk with {SPOKEN}) / (n - 1)",
        "The last line is the usage or the end mark, after the last token. n by usage, else the number requested.",
    ),
    (
        "tpot",
        "genai_bench",
        f"mean of (last line - first chunk with {SPOKEN}) / (n - 1)",
        "Outputs of less than 1 ms are left out. n by usage, else by the tokenizer.",
    ),
    (
        "tpot",
        "guidellm",
        "mean of (last chunk with text - sent) / n",
        "It includes the time to the first token, and is about twice the others on short outputs. n by usage, else chunks.",
    ),
    ("tpot", "inference_perf", "mean of (last chunk with content - first) / (n - 1)", "n by the tokenizer, else by usage."),
    (
        "itl",
        "vllm",
        "mean of the gaps between chunks with choices",
        "A chunk of several tokens is one gap, and the finish reason's chunk has one too.",
    ),
    ("itl", "sglang", f"mean of the gaps between chunks with {SPOKEN}", "A chunk of several tokens is one gap."),
    (
        "itl",
        "guidellm",
        "mean of (last chunk with text - first) / (n - 1)",
        "A mean of means per request; its distribution says nothing about single gaps. n by usage, else chunks.",
    ),
    (
        "itl",
        "aiperf",
        f"mean of (last chunk with {SPOKEN} - first) / (n - 1)",
        "A mean of means per request. n by the tokenizer, else by usage.",
    ),
    (
        "itl",
        "inference_perf",
        "mean over tokens of the gaps between them",
        "Tokens of one chunk have gaps of 0: the mean over n - 1 gaps is (last - first) / (n - 1). n by the tokenizer, else by usage.",
    ),
    (
        "itl",
        "llmperf",
        "mean of (last chunk with content - sent) / chunks",
        "It includes the time to the first token, and its divisor counts role and usage chunks.",
    ),
)


def _defined(rank: int, quantity: str, tool: str, formula: str, peculiar: str) -> Metric:
    """The mean of a column of `fireassay.frames.serving.answers`, in seconds; for gaps: over the column that counts them."""
    name, title, (called, reporter) = f"{quantity}_{tool}", QUANTITIES[quantity], TOOLS[tool]
    weight = pl.col(f"gaps_{tool}") if name in GAPS else None
    over = "requests" if weight is None else "gaps"

    def compute(measured: RecordData, _: Results) -> Mapping[str, Value]:
        return quotients(
            measured,
            tally(measured.peers.filter(pl.col(name).is_not_null()), pl.col(name), weight),
            unit=SECONDS,
            name=name,
            missing=NOTHING,
            trials="below",
            aggregate=f"mean over {over}, by another tool's definition",
        )

    return OF_A_TOOL(
        name=name,
        title=f"{title} as {called} defines it",
        formula=formula,
        question=f"What would {reporter} report as {title.lower()}?",
        caveat=peculiar,
        compute=compute,
        needs=NEEDS,
        tool=tool,
        rank=rank,
    )


# ---- MLPerf ------------------------------------------------------------------------------------------------------

MIN_S: Final = 600.0
PERCENTILES: Final = {"single_stream": 0.90, "multi_stream": 0.99, "server": 0.99}
NO_TAIL: Final = Absent(
    "not_applicable", 'not a scenario of MLPerf with a tail; arrivals.process = "single_stream", "multi_stream" or "server"'
)


def _mlperf_tail(measured: RecordData, _: Results) -> Mapping[str, Value]:
    """One estimate per launch, then over launches."""
    serving = measured.experiment.serving
    process = serving.arrivals.process if serving is not None else ""
    if serving is None or process not in PERCENTILES:
        return dict.fromkeys(measured.configurations, NO_TAIL)
    p = PERCENTILES[process]
    values = from_frame(
        measured,
        _tails(_queries(measured, serving.arrivals.samples_per_query if process == "multi_stream" else 1), p),
        unit=SECONDS,
        name=f"mlperf_tail|p:{p:g}",
        trials="queries",
        aggregate=f"LoadGen's early-stopping estimate of the p{100 * p:g} of {process}",
        missing=f"LoadGen reports no p{100 * p:g} of fewer than {floor(p)} queries; let the load run longer",
    )
    kept = "kept" if serving.arrivals.duration_s >= MIN_S else "not kept"
    message = f"LoadGen's least duration of {MIN_S:g} s was {kept}"
    return {
        name: replace(value, method=f"{value.method}; {message}") if isinstance(value, Estimate) else value
        for name, value in values.items()
    }


def _tails(queries: pl.DataFrame, p: float) -> pl.DataFrame:
    """(launch, value, queries) of the launches with enough queries."""
    rows = [
        (launch, value, len(members))
        for (launch,), members in queries.group_by("launch", maintain_order=True)
        if (value := early_stopping_estimate(members["latency_s"].to_numpy(), p)) is not None
    ]
    return pl.DataFrame(rows, schema={"launch": pl.Int32, "value": pl.Float64, "queries": pl.Int64}, orient="row")


def _queries(measured: RecordData, together: int) -> pl.DataFrame:
    """(launch, latency_s) of every query of the measured window with all samples answered."""
    load = measured.timed_requests.filter(pl.col("phase") != "cold")
    first = pl.col("request").min().over("launch")
    query = ((pl.col("request") - first) // together).alias("query")
    queries = (
        load.with_columns(query)
        .group_by("launch", "query", maintain_order=True)
        .agg(pl.col("ok").all(), pl.col("counted").all(), pl.col("e2e_s").max().alias("latency_s"))
    )
    return queries.filter(pl.col("ok") & pl.col("counted"))


MLPERF_TAIL: Final = OF_A_TOOL(
    name="mlperf_tail",
    title="Tail as MLPerf reports it",
    formula="early-stopping estimate of the scenario's percentile, per launch",
    question="Which tail latency would MLPerf's LoadGen report for these scenarios?",
    caveat="The p90 of end-to-end latency in single_stream, the p99 in multi_stream (a query ends with its last sample) and in server, at "
    "confidence 0.99 (`fireassay.stats.models.queueing`); offline has no tail. It takes queries as independent, which served queries are "
    "not, and says nothing of launches: e2e_p99 with its interval between launches is our own. The method says whether LoadGen's least "
    "duration of 600 s was kept.",
    compute=_mlperf_tail,
    tool="mlperf",
    rank=420,
)
METRICS = (*(_defined(rank, *definition) for rank, definition in enumerate(DEFINITIONS, start=400)), MLPERF_TAIL)
