"""What does a record say?  Opens sealed and unfinished records alike and hands out their tables.

A sealed record is read from its Parquet files, an unfinished one from its streams, each up to its first damaged byte.
Nothing in a record is ever executed or unpickled.  A record may come from anybody: it is read through no link, from plain files alone
(`assay.record.untrusted.paths`), as far as memory in proportion to its files allows (`assay.record.untrusted.memory_bound`), and whatever
is wrong with it is one RecordError.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from assay import __version__
from assay.errors import RecordError, SpecError
from assay.printable import printable
from assay.record import coordinator, files
from assay.record.migrations import Migration, steps_from
from assay.record.tables import FORMAT_VERSION, TABLES, arrow_schema
from assay.record.untrusted import memory_bound, strict_json
from assay.record.untrusted import paths as inside
from assay.spec.experiment import Experiment
from assay.spec.plan import refuse_endless

if TYPE_CHECKING:
    import polars as pl
    import pyarrow as pa

STATES = ("running", "complete", "interrupted", "failed")
MOST_MANIFEST: Final = 24 * inside.MIB  # 20 times as much in memory, at most; 100,000 files under the seal
MOST_EXPERIMENT: Final = inside.MIB
LONGEST_REASON: Final = 300


@contextmanager
def judged_from(path: Path) -> Iterator[None]:
    """Around the judging of a record: whatever its values bring down is told in one sentence, so that no other record suffers.

    A reader cannot know every value that a metric stumbles over; where it stumbled is said, for it may be assay that is wrong.

    Raises:
        RecordError: it cannot be judged.
    """
    try:
        yield
    except _STUMBLES as error:
        raise _unjudged(path, error) from error
    except BaseException as error:
        if type(error).__module__.startswith(("polars", "pyarrow", "pyo3_runtime")):  # not imported only to name their errors
            raise _unjudged(path, error) from error
        raise


_STUMBLES: Final = (ArithmeticError, AssertionError, AttributeError, LookupError, MemoryError, RecursionError, TypeError, ValueError)


def _unjudged(path: Path, error: BaseException) -> RecordError:
    import traceback

    own = [frame for frame in traceback.extract_tb(error.__traceback__) if f"{os.sep}assay{os.sep}" in frame.filename]
    where = f" at {Path(own[-1].filename).stem}:{own[-1].lineno}" if own else ""
    why = " ".join(str(error)[:LONGEST_REASON].split())
    return RecordError(
        f"{path} cannot be judged: it holds a value that assay does not write ({type(error).__name__}{where}: {why}). "
        f"If `assay verify {path}` finds it as it was made, please report this line as a defect."
    )


@dataclass(frozen=True, kw_only=True)
class Record:
    """A record as found on the disk."""

    path: Path
    manifest: Mapping[str, Any]
    experiment: Experiment
    state: str  # running | complete | interrupted | failed
    sealed: bool
    _migrations: tuple[Migration, ...] = field(default=(), repr=False)

    def table(self, name: str) -> pl.DataFrame:
        """One table in the schema of `assay.record.tables`, ordered; without rows if nothing was written.

        Raises:
            RecordError: a sealed file is missing or damaged.
        """
        import polars as pl

        if self.sealed and not self._migrations:  # the shorter way for a large record: no second copy in Arrow
            frame = _read_frame(self.path, self._parts(name), name)
            _refuse_gaps(self.path, name, frame.null_count().row(0, named=True))
            return frame
        made = pl.from_arrow(self.arrow(name))
        assert isinstance(made, pl.DataFrame)
        return made

    def arrow(self, name: str) -> pa.Table:
        """One table as Arrow, ordered. Raises like `table`."""
        read = self._read_sealed if self.sealed else self._read_streams
        for step in self._migrations:
            read = _migrated(step, read)
        found = read(name)
        schema = arrow_schema(name)
        if found is None:
            return schema.empty_table()
        _refuse_gaps(self.path, name, dict(zip(found.column_names, (one.null_count for one in found.columns), strict=True)))
        try:
            return found.cast(schema) if found.schema != schema else found
        except (ValueError, TypeError, NotImplementedError) as error:  # Arrow's own are among them
            raise RecordError(f"{self.path} is damaged: the columns of its table {name} are not those that assay writes.") from error

    @cached_property
    def seal(self) -> str:
        """What the seal is: the SHA-256 of manifest.json, which lists the digests of all other files; "" if not sealed.

        Two records with one seal are the same record; whoever knows it from elsewhere can tell a forged one.
        """
        return hashlib.sha256(inside.read(self.path, "manifest.json", most=MOST_MANIFEST)).hexdigest() if self.sealed else ""

    @cached_property
    def profiles(self) -> tuple[dict[str, Any], ...]:
        """What the traces of profiled launches say, with the number of their launch; of one that is damaged, that it is."""
        return tuple(
            {"launch": launch, "ranks": [], "nsys": [], **_summary(self.path, f"traces/{launch_name(launch)}/summary.json")}
            for launch in _traced(self.path)
        )

    @cached_property
    def salvaged(self) -> tuple[str, ...]:
        """What could not be read of the streams: one sentence per damaged or cut-off stream."""
        if self.sealed:
            return tuple(self.manifest["sealed"].get("salvaged", ()))
        return tuple(note for launch in launch_folders(self.path) for note in _notes(self.path, launch))

    def _read_sealed(self, name: str) -> pa.Table | None:
        parts = self._parts(name)
        return _read_arrow(self.path, parts, name, todays=not self._migrations) if parts else None

    def _parts(self, name: str) -> list[str]:
        """The table's sealed files, by launch."""
        return sorted(file for file in self.manifest["sealed"]["files"] if file.startswith(f"tables/{name}/"))

    def _read_streams(self, name: str) -> pa.Table | None:
        import pyarrow as pa

        launches = (read_launch(self.path, launch, name)[0] for launch in launch_folders(self.path))
        parts = [part for part in launches if part is not None]
        if _has_seal(self.path):
            raise RecordError(f"{self.path} was sealed while it was being read. Read it again.")
        return pa.concat_tables(parts) if parts else None


