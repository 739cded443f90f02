"""What does a record say?  Opens sealed and unfinished records alike and hands out their tables.

A sealed record is read from its Parquet files, an unfinished one from its streams, each up to its first damaged byte.
Nothing in a record is ever executed or unpickled.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay import __version__
from assay.errors import RecordError, SpecError
from assay.record import coordinator, files
from assay.record.migrations import Migration, steps_from
from assay.record.tables import FORMAT_VERSION, TABLES, arrow_schema
from assay.spec.experiment import Experiment

if TYPE_CHECKING:
    import polars as pl
    import pyarrow as pa

STATES = ("running", "complete", "interrupted", "failed")


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
            return _read_frame(self.path, self._parts(name), name)
        frame = pl.from_arrow(self.arrow(name))
        assert isinstance(frame, pl.DataFrame)
        return frame

    def arrow(self, name: str) -> pa.Table:
        """One table as Arrow, ordered. Raises like `table`."""
        read = self._read_sealed if self.sealed else self._read_streams
        for step in self._migrations:
            read = _migrated(step, read)
        found = read(name)
        schema = arrow_schema(name)
        if found is None:
            return schema.empty_table()
        return found.cast(schema) if found.schema != schema else found

    @cached_property
    def profiles(self) -> tuple[dict[str, Any], ...]:
        """What the traces of profiled launches say, with the number of their launch; of one that is damaged, that it is."""
        return tuple(
            {
                "launch": launch,
                "ranks": [],
                "nsys": [],
                **_summary(self.path / "traces" / launch_name(launch) / "summary.json"),
            }
            for launch in _traced(self.path)
        )

    @cached_property
    def salvaged(self) -> tuple[str, ...]:
        """What could not be read of the streams: one sentence per damaged or cut-off stream."""
        if self.sealed:
            return tuple(self.manifest["sealed"].get("salvaged", ()))
        return tuple(note for launch in launch_folders(self.path) for note in _notes(self.path, launch))

    def _read_sealed(self, name: str) -> pa.Table | None:
        import pyarrow as pa

        parts = [_read_parquet(self.path, file) for file in self._parts(name)]
        return pa.concat_tables(parts) if parts else None

    def _parts(self, name: str) -> list[str]:
        """The table's sealed files, by launch. A link is refused: what it leads to is outside of the seal."""
        parts = sorted(file for file in self.manifest["sealed"]["files"] if file.startswith(f"tables/{name}/"))
        home = self.path.resolve()
        for part in parts:
            if (self.path / part).resolve() != home / part:
                raise _damaged(self.path, part, "it is a link, which a sealed record never holds")
        return parts

    def _read_streams(self, name: str) -> pa.Table | None:
        import pyarrow as pa

        launches = (read_launch(self.path, launch, name)[0] for launch in launch_folders(self.path))
        parts = [part for part in launches if part is not None]
        if (self.path / "SEAL").exists():
            raise RecordError(f"{self.path} was sealed while it was being read. Read it again.")
        return pa.concat_tables(parts) if parts else None


def _traced(path: Path) -> list[int]:
    """The launches that left a summary of their traces."""
    names = [entry.parent.name for entry in (path / "traces").glob("launch=*/summary.json")]
    return sorted(int(name.removeprefix("launch=")) for name in names if name.removeprefix("launch=").isdecimal())


def _summary(file: Path) -> dict[str, Any]:
    try:
        found = json.loads(file.read_bytes())
    except (OSError, ValueError) as error:
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
    sealed = (path / "SEAL").exists()
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
            raise RecordError(
                f"there is no record in {root}. `assay run` makes one; give the record's path if it is elsewhere."
            )
        return root / max(names, key=lambda name: _created(root / name))
    fitting = [name for name in names if name == text or name.endswith(f"-{text}")] or [
        name for name in names if name.startswith(text)
    ]
    if len(fitting) == 1:
        return root / fitting[0]
    if fitting:
        raise RecordError(
            f"{len(fitting)} records in {root} begin with {text!r}: {', '.join(fitting)}. Write more of the name."
        )
    raise RecordError(
        f"no record in {root} has the name or id {text!r} or a name that begins so. `assay list` shows those that exist."
    )


def record_folders(root: Path) -> list[Path]:
    """The folders directly below `root` that hold a manifest, by name."""
    try:
        return sorted(folder for folder in root.iterdir() if (folder / "manifest.json").is_file())
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
    except OSError as error:
        raise files.explain(error, path, "read") from error


