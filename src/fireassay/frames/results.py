"""Is a program's result that of the base, by the digests of what it wrote?

Compared within a round, whose launches have one seed. A base that wrote the same in every round is repeatable; otherwise it may depend on the
seed or on chance, and a difference from it decides nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

from fireassay.frames.record_data import RecordData
from fireassay.spec.sections.program import RESULT


@dataclass(frozen=True, kw_only=True)
class Compared:
    """A configuration's results against the base's."""

    rounds: int  # with a result of both
    other: int  # of them with different ones
    repeats: bool  # the base wrote the same in every round, of at least two
    differs_from_itself: bool  # this configuration wrote different ones


def compared(measured: RecordData) -> Mapping[str, Compared]:
    """Configuration -> its comparison with the base; none without results of both in one round."""
    rows = measured.table("fingerprints").filter(pl.col("what") == RESULT).select("launch", "text")
    placed = measured.timed.select("launch", "block", "configuration").join(rows, on="launch")
    of = {
        name: dict(placed.filter(pl.col("configuration") == name).select("block", "text").iter_rows()) for name in measured.configurations
    }
    base = of[measured.base]
    return {
        name: Compared(
            rounds=len(both),
            other=sum(texts[block] != base[block] for block in both),
            repeats=len(base) > 1 and len(set(base.values())) == 1,
            differs_from_itself=len(set(texts.values())) > 1,
        )
        for name, texts in of.items()
        if (both := sorted(texts.keys() & base.keys()))
    }