def _traced(path: Path) -> list[int]:
    """The launches that left a summary of their traces."""
    return sorted(_numbers(entry.parent.name for entry in (path / "traces").glob("launch=*/summary.json")))


def _summary(path: Path, file: str) -> dict[str, Any]:
    try:
        found = strict_json.json_of(inside.read(path, file, MOST_MANIFEST))
    except (OSError, ValueError, RecordError) as error:
        return {"absent": f"summary.json cannot be read: {error}"}
    return found if isinstance(found, dict) else {"absent": "summary.json holds no object"}


def open_record(path: Path) -> Record:
    """Open a record folder.

    Raises:
        RecordError: the folder is missing, empty, foreign, damaged or of a newer format.
    """
    manifest = read_manifest(path)
    migrations = _migrations(path, manifest)
    for step in migrations:
        manifest = step.manifest(manifest)
    _check_manifest(path, manifest)
    sealed = _has_seal(path)
    return Record(
        path=path,
        manifest=manifest,
        experiment=_read_experiment(path, manifest, migrations),
        state=effective_state(path, manifest, sealed),
        sealed=sealed,
        _migrations=migrations,
    )


def resolve(text: str, root: Path) -> Path:
    """The record folder that a user means: a path, a name or an id below `root`, a unique beginning of a name, or `latest`.

    Raises:
        RecordError: nothing or more than one thing fits.
    """
    if Path(text).is_dir() or "/" in text:
        return Path(text)
    names = [folder.name for folder in record_folders(root)]
    if text == "latest":
        if not names:
            raise RecordError(f"there is no record in {root}. `assay run` makes one; give the record's path if it is elsewhere.")
        return _newest([root / name for name in names])
    fitting = [name for name in names if name == text or name.endswith(f"-{text}")] or [name for name in names if name.startswith(text)]
    if len(fitting) == 1:
        return root / fitting[0]
    if fitting:
        raise RecordError(f"{len(fitting)} records in {root} begin with {text!r}: {', '.join(fitting)}. Write more of the name.")
    raise RecordError(f"no record in {root} has the name or id {text!r} or a name that begins so. `assay list` shows those that exist.")


