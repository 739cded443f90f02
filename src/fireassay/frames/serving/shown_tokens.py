"""How many tokens does the stream of an answer show?

Usage may count tokens that are never sent: reasoning that a server keeps to itself, or what follows an end mark (`ignore_eos`). The time
per token is over what was seen:

* the usage, less its reasoning tokens where no chunk holds reasoning; a server may also count reasoning apart;
* the tokenizer's count of the text where the usage is missing, or half as much again;
* unknown if the text cannot hold what is left (four tokens for a character, one for every other chunk), if there are more chunks than
  tokens, if reasoning is shown with fewer characters than tokens (a summary), or if all text came at one moment in most answers of a
  launch, as from a proxy that holds streams back (a few that were held up, by a restart or a busy machine, are as fast as they came).

Cannot tell: a few tokens that the server hides without counting them as reasoning.
"""

from __future__ import annotations

from typing import Final

import polars as pl

from fireassay.estimates.estimate import Absent
from fireassay.estimates.format import count

REASONING: Final = 2  # kind of a chunk (fireassay.record.tables)
MAX_BYTES: Final = 4  # of a character, each at most one token
SPLIT: Final = 2  # more chunks than tokens: a character may be split
MIN_AT_ONCE: Final = 8  # chunks; a few may share a read
MAX_AT_ONCE_S: Final = 1e-4  # between two tokens; no model is faster
MAX_AT_ONCE: Final = 0.01  # of the time to the first
MOST: Final = 0.5  # of a launch's streams
MUCH: Final = 1.5  # usage / tokens of the text, from which the text decides


def at_once() -> pl.Expr:
    """True if the text of a stream came at one moment, long after the request was sent, as that of most streams of its launch."""
    held = _held()
    return held & (held.filter(pl.col("text_chunks") > 1).mean().over("launch").fill_null(0.0) >= MOST)


def _held() -> pl.Expr:
    span, wait = pl.col("last_token_ns") - pl.col("first_token_ns"), pl.col("first_token_ns") - pl.col("sent_ns")
    fast = (span <= MAX_AT_ONCE_S * 1e9 * (pl.col("text_chunks") - 1)) & (span <= MAX_AT_ONCE * wait)
    return ((pl.col("text_chunks") >= MIN_AT_ONCE) & fast).fill_null(False)


def shown_tokens() -> pl.Expr:
    """Tokens of the chunks with text; null: unknown. Of an import, which has no chunks, all."""
    usage, counted, texts = pl.col("tokens_out"), pl.col("_counted"), pl.col("text_chunks").fill_null(0)
    chars, chunks = pl.col("chunk_chars").list.sum().fill_null(0), pl.col("chunk_kind").list.len().cast(pl.Int64)
    reasons = pl.col("chunk_kind").list.contains(REASONING)
    thought = pl.col("tokens_reasoning").fill_null(0)
    left = pl.when(reasons).then(usage).otherwise(usage - thought)
    summary = reasons & (thought > 0) & (usage > chars)
    fits = (left + SPLIT >= texts) & (left <= MAX_BYTES * chars + 1 + chunks - texts) & ~summary
    by_text = (usage.is_null() | (left > MUCH * counted + SPLIT)) & counted.is_not_null()
    tokens = pl.when(by_text).then(counted).when(fits).then(left).when(usage == texts).then(usage)
    return pl.when(texts == 0).then(pl.coalesce(usage, counted)).when(~at_once()).then(tokens).cast(pl.Float64)


def unknown(requests: pl.DataFrame) -> Absent | None:
    """Why the time per token of an answer of several chunks is unknown; None if every one is known. `requests`: answered ones."""
    several = requests.filter((pl.col("text_chunks") > 1) & pl.col("shown").is_null())
    if several.height == 0:
        return None
    held, missing = int(several["at_once"].sum()), int(several["tokens"].null_count())
    hidden = several.height - held - missing
    whys = (
        (missing, "the server sent no usage for {}; set the model's tokenizer (serving.tokenizer)"),
        (hidden, "the usage of {} counts tokens that the stream never shows; set the model's tokenizer (serving.tokenizer)"),
        (held, "all text of {} came at one moment: something between engine and client holds streams back"),
    )
    return Absent("not_measured", "; ".join(words.format(count(n, "answers")) for n, words in whys if n))