def _parse_manifest(path: Path) -> dict[str, Any]:
    if not path.exists():
        raise RecordError(f"{path} does not exist. `assay list` shows the records that exist.")
    if not path.is_dir():
        raise RecordError(f"{path} is a file, not a record folder. Give the folder that holds manifest.json.")
    file = path / "manifest.json"
    try:
        manifest = json.loads(file.read_bytes())
    except FileNotFoundError:
        what = "has no manifest.json" if any(path.iterdir()) else "is empty"
        raise RecordError(
            f"{path} is not a record of assay: it {what}. Give the folder that `assay run` printed."
        ) from None
    except OSError as error:
        raise files.explain(error, file, "read") from error
    except ValueError as error:
        raise RecordError(
            f"{file} is damaged or foreign: it is not JSON ({error}). Restore the file from a copy."
        ) from error
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
        names = [entry.name.removeprefix("launch=") for entry in (path / "streams").iterdir()]
    except FileNotFoundError:
        return []
    return sorted(int(name) for name in names if name.isdecimal())


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
    order = (
        [(column, "ascending") for column in TABLES[name].order if column in table.column_names]
        if name in TABLES
        else []
    )
    return table.sort_by(order) if order else table, tuple(notes)


def _salvage(path: Path, launch: int, name: str) -> Iterator[tuple[Path, Any]]:
    from assay.record.salvage import read_stream

    files_of_it = stream_files(path, launch, name)
    try:
        for file in files_of_it:
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
        return sorted(
            file for file in folder.iterdir() if file.name.startswith(f"{name}.") and file.suffix == ".arrows"
        )
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
    kinds = {"id": str, "name": str, "created_utc": str, "state": str, "coordinator": dict}
    wrong = [key for key, kind in kinds.items() if not isinstance(manifest.get(key), kind)]
    if manifest.get("state") not in STATES:
        wrong.append("state")
    if not {"pid", "create_time", "host"} <= set(manifest.get("coordinator") or ()):
        wrong.append("coordinator")
    sealed = (path / "SEAL").exists()
    if not sealed and (path / "tables").exists() and not (path / "streams").exists():
        raise RecordError(
            f"{path / 'SEAL'} is missing, and without it the record cannot be trusted. Restore it from a copy."
        )
    if sealed and not _stays_inside((manifest.get("sealed") or {}).get("files")):
        wrong.append("sealed.files")
    if wrong:
        raise RecordError(
            f"{path / 'manifest.json'} is damaged: {', '.join(dict.fromkeys(wrong))} is missing or of the wrong kind."
        )


def _stays_inside(names: Any) -> bool:
    """Whether these are files below the record: a record from elsewhere must not make its reader open others."""
    if not isinstance(names, dict):
        return False
    return not any(name.startswith("/") or ".." in name.split("/") for name in names)


def _read_experiment(path: Path, manifest: Mapping[str, Any], migrations: tuple[Migration, ...]) -> Experiment:
    file = path / "experiment.toml"
    try:
        content = tomllib.loads(file.read_text(encoding="utf-8"))
        for step in migrations:
            content = step.experiment(content)
        for key in manifest.get("nulls", ()):
            _set_null(content, key.split("."))
        return Experiment.model_validate(content)
    except OSError as error:
        raise files.explain(error, file, "read") from error
    except (ValueError, SpecError) as error:
        raise RecordError(
            f"{file} is damaged: {str(error).rstrip('.')}. `assay verify {path}` tells which files were changed."
        ) from error


def _set_null(content: dict[str, Any], keys: list[str]) -> None:
    """TOML has no null: the manifest names the keys that were set to nothing although their default is something."""
    for key in keys[:-1]:
        content = content.setdefault(key, {})
    content[keys[-1]] = None


def _read_parquet(path: Path, part: str) -> pa.Table:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path / part) as parquet:
            return parquet.read()
    except FileNotFoundError:
        raise _missing(path, part) from None
    except (OSError, pa.ArrowException, ValueError) as error:
        raise _damaged(path, part, error) from error


def _read_frame(path: Path, parts: list[str], name: str) -> pl.DataFrame:
    """All parts at once, which takes a third of the time; one by one where something is wrong, to say which it is."""
    import polars as pl

    schema = _polars_schema(name)
    try:
        frame = pl.read_parquet([path / part for part in parts], glob=False, hive_partitioning=False)
        if frame.schema == schema:
            return frame
    except (OSError, ValueError, pl.exceptions.PolarsError):
        pass
    return pl.concat([pl.DataFrame(schema=schema), *(_read_part(path, part, name, schema) for part in parts)])


def _read_part(path: Path, part: str, name: str, schema: pl.Schema) -> pl.DataFrame:
    import polars as pl

    try:
        frame = pl.read_parquet(path / part, glob=False, hive_partitioning=False)
    except FileNotFoundError:
        raise _missing(path, part) from None
    except (OSError, pl.exceptions.PolarsError) as error:
        raise _damaged(path, part, error) from error
    if frame.schema != schema:
        raise _damaged(path, part, f"its columns are not those of the table {name}")
    return frame


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


def _created(path: Path) -> tuple[str, str]:
    try:
        return str(read_manifest(path).get("created_utc", "")), path.name
    except RecordError:
        return "", path.name
