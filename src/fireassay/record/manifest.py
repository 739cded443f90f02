"""What does a record's manifest say, and did assay write it?

How is a record of an older format read?

Each migration turns format N into format N + 1; a record of format V is read through the migrations V, V + 1, ...
They convert the data read and never change the folder: a sealed record stays as it was sealed.

Is the process that writes a record still alive, and how is a second writer kept out?

A process is identified by its pid and creation time (pids are reused), its host, and the kernel's boot id, which suffice on the
same host.  In another container of the same kernel pids mean nothing; there the coordinator's lock on
`streams/coordinator.lock` decides, which the kernel releases when the process ends.  Of a coordinator on another machine its heartbeat
is all that is seen: it counts as running until that is old (`record/live/heartbeat.py`).
"""

from __future__ import annotations

import fcntl
import os
import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from fireassay import __version__
from fireassay.errors import RecordError
from fireassay.record import files
from fireassay.record.live import heartbeat
from fireassay.record.tables import FORMAT_VERSION
from fireassay.record.untrusted import paths
from fireassay.record.untrusted import paths as inside

if TYPE_CHECKING:
    import pyarrow

# Creation times depend on the wall clock, which may be stepped by a second or so.
_CLOCK_STEP_S = 2.0
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
_HELD: dict[Path, int] = {}  # file descriptors of this process's locks, by record


def myself() -> dict[str, Any]:
    """This process, as the manifest identifies it."""
    import psutil

    return {"pid": os.getpid(), "create_time": psutil.Process().create_time(), "host": socket.gethostname(), "boot_id": _boot_id()}


def is_alive(coordinator: Mapping[str, Any], record: Path) -> bool:
    """True if the coordinator of a record still runs; true if this cannot be determined. On another host: unless its heartbeat is old."""
    if coordinator["host"] == socket.gethostname():
        return _is_running(int(coordinator["pid"]), float(coordinator["create_time"]))
    if coordinator.get("boot_id") and coordinator["boot_id"] == _boot_id():
        return _is_locked(_lock_file(record))
    age_s = heartbeat.age_s(record)
    return age_s is None or age_s < heartbeat.SILENT_S


def hold(record: Path) -> bool:
    """Take the record's lock for this process; false if another process holds it."""
    key = record.resolve()
    if key in _HELD:
        return True
    descriptor = os.open(_lock_file(record), os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o666)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return False
    except OSError:
        pass  # this file system has no locks: the pid must suffice
    _HELD[key] = descriptor
    return True


def release(record: Path) -> None:
    descriptor = _HELD.pop(record.resolve(), None)
    if descriptor is not None:
        os.close(descriptor)


def _lock_file(record: Path) -> Path:
    return record / "streams" / "coordinator.lock"


def _is_running(pid: int, created: float) -> bool:
    import psutil

    try:
        process = psutil.Process(pid)
        return bool(abs(process.create_time() - created) <= _CLOCK_STEP_S and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def _is_locked(file: Path) -> bool:
    try:
        # neither a link nor a pipe that would block: the record is untrusted
        with open(os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as opened:
            fcntl.flock(opened, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return False


def _boot_id() -> str:
    try:
        return _BOOT_ID.read_text().strip()
    except OSError:
        return ""


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
        manifest = paths.json_of(inside.read(path, file.name, MAX_MANIFEST))
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
    if manifest["state"] != "interrupted" and is_alive(manifest["coordinator"], path):
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
    "job": dict,
    "allocations": list,
    "simulated": dict,
    "foreign": dict,
    "observed": dict,
    "schedules": dict,
    "sentinel": dict,
    "nulls": list,
    "origin": str,
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
