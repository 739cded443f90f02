"""How long do users wait, by quantity and percentile?

Percentiles are over the answered requests due in the measured window, pooled over launches
(`fireassay.metrics.serving.pooled`), and absent if there are too few. The clock starts when a request was due, in a closed
loop when it was sent, so that a stall cannot hide the requests it delayed (coordinated omission: Tene, "How NOT to Measure Latency",
2013). The first token is the first chunk with text: content, reasoning or a tool call; an empty role chunk is no token. Tokens are
counted by the server's usage, otherwise by the tokenizer.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from fireassay.estimates.estimate import Absent, Estimate, Value
from fireassay.estimates.over_launches import tail_value
from fireassay.frames.per_launch import from_frame
from fireassay.frames.record_data import RecordData
from fireassay.frames.serving.requests import UNKNOWN, WINDOW
from fireassay.metrics.metric import Metric, Need, Results
from fireassay.metrics.results import BEHIND_A_SERVER
from fireassay.metrics.serving.pooled import ANSWERED, NO_COUNT, NO_TEXT, gap_percentile, in_series, nothing, percentile, quotients, tally
from fireassay.units import FRACTION, NS_PER_S, SECONDS

CHUNKS: Final[frozenset[Need]] = frozenset({"chunks"})
CHUNKS_OF_TOKENS: Final[frozenset[Need]] = frozenset({"chunks", "tokens"})
LATENCY = partial(Metric, unit=SECONDS, kind="level", better="lower", dimension="performance", about=("serving",))
ASIDE: Final = {50: "as a rule", 95: "one request in twenty aside", 99: "one request in a hundred aside"}


def percentile_metric(
    stem: str,
    p: int,
    quantile: Callable[[RecordData, float, str], Mapping[str, Value]],
    *,
    title: str,
    formula: str,
    question: str,
    **declared: Any,
) -> Metric:
    """The p-th percentile of a quantity; `quantile` computes it, given p / 100 and the metric's name. A question ends with how many are aside."""
    name = f"{stem}_p{p}"
    return LATENCY(
        name=name,
        title=f"{title}, p{p}",
        formula=f"{p / 100:g}-quantile of {formula}",
        question=question if question.endswith("?") else f"{question}, {ASIDE[p]}?",
        compute=lambda measured, _: quantile(measured, p / 100, name),
        **declared,
    )


def of_requests(stem: str, p: int, column: str, missing: str, only: pl.Expr = ANSWERED, **declared: Any) -> Metric:
    """A percentile of a column of `Served.requests`."""

    def quantile(measured: RecordData, share: float, name: str) -> Mapping[str, Value]:
        return percentile(measured, column, share, name=name, missing=missing, only=only)

    return percentile_metric(stem, p, quantile, **declared)


def percentiles(
    stem: str, column: str, missing: str, *, rank: int, primary: Container[int], decides: int = 0, **declared: Any
) -> Iterator[Metric]:
    """p50, p95 and p99 of a column, of which the p95 `decides` and some are primary."""
    for index, p in enumerate(ASIDE):
        yield of_requests(stem, p, column, missing, rank=rank + index, primary=p in primary, decides=decides if p == 95 else 0, **declared)


# ---- quantity x percentile ---------------------------------------------------------------------------------------


