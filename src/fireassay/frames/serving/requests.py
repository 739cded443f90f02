"""What does a launch say about its requests?

The columns derived from the table `requests` that the serving metrics share. Times start when a request was due, whatever the
client did then; in a closed loop, where the server cannot miss a due time, when it was sent. Per launch:

* measured window: from t0 + warm-up until the last request was due, without the ramp before it and the drain after it.
  Offline, where all requests are due at once, it ends with the last answer;
* in a closed loop the streams may stay in lockstep, so that a window with an arbitrary begin holds part of a wave too much or
  too little. It begins just after an end, and ends with the last request sent, which also follows an end: after the first
  answer of every stream or, if the warm-up is longer, after as many ends as there are streams after it. With fewer ends
  inside there is no window;
* a client that dies with its host loses its requests, and the load is then no longer the one requested: the window ends before the
  first of them was due;
* clients on several hosts have several clocks: see `fireassay.frames.serving.client_clocks`. Where they are known too badly there is no
  window and no rate, and all requests of phase main are counted;
* counted: requests of phase main due (sent) in the closed window; percentiles and shares are over these. Rates are over the
  half-open window: they count what ended in it, so that n equal gaps contain n requests and not n + 1;
* tokens: by the server's usage if it reports any, otherwise by the tokenizer; shown: those that the stream shows
  (`fireassay.frames.serving.shown_tokens`), which times per token are over;
* time of a token: that of its chunk. A chunk holds one token if there are as many chunks of text as tokens, otherwise the
  tokenizer's count for it, otherwise the answer's tokens are spread evenly over its chunks;
* timeless: an imported record may lack the send times; it has no window and no rates, and all requests of phase main are
  counted;
* met: the request was answered and met every objective. An objective that the answer leaves undefined (time per token of a
  single token) is met; one on a first token that never came is not;
* open: met, but for a required time per token that is unknown (an answer of several chunks whose tokens nobody counted).

How uncertain are the times of an answer?

A chunk has the time stamp of its socket read. If the read returned more after it, or this process took the stamp, the chunk may
have been complete earlier, by at most its uncertainty (`fireassay.traffic.parts.Reply`). The begin of a latency is the client's own
and exact.

    TTFT  uncertainty of the first chunk with text             ITL   (that of a chunk + of the one before) / tokens of the chunk
    E2E   that of the last chunk with text                     TPOT  (that of the first + of the last) / tokens after the first chunk

An answer without text ends with its last chunk. Null: unknown (an imported or an older record, an HTTP library).
Cannot tell: delay from the network card to the kernel's stamp, and clock errors of some microseconds.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from fireassay.frames.serving.client_clocks import losses
from fireassay.frames.serving.shown_tokens import at_once, shown_tokens
from fireassay.spec.experiment import Experiment
from fireassay.spec.sections.serving import Objectives, Serving
from fireassay.stats.groups.clocks import too_short
from fireassay.units import NS_PER_S

TEXT: Final = (1, 2, 3)  # kinds of token-bearing chunks: content, reasoning, tool call (fireassay.record.tables)
VISIBLE: Final = (1, 3)
UNKNOWN: Final = "the uncertainty of the answers' times is unknown (an HTTP library, a model in this process, an import or an older record)"


def uncertainties(after_first: pl.Expr) -> tuple[pl.Expr, ...]:
    """Uncertainty of TTFT, visible TTFT, E2E and TPOT, in seconds, for a frame of requests with their chunks and `text_chunks`.

    after_first: tokens after the first chunk with text; null: none, or unknown.
    """
    has_text = pl.col("text_chunks") > 0
    first, last = _at(first_of(TEXT)), _at(last_of(TEXT))
    last_chunk = pl.col("chunk_uncertainty_ns").list.last() / NS_PER_S
    has_visible = pl.col("chunk_kind").list.eval(pl.element().is_in(VISIBLE)).list.any()
    return (
        pl.when(has_text).then(first).alias("ttft_uncertainty_s"),
        pl.when(has_visible).then(_at(first_of(VISIBLE))).alias("ttft_visible_uncertainty_s"),
        pl.when(has_text).then(last).otherwise(last_chunk).alias("e2e_uncertainty_s"),
        pl.when(has_text).then((first + last) / after_first).alias("tpot_uncertainty_s"),
    )


def first_of(kinds: tuple[int, ...]) -> pl.Expr:
    """Index of the first chunk of these kinds; arbitrary if there is none."""
    return pl.col("chunk_kind").list.eval(pl.element().is_in(kinds).arg_max()).list.first()


def last_of(kinds: tuple[int, ...]) -> pl.Expr:
    """Index of the last chunk of these kinds; arbitrary if there is none."""
    behind = pl.col("chunk_kind").list.eval(pl.element().is_in(kinds).reverse().arg_max()).list.first()
    return pl.col("chunk_kind").list.len().cast(pl.Int64) - 1 - behind.cast(pl.Int64)


def of_every_chunk() -> pl.Expr:
    """`chunk_uncertainty_ns` with an entry per chunk, null if unknown."""
    known = pl.col("chunk_uncertainty_ns").list.len() == pl.col("chunk_ns").list.len()
    nothing = pl.lit(None, pl.Int64).repeat_by(pl.col("chunk_ns").list.len())
    return pl.when(known).then(pl.col("chunk_uncertainty_ns")).otherwise(nothing).alias("chunk_uncertainty_ns")


def _at(index: pl.Expr) -> pl.Expr:
    """The uncertainty of a chunk, in seconds."""
    return pl.col("chunk_uncertainty_ns").list.get(index, null_on_oob=True) / NS_PER_S


CLOSED: Final = ("closed", "single_stream", "multi_stream")  # a request is due when the one before it has ended
UNUSED: Final = ("chunk_ns", "chunk_kind", "chunk_chars", "chunk_uncertainty_ns", "logprobs", "text", "reasoning")  # large
CHUNKS: Final = ("chunk_ns", "chunk_kind", "chunk_uncertainty_ns")  # the columns of `UNUSED` that are aggregated
SLICE: Final = 1 << 14  # requests whose chunks are aggregated at once, to bound memory
NO_BOUNDS: Final[Mapping[int, float]] = {}
TIMES: Final = ("t0_ns", "begin_ns", "end_ns", "seconds")  # of a window
WINDOW: Final = "measured window: from t0 + warm-up, in a closed loop from the end of a wave, until the last request was due or sent"
ENDED: Final = pl.coalesce("last_token_ns", "done_ns")  # when a request ended; an answer without text (an embedding) when it is complete


@dataclass(frozen=True, kw_only=True)
class Served:
    """The requests of a record, with derived columns.

    requests: one row per request of every launch, by launch and due time, without lists and texts; with configuration, block, role,
        start_ns (due, in a closed loop sent), ok, counted, met, open, tokens and shown (float, null: unknown), first_tokens (of the first
        chunk with text), tokens_from (usage | tokenizer), text_chunks, at_once (all text at one moment), and in seconds
        lag_s (without a new connection's set-up),
        connect_s, tokenize_s, prefill_s, ttft_s, ttft_visible_s,
        ttft_sent_s, tpot_s, e2e_s, worst_gap_s (the longest time per token between two chunks), and the uncertainties
        (null: unknown) ttft_uncertainty_s, ttft_visible_uncertainty_s, tpot_uncertainty_s, e2e_uncertainty_s.
    windows: one row per launch: launch, configuration, block, role, t0_ns, begin_ns, end_ns, seconds (null: no window),
        tokens (in the window; null: unknown), unknown and evenly (answers without a count; with evenly spread tokens).
    gaps: per launch the times per token between the chunks of counted requests, by due time, in seconds.
    gap_uncertainty: the uncertainty of each gap, in seconds; NaN: unknown.
    """

    requests: pl.DataFrame = field(repr=False)
    windows: pl.DataFrame = field(repr=False)
    gaps: Mapping[int, NDArray[np.float64]] = field(repr=False)
    gap_uncertainty: Mapping[int, NDArray[np.float64]] = field(repr=False)
    apart: frozenset[int] = frozenset()  # launches whose window is refused: the clocks of its clients' hosts are known too badly


def serve(
    experiment: Experiment, tables: Mapping[str, pl.DataFrame], *, timeless: bool = False, unsure_ns: Mapping[int, float] = NO_BOUNDS
) -> Served:
    """Derive the requests of a serving record; empty for other records.

    `timeless`: the requests have no times of day, as in some imported records.
    `unsure_ns`: launch -> the error between times of its clients, where they ran on several hosts.
    """
    serving = experiment.serving or Serving()
    windows = _windows(tables, serving)
    apart = refused(windows, unsure_ns)
    without = pl.lit(timeless) | pl.col("launch").is_in(sorted(apart))
    windows = windows.with_columns(pl.when(~without).then(pl.col(name)).alias(name) for name in TIMES)
    counts = tables["token_counts"].select(
        "launch", "request", pl.col("tokens_in").alias("_counted_in"), pl.col("tokens_out").alias("_counted"), "chunk_tokens"
    )
    folded, totals, gaps, unsure = [], [], {}, {}
    known = tables["requests"].join(windows, on="launch", how="semi", maintain_order="left")  # killed amid a launch: rows without one
    for launch, rows in _by_launch(known):
        window = windows.row(by_predicate=pl.col("launch") == launch, named=True)
        own_counts = counts.filter(pl.col("launch") == launch)
        requests, total, spans = _fold(rows, own_counts, window, serving, timeless=timeless or launch in apart)
        folded.append(requests)
        totals.append(total)
        gaps[launch], unsure[launch] = (np.concatenate(parts) for parts in spans)
    if not folded:
        nothing = windows.row(0, named=True) if windows.height else dict.fromkeys(windows.columns)
        requests, total, _ = _fold(known, counts, nothing, serving)
        folded, totals = [requests], [total.clear()]
    launches = windows.select("launch", "configuration", "block", "role")
    return Served(
        requests=pl.concat(folded).join(launches, on="launch", maintain_order="left"),
        windows=windows.join(pl.concat(totals), on="launch", how="left").sort("launch"),
        gaps=gaps,
        gap_uncertainty=unsure,
        apart=apart,
    )


def refused(windows: pl.DataFrame, unsure_ns: Mapping[int, float]) -> frozenset[int]:
    """Launches on several hosts whose window is too short for what is known of their clocks."""
    lengths = dict(windows.select("launch", pl.col("seconds") * NS_PER_S).drop_nulls().iter_rows())
    return frozenset(launch for launch, bound in unsure_ns.items() if launch in lengths and too_short(lengths[launch], bound))


def _by_launch(frame: pl.DataFrame) -> Iterator[tuple[int, pl.DataFrame]]:
    """Launch by launch, to bound memory by one launch."""
    ordered = frame if frame["launch"].is_sorted() else frame.sort("launch", maintain_order=True)
    begin = 0
    for length in ordered["launch"].rle().struct.field("len"):
        yield int(ordered["launch"][begin]), ordered.slice(begin, length)
        begin += length


# ---- the window --------------------------------------------------------------------------------------------------


def _windows(tables: Mapping[str, pl.DataFrame], serving: Serving) -> pl.DataFrame:
    process = serving.arrivals.process
    launches = tables["launches"].select("launch", "configuration", "block", "role").sort("launch")
    columns = ("launch", "request", "phase", "stream", "scheduled_ns", "sent_ns", "done_ns")
    load = tables["requests"].select(columns).filter(pl.col("phase") != "cold")
    events = tables["events"].filter(pl.col("kind") == "load_begin")
    begun = events.group_by("launch").agg(pl.col("ns").min().alias("_begun"))
    main = pl.col("phase") == "main"
    was_sent = pl.coalesce("sent_ns", "scheduled_ns")  # a due request that was never sent still belongs to the load
    end = was_sent if process in CLOSED else pl.col("done_ns") if process == "offline" else pl.col("scheduled_ns")
    extents = load.group_by("launch").agg(pl.col("scheduled_ns").min().alias("_first"), end.filter(main).max().alias("end_ns"))
    windows = launches.join(begun, on="launch", how="left").join(extents, on="launch", how="left")
    warm_up = round(serving.arrivals.warm_up_s * NS_PER_S)
    timed = windows.with_columns(t0_ns=pl.coalesce("_begun", "_first")).with_columns(begin_ns=pl.col("t0_ns") + warm_up)
    timed = timed.join(losses(tables), on="launch", how="left")
    timed = timed.with_columns(end_ns=pl.min_horizontal("end_ns", pl.col("lost_ns") - 1)).drop("lost_ns")
    if process == "closed":
        timed = _after_a_wave(timed, load)
    nonempty = pl.col("end_ns") > pl.col("begin_ns")
    seconds = pl.when(nonempty).then((pl.col("end_ns") - pl.col("begin_ns")) / NS_PER_S).alias("seconds")
    return timed.with_columns(seconds).drop("_begun", "_first")


def _after_a_wave(timed: pl.DataFrame, load: pl.DataFrame) -> pl.DataFrame:
    """The windows with begins moved just after the end of a wave, and no end if no wave follows."""
    ended = load.filter(pl.col("stream").is_not_null() & pl.col("done_ns").is_not_null()).sort("launch", "done_ns")
    begins, ends = [], []
    for window in timed.select("launch", "begin_ns", "end_ns").iter_rows(named=True):
        launch_ends = ended.filter(pl.col("launch") == window["launch"])
        begin, complete = _wave(launch_ends, window["begin_ns"], window["end_ns"])
        begins.append(begin)
        ends.append(window["end_ns"] + 1 if complete else None)
    return timed.with_columns(pl.Series("begin_ns", begins, pl.Int64), pl.Series("end_ns", ends, pl.Int64))


def _wave(ended: pl.DataFrame, floor: int | None, last: int | None) -> tuple[int | None, bool]:
    """Just after the first end of a wave at or after `floor`, and whether as many ends lie between it and `last`.

    `ended`: the ended requests in order of their ends. A request that never ended delays nothing.
    """
    streams = ended["stream"].n_unique()
    if floor is None or last is None or not streams:  # another tool's closed loop does not record which stream sent a request
        return floor, last is not None
    first = ended.unique("stream", keep="first")["done_ns"].max()
    done = ended["done_ns"].to_numpy()
    assert isinstance(first, int)
    if first >= floor:
        begin = first + 1
    else:
        index = int(done.searchsorted(floor)) + streams - 1
        begin = int(done[index]) + 1 if index < len(done) else last
    ends_between = int(done.searchsorted(last + 1) - done.searchsorted(begin))
    return begin, ends_between >= streams


# ---- the requests of one launch ----------------------------------------------------------------------------------


def _fold(
    rows: pl.DataFrame, counts: pl.DataFrame, window: Mapping[str, int | float | None], serving: Serving, *, timeless: bool = False
) -> tuple[pl.DataFrame, pl.DataFrame, tuple[list[NDArray[np.float64]], list[NDArray[np.float64]]]]:
    seconds = window["seconds"] is not None
    begin, end = (pl.lit(window[name] if seconds else None, pl.Int64) for name in ("begin_ns", "end_ns"))
    measured = pl.col("phase") == "main"
    closed = serving.arrivals.process in CLOSED
    start = pl.coalesce("sent_ns", "scheduled_ns") if closed else pl.col("scheduled_ns")
    needed = rows.drop(name for name in UNUSED if name not in (*CHUNKS, "chunk_chars"))
    order = rows.select(pl.arg_sort_by("scheduled_ns", "request")).to_series()
    folded, gaps, unsure, totals = [], [], [], []
    for first in range(0, max(1, rows.height), SLICE):
        ordered = needed[order.slice(first, SLICE)].join(counts.drop("launch"), on="request", how="left", maintain_order="left")
        flagged = (
            ordered.with_columns(
                start_ns=start,
                ok=pl.col("status") == "ok",
                counted=measured if timeless else (measured & (start >= begin) & (start <= end)).fill_null(False),
                tokens=pl.coalesce("tokens_out", "_counted").cast(pl.Float64),
                tokens_from=pl.when(pl.col("tokens_out").is_not_null())
                .then(pl.lit("usage"))
                .when(pl.col("_counted").is_not_null())
                .then(pl.lit("tokenizer")),
                tokens_in=pl.coalesce("tokens_in", "_counted_in"),
                text_chunks=pl.col("chunk_kind").list.eval(pl.element().is_in(TEXT)).list.sum().cast(pl.Int64),
            )
            .with_columns(shown=shown_tokens(), at_once=at_once())
            .with_columns(first_tokens=_first_tokens())
            .with_columns(*uncertainties(_after_first()))
            .drop("chunk_chars")
        )
        chunks = _chunks(flagged)
        folded.append(_durations(flagged, chunks))
        spans = chunks.filter("counted", pl.col("gap_s").is_not_null())
        gaps.append(spans["gap_s"].to_numpy())
        unsure.append(spans["gap_uncertainty_s"].to_numpy())
        totals.append(_tokens(flagged, chunks, begin, end))
    judged = pl.concat(folded).with_columns(met=pl.col("ok") & _meets(serving.objectives)).with_columns(open=_open(serving.objectives))
    return judged, _totals(totals, window), (gaps, unsure)


def _durations(flagged: pl.DataFrame, chunks: pl.DataFrame) -> pl.DataFrame:
    """Requests with their times, without list columns."""
    timed = _times(flagged.drop(*CHUNKS, "chunk_tokens", "_counted", "_counted_in"))
    return timed.join(_longest_gaps(chunks), on="request", how="left", maintain_order="left")


def _longest_gaps(chunks: pl.DataFrame) -> pl.DataFrame:
    """(request, worst_gap_s). An answer's chunks are contiguous, so reducing runs is far cheaper than grouping."""
    runs = chunks["request"].rle().struct
    lengths = runs.field("len").cast(pl.Int64)
    gaps = chunks["gap_s"].fill_null(-math.inf).to_numpy()
    longest = np.maximum.reduceat(gaps, (lengths.cum_sum() - lengths).to_numpy()) if len(gaps) else gaps
    worst = pl.DataFrame({"request": runs.field("value"), "worst_gap_s": longest})
    return worst.group_by("request").agg(pl.col("worst_gap_s").max().replace(-math.inf, None))  # copied rows: one per request


def _times(requests: pl.DataFrame) -> pl.DataFrame:
    """Every duration of a request, in seconds."""

    def since(column: str, begin: str = "start_ns") -> pl.Expr:
        return (pl.col(column) - pl.col(begin)) / NS_PER_S

    return requests.with_columns(
        # A request may use a connection opened for another one: it did not wait for it and is not early.
        lag_s=(pl.col("sent_ns") - pl.col("connect_ns").fill_null(0) - pl.col("scheduled_ns")).clip(lower_bound=0) / NS_PER_S,
        connect_s=pl.col("connect_ns") / NS_PER_S,
        tokenize_s=pl.col("tokenize_ns") / NS_PER_S,
        prefill_s=pl.col("prefill_ns") / NS_PER_S,
        ttft_s=since("first_token_ns"),
        ttft_visible_s=since("first_visible_ns"),
        ttft_sent_s=since("first_token_ns", "sent_ns"),
        tpot_s=since("last_token_ns", "first_token_ns") / _after_first(),
        e2e_s=(ENDED - pl.col("start_ns")) / NS_PER_S,
    )


def _after_first() -> pl.Expr:
    """Tokens after the first chunk with text; null if there are none, or unknown."""
    chunked = pl.col("text_chunks").fill_null(0) > 0  # an imported answer has no chunks: one token in each
    first = pl.when(chunked).then(pl.col("first_tokens")).otherwise(1.0)
    follow = pl.when(chunked).then(pl.col("text_chunks") > 1).otherwise(pl.col("last_token_ns") > pl.col("first_token_ns"))
    return pl.when(follow & (pl.col("shown") > first)).then(pl.col("shown") - first)


def _meets(objectives: Objectives) -> pl.Expr:
    """True if a request meets every objective."""
    must = {"ttft_s": objectives.ttft_s, "ttft_visible_s": objectives.ttft_visible_s, "e2e_s": objectives.e2e_s}
    may = {"tpot_s": objectives.tpot_s, "worst_gap_s": objectives.itl_s}
    kept = [(pl.col(name) <= limit).fill_null(False) for name, limit in must.items() if limit is not None]
    kept += [(pl.col(name) <= limit).fill_null(True) for name, limit in may.items() if limit is not None]
    return pl.all_horizontal(*kept) if kept else pl.lit(True)


def _open(objectives: Objectives) -> pl.Expr:
    """True if an answer meets everything but a required time per token, which is unknown."""
    asked = objectives.tpot_s is not None or objectives.itl_s is not None
    return (pl.col("met") & (pl.col("text_chunks") > 1) & pl.col("shown").is_null() & pl.lit(asked)).fill_null(False)


def _share(tokens: str) -> pl.Expr:
    """Tokens of a chunk with text without a count per chunk: one each, or all spread evenly."""
    return pl.when(pl.col(tokens) == pl.col("text_chunks")).then(1.0).otherwise(pl.col(tokens) / pl.col("text_chunks"))


def _by_tokenizer(tokens: str) -> pl.Expr:
    """True if the tokenizer's counts per chunk are needed and present."""
    counts_match = pl.col("chunk_tokens").list.len() == pl.col("text_chunks")
    return counts_match.fill_null(False) & (pl.col(tokens) != pl.col("text_chunks")).fill_null(True)


def _first_tokens() -> pl.Expr:
    """Tokens of the first chunk with text; null if unknown."""
    counted = pl.col("chunk_tokens").list.first().cast(pl.Float64)
    return pl.when(pl.col("text_chunks") > 0).then(pl.when(_by_tokenizer("shown")).then(counted).otherwise(_share("shown")))


def _each_chunk(tokens: str) -> pl.Expr:
    """The tokens of every chunk with text."""
    counted = pl.col("chunk_tokens").cast(pl.List(pl.Float64))
    return pl.when(_by_tokenizer(tokens)).then(counted).otherwise(_share(tokens).repeat_by("text_chunks")).alias(tokens)


def _chunks(requests: pl.DataFrame) -> pl.DataFrame:
    """(request, counted, ns, tokens, shown, gap_s, gap_uncertainty_s) of every token-bearing chunk of the answered requests; absolute times.

    `gap_s` is null for the first chunk of an answer, and if its tokens are unknown.
    """
    streamed = requests.filter(pl.col("ok") & (pl.col("text_chunks") > 0))
    spread = streamed.select(_each_chunk("tokens"), _each_chunk("shown")).explode("tokens", "shown")
    flat = streamed.select("request", "counted", "sent_ns", "chunk_ns", "chunk_kind", of_every_chunk()).explode(*CHUNKS)
    text = flat.filter(pl.col("chunk_kind").is_in(TEXT))
    chunks = text.select(
        "request", "counted", (pl.col("sent_ns") + pl.col("chunk_ns")).alias("ns"), pl.col("chunk_uncertainty_ns").alias("unsure_ns")
    ).with_columns(spread["tokens"], spread["shown"])
    bearing = chunks.filter((pl.col("tokens") > 0).fill_null(True))  # half a character is no token yet
    same = pl.col("request") == pl.col("request").shift(1)
    either = pl.col("unsure_ns") + pl.col("unsure_ns").shift(1)
    return bearing.with_columns(
        gap_s=pl.when(same).then(pl.col("ns").diff() / NS_PER_S / pl.col("shown")),
        gap_uncertainty_s=pl.when(same).then(either / NS_PER_S / pl.col("shown")),
    )


def _tokens(requests: pl.DataFrame, chunks: pl.DataFrame, begin: pl.Expr, end: pl.Expr) -> tuple[float, int, int]:
    """For answered requests: known tokens with times in the window, answers without a count, and answers with tokens
    spread evenly."""
    unstreamed = requests.filter(pl.col("ok") & (pl.col("text_chunks") == 0))  # not streamed: all tokens come at the end
    ends = unstreamed.select(ENDED.alias("ns"), "tokens")
    times = pl.concat([chunks.select("ns", "tokens"), ends])
    tokens = times.filter((pl.col("ns") >= begin) & (pl.col("ns") < end))["tokens"]
    load = requests.filter(pl.col("ok") & (pl.col("phase") != "cold"))
    spread = (
        (pl.col("text_chunks") > 0)
        & (pl.col("tokens") != pl.col("text_chunks"))
        & (pl.col("chunk_tokens").list.len().fill_null(0) != pl.col("text_chunks"))
    )
    evenly = int(load.select(spread.fill_null(False).sum()).item())
    return float(tokens.sum()), int(load["tokens"].null_count()), evenly


def _totals(parts: Sequence[tuple[float, int, int]], window: Mapping[str, int | float | None]) -> pl.DataFrame:
    """(launch, tokens, unknown, evenly): the tokens of answered requests with times in the window."""
    tokens, unknown, evenly = (sum(values) for values in zip(*parts, strict=True))
    known = None if window["seconds"] is None or unknown else float(tokens)
    return pl.DataFrame(
        {"launch": [window["launch"]], "tokens": [known], "unknown": [unknown], "evenly": [evenly]},
        schema={"launch": pl.Int32, "tokens": pl.Float64, "unknown": pl.Int64, "evenly": pl.Int64},
    )
