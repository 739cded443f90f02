"""What is readable of an unsealed record's streams, each up to its first damaged byte?"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fireassay.record import files
from fireassay.record.tables import TABLES
from fireassay.record.untrusted import memory_bound
from fireassay.record.untrusted import paths as inside

if TYPE_CHECKING:
    import pyarrow as pa


def launch_folders(path: Path) -> list[int]:
    """The numbers of the launches that have streams.

    Raises:
        OSError: the folder cannot be listed. (`glob` would hide this, and sealing would lose the launch.)
    """
    try:
        names = [entry.name for entry in (path / "streams").iterdir()]
    except FileNotFoundError:
        return []
    return sorted(launches_named(names))


def launches_named(names: Iterable[str]) -> Iterator[int]:
    """Launch numbers from folder names as `launch_name` makes them."""
    for name in names:
        digits = name.removeprefix("launch=")
        if digits.isascii() and digits.isdecimal() and len(digits) < 10 and launch_name(int(digits)) == f"launch={digits}":
            yield int(digits)


def launch_name(number: int) -> str:
    return f"launch={number:04d}"


def read_launch(path: Path, launch: int, name: str) -> tuple[pa.Table | None, tuple[str, ...]]:
    """One table of one unfinished launch, ordered, and its losses; None if it has no rows."""
    import pyarrow as pa

    batches: list[pa.RecordBatch] = []
    notes: list[str] = []
    for file, salvaged in _salvage(path, launch, name):
        if salvaged.batches and batches and salvaged.schema != batches[0].schema:
            notes.append(other_columns(path, file, name))
            continue
        batches += salvaged.batches
        notes += _loss(path, file, salvaged)
    if not batches:
        return None, tuple(notes)
    table = pa.Table.from_batches(batches)
    order = [(column, "ascending") for column in TABLES[name].order if column in table.column_names] if name in TABLES else []
    return table.sort_by(order) if order else table, tuple(notes)


def _salvage(path: Path, launch: int, name: str) -> Iterator[tuple[Path, Any]]:
    from fireassay.record.streams import read_stream

    files_of_it = stream_files(path, launch, name)
    try:
        for file in files_of_it:
            inside.plain(path, file.relative_to(path).as_posix())
            memory_bound.check_stream(file)
            yield file, read_stream(file)
    except OSError as error:
        raise files.explain(error, path / "streams" / launch_name(launch), "read") from error


def stream_files(path: Path, launch: int, name: str) -> list[Path]:
    """The streams of one table of an unfinished launch, sorted by name. Raises RecordError: the launch's folder cannot be listed."""
    folder = path / "streams" / launch_name(launch)
    try:
        return sorted(file for file in folder.iterdir() if file.name.startswith(f"{name}.") and file.suffix == ".arrows")
    except OSError as error:
        raise files.explain(error, folder, "read") from error


def other_columns(path: Path, file: Path, name: str) -> str:
    """A sentence about a stream with foreign columns."""
    return f"{file.relative_to(path)}: its columns are not those of the table {name}; not read"


def cut_off(path: Path, file: Path, lost_bytes: int, rows: int) -> str:
    """A sentence about a stream whose end is unreadable."""
    return f"{file.relative_to(path)}: the last {lost_bytes} bytes are cut off or damaged; {rows} rows were kept"


def _loss(path: Path, file: Path, salvaged: Any) -> list[str]:
    return [cut_off(path, file, salvaged.lost_bytes, salvaged.rows)] if salvaged.lost_bytes else []


def losses(path: Path, launch: int) -> Iterator[str]:
    for name in TABLES:
        yield from read_launch(path, launch, name)[1]