TTFT_P50, TTFT_P95, TTFT_P99 = percentiles(
    "ttft",
    "ttft_s",
    NO_TEXT,
    title="Time to first token",
    formula="first chunk with text (content, reasoning or tool call) - start",
    question="How long does a user wait for the first token",
    caveat="It does not separate queueing from prefill.",
    primary=ASIDE,
    needs=CHUNKS,
    rank=320,
    decides=4,
)
TPOT_P50, TPOT_P95, TPOT_P99 = percentiles(
    "tpot",
    "tpot_s",
    NO_COUNT,
    title="Time per output token",
    formula="(last token - first token) / (output tokens - those of the first chunk)",
    question="How fast do the tokens after the first arrive",
    caveat="A mean over the answer: it hides bursts, which itl_p99 shows. Undefined for an answer of one token.",
    primary=(50,),
    needs=CHUNKS_OF_TOKENS,
    rank=325,
)
E2E_P50, E2E_P95, E2E_P99 = percentiles(
    "e2e",
    "e2e_s",
    "no request in the measured window was answered",
    title="End-to-end latency",
    formula="last token - start",
    question="How long does a user wait for the whole answer",
    caveat="It depends on the length of the answers: compare equal lengths only. An answer without tokens (an embedding) ends when it "
    "is complete.",
    primary=(95, 99),
    rank=331,
    decides=5,
)
ITL_P50, ITL_P99 = (
    percentile_metric(
        "itl",
        p,
        gap_percentile,
        title="Inter-token latency",
        formula="gaps between chunks / tokens of the later chunk",
        question=f"How long are the pauses between two tokens of an answer, {aside}?",
        caveat="A chunk's tokens: one where there are as many chunks as tokens, else the tokenizer's count, else an even share of the "
        "answer's (the method says how many answers that was). It cannot tell in which order the tokens of a chunk were made.",
        needs=CHUNKS_OF_TOKENS,
        rank=rank,
    )
    for p, aside, rank in ((50, "as a rule", 329), (99, "one in a hundred aside", 330))
)


# ---- how exact the times are -------------------------------------------------------------------------------------


def _uncertainty(stem: str, quantity: str, formula: str, words: str, rank: int, **declared: Any) -> Metric:
    return of_requests(
        f"{stem}_uncertainty",
        99,
        f"{stem}_uncertainty_s",
        UNKNOWN,
        title=f"Uncertainty of {stem.upper()}",
        formula=formula,
        question=f"How uncertain is the {quantity}",
        caveat=f"{words}, and the audit stamp_uncertainty judges by how much. It cannot tell by how much a time is off, only by how much "
        "at most (`fireassay.frames.serving.requests`).",
        rank=rank,
        **declared,
    )


UNCERTAINTIES: Final = (
    _uncertainty(
        "ttft",
        "time to the first token",
        "how much earlier than its stamp the first chunk with text may have come",
        "The true TTFT lies at most this much below the one reported",
        323,
        needs=CHUNKS,
    ),
    _uncertainty(
        "tpot",
        "time per output token",
        "(uncertainty of the first + of the last chunk with text) / tokens after the first chunk",
        "The true TPOT lies within this much on either side",
        328,
        needs=CHUNKS,
    ),
    _uncertainty(
        "e2e",
        "time of a whole answer",
        "how much earlier than its stamp the last chunk with text may have come",
        "Without text it is the uncertainty of the answer's end",
        334,
    ),
)

# ---- first tokens of other kinds ---------------------------------------------------------------------------------

TTFT_VISIBLE: Final = of_requests(
    "ttft_visible",
    50,
    "ttft_visible_s",
    "no answer had any text besides reasoning",
    title="Time to first visible token",
    formula="first text that is not reasoning - start",
    question="How long does a user wait for the first text that is not reasoning",
    caveat="Content and tool calls are visible. For a model that does not reason it equals ttft_p50. An answer of reasoning alone has "
    "none, so it does not show how many never produced visible text.",
    needs=CHUNKS,
    rank=324,
)
STEP_TTFT: Final = of_requests(
    "step_ttft",
    50,
    "ttft_s",
    "no request in the measured window follows another in its conversation; set serving.prompts.turns or tool_steps",
    ANSWERED & (pl.col("turn") > 0),
    title="Time to first token of later steps",
    formula="first chunk with text - start, turns above 0",
    question="How long does a later step of a conversation or of a tool session wait for its first token",
    caveat="Excludes the user's pause, tool or retrieval before the step. Shorter than ttft_p50 if the engine caches prefixes, otherwise "
    "longer, since the context has grown.",
    needs=CHUNKS,
    rank=338,
)
TTFT_SENT: Final = of_requests(
    "ttft_sent",
    99,
    "ttft_sent_s",
    NO_TEXT,
    title="Time to first token from sending",
    formula="first chunk with text - sent",
    question="What would the p99 of the time to the first token be, had the clock started when the request was sent?",
    caveat="Read it with ttft_p99, never instead of it: the difference is waiting in the client, and a clock that starts at sending hides "
    "the requests that a stall delayed.",
    needs=CHUNKS,
    rank=339,
)


