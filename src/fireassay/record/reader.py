"""What does a record say?  Opens sealed and unfinished records alike and returns their tables.

A sealed record is read from its Parquet files, an unfinished one from its streams, each up to its first damaged byte.
Nothing in a record is ever executed or unpickled.  A record is untrusted: it is read only from plain files, never through a link
(`fireassay.record.untrusted.paths`), within a memory limit proportional to its files (`fireassay.record.untrusted.memory_bound`), and any defect
raises one RecordError.

How are the tables of a sealed record read, and why can one not be read?

How is a failure reported that a record's values cause in judging?
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from fireassay.errors import RecordError, SpecError
from fireassay.printable import shell_word
from fireassay.record import files, slices
from fireassay.record.arrow_schemas import arrow_schema
from fireassay.record.manifest import (
    MAX_MANIFEST,
    MAX_REASON_LENGTH,
    Migration,
    check_manifest,
    effective_state,
    has_seal,
    migrations_of,
    read_manifest,
)
from fireassay.record.slices import Slices
from fireassay.record.tables import TABLES
from fireassay.record.unsealed import launch_folders, launch_name, launches_named, losses, read_launch
from fireassay.record.untrusted import memory_bound, paths
from fireassay.record.untrusted import paths as inside
from fireassay.spec.experiment import Experiment
from fireassay.spec.plan import refuse_endless

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
            raise _unreadable(path, part, error) from error
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

    if not parts:
        return _without_rows(name).clone()
    schema = _polars_schema(name)
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
        raise _unreadable(path, part, error) from error
    if name and frame.schema != _polars_schema(name):
        raise _damaged(path, part, f"its columns are not those of the table {name}")
    return frame


def sliced(path: Path, parts: list[str], name: str) -> Slices | None:
    """The parts, read in slices; None if they cannot be: out of order, or damaged in a way that reading them whole names."""
    import polars as pl

    memory_bound.check_parts(path, parts, name)
    size = memory_bound.size_of(path, parts)
    scanned = pl.scan_parquet([path / part for part in parts], glob=False, hive_partitioning=False)

    def read(begin: int, rows: int, columns: Sequence[str]) -> pl.DataFrame:
        try:
            frame = scanned.select(columns).slice(begin, rows).collect()
        except (OSError, ValueError, MemoryError, pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
            raise _unreadable(path, parts[0], error) from error
        memory_bound.check_text(path, name, frame, size)
        refuse_gaps(path, name, frame.null_count().row(0, named=True))
        return frame

    try:
        if scanned.collect_schema() != _polars_schema(name):
            return None
        height = int(scanned.select(pl.len()).collect().item())
    except (OSError, ValueError, MemoryError, pl.exceptions.PolarsError, pl.exceptions.PanicException):
        return None
    runs = slices.runs_of(lambda begin, rows: read(begin, rows, slices.KEY), height)
    return None if runs is None else Slices(read=read, whole=lambda: read_frame(path, parts, name), runs=runs)


def _rows(sealed: Mapping[str, Any]) -> int:
    rows = sealed.get("rows")  # a stranger's manifest
    return rows if isinstance(rows, int) else 0


def refuse_gaps(path: Path, name: str, gaps: Mapping[str, int]) -> None:
    """Raise on nulls in required columns: counts based on them would silently skip rows."""
    for column in TABLES[name].columns:
        if not column.nullable and (count := gaps.get(column.name)):
            raise RecordError(
                f"{path} is damaged: the column {column.name} of its table {name} has no value in {count} rows. Restore it from a copy."
            )


@cache
def _without_rows(name: str) -> pl.DataFrame:
    """Made once: most tables of most records are empty."""
    import polars as pl

    return pl.DataFrame(schema=_polars_schema(name))


@cache
def _polars_schema(name: str) -> pl.Schema:
    import polars as pl

    empty = pl.from_arrow(arrow_schema(name).empty_table())
    assert isinstance(empty, pl.DataFrame)
    return empty.schema


def _missing(path: Path, part: str) -> RecordError:
    return RecordError(f"{path / part} is missing. Restore it from a copy of the record.")


def _unreadable(path: Path, part: str, error: BaseException) -> RecordError:
    """The system's own reason, which says nothing of the bytes; else they are damaged."""
    if isinstance(error, OSError) and error.errno in memory_bound.LACKS:
        return files.explain(error, path / part, "read")
    return _damaged(path, part, first_problem(Exception(str(error))))


