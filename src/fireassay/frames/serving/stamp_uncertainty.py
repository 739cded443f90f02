"""How uncertain are the times of an answer?

A chunk has the time stamp of its socket read. If the read returned more after it, or this process took the stamp, the chunk may
have been complete earlier, by at most its uncertainty (`fireassay.traffic.parts.Reply`). The begin of a latency is the client's own
and exact.

    TTFT  uncertainty of the first chunk with text             ITL   (that of a chunk + of the one before) / tokens of the chunk
    E2E   that of the last chunk with text                     TPOT  (that of the first + of the last) / tokens after the first chunk

An answer without text ends with its last chunk. Null: unknown (an imported or an older record, an HTTP library).
Cannot tell: delay from the network card to the kernel's stamp, and clock errors of some microseconds.
"""

from __future__ import annotations

from typing import Final

import polars as pl

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
