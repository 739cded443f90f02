"""Which folder does the name of a record mean, and with how many threads is it read?

A record is given by path, by name below the root, as `latest`, `latest:KIND` or `latest:NAME`, or by its address in a store, from which it
is pulled and verified first.  Nothing here loads Polars, whose number of threads is settled when it is loaded.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from fireassay.clock import SystemClock
from fireassay.errors import RecordError
from fireassay.printable import remark
from fireassay.record.lookup import resolve
from fireassay.record.store import Store, default_cache, is_address
from fireassay.record.untrusted.paths import walk

VARIABLE: Final = "POLARS_MAX_THREADS"
SMALL_BYTES: Final = 4_000_000  # of tables
TABLES: Final = (".parquet", ".arrows")  # sealed, and as they were written


def find(text: str, root: Path) -> Path:
    """The folder of a record, pulled from its store if `text` is an address."""
    if not is_address(text):
        return resolve(text, root)
    address, _, name = text.rstrip("/").rpartition("/")
    return Store(address).pull(name, default_cache(os.environ))


def pasted(text: str, root: Path) -> str:
    """The word that names the same record in a later command: `latest` moves on, and a name is looked up below the default root."""
    if "/" in text or (text != "latest" and root == Path("records")):
        return text
    path = resolve(text, root)
    return path.name if root == Path("records") else str(path)


def folders_of(url: str) -> Iterator[Path]:
    """The complete records of a folder or a store, oldest first; those of a store are pulled."""
    store = Store(url)
    if store.local is not None and not store.local.is_dir():
        raise RecordError(f"{store.shown} does not exist. Give a folder or the address of a store of records.")
    for entry in store.entries():
        if entry.state != "complete":
            continue
        try:
            yield store.local / entry.folder if store.local else store.pull(entry.folder, default_cache(os.environ))
        except RecordError as error:  # one unavailable record must not hide the others
            remark(f"skipped: {error}")


def ended_job(path: Path) -> Path:
    """The record, sealed first if it is the folder of a job that assay did not start (FIREASSAY_ATTACH=1) and that has ended."""
    from fireassay.importers.observed.attached import is_attached, seal_attached

    return seal_attached(path, clock=SystemClock()) if is_attached(path) else path


def suit_threads(path: Path) -> None:
    """Read a small record with one thread, unless Polars is loaded or its variable set: starting a pool costs more than the read.

    Folding ten thousand requests takes over a thousand small queries.  On two processors, one thread renders the page of such a record
    (1.7 MB) a tenth faster and the printed output equally fast; a record of 13 MB takes a seventh longer.  The threshold lies between.
    """
    if "polars" in sys.modules or VARIABLE in os.environ:
        return
    with suppress(OSError):  # a file of a record being written vanished: use all threads
        tables = (entry for entry in walk(path) if entry.name.endswith(TABLES))
        if sum(entry.stat(follow_symlinks=False).st_size for entry in tables) <= SMALL_BYTES:
            os.environ[VARIABLE] = "1"