def _newest(paths: Sequence[Path]) -> Path:
    """The record that was made last; one that cannot be opened hides no other, and is named on standard error."""
    trouble: list[str] = []
    for path in sorted(paths, key=_created, reverse=True):
        try:
            open_record(path)
        except RecordError as error:
            trouble.append(str(error))
            continue
        for sentence in trouble:
            print(f"assay: not the latest: {printable(sentence)}", file=sys.stderr)
        return path
    raise RecordError(trouble[0])


def record_folders(root: Path) -> list[Path]:
    """The folders directly below `root` that hold a manifest, by name."""
    try:
        return sorted(folder for folder in root.iterdir() if os.path.lexists(folder / "manifest.json"))
    except FileNotFoundError:
        return []
    except OSError as error:
        raise files.explain(error, root, "look for records in") from error


def read_manifest(path: Path) -> dict[str, Any]:
    """The manifest as written, whatever its format version.

    Raises:
        RecordError: there is none, or it is not one of assay's.
    """
    try:
        return _parse_manifest(path)
    except (OSError, ValueError) as error:  # a path with a NUL is a ValueError
        raise files.explain(error if isinstance(error, OSError) else OSError(0, str(error)), path, "read") from error


def _parse_manifest(path: Path) -> dict[str, Any]:
    if not path.exists():
        raise RecordError(f"{path} does not exist. `assay list` shows the records that exist.")
    if not path.is_dir():
        raise RecordError(f"{path} is a file, not a record folder. Give the folder that holds manifest.json.")
    file = path / "manifest.json"
    try:
        manifest = strict_json.json_of(inside.read(path, file.name, MOST_MANIFEST))
    except FileNotFoundError:
        what = "has no manifest.json" if any(path.iterdir()) else "is empty"
        raise RecordError(f"{path} is not a record of assay: it {what}. Give the folder that `assay run` printed.") from None
    except OSError as error:
        raise files.explain(error, file, "read") from error
    except ValueError as error:
        raise RecordError(f"{file} is damaged or foreign: it is not JSON ({error}). Restore the file from a copy.") from error
    if not isinstance(manifest, dict) or type(manifest.get("format_version")) is not int:
        raise RecordError(f"{path} is not a record of assay: its manifest.json names no format_version.")
    return manifest


def effective_state(path: Path, manifest: Mapping[str, Any], sealed: bool) -> str:
    """What became of the record: without a seal it is running while its coordinator lives, else interrupted."""
    if sealed:
        return str(manifest["state"])
    if manifest["state"] != "interrupted" and coordinator.is_alive(manifest["coordinator"], path):
        return "running"
    return "interrupted"


def launch_folders(path: Path) -> list[int]:
    """The numbers of the launches that have streams.

    Raises:
        OSError: the folder cannot be listed. (`glob` would hide that, and sealing would then lose the launch.)
    """
    try:
        names = [entry.name for entry in (path / "streams").iterdir()]
    except FileNotFoundError:
        return []
    return sorted(_numbers(names))


def _numbers(names: Iterable[str]) -> Iterator[int]:
    """Launches by the names of their folders, as `launch_name` makes them."""
    for name in names:
        digits = name.removeprefix("launch=")
        if digits.isascii() and digits.isdecimal() and len(digits) < 10 and launch_name(int(digits)) == f"launch={digits}":
            yield int(digits)


def launch_name(number: int) -> str:
    """The name of a launch's folder."""
    return f"launch={number:04d}"


