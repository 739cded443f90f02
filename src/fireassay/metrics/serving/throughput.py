"""How much goes in and out per second, and how much is in flight?

Rates are amounts in the measured window / its length, without ramp and drain; they count arrivals and ends in the window, whenever
the request was due. A token has the time of its chunk; for chunks with several tokens see `fireassay.frames.serving.requests`. Tokens are
counted by the server's usage, otherwise by the tokenizer. Little's law, L = lambda W: Little, Operations Research 9, 1961
(`fireassay.stats.models.queueing`).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, Final

import polars as pl

from fireassay.estimates.estimate import Absent, Value
from fireassay.estimates.format import count
from fireassay.frames.record_data import RecordData
from fireassay.frames.serving.requests import ENDED
from fireassay.metrics.metric import Metric, Need, Results
from fireassay.metrics.serving.pooled import in_window, per_second, quotients, spread, tally, windows, within
from fireassay.stats.models.queueing import little
from fireassay.units import FRACTION, NS_PER_S, PER_SECOND, RATIO, REQUESTS, TOKENS

WINDOW: Final[frozenset[Need]] = frozenset({"window"})
THROUGHPUT = partial(Metric, dimension="performance", about=("serving",))
RATE = partial(THROUGHPUT, unit=PER_SECOND, kind="rate", needs=WINDOW)
NO_TOKENS: Final = Absent("not_applicable", "the answers hold no tokens: embeddings and scores have none")
NO_COUNT: Final = "their token counts are unknown: the server sends no usage; set the model's tokenizer (serving.tokenizer)"


def _rate(name: str, time_ns: pl.Expr, aggregate: str, missing: str, only: pl.Expr | None = None, **declared: Any) -> Metric:
    """Requests with a time in the window, per second."""

    def compute(measured: RecordData, _: Results) -> Mapping[str, Value]:
        amounts = within(measured, time_ns, only)
        return per_second(measured, amounts, unit=PER_SECOND, name=name, aggregate=aggregate, missing=missing)

    return RATE(name=name, compute=compute, **declared)


# ---- tokens ------------------------------------------------------------------------------------------------------


def _tokens_out(measured: RecordData, _: Results) -> Mapping[str, Value]:
    answered = measured.timed_requests.filter("ok")
    if answered.height and not (answered["tokens"].fill_null(0) > 0).any() and not (answered["text_chunks"] > 0).any():
        return dict.fromkeys(measured.configurations, NO_TOKENS)
    known = windows(measured).filter(pl.col("tokens").is_not_null())
    launches = measured.timed.join(known, on=["launch", "configuration", "block"], how="inner")
    rates = per_second(
        measured,
        launches.select("launch", pl.col("tokens").alias("above")),
        unit=PER_SECOND,
        name=OUTPUT_THROUGHPUT.name,
        aggregate=f"output tokens in the window ({spread(int(launches['evenly'].sum()))})",
        missing="",
    )
    return {name: _uncounted(measured, name) or value for name, value in rates.items()}


def _uncounted(measured: RecordData, configuration: str) -> Absent | None:
    """Why the tokens of a configuration are unknown; None if they are known."""
    launches = windows(measured).filter(pl.col("configuration") == configuration)
    unknown = int(launches["unknown"].sum())
    if not unknown:
        return None
    return Absent(
        "not_measured",
        f"the server sent no usage for {count(unknown, 'answers')}, so their token counts are unknown; set the model's "
        "tokenizer (serving.tokenizer)",
    )


OUTPUT_THROUGHPUT: Final = RATE(
    name="output_throughput",
    title="Output tokens per second",
    better="higher",
    formula="tokens whose time lies in the window / window",
    question="How many output tokens arrive per second?",
    caveat="The tokens of every answered request that arrived in the window. Useful and useless tokens count alike: see goodput.",
    compute=_tokens_out,
    needs=WINDOW | {"tokens"},
    primary=True,
    rank=310,
    decides=2,
)


def _tokens_in(measured: RecordData, _: Results) -> Mapping[str, Value]:
    if measured.timed_requests.filter("ok")["tokens_in"].null_count():
        return dict.fromkeys(measured.configurations, UNCOUNTED_PROMPTS)
    read = pl.coalesce("first_token_ns", "done_ns")
    return per_second(
        measured,
        within(measured, read, pl.col("ok"), amount=pl.col("tokens_in")),
        unit=PER_SECOND,
        name="input_throughput",
        aggregate="prompt tokens read in the window",
        missing="no request was answered",
    )


UNCOUNTED_PROMPTS: Final = Absent(
    "not_measured", "the token counts of some prompts are unknown: the server sent no usage; set the model's tokenizer (serving.tokenizer)"
)
INPUT_THROUGHPUT: Final = RATE(
    name="input_throughput",
    title="Input tokens per second",
    better="higher",
    formula="prompt tokens whose answer began in the window / window",
    question="How many prompt tokens are taken in per second?",
    caveat="The prompts of answered requests whose first token (without one: end) lies in the window. Cached tokens count too: "
    "cached_share gives their share.",
    compute=_tokens_in,
    rank=312,
)

# ---- requests ----------------------------------------------------------------------------------------------------

REQUEST_THROUGHPUT: Final = _rate(
    "request_throughput",
    ENDED,
    "answers that ended in the window",
    "no request was answered",
    pl.col("ok"),
    title="Requests per second",
    better="higher",
    formula="answers that ended in the window / window",
    question="How many requests are answered per second?",
    caveat="Warm-up requests that end in the window count, drained ones do not, so ramp and drain cancel. It ignores the length of the "
    "answers: see output_throughput.",
    rank=311,
    decides=3,
)
OFFERED_RATE: Final = _rate(
    "offered_rate",
    pl.col("scheduled_ns"),
    "requests due in the window",
    "no request was due",
    title="Offered rate",
    better="neither",
    formula="requests due in the window / window",
    question="How much load was requested, in requests per second?",
    caveat="Requests that were due in the window, whatever became of them; of n equal gaps the window holds n requests. In a closed loop "
    "the answers decide when requests are due, so it says no more than request_throughput.",
    needs=frozenset({"window", "due_times"}),
    rank=350,
)


def _achieved(measured: RecordData, _: Results) -> Mapping[str, Value]:
    """Of the requests that are offered, those sent before the window ends: in a closed loop, the last one ends it."""
    both = pl.when(in_window(pl.col("scheduled_ns"))).then("sent_ns")
    amounts, aggregate = within(measured, both), "requests due and sent in the window"
    return per_second(measured, amounts, unit=PER_SECOND, name="achieved_rate", aggregate=aggregate, missing="no request was sent")


ACHIEVED_RATE: Final = RATE(
    name="achieved_rate",
    title="Achieved rate",
    better="neither",
    formula="requests due and sent in the window / window",
    question="How much of the load did the client actually send, in requests per second?",
    caveat="Never above offered_rate. Below it the client did not keep up, or ran out of connections: the audit send_lag invalidates a "
    "record where it falls short by more than serving.client.least_achieved. It does not show whether the server could have handled more.",
    compute=_achieved,
    rank=351,
)

# ---- in flight ---------------------------------------------------------------------------------------------------

SIDES: Final = {"launch": pl.Int32, "area_s": pl.Float64, "latency_s": pl.Float64, "seconds": pl.Float64}


def _both_sides(measured: RecordData) -> pl.DataFrame:
    """(launch, area_s, latency_s, seconds) of the timed launches: request-seconds in the window, the sum of the latencies
    of the requests due in it, and its length. Requests that were never sent, or have no end, are in neither."""
    rows = measured.timed_requests.filter((pl.col("phase") != "cold") & pl.col("sent_ns").is_not_null() & pl.col("done_ns").is_not_null())
    end = pl.coalesce("last_token_ns", "done_ns")
    spans = rows.select("launch", "start_ns", pl.max_horizontal(end, "start_ns").alias("end"))
    sides = [_sides(spans.filter(pl.col("launch") == window["launch"]), window) for window in windows(measured).to_dicts()]
    return pl.DataFrame([row for row in sides if row is not None], schema=SIDES, orient="row")


def _sides(spans: pl.DataFrame, window: Mapping[str, int | float]) -> tuple[int, float, float, float] | None:
    begin_ns, end_ns = int(window["begin_ns"]), int(window["end_ns"])
    overlapping = spans.filter((pl.col("start_ns") < end_ns) & (pl.col("end") > begin_ns) & (pl.col("end") > pl.col("start_ns")))
    if overlapping.height == 0:
        return None
    begins, ends = ((overlapping[name] - begin_ns).to_numpy() / NS_PER_S for name in ("start_ns", "end"))
    seconds = float(window["seconds"])
    sides = little(begins, ends, (0.0, seconds))
    return int(window["launch"]), sides.in_flight * seconds, sides.in_flight * seconds * (1.0 - sides.residual), seconds


def _of_sides(name: str, above: str, below: str, aggregate: str, unit: str, **declared: Any) -> Metric:
    """One of the columns of `_both_sides` over another."""

    def compute(measured: RecordData, _: Results) -> Mapping[str, Value]:
        rows = _both_sides(measured).select("launch", pl.col(above).alias("above"), pl.col(below).alias("below"))
        return quotients(measured, rows, unit=unit, name=name, aggregate=aggregate, missing="no request was in flight")

    return THROUGHPUT(name=name, unit=unit, better="neither", compute=compute, needs=WINDOW, **declared)


# ---- per request -------------------------------------------------------------------------------------------------


def _mean_tokens(name: str, column: str, token_kind: str, **declared: Any) -> Metric:
    def compute(measured: RecordData, _: Results) -> Mapping[str, Value]:
        rows = measured.counted_requests.filter(pl.col("ok") & pl.col(column).is_not_null())
        return quotients(
            measured,
            tally(rows, pl.col(column)),
            unit=TOKENS,
            name=name,
            aggregate=f"{token_kind} tokens / answers",
            missing=NO_COUNT,
            trials="below",
        )

    formula = f"{token_kind} tokens / answers"
    return THROUGHPUT(name=name, unit=TOKENS, kind="rate", better="neither", formula=formula, compute=compute, **declared)


def _cached(measured: RecordData, _: Results) -> Mapping[str, Value]:
    known = pl.col("ok") & pl.col("tokens_cached").is_not_null() & pl.col("tokens_in").is_not_null()
    return quotients(
        measured,
        tally(measured.counted_requests.filter(known), pl.col("tokens_cached"), pl.col("tokens_in")),
        unit=FRACTION,
        name="cached_share",
        aggregate="cached prompt tokens / prompt tokens",
        missing="the server does not report which prompt tokens came from its cache",
    )


METRICS = (
    OUTPUT_THROUGHPUT,
    REQUEST_THROUGHPUT,
    INPUT_THROUGHPUT,
    OFFERED_RATE,
    ACHIEVED_RATE,
    _of_sides(
        "in_flight_mean",
        "area_s",
        "seconds",
        "time in flight within the window / its length",
        REQUESTS,
        kind="level",
        title="Requests in flight",
        formula="time in flight within the window / window",
        question="How many requests are in flight at a time?",
        caveat="From due time to end. A failed request was in flight until it failed; one never sent was not. The left side of Little's "
        "law: see little_ratio.",
        rank=352,
    ),
    _of_sides(
        "little_ratio",
        "latency_s",
        "area_s",
        "rate x mean time / mean number in flight",
        RATIO,
        kind="ratio",
        title="Little's law",
        formula="rate x mean latency / mean number in flight",
        question="Does Little's law hold for the recorded requests?",
        caveat="1 in a stable system with a long window; below 1 more flowed in before the window than was left at its end, above 1 a "
        "queue was growing. It does not show which rows of a record are missing.",
        rank=353,
    ),
    _mean_tokens(
        "tokens_in_mean",
        "tokens_in",
        "prompt",
        title="Prompt tokens per request",
        question="How long are the prompts?",
        caveat="By the server's usage (chat template included), else by the tokenizer. Shared prefixes count in full: cached_share gives "
        "the part not computed again.",
        rank=370,
    ),
    _mean_tokens(
        "tokens_out_mean",
        "tokens",
        "output",
        title="Output tokens per answer",
        question="How long are the answers?",
        caveat="Latencies and throughputs of answers of other lengths are not comparable; the audit output_lengths compares it with what was "
        "requested.",
        rank=371,
    ),
    THROUGHPUT(
        name="cached_share",
        title="Prompt tokens from the cache",
        unit=FRACTION,
        kind="ratio",
        better="neither",
        formula="cached prompt tokens / prompt tokens",
        question="What share of the prompt tokens came from the engine's cache?",
        caveat="By the server's usage, over the answered requests with both counts. High if prompts share prefixes or were sent before: "
        "latencies are then those of a warm cache. A server that does not report caching is not detected.",
        compute=_cached,
        rank=372,
    ),
)
