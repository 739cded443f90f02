"""What does a record's manifest say, and did assay write it?

How is a record of an older format read?

Each migration turns format N into format N + 1; a record of format V is read through the migrations V, V + 1, ...
They convert the data read and never change the folder: a sealed record stays as it was sealed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from fireassay import __version__
from fireassay.errors import RecordError
from fireassay.record import coordinator, files
from fireassay.record.tables import FORMAT_VERSION
from fireassay.record.untrusted import paths as inside
from fireassay.record.untrusted import strict_json

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


# ---- records of older formats ----------------------------------------------------------------------------------------


STATES = ("running", "complete", "interrupted", "failed")
MAX_MANIFEST: Final = 24 * inside.MIB  # at most 20 times as much in memory; enough for 100,000 sealed files
MAX_REASON_LENGTH: Final = 300


def read_manifest(path: Path) -> dict[str, Any]:
    """The manifest as written, whatever its format version. Raises RecordError: there is none, or assay did not write it."""
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
        manifest = strict_json.json_of(inside.read(path, file.name, MAX_MANIFEST))
    except FileNotFoundError:
        what = "has no manifest.json" if any(path.iterdir()) else "is empty"
        raise RecordError(f"{path} is not a record of assay: it {what}. Give the folder that `assay run` printed.") from None
    except OSError as error:
        raise files.explain(error, file, "read") from error
    except ValueError as error:
        raise RecordError(f"{file} is damaged or foreign: it is not JSON ({error}). Restore the file from a copy.") from error
    if not isinstance(manifest, dict) or type(manifest.get("format_version")) is not int:
        raise RecordError(
            f"{path} is not a record of assay: its manifest.json names no format_version. Give the folder that `assay run` printed."
        )
    return manifest


def effective_state(path: Path, manifest: Mapping[str, Any], sealed: bool) -> str:
    """The record's state: without a seal it is running while its coordinator lives, else interrupted."""
    if sealed:
        return str(manifest["state"])
    if manifest["state"] != "interrupted" and coordinator.is_alive(manifest["coordinator"], path):
        return "running"
    return "interrupted"


def migrations_of(path: Path, manifest: Mapping[str, Any]) -> tuple[Migration, ...]:
    version = manifest["format_version"]
    if version > FORMAT_VERSION:
        raise RecordError(
            f"{path} is of record format {version}; this assay ({__version__}) reads formats up to {FORMAT_VERSION}. "
            f"Open it with the assay that wrote it ({manifest.get('assay_version')}) or a newer one."
        )
    steps = steps_from(version)
    if steps is None:
        raise RecordError(
            f"{path} is of record format {version}, which assay {__version__} cannot read. "
            f"Open it with the assay that wrote it ({manifest.get('assay_version')})."
        )
    return steps


def check_manifest(path: Path, manifest: Mapping[str, Any]) -> None:
    wrong = [key for key, kind in _KINDS.items() if not isinstance(manifest.get(key), kind)]
    wrong += [key for key, kind in _OPTIONAL.items() if not isinstance(manifest.get(key), kind | None)]
    if manifest.get("state") not in STATES:
        wrong.append("state")
    if "coordinator" not in wrong and not _is_process(manifest["coordinator"]):
        wrong.append("coordinator")
    sealed = has_seal(path)
    if not sealed and (path / "tables").exists() and not (path / "streams").exists():
        raise RecordError(f"{path / 'SEAL'} is missing, and without it the record cannot be trusted. Restore it from a copy.")
    if sealed and "sealed" not in wrong and not _stays_inside((manifest.get("sealed") or {}).get("files")):
        wrong.append("sealed.files")
    if wrong:
        what = ", ".join(dict.fromkeys(wrong))
        raise RecordError(f"{path / 'manifest.json'} is damaged: {what} is missing or of the wrong type. Restore the file from a copy.")


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


def _is_process(process: Mapping[str, Any]) -> bool:
    pid, created = process.get("pid"), process.get("create_time")
    known = type(pid) is int and 0 < pid < 1 << 31 and type(created) in (int, float) and isinstance(process.get("host"), str)
    return known and isinstance(process.get("boot_id"), str | None)


def _stays_inside(names: Any) -> bool:
    """True if this maps paths below the record to the seal's entries."""
    return isinstance(names, dict) and all(isinstance(entry, dict) and not inside.problem_of_name(name) for name, entry in names.items())


def has_seal(path: Path) -> bool:
    """True if there is a seal. Raises RecordError if it is not a plain file."""
    try:
        inside.plain(path, "SEAL")
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        raise files.explain(error, path / "SEAL", "read") from error
    return True