def read_launch(path: Path, launch: int, name: str) -> tuple[pa.Table | None, tuple[str, ...]]:
    """One table of one unfinished launch, ordered, and what was lost of it; None if it has no rows."""
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
    from assay.record.salvage import read_stream

    files_of_it = stream_files(path, launch, name)
    try:
        for file in files_of_it:
            inside.plain(path, file.relative_to(path).as_posix())
            memory_bound.check_stream(file)
            yield file, read_stream(file)
    except OSError as error:
        raise files.explain(error, path / "streams" / launch_name(launch), "read") from error


def stream_files(path: Path, launch: int, name: str) -> list[Path]:
    """The streams of one table of an unfinished launch, by name.

    Raises:
        RecordError: the launch's folder cannot be listed.
    """
    folder = path / "streams" / launch_name(launch)
    try:
        return sorted(file for file in folder.iterdir() if file.name.startswith(f"{name}.") and file.suffix == ".arrows")
    except OSError as error:
        raise files.explain(error, folder, "read") from error


def other_columns(path: Path, file: Path, name: str) -> str:
    """A sentence about a stream that holds something else."""
    return f"{file.relative_to(path)}: its columns are not those of the table {name}; not read"


def cut_off(path: Path, file: Path, lost_bytes: int, rows: int) -> str:
    """A sentence about a stream whose end cannot be read."""
    return f"{file.relative_to(path)}: the last {lost_bytes} bytes are cut off or damaged; {rows} rows were kept"


def _loss(path: Path, file: Path, salvaged: Any) -> list[str]:
    return [cut_off(path, file, salvaged.lost_bytes, salvaged.rows)] if salvaged.lost_bytes else []


def _notes(path: Path, launch: int) -> Iterator[str]:
    for name in TABLES:
        yield from read_launch(path, launch, name)[1]


def _migrated(step: Migration, read: Any) -> Any:
    return lambda name: step.table(name, read)


def _migrations(path: Path, manifest: Mapping[str, Any]) -> tuple[Migration, ...]:
    version = manifest["format_version"]
    if version > FORMAT_VERSION:
        raise RecordError(
            f"{path} is of record format {version}; this assay ({__version__}) reads formats up to {FORMAT_VERSION}. "
            f"Open it with the assay that wrote it ({manifest.get('assay_version')}) or a newer one."
        )
    found = steps_from(version)
    if found is None:
        raise RecordError(f"{path} is of record format {version}, which assay {__version__} cannot read.")
    return found


def _check_manifest(path: Path, manifest: Mapping[str, Any]) -> None:
    wrong = [key for key, kind in _KINDS.items() if not isinstance(manifest.get(key), kind)]
    wrong += [key for key, kind in _OPTIONAL.items() if not isinstance(manifest.get(key), kind | None)]
    if manifest.get("state") not in STATES:
        wrong.append("state")
    if "coordinator" not in wrong and not _is_process(manifest["coordinator"]):
        wrong.append("coordinator")
    sealed = _has_seal(path)
    if not sealed and (path / "tables").exists() and not (path / "streams").exists():
        raise RecordError(f"{path / 'SEAL'} is missing, and without it the record cannot be trusted. Restore it from a copy.")
    if sealed and "sealed" not in wrong and not _stays_inside((manifest.get("sealed") or {}).get("files")):
        wrong.append("sealed.files")
    if wrong:
        raise RecordError(f"{path / 'manifest.json'} is damaged: {', '.join(dict.fromkeys(wrong))} is missing or of the wrong kind.")


_KINDS: Final[Mapping[str, type]] = {"id": str, "name": str, "created_utc": str, "state": str, "coordinator": dict}
_OPTIONAL: Final[Mapping[str, type]] = {
    "assay_version": str,
    "reason": str,
    "plan_signature": str,
    "environment": dict,
    "session": dict,
    "looks": list,
    "looks_ended": str,
    "simulated": dict,
    "foreign": dict,
    "schedules": dict,
    "sentinel": dict,
    "nulls": list,
    "sealed": dict,
}


def _is_process(told: Mapping[str, Any]) -> bool:
    pid, created = told.get("pid"), told.get("create_time")
    known = type(pid) is int and 0 < pid < 1 << 31 and type(created) in (int, float) and isinstance(told.get("host"), str)
    return known and isinstance(told.get("boot_id"), str | None)


