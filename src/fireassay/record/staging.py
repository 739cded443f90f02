"""How do new records appear whole or not at all?  They are written in a hidden folder of the same file system, and moved when all are sealed.

A killed process leaves such a folder behind; the next one that stages records there removes it, as its lock is free.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from fireassay.record import files
from fireassay.record.scratch import locked

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


def check_root(root: Path) -> None:
    """Raises RecordError: no record can be made there."""
    with staged(root):
        pass


@contextmanager
def _folder(root: Path) -> Iterator[Path]:
    try:
        root.mkdir(parents=True, exist_ok=True)
        folder = locked(root, PREFIX)
    except OSError as error:
        raise files.explain(error, root, "create a record in", files.AGAIN) from error
    try:
        yield folder.path
    finally:
        folder.remove()
