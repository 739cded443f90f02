"""How does a temporary folder go even if its process is killed?

It is locked while it is in use.  The kernel frees the lock of a dead process, and the next process that makes such a folder removes
every one that is not locked.
"""

from __future__ import annotations

import fcntl
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from fireassay.record import files

PREFIX: Final = "assay-scratch-"


@dataclass
class Locked:
    """A folder that is this process's own. `lock`: an open descriptor of it; None once it is removed."""

    path: Path
    lock: int | None

    def remove(self) -> None:
        """Remove it with its content, once."""
        if self.lock is None:
            return
        with suppress(OSError):
            files.remove_tree(self.path)
        os.close(self.lock)
        self.lock = None


@contextmanager
def scratch() -> Iterator[Path]:
    """A folder below the system's temporary one, valid during the body."""
    folder = locked(Path(tempfile.gettempdir()), PREFIX)
    try:
        yield folder.path
    finally:
        folder.remove()


def locked(root: Path, prefix: str) -> Locked:
    """A new folder in `root`; those that killed processes left there are removed."""
    for left in root.glob(f"{prefix}*"):
        if (abandoned := _lock(left)) is not None:
            Locked(left, abandoned).remove()
    while True:  # another process may take a folder without a lock for one that was left behind
        folder = Path(tempfile.mkdtemp(prefix=prefix, dir=root))
        if (descriptor := _lock(folder)) is not None:
            return Locked(folder, descriptor)


def _lock(folder: Path) -> int | None:
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
