"""How unsure are the times of an answer?  Folds over `chunk_uncertainty_ns`, shared by the metrics of uncertainty and their audit.

A chunk's stamp is its socket read's.  Where the read held more behind it, or was stamped by this process, the chunk may have been
complete earlier, at most by its uncertainty (`assay.traffic.parts.Reply`).  The begin of a latency is exact: it is the client's own.

    TTFT  uncertainty of the first chunk with text             ITL   (that of a chunk + of the one before) / tokens of the chunk
    E2E   that of the last chunk with text                     TPOT  (that of the first + of the last) / tokens after the first chunk

An answer without text ends with its last chunk.  Null: nobody knows (an imported or an older record, an HTTP library).
Cannot tell: how long bytes took from the network card to the kernel's stamp, and the clocks' own error of some microseconds.
"""

from __future__ import annotations

from typing import Final

import polars as pl

from assay.units import NS_PER_S

TEXT: Final = (1, 2, 3)  # kinds of chunks that bear tokens: content, reasoning, tool call (assay.record.tables)
VISIBLE: Final = (1, 3)
UNKNOWN: Final = (
    "nothing says how unsure the times of the answers are (an HTTP library, a model in this process, an import or an older record)"
)


def uncertainties(after_first: pl.Expr) -> tuple[pl.Expr, ...]:
    """Columns of a frame of requests with their chunks and `text_chunks`: of TTFT, visible TTFT, E2E and TPOT, in seconds.

    after_first: tokens that follow the first chunk with text; null: none, or not known.
    """
    some = pl.col("text_chunks") > 0
    first, last = _at(first_of(TEXT)), _at(last_of(TEXT))
    whole = pl.col("chunk_uncertainty_ns").list.last() / NS_PER_S
    seen = pl.col("chunk_kind").list.eval(pl.element().is_in(VISIBLE)).list.any()
    return (
        pl.when(some).then(first).alias("ttft_uncertainty_s"),
        pl.when(seen).then(_at(first_of(VISIBLE))).alias("ttft_visible_uncertainty_s"),
        pl.when(some).then(last).otherwise(whole).alias("e2e_uncertainty_s"),
        pl.when(some).then((first + last) / after_first).alias("tpot_uncertainty_s"),
    )


def first_of(kinds: tuple[int, ...]) -> pl.Expr:
    """The place of the first chunk of one of these kinds; any place where there is none."""
    return pl.col("chunk_kind").list.eval(pl.element().is_in(kinds).arg_max()).list.first()


def last_of(kinds: tuple[int, ...]) -> pl.Expr:
    """The place of the last one, likewise."""
    behind = pl.col("chunk_kind").list.eval(pl.element().is_in(kinds).reverse().arg_max()).list.first()
    return pl.col("chunk_kind").list.len().cast(pl.Int64) - 1 - behind.cast(pl.Int64)


def of_every_chunk() -> pl.Expr:
    """`chunk_uncertainty_ns` with an entry per chunk: nulls where nobody knows."""
    known = pl.col("chunk_uncertainty_ns").list.len() == pl.col("chunk_ns").list.len()
    nothing = pl.lit(None, pl.Int64).repeat_by(pl.col("chunk_ns").list.len())
    return pl.when(known).then(pl.col("chunk_uncertainty_ns")).otherwise(nothing).alias("chunk_uncertainty_ns")


def _at(place: pl.Expr) -> pl.Expr:
    """The uncertainty of a chunk, in seconds."""
    return pl.col("chunk_uncertainty_ns").list.get(place, null_on_oob=True) / NS_PER_S
