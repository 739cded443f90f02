"""Which record does a path, a name, an id, a name's prefix or `latest` refer to?"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from fireassay.errors import RecordError
from fireassay.printable import remark
from fireassay.record import files
from fireassay.record.manifest import read_manifest
from fireassay.record.reader import open_record


def resolve(text: str, root: Path) -> Path:
    """The record folder for a path, a name or an id below `root`, a unique prefix of a name, or `latest`.

    Raises:
        RecordError: no record or more than one matches.
    """
    if Path(text).is_dir() or "/" in text:
        return Path(text)
    names = [folder.name for folder in record_folders(root)]
    if text == "latest":
        if not names:
            raise RecordError(f"there is no record in {root}. `assay run` creates one; give the record's path if it is elsewhere.")
        return _newest([root / name for name in names])
    fitting = [name for name in names if name == text or name.endswith(f"-{text}")] or [name for name in names if name.startswith(text)]
    if len(fitting) == 1:
        return root / fitting[0]
    if fitting:
        raise RecordError(f"{len(fitting)} records in {root} begin with {text!r}: {', '.join(fitting)}. Write more of the name.")
    raise RecordError(
        f"no record in {root} has the name or id {text!r}, or a name that begins with it. `assay list` shows those that exist."
    )


def _newest(paths: Sequence[Path]) -> Path:
    """The newest record; unreadable ones are skipped and reported on standard error."""
    trouble: list[str] = []
    for path in sorted(paths, key=_created, reverse=True):
        try:
            open_record(path)
        except RecordError as error:
            trouble.append(str(error))
            continue
        for sentence in trouble:
            remark(f"not the latest: {sentence}")
        return path
    raise RecordError(trouble[0])


def record_folders(root: Path) -> list[Path]:
    """The folders directly below `root` that hold a manifest, sorted by name."""
    try:
        return sorted(folder for folder in root.iterdir() if os.path.lexists(folder / "manifest.json"))
    except FileNotFoundError:
        return []
    except OSError as error:
        raise files.explain(error, root, "list the records in") from error


def _created(path: Path) -> tuple[str, int, str]:
    """Creation time; within the same second, the time at which the experiment was written."""
    written = 0
    with suppress(OSError):
        written = (path / "experiment.toml").lstat().st_mtime_ns
    try:
        return str(read_manifest(path).get("created_utc", "")), written, path.name
    except RecordError:
        return "", written, path.name