def _stays_inside(names: Any) -> bool:
    """Whether these are files below the record, with what the seal says of each."""
    return isinstance(names, dict) and all(isinstance(told, dict) and not inside.problem_of_name(name) for name, told in names.items())


def _has_seal(path: Path) -> bool:
    """Whether there is a seal, which is a plain file. Raises RecordError where it is something else."""
    try:
        inside.plain(path, "SEAL")
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        raise files.explain(error, path / "SEAL", "read") from error
    return True


def _read_experiment(path: Path, manifest: Mapping[str, Any], migrations: tuple[Migration, ...]) -> Experiment:
    file = path / "experiment.toml"
    try:
        content = strict_json.toml_of(inside.read(path, file.name, MOST_EXPERIMENT))
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
        raise RecordError(f"{file} is damaged: {_short(error)}. `assay verify {path}` tells which files were changed.") from error


def _short(error: Exception) -> str:
    """The first of what is wrong, in one line: a document may hold a million wrong keys."""
    text = str(error.problems[0]) if isinstance(error, SpecError) and error.problems else str(error)
    line = " ".join(text[:2000].split()).rstrip(".")
    return line if len(line) <= LONGEST_REASON else f"{line[:LONGEST_REASON]} ..."


def _set_null(content: dict[str, Any], keys: list[str]) -> None:
    """TOML has no null: the manifest names the keys that were set to nothing although their default is something."""
    for key in keys[:-1]:
        content = content.setdefault(key, {})
    content[keys[-1]] = None


def _read_arrow(path: Path, parts: list[str], name: str, *, todays: bool) -> pa.Table:
    """The parts in Arrow, without Polars, which takes longer to load than a small table to read; `todays`: its columns must be today's."""
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
            raise _damaged(path, part, _short(Exception(str(error)))) from error
        if table is None:
            raise memory_bound.too_large(path, name, texts + long, memory_bound.size_of(path, parts))
        wanted = arrow_schema(name) if todays else tables[0].schema if tables else table.schema
        if [(one.name, one.type) for one in table.schema] != [(one.name, one.type) for one in wanted]:
            raise _damaged(path, part, f"its columns are not those of the table {name}")
        texts += long
        tables.append(table)
    return pa.concat_tables(tables)


def _read_frame(path: Path, parts: list[str], name: str) -> pl.DataFrame:
    """All parts at once, which takes a third of the time; one by one where something is wrong, to say which it is."""
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
        raise _damaged(path, part, _short(Exception(str(error)))) from error
    if name and frame.schema != _polars_schema(name):
        raise _damaged(path, part, f"its columns are not those of the table {name}")
    return frame


def _refuse_gaps(path: Path, name: str, gaps: Mapping[str, int]) -> None:
    """A value that must be there is: what counts rows by it would pass over one that is not."""
    for column in TABLES[name].columns:
        if not column.nullable and (count := gaps.get(column.name)):
            raise RecordError(f"{path} is damaged: the column {column.name} of its table {name} has no value in {count} rows.")


@cache
def _polars_schema(name: str) -> pl.Schema:
    import polars as pl

    empty = pl.from_arrow(arrow_schema(name).empty_table())
    assert isinstance(empty, pl.DataFrame)
    return empty.schema


def _missing(path: Path, part: str) -> RecordError:
    return RecordError(f"{path / part} is missing. Restore it from a copy of the record.")


def _damaged(path: Path, part: str, why: object) -> RecordError:
    return RecordError(f"{path / part} is damaged ({why}). `assay verify {path}` checks every file.")


def _created(path: Path) -> tuple[str, int, str]:
    """When it was made; of two in the same second, when its experiment was written."""
    written = 0
    with suppress(OSError):
        written = (path / "experiment.toml").lstat().st_mtime_ns
    try:
        return str(read_manifest(path).get("created_utc", "")), written, path.name
    except RecordError:
        return "", written, path.name
