"""How is a finished record sealed so that no change goes unnoticed?

    streams/ -> tables.tmp/ -> rename to tables/ -> digests into manifest.json -> SEAL -> streams/ removed

The streams stay until the seal is on disk.  After a crash before that they are intact and sealing starts again;
after a later crash the record is sealed and the streams only need to be removed.

Which experiments are the same, whatever the names of their records?
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from fireassay.record import files
from fireassay.record.secrets.redact import redact_all, redact_environment, secret_values
from fireassay.record.tables import TABLES
from fireassay.record.unsealed import cut_off, launch_folders, launch_name, other_columns, read_launch, stream_files
from fireassay.record.untrusted import paths
from fireassay.spec.experiment import Experiment


def plan_signature(experiment: Experiment) -> str:
    """Identifies an experiment regardless of its name and secrets: 16 hexadecimal digits."""
    content = experiment.model_dump(mode="json", by_alias=True, exclude={"name"})
    content["workload"]["environment"] = redact_environment(content["workload"]["environment"])
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]


AT_ONCE_BYTES = 64 << 20  # of streams that are sorted in memory
OUTSIDE = ("reports", "streams", "manifest.json", "SEAL", "SEAL.sig")  # top-level names outside the seal


def seal(path: Path, manifest: dict[str, Any]) -> dict[str, Any]:
    """Compact the streams, write the digests and the seal, remove the streams. Returns the manifest as sealed.

    Raises:
        OSError: a file operation failed; the streams are untouched and sealing can be retried.
    """
    if (path / "SEAL").exists():  # an earlier attempt got this far
        sealed: dict[str, Any] = paths.json_of((path / "manifest.json").read_bytes())
    else:
        notes = compact(path)
        sealed = manifest | {"sealed": {"files": describe(path), "salvaged": notes}}
        content = encode(sealed)
        files.replace(path / "manifest.json", content)
        files.replace(path / "SEAL", seal_line(content))
    clear(path)
    return sealed


def clear(path: Path) -> None:
    """Remove the streams of a sealed record. They are no longer part of it, so errors are ignored."""
    with suppress(OSError):
        files.remove_tree(path / "streams")


def compact(path: Path) -> list[str]:
    """Write every stream's rows to `tables/`, one launch and table at a time. Returns the losses in the streams."""
    temporary, tables = path / f"tables{files.TEMPORARY}", path / "tables"
    files.remove_tree(temporary)
    notes: list[str] = []
    for launch in launch_folders(path):
        for name in TABLES:
            notes += _compact_one(path, launch, name, temporary / name / launch_name(launch) / "part-0.parquet")
    if not (path / "streams").is_dir():
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path / "streams"))
    files.remove_tree(tables)  # left by an unfinished sealing; the streams hold everything
    if temporary.exists():
        files.rename(temporary, tables)
    return notes


def _compact_one(path: Path, launch: int, name: str, target: Path) -> Iterable[str]:
    """One table of one launch; large streams some megabytes at a time."""
    streams = stream_files(path, launch, name)
    if sum(file.stat().st_size for file in streams) <= AT_ONCE_BYTES:
        table, lost = read_launch(path, launch, name)
        if table is not None:
            files.write_parquet(target, table)
        return lost
    from fireassay.record import external_sort

    scanned = external_sort.scan(streams, name)
    if scanned.schema is not None:
        files.write_parquet_groups(target, scanned.schema, external_sort.groups(scanned))
    return [
        *(other_columns(path, file, name) for file in scanned.foreign),
        *(cut_off(path, file, lost_bytes, scanned.kept[file]) for file, lost_bytes in scanned.lost.items()),
    ]


def describe(path: Path) -> dict[str, dict[str, Any]]:
    """Digest, size and, for tables, number of rows of every sealed file, by relative path."""
    return {name: _describe(path / name) for name in covered(path)}


def covered(path: Path, *, everything: bool = False) -> list[str]:
    """Relative paths of all sealed files: all but the reports, the streams, the manifest and the seal.

    `everything`: also temporary files at the top level, which sealing omits.
    """
    outside = set(OUTSIDE)
    if not everything:
        outside |= {entry.name for entry in path.glob(f"*{files.TEMPORARY}")}
    top = len(path.parts)
    names = (Path(entry.path).parts[top:] for entry in paths.walk(path) if _holds_bytes(entry))
    return sorted("/".join(parts) for parts in names if parts[0] not in outside)


def _holds_bytes(entry: os.DirEntry[str]) -> bool:
    """True if it is a file: sockets and pipes are not part of a record."""
    return entry.is_symlink() or entry.is_file(follow_symlinks=False)


def _describe(file: Path) -> dict[str, Any]:
    described: dict[str, Any] = {"sha256": files.digest(file), "bytes": files.size(file)}
    if file.suffix == ".parquet":
        import pyarrow.parquet as pq

        described["rows"] = pq.read_metadata(file).num_rows
    return described


def encode(manifest: dict[str, Any]) -> bytes:
    """The manifest as bytes with secrets redacted; the entries that seal the files stay unchanged."""
    known = secret_values(os.environ)
    manifest = {key: value if key == "sealed" else redact_all(value, known) for key, value in manifest.items()}
    return (json.dumps(manifest, indent=1, ensure_ascii=False, allow_nan=False) + "\n").encode()


def seal_line(manifest: bytes) -> bytes:
    """The content of SEAL, in the format of `sha256sum`."""
    return f"{hashlib.sha256(manifest).hexdigest()}  manifest.json\n".encode()
