"""How does a spreadsheet, R or another program read a record?  As CSV (RFC 4180, UTF-8, header line) with a data dictionary: see `bundle`.

An empty cell is no value; an empty text is quoted.  Lists, such as the times of chunks, are JSON.  Numbers have all their digits.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import polars as pl

from fireassay.reports.exports.bundle import Table, bundle
from fireassay.reports.exports.export import Export, Exported, Subject

FORM: Final = {"format": "csv", "mediatype": "text/csv", "encoding": "utf-8", "dialect": {"delimiter": ",", "lineTerminator": "\n"}}
ROWS: Final = 2_000  # at a time


def files(subject: Subject) -> Exported:
    """The bundle."""
    return bundle(subject, ".csv", FORM, _written)


def _written(table: Table) -> Iterator[bytes]:
    header = True
    for frame in table.frames():
        for part in frame.iter_slices(ROWS) if frame.height else (frame,):
            yield part.with_columns(_texts(part)).write_csv(include_header=header).encode("utf-8", "replace")
            header = False


def _texts(frame: pl.DataFrame) -> list[pl.Expr]:
    """Its lists as JSON."""
    names = [name for name, kind in frame.schema.items() if isinstance(kind, pl.List)]
    joined = [pl.col(name).list.eval(pl.element().cast(pl.String)).list.join(",") for name in names]
    return [pl.format("[{}]", text).alias(name) for name, text in zip(names, joined, strict=True)]


EXPORT = Export(name="csv", title="CSV", summary="tables of values and raw data as CSV, with a data dictionary", files=files)