def _damaged(path: Path, part: str, why: object) -> RecordError:
    return RecordError(f"{path / part} is damaged ({why}). `assay verify {shell_word(path)}` checks every file.")


# ---- tables of a sealed record ---------------------------------------------------------------------------------------


MAX_EXPERIMENT: Final = inside.MIB
MIGRATED: Final = ("answers", "arrivals", "examples", "requests")  # tables that a migration changes; the others are today's


@dataclass(frozen=True, kw_only=True)
class Record:
    """A record on disk."""

    path: Path
    manifest: Mapping[str, Any]
    experiment: Experiment
    state: str  # running | complete | interrupted | failed
    sealed: bool
    _migrations: tuple[Migration, ...] = field(default=(), repr=False)

    def table(self, name: str) -> pl.DataFrame:
        """One table in the schema of `fireassay.record.tables`, ordered; empty if nothing was written.

        Raises:
            RecordError: a sealed file is missing or damaged.
        """
        import polars as pl

        if self.sealed and not self._migrates(name):  # fast path for large records: no second copy in Arrow
            frame = read_frame(self.path, self._parts(name), name)
            refuse_gaps(self.path, name, frame.null_count().row(0, named=True))
            return frame
        loaded = pl.from_arrow(self.arrow(name))
        assert isinstance(loaded, pl.DataFrame)
        return loaded

    def slices(self, name: str) -> Slices | None:
        """A table that is too large to be held in memory; None: read it whole. Raises like `table`; so does reading a slice."""
        parts = self._parts(name) if self.sealed and not self._migrates(name) else []
        if sum(_rows(self.manifest["sealed"]["files"][part]) for part in parts) <= slices.KEPT_ROWS:
            return None
        return sliced(self.path, parts, name)

    def holds(self, name: str) -> bool:
        """True if a table has rows. Raises like `table`."""
        return bool(self._parts(name)) if self.sealed and not self._migrates(name) else self.arrow(name).num_rows > 0

    def _migrates(self, name: str) -> bool:
        return bool(self._migrations) and name in MIGRATED

    def arrow(self, name: str) -> pa.Table:
        """One table as Arrow, ordered. Raises like `table`."""
        read = self._read_sealed if self.sealed else self._read_streams
        for step in self._migrations:
            read = _migrated(step, read)
        table = read(name)
        schema = arrow_schema(name)
        if table is None:
            return schema.empty_table()
        refuse_gaps(self.path, name, dict(zip(table.column_names, (column.null_count for column in table.columns), strict=True)))
        try:
            return table.cast(schema) if table.schema != schema else table
        except (ValueError, TypeError, NotImplementedError) as error:  # base classes of Arrow's exceptions
            raise RecordError(
                f"{self.path} is damaged: the columns of its table {name} are not those that assay writes. Restore it from a copy."
            ) from error

    @cached_property
    def seal(self) -> str:
        """The seal: SHA-256 of manifest.json, which lists the digests of all other files; "" if not sealed.

        Records with equal seals are the same record; knowing the seal from a trusted source exposes a forgery.
        """
        return hashlib.sha256(inside.read(self.path, "manifest.json", most=MAX_MANIFEST)).hexdigest() if self.sealed else ""

    @cached_property
    def profiles(self) -> tuple[dict[str, Any], ...]:
        """The trace summaries of profiled launches, with launch numbers; a damaged one is marked as such."""
        return tuple(
            {"launch": launch, "ranks": [], "nsys": [], **_summary(self.path, f"traces/{launch_name(launch)}/summary.json")}
            for launch in sorted(launches_named(entry.parent.name for entry in (self.path / "traces").glob("launch=*/summary.json")))
        )

    @cached_property
    def salvaged(self) -> tuple[str, ...]:
        """Losses in the streams: one sentence per damaged or truncated stream."""
        if self.sealed:
            return tuple(self.manifest["sealed"].get("salvaged", ()))
        return tuple(note for launch in launch_folders(self.path) for note in losses(self.path, launch))

    def _read_sealed(self, name: str) -> pa.Table | None:
        parts = self._parts(name)
        return read_arrow(self.path, parts, name, todays=not self._migrates(name)) if parts else None

    def _parts(self, name: str) -> list[str]:
        """The table's sealed files, by launch."""
        return sorted(file for file in self.manifest["sealed"]["files"] if file.startswith(f"tables/{name}/"))

    def _read_streams(self, name: str) -> pa.Table | None:
        import pyarrow as pa

        launches = (read_launch(self.path, launch, name)[0] for launch in launch_folders(self.path))
        parts = [part for part in launches if part is not None]
        if has_seal(self.path):
            raise RecordError(f"{self.path} was sealed while it was being read. Read it again.")
        return pa.concat_tables(parts) if parts else None


