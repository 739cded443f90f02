"""How unsure are the times of an answer?  Folds over `chunk_uncertainty_ns`, shared by the metrics of uncertainty and their audit.

A chunk's stamp is its socket read's.  Where the read held more behind it, or was stamped by this process, the chunk may have been
complete earlier, at most by its uncertainty (`assay.traffic.base.Reply`).  The begin of a latency is exact: it is the client's own.

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
UNKNOWN: Final = "nothing says how unsure the times of the answers are (an HTTP library, a model in this process, an import or an older record)"


def uncertainties(after_first: pl.Expr) -> tuple[pl.Expr, ...]:
    """Columns of a frame of requests with their chunks: of TTFT, visible TTFT, E2E and TPOT, in seconds.

    after_first: tokens that follow the first chunk with text; null: none, or not known.
    """
    first, last = _of_first(TEXT), _of_last()
    whole = pl.col("chunk_uncertainty_ns").list.last() / NS_PER_S
    return (
        first.alias("ttft_uncertainty_s"),
        _of_first(VISIBLE).alias("ttft_visible_uncertainty_s"),
        pl.when(pl.col("text_chunks") > 0).then(last).otherwise(whole).alias("e2e_uncertainty_s"),
        ((first + last) / after_first).alias("tpot_uncertainty_s"),
    )


def of_every_chunk() -> pl.Expr:
    """`chunk_uncertainty_ns` with an entry per chunk: nulls where nobody knows."""
    known = pl.col("chunk_uncertainty_ns").list.len() == pl.col("chunk_ns").list.len()
    nothing = pl.lit(None, pl.Int64).repeat_by(pl.col("chunk_ns").list.len())
    return pl.when(known).then(pl.col("chunk_uncertainty_ns")).otherwise(nothing).alias("chunk_uncertainty_ns")


def _of_first(kinds: tuple[int, ...]) -> pl.Expr:
    """The uncertainty of the first chunk of one of these kinds, in seconds; null where there is none."""
    bearing = pl.col("chunk_kind").list.eval(pl.element().is_in(kinds))
    found = pl.col("chunk_uncertainty_ns").list.get(bearing.list.arg_max(), null_on_oob=True)
    return pl.when(bearing.list.any()).then(found / NS_PER_S)


def _of_last() -> pl.Expr:
    """The uncertainty of the last chunk with text, in seconds; null where there is none."""
    bearing = pl.col("chunk_kind").list.eval(pl.element().is_in(TEXT)).list.reverse()
    found = pl.col("chunk_uncertainty_ns").list.reverse().list.get(bearing.list.arg_max(), null_on_oob=True)
    return pl.when(bearing.list.any()).then(found / NS_PER_S)
