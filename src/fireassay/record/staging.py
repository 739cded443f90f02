"""How do new records appear whole or not at all?  They are written in a hidden folder of the same file system, and moved when all are sealed.

A killed process leaves such a folder behind; the next one that stages records there removes it, as its lock is free.
"""

from __future__ import annotations

import fcntl
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from fireassay.record import files

PREFIX: Final = ".importing-"


def destination(record: Path) -> Path:
    """Where a record will lie once it is whole."""
    return record.parent.parent / record.name if record.parent.name.startswith(PREFIX) else record


@contextmanager
def staged(root: Path) -> Iterator[Path]:
    """A folder for new records, which are moved into `root` after the body, unless that raises.

    Raises:
        RecordError: the root is a file or not writable, or the disk is full.
    """
    made = not root.exists()
    try:
        with _folder(root) as folder:
            yield folder
            try:
                for record in sorted(folder.iterdir()):
                    files.rename(record, root / record.name)
            except OSError as error:
                raise files.explain(error, root, "create a record in", files.AGAIN) from error
    finally:
        if made:
            with suppress(OSError):  # not empty
                root.rmdir()


@contextmanager
def _folder(root: Path) -> Iterator[Path]:
    try:
        root.mkdir(parents=True, exist_ok=True)
        for left in root.glob(f"{PREFIX}*"):
            if (lock := _locked(left)) is not None:
                files.remove_tree(left)
                os.close(lock)
        folder, lock = Path(), None
        while lock is None:  # another process may take a folder without a lock for one that was left behind
            folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=root))
            lock = _locked(folder)
    except OSError as error:
        raise files.explain(error, root, "create a record in", files.AGAIN) from error
    try:
        yield folder
    finally:
        with suppress(OSError):
            files.remove_tree(folder)
        os.close(lock)


def _locked(folder: Path) -> int | None:
    """An open descriptor with the folder's lock; None if another process holds it, or the folder is gone."""
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return None
    with suppress(OSError):
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if folder.exists():
            return descriptor
    os.close(descriptor)
    return None
