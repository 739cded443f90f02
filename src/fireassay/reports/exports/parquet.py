"""How do pandas, Polars, DuckDB or Spark read a record?  As Parquet with a data dictionary: see `bundle`.

The description and the unit of each column, the record's digest and its verdict are in every file's own metadata too (keys of the file
and of its fields), since a Parquet file is often moved alone.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Final

import polars as pl

from fireassay.reports.exports.bundle import Table, bundle
from fireassay.reports.exports.export import Export, Exported, Subject

FORM: Final = {"format": "parquet", "mediatype": "application/vnd.apache.parquet"}


def files(subject: Subject, change: Callable[[Table], Table] = lambda table: table) -> Exported:
    """The bundle, each table changed before it is written."""
    head = subject.head
    own = {
        "fireassay.record": head.record,
        "fireassay.digest": head.digest,
        "fireassay.status": head.status,
        "fireassay.standing": head.standing,
    }
    return bundle(subject, ".parquet", FORM, lambda table: _written(change(table), own))


class _Pieces:
    """A file that hands on what is written to it, and keeps nothing."""

    closed = False

    def __init__(self) -> None:
        self.held: list[bytes] = []
        self.at = 0

    def write(self, data: bytes) -> int:
        self.held.append(bytes(data))
        self.at += len(data)
        return len(data)

    def tell(self) -> int:
        return self.at

    def flush(self) -> None: ...

    def close(self) -> None: ...

    def taken(self) -> bytes:
        """What was written since the last time."""
        data = b"".join(self.held)
        self.held.clear()
        return data


def _written(table: Table, own: dict[str, str]) -> Iterator[bytes]:
    import pyarrow as pa  # deferred: Polars writes no metadata of fields
    import pyarrow.parquet as pq

    out, frames = _Pieces(), (frame.to_arrow(compat_level=pl.CompatLevel.oldest()) for frame in table.frames())
    first = next(frames)  # there is at least one
    about = {column["name"]: {key: column[key] for key in ("description", "unit") if key in column} for column in table.columns}
    schema = pa.schema([field.with_metadata(about[field.name]) for field in first.schema], own)
    with pq.ParquetWriter(out, schema, compression="zstd") as writer:
        for part in itertools.chain((first,), frames):
            writer.write_table(part.cast(schema))
            yield out.taken()
    yield out.taken()


EXPORT = Export(name="parquet", title="Parquet", summary="tables of values and raw data as Parquet, with a data dictionary", files=files)