def _summary(path: Path, file: str) -> dict[str, Any]:
    try:
        summary = paths.json_of(inside.read(path, file, MAX_MANIFEST))
    except (OSError, ValueError, RecordError) as error:
        return {"absent": f"summary.json cannot be read: {error}"}
    return summary if isinstance(summary, dict) else {"absent": "summary.json holds no object"}


def open_record(path: Path) -> Record:
    """Open a record folder. Raises RecordError: the folder is missing, empty, foreign, damaged or of a newer format."""
    manifest = read_manifest(path)
    migrations = migrations_of(path, manifest)
    for step in migrations:
        manifest = step.manifest(manifest)
    check_manifest(path, manifest)
    sealed = has_seal(path)
    return Record(
        path=path,
        manifest=manifest,
        experiment=_read_experiment(path, manifest, migrations),
        state=effective_state(path, manifest, sealed),
        sealed=sealed,
        _migrations=migrations,
    )


def _migrated(step: Migration, read: Any) -> Any:
    return lambda name: step.table(name, read)


def _read_experiment(path: Path, manifest: Mapping[str, Any], migrations: tuple[Migration, ...]) -> Experiment:
    file = path / "experiment.toml"
    try:
        content = paths.toml_of(inside.read(path, file.name, MAX_EXPERIMENT))
        for step in migrations:
            content = step.experiment(content)
        for key in manifest.get("nulls") or ():
            _set_null(content, str(key).split("."))
        experiment = Experiment.model_validate(content)
        refuse_endless(experiment)
        return experiment
    except OSError as error:
        raise files.explain(error, file, "read") from error
    except (ValueError, TypeError, AttributeError, RecursionError, SpecError) as error:
        raise RecordError(
            f"{file} is damaged: {first_problem(error)}. `assay verify {shell_word(path)}` tells which files were changed."
        ) from error


def _set_null(content: dict[str, Any], keys: list[str]) -> None:
    """Set keys to None: TOML has no null, so the manifest names the keys that are null against a non-null default."""
    for key in keys[:-1]:
        content = content.setdefault(key, {})
    content[keys[-1]] = None


# ---- failures that a record's values cause in judging ----------------------------------------------------------------


@contextmanager
def judged_from(path: Path) -> Iterator[None]:
    """Turn errors that a record's values cause in judging into one sentence, so that other records are still judged.

    A reader cannot foresee every value that breaks a metric; the message gives the location, since assay itself may be wrong.

    Raises:
        RecordError: the record cannot be judged.
    """
    try:
        yield
    except _STUMBLES as error:
        raise _unjudged(path, error) from error
    except BaseException as error:
        if type(error).__module__.startswith(("polars", "pyarrow", "pyo3_runtime")):  # by name: importing the packages costs time
            raise _unjudged(path, error) from error
        raise


_STUMBLES: Final = (ArithmeticError, AssertionError, AttributeError, LookupError, MemoryError, RecursionError, TypeError, ValueError)


def _unjudged(path: Path, error: BaseException) -> RecordError:
    import traceback

    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if f"{os.sep}fireassay{os.sep}" in frame.filename]
    where = f" at {Path(frames[-1].filename).stem}:{frames[-1].lineno}" if frames else ""
    why = " ".join(str(error)[:MAX_REASON_LENGTH].split())
    return RecordError(
        f"{path} cannot be judged: it holds a value that assay does not write ({type(error).__name__}{where}: {why}). "
        f"If `assay verify {shell_word(path)}` finds it unchanged, please report this line as a defect."
    )
