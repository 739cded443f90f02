"""How does a finished record become one that cannot change unnoticed?

    streams/ -> tables.tmp/ -> rename to tables/ -> digests into manifest.json -> SEAL -> streams/ removed

The streams stay until the seal is on the disk.  A crash anywhere before leaves them whole, and sealing starts again;
a crash after leaves a sealed record with streams that only remain to be removed.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from assay.record import files
from assay.record.reader import launch_folders, launch_name, read_launch
from assay.record.tables import TABLES

OUTSIDE = ("reports", "streams", "manifest.json", "SEAL")  # top-level names that are not among the sealed files


def seal(path: Path, manifest: dict[str, Any]) -> dict[str, Any]:
    """Compact the streams, write the digests and the seal, remove the streams. Returns the manifest as sealed.

    Raises:
        OSError: a file operation failed; the streams are untouched and sealing can be tried again.
    """
    notes = compact(path)
    sealed = manifest | {"sealed": {"files": describe(path), "salvaged": notes}}
    content = encode(sealed)
    files.replace(path / "manifest.json", content)
    files.replace(path / "SEAL", seal_line(content))
    files.remove_tree(path / "streams")
    return sealed


def compact(path: Path) -> list[str]:
    """Write every stream's rows to `tables/`, one launch and table at a time. Returns what was lost in the streams."""
    temporary, tables = path / "tables.tmp", path / "tables"
    files.remove_tree(temporary)
    notes: list[str] = []
    for launch in launch_folders(path):
        for name in TABLES:
            table, lost = read_launch(path, launch, name)
            notes += lost
            if table is not None:
                files.write_parquet(temporary / name / launch_name(launch) / "part-0.parquet", table)
    files.remove_tree(tables)  # left by an earlier sealing that did not come to its end; the streams hold everything
    if temporary.exists():
        files.rename(temporary, tables)
    return notes


def describe(path: Path) -> dict[str, dict[str, Any]]:
    """Digest, size and (for tables) rows of every file that the seal covers, by relative path."""
    return {name: _describe(path / name) for name in covered(path)}


def covered(path: Path) -> list[str]:
    """Relative paths of all files that the seal covers: everything but the reports, the manifest and the seal."""
    return sorted(_walk(path, path))


def _walk(top: Path, folder: Path) -> Iterator[str]:
    for entry in folder.iterdir():
        name = entry.relative_to(top).as_posix()
        if name in OUTSIDE or (folder == top and name.endswith(files.TEMPORARY)):
            continue
        if entry.is_dir() and not entry.is_symlink():
            yield from _walk(top, entry)
        else:
            yield name


def _describe(file: Path) -> dict[str, Any]:
    described: dict[str, Any] = {"sha256": files.digest(file), "bytes": file.stat().st_size}
    if file.suffix == ".parquet":
        import pyarrow.parquet as pq

        described["rows"] = pq.read_metadata(file).num_rows
    return described


def encode(manifest: dict[str, Any]) -> bytes:
    """The manifest's bytes."""
    return (json.dumps(manifest, indent=1, ensure_ascii=False, allow_nan=False) + "\n").encode()


def seal_line(manifest: bytes) -> bytes:
    """The content of SEAL, as `sha256sum` writes it."""
    return f"{hashlib.sha256(manifest).hexdigest()}  manifest.json\n".encode()