def _cold(measured: RecordData, _: Results) -> Mapping[str, Value]:
    """Median over cold requests per launch, then over launches."""
    started = measured.table("events").filter(pl.col("kind") == "server_ready").select("launch").unique()
    is_cold = (pl.col("phase") == "cold") & (pl.col("kind") == "normal")  # other kinds are sent alone, for comparison
    cold = measured.timed_requests.filter(is_cold & pl.col("ok") & pl.col("ttft_s").is_not_null())
    fresh = cold.join(started, on="launch", how="semi") if started.height else cold
    values = fresh.group_by("launch").agg(pl.col("ttft_s").median().alias("value"), pl.len().alias("requests"))
    return from_frame(
        measured,
        values,
        unit=SECONDS,
        name="ttft_cold",
        trials="requests",
        aggregate="median over the cold requests",
        missing="no cold request was answered; set serving.arrivals.cold to at least 1",
    )


TTFT_COLD: Final = LATENCY(
    name="ttft_cold",
    title="Time to first token, cold",
    formula="median of first chunk with text - start over cold requests",
    question="How long does the first request after an engine's start wait for its first token?",
    caveat="Cold requests are sent one by one before the load (serving.arrivals.cold) and are in no other number. Where assay starts the "
    "engine, only launches for which it was started afresh count; of other engines it cannot tell whether they were cold.",
    compute=_cold,
    rank=335,
)

# ---- sessions ----------------------------------------------------------------------------------------------------


def _session_times(measured: RecordData, _: Results) -> Mapping[str, Value]:
    series = in_series(measured, session_seconds(measured))
    return {name: _session_time(measured, name, series[name]) for name in measured.configurations}


def session_seconds(measured: RecordData, *, every: bool = False) -> pl.DataFrame:
    """(launch, session, configuration, value) of the complete sessions, launches by block, by their begin; seconds.

    `every`: those too that began before the measured window.
    """
    keys = ["launch", "session"]
    planned = measured.table("arrivals").filter(pl.col("session").is_not_null()).group_by(keys).agg(pl.len().alias("turns"))
    rows = measured.timed_requests.filter(pl.col("session").is_not_null() & (pl.col("phase") != "cold"))
    folded = (
        rows.group_by(keys, maintain_order=True)
        .agg(
            pl.col("configuration").first(),
            pl.col("counted").first(),
            pl.len().alias("seen"),
            pl.col("ok").all(),
            pl.col("scheduled_ns").min().alias("begin"),
            pl.coalesce("last_token_ns", "done_ns").max().alias("end"),
        )
        .join(planned, on=keys, maintain_order="left")
    )
    complete = folded.filter((pl.col("counted") | every) & pl.col("ok") & (pl.col("seen") == pl.col("turns")) & (pl.col("turns") > 1))
    return complete.select("launch", "session", "configuration", ((pl.col("end") - pl.col("begin")) / NS_PER_S).alias("value"))


def _session_time(measured: RecordData, configuration: str, series: Sequence[NDArray[np.float64]]) -> Value:
    if not series:
        missing = "no conversation of more than one turn was completed; set serving.prompts.turns, or let the load run longer"
        return nothing(measured, configuration, missing)
    value = tail_value(series, 0.5, SESSION_TIME.name, measured.confidence, "sessions", few=True)
    return replace(value, method=f"{value.method}; {WINDOW}") if isinstance(value, Estimate) else value


SESSION_TIME: Final = LATENCY(
    name="session_time_p50",
    title="Session time, p50",
    formula="0.5-quantile of last token of the last turn - first turn due",
    question="How long does a whole conversation or tool session take, as a rule?",
    caveat="Over the sessions that began in the measured window and all of whose turns were answered; thinking, tools and retrievals are "
    "in it. Sessions cut off by the end of the load are left out, which favours short ones in short loads.",
    compute=_session_times,
    rank=336,
)


