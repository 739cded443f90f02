"""How is a table judged that is too large for memory?  Some ranks at a time, in the table's order, and only the columns that are used.

A table of steps is ordered by launch and rank, and its file has many row groups, from which Polars reads those of a slice. A rank is never
divided, so whatever is asked of a rank is asked of one slice; what is asked of steps or launches is merged over the slices.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import polars as pl

KEPT_ROWS: Final = 1 << 20  # of a sealed table that is held in memory; a larger one is read in slices
SLICE_ROWS: Final = 1 << 19  # or one rank, if it has more
_SCANNED: Final = 1 << 22  # rows whose launches and ranks are held at once
KEY: Final = ("launch", "rank")
MOVED: Final = (*KEY, "incarnation", "begin_ns", "end_ns")  # what a change of times reads


@dataclass(frozen=True, kw_only=True)
class Slices:
    """A table ordered by launch and rank."""

    read: Callable[[int, int, Sequence[str]], pl.DataFrame] = field(repr=False)  # from a row on, so many rows, these columns
    whole: Callable[[], pl.DataFrame] = field(repr=False)
    runs: pl.DataFrame = field(repr=False)  # launch, rank, begin, rows: in order
    change: Callable[[pl.DataFrame], pl.DataFrame] | None = field(default=None, repr=False)  # made to the times of every slice

    def frames(
        self, columns: Sequence[str], *, launches: Collection[int] | None = None, ranks: Collection[int] | None = None
    ) -> Iterator[pl.DataFrame]:
        """These columns of all rows, or of some launches and ranks: at least one frame, each of about `SLICE_ROWS` rows or of one rank."""
        import polars as pl

        for spans in _groups(self._wanted(launches, ranks)):
            parts = [self._part(begin, rows, columns) for begin, rows in spans]
            yield parts[0] if len(parts) == 1 else pl.concat(parts)

    def _wanted(self, launches: Collection[int] | None, ranks: Collection[int] | None) -> Iterable[tuple[int, int]]:
        import polars as pl

        kept = [pl.col(name).is_in(list(some)) for name, some in zip(KEY, (launches, ranks), strict=True) if some is not None]
        rows: Iterable[tuple[int, int]] = self.runs.filter(*kept).select("begin", "rows").iter_rows()
        return rows

    def _part(self, begin: int, rows: int, columns: Sequence[str]) -> pl.DataFrame:
        if self.change is None:
            return self.read(begin, rows, columns)
        read = self.read(begin, rows, list(dict.fromkeys((*columns, *MOVED))))
        return self.change(read).select(columns)


def _groups(runs: Iterable[tuple[int, int]]) -> Iterator[list[tuple[int, int]]]:
    """Runs of rows in groups, neighbours as one: at least one group."""
    group: list[tuple[int, int]] = []
    held = 0
    for begin, rows in runs:
        if group and held + rows > SLICE_ROWS:
            yield group
            group, held = [], 0
        if group and sum(group[-1]) == begin:
            group[-1] = (group[-1][0], group[-1][1] + rows)
        else:
            group.append((begin, rows))
        held += rows
    yield group or [(0, 0)]


def of_frame(frame: pl.DataFrame) -> Slices:
    """Slices of a table in memory, whatever its order."""
    ordered = frame
    found = runs_of(lambda begin, rows: ordered.slice(begin, rows).select(KEY), frame.height)
    if found is None:
        ordered = frame.sort(KEY, maintain_order=True)
        found = runs_of(lambda begin, rows: ordered.slice(begin, rows).select(KEY), frame.height)
    assert found is not None
    return Slices(read=lambda begin, rows, columns: ordered.slice(begin, rows).select(columns), whole=lambda: frame, runs=found)


def runs_of(keys: Callable[[int, int], pl.DataFrame], height: int) -> pl.DataFrame | None:
    """(launch, rank, begin, rows) of each rank, from `keys(begin, rows)`; None if they are not in order."""
    import polars as pl

    rank = pl.struct(KEY)
    starts = []
    for begin in range(0, height, _SCANNED) or (0,):
        some = keys(begin, _SCANNED).with_row_index("begin", begin)
        starts.append(some.filter(rank.ne_missing(rank.shift()) | (pl.col("begin") == begin)))
    every = pl.concat(starts).with_columns(pl.col("begin").cast(pl.Int64))
    found = every.filter(rank.ne_missing(rank.shift()) | (pl.int_range(pl.len()) == 0))
    found = found.with_columns(rows=pl.col("begin").shift(-1, fill_value=height) - pl.col("begin"))
    return found if found.sort(KEY, maintain_order=True).equals(found) and not found.select(KEY).is_duplicated().any() else None
