"""How are the tables of a sealed record read, and why can one not be read?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from fireassay.errors import RecordError, SpecError
from fireassay.printable import shell_word
from fireassay.record.manifest import MAX_REASON_LENGTH
from fireassay.record.tables import TABLES, arrow_schema
from fireassay.record.untrusted import memory_bound

if TYPE_CHECKING:
    import polars as pl
    import pyarrow as pa


def first_problem(error: Exception) -> str:
    """The first problem in one line: a document may hold a million wrong keys."""
    text = str(error.problems[0]) if isinstance(error, SpecError) and error.problems else str(error)
    line = " ".join(text[:2000].split()).rstrip(".")
    return line if len(line) <= MAX_REASON_LENGTH else f"{line[:MAX_REASON_LENGTH]} ..."


def read_arrow(path: Path, parts: list[str], name: str, *, todays: bool) -> pa.Table:
    """The parts as Arrow, without Polars, whose import takes longer than reading a small table; `todays`: require the current schema."""
    import pyarrow as pa

    memory_bound.check_parts(path, parts, name)
    tables: list[pa.Table] = []
    texts = 0
    for part in parts:
        try:
            table, long = memory_bound.read_whole(path / part, most=memory_bound.allowed(memory_bound.size_of(path, parts)) - texts)
        except FileNotFoundError:
            raise _missing(path, part) from None
        except (OSError, pa.ArrowException, ValueError, MemoryError, NotImplementedError) as error:
            raise _damaged(path, part, first_problem(Exception(str(error)))) from error
        if table is None:
            raise memory_bound.too_large(path, name, texts + long, memory_bound.size_of(path, parts))
        target = arrow_schema(name) if todays else tables[0].schema if tables else table.schema
        if [(field.name, field.type) for field in table.schema] != [(field.name, field.type) for field in target]:
            raise _damaged(path, part, f"its columns are not those of the table {name}")
        texts += long
        tables.append(table)
    return pa.concat_tables(tables)


def read_frame(path: Path, parts: list[str], name: str) -> pl.DataFrame:
    """All parts in one read, a third of the time; on failure one by one, to name the bad part."""
    import polars as pl

    schema = _polars_schema(name)
    if not parts:
        return pl.DataFrame(schema=schema)
    memory_bound.check_parts(path, parts, name)
    frame = _read_at_once([path / part for part in parts])
    if frame is None or frame.schema != schema:
        frame = pl.concat([_read_part(path, part, name) for part in parts])
    memory_bound.check_text(path, name, frame, memory_bound.size_of(path, parts))
    return frame


def _read_at_once(parts: Sequence[Path]) -> pl.DataFrame | None:
    import polars as pl

    try:
        return pl.read_parquet(list(parts), glob=False, hive_partitioning=False)
    except (OSError, ValueError, MemoryError, pl.exceptions.PolarsError, pl.exceptions.PanicException):
        return None


def _read_part(path: Path, part: str, name: str = "") -> pl.DataFrame:
    import polars as pl

    try:
        frame = pl.read_parquet(path / part, glob=False, hive_partitioning=False)
    except FileNotFoundError:
        raise _missing(path, part) from None
    except (OSError, ValueError, MemoryError, pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        raise _damaged(path, part, first_problem(Exception(str(error)))) from error
    if name and frame.schema != _polars_schema(name):
        raise _damaged(path, part, f"its columns are not those of the table {name}")
    return frame


def refuse_gaps(path: Path, name: str, gaps: Mapping[str, int]) -> None:
    """Raise on nulls in required columns: counts based on them would silently skip rows."""
    for column in TABLES[name].columns:
        if not column.nullable and (count := gaps.get(column.name)):
            raise RecordError(
                f"{path} is damaged: the column {column.name} of its table {name} has no value in {count} rows. Restore it from a copy."
            )


@cache
def _polars_schema(name: str) -> pl.Schema:
    import polars as pl

    empty = pl.from_arrow(arrow_schema(name).empty_table())
    assert isinstance(empty, pl.DataFrame)
    return empty.schema


def _missing(path: Path, part: str) -> RecordError:
    return RecordError(f"{path / part} is missing. Restore it from a copy of the record.")


def _damaged(path: Path, part: str, why: object) -> RecordError:
    return RecordError(f"{path / part} is damaged ({why}). `assay verify {shell_word(path)}` checks every file.")
