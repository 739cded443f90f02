"""How is a record of an older format read?

Each migration turns format N into format N + 1; a record of format V is read through the migrations V, V + 1, ...
They convert the data read and never change the folder: a sealed record stays as it was sealed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fireassay.record.tables import FORMAT_VERSION

if TYPE_CHECKING:
    import pyarrow

Json = dict[str, Any]
ReadTable = Callable[[str], "pyarrow.Table | None"]  # a table by name, in the older format; None if it has no rows


def _same(content: Json) -> Json:
    return content


def _same_table(name: str, read: ReadTable) -> pyarrow.Table | None:
    return read(name)


def _with_times_inside(name: str, read: ReadTable) -> pyarrow.Table | None:
    """Requests with null in-process times before the first token, which older formats did not record."""
    import pyarrow as pa

    table = read(name)
    if name != "requests" or table is None:
        return table
    for column in ("tokenize_ns", "prefill_ns"):
        table = table.append_column(column, pa.nulls(table.num_rows, pa.int64()))
    return table


def _with_clusters(name: str, read: ReadTable) -> pyarrow.Table | None:
    """Examples with null clusters, which older formats did not record."""
    import pyarrow as pa

    table = read(name)
    if name not in ("examples", "arrivals") or table is None:
        return table
    return table.append_column("cluster", pa.nulls(table.num_rows, pa.string()))


def _with_uncertainties(name: str, read: ReadTable) -> pyarrow.Table | None:
    """Requests with null time uncertainties, which older formats did not record."""
    import pyarrow as pa

    table = read(name)
    if name != "requests" or table is None:
        return table
    unknown = pa.array([[]] * table.num_rows, pa.list_(pa.int64()))
    return table.append_column("chunk_uncertainty_ns", unknown)


def _with_judged(name: str, read: ReadTable) -> pyarrow.Table | None:
    """Answers that do not say how their programs ended, which older formats did not record."""
    import pyarrow as pa

    table = read(name)
    if name != "answers" or table is None:
        return table
    return table.append_column("judged", pa.nulls(table.num_rows, pa.string()))


@dataclass(frozen=True, kw_only=True)
class Migration:
    """One step to the next format version."""

    manifest: Callable[[Json], Json] = _same
    experiment: Callable[[Json], Json] = _same  # experiment.toml as parsed
    table: Callable[[str, ReadTable], pyarrow.Table | None] = _same_table


# format version -> the step to the next one
MIGRATIONS: dict[int, Migration] = {
    1: Migration(),  # 1 and 2 only add: tables and optional keys
    2: Migration(),
    3: Migration(table=_with_times_inside),
    4: Migration(),  # only adds tables
    5: Migration(table=_with_clusters),
    6: Migration(table=_with_uncertainties),
    7: Migration(),  # only adds tables and optional keys
    8: Migration(table=_with_judged),
}


def steps_from(version: int, migrations: Mapping[int, Migration] = MIGRATIONS) -> tuple[Migration, ...] | None:
    """The migrations from a format version to the current one, in order; None if one is missing."""
    needed = range(version, FORMAT_VERSION)
    if any(number not in migrations for number in needed):
        return None
    return tuple(migrations[number] for number in needed)
