"""Which configurations and launches does a finding concern, and how does it name them?"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import polars as pl

from fireassay.frames.record_data import RecordData

MOST_NAMED = 8  # launches named in a finding


def by_configuration(measured: RecordData, frame: pl.DataFrame) -> Iterator[tuple[str, pl.DataFrame]]:
    """The rows of each configuration that has any, in report order."""
    for name in measured.configurations:
        group = frame.filter(pl.col("configuration") == name)
        if group.height:
            yield name, group


def most(hit: int, whole: int) -> bool:
    """Whether at least half of the launches are affected: one outlier is named but does not condemn the rest."""
    return 2 * hit >= whole


def in_launches(launches: Iterable[int]) -> str:
    """ "launch 3", "launches 0, 2"."""
    numbers = sorted(set(launches))
    shown = ", ".join(map(str, numbers[:MOST_NAMED])) + (" ..." if len(numbers) > MOST_NAMED else "")
    return f"launch {shown}" if len(numbers) == 1 else f"launches {shown}"


def some(names: Sequence[str], shown: int = 3) -> str:
    """ "a, b, c and 2 more"."""
    more = len(names) - shown
    return ", ".join(names[:shown]) + (f" and {more} more" if more > 0 else "")