def _tool_share(measured: RecordData, _: Results) -> Mapping[str, Value]:
    planned = measured.table("arrivals").select("launch", "request", "pause_ns", "pause_kind")
    tool_s = pl.when(pl.col("pause_kind").is_in(["tool", "retrieval"])).then(pl.col("pause_ns") / NS_PER_S).otherwise(0.0)
    answered = measured.counted_requests.filter(pl.col("ok") & pl.col("session").is_not_null())
    rows = answered.join(planned, on=["launch", "request"]).with_columns(tool_s.alias("tool_s"))
    using = rows.filter(pl.col("tool_s") > 0).select("launch", "session").unique()
    return quotients(
        measured,
        tally(rows.join(using, on=["launch", "session"], how="semi"), pl.col("tool_s"), pl.col("tool_s") + pl.col("e2e_s")),
        unit=FRACTION,
        name="tool_share",
        aggregate="time inside of tools / (that + time of generation)",
        missing="no session uses tools; set serving.prompts.tool_steps",
    )


TOOL_SHARE: Final = Metric(
    name="tool_share",
    title="Time inside tools",
    unit=FRACTION,
    kind="ratio",
    better="neither",
    dimension="performance",
    about=("serving",),
    formula="time inside tools / (that + generation)",
    question="What share of a session's time is spent in tools and retrieval rather than generation?",
    caveat="Over the answered requests of sessions with tools. The tools' times are those requested (serving.prompts.tool_s), not those of "
    "real tools; a user's thinking is in neither.",
    compute=_tool_share,
    rank=337,
)

# ---- parts of a request ------------------------------------------------------------------------------------------

SEND_LAG: Final = of_requests(
    "send_lag",
    99,
    "lag_s",
    "no request in the measured window was sent",
    pl.col("sent_ns").is_not_null(),
    title="Send lag",
    formula="sent - scheduled - connection set-up",
    question="How late was the client",
    caveat="Over all requests that were due in the measured window and were sent, whatever became of them; the audit send_lag invalidates "
    "a record in which it is too large. Requests that were never sent have no lag: the ledger counts them.",
    needs=frozenset({"due_times"}),
    rank=340,
)
CONNECT_TIME: Final = of_requests(
    "connect_time",
    50,
    "connect_s",
    "every request in the measured window reused a connection",
    pl.col("connect_s").is_not_null(),
    title="Connection set-up",
    formula="the set-up of new connections",
    question="How long does setting up a connection take",
    caveat="TLS included. Part of ttft and e2e, because the user waits for it; shown separately, because it belongs to the network. "
    "Requests on a reused connection have none.",
    needs=frozenset({"connections"}),
    rank=360,
)


def _inside(stem: str, column: str, **declared: Any) -> Metric:
    """The median time of an in-process model (backend `process`) before its first token; servers do not report it."""

    def quantile(measured: RecordData, share: float, name: str) -> Mapping[str, Value]:
        values = percentile(measured, column, share, name=name, missing="no answer reports it", only=pl.col(column).is_not_null())
        serving = measured.experiment.serving
        if serving is not None and any(target.backend == "process" for target in serving.targets):
            return values
        return {
            configuration: replace(value, reason="not_applicable", detail=BEHIND_A_SERVER) if isinstance(value, Absent) else value
            for configuration, value in values.items()
        }

    caveat = "Part of ttft and e2e. Known only if the model runs in this process; a server does not report it."
    return percentile_metric(stem, 50, quantile, caveat=caveat, needs=frozenset({"in_process"}), **declared)


METRICS = (
    TTFT_P50,
    TTFT_P95,
    TTFT_P99,
    TTFT_VISIBLE,
    TTFT_SENT,
    TTFT_COLD,
    STEP_TTFT,
    TPOT_P50,
    TPOT_P95,
    TPOT_P99,
    ITL_P50,
    ITL_P99,
    E2E_P50,
    E2E_P95,
    E2E_P99,
    *UNCERTAINTIES,
    SESSION_TIME,
    TOOL_SHARE,
    SEND_LAG,
    CONNECT_TIME,
    _inside(
        "tokenize_time",
        "tokenize_s",
        title="Tokenising the prompt",
        formula="the time to turn a prompt into tokens",
        question="How long does tokenising a prompt take, chat template included",
        rank=361,
    ),
    _inside(
        "prefill_time",
        "prefill_s",
        title="Prefill",
        formula="the time from the prompt's tokens to the first token of the answer",
        question="How long does the first pass over a prompt take",
        rank=362,
    ),
)
