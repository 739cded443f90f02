"""How many threads should read a record?

One thread if small: starting a pool costs more than the read.  Folding ten thousand requests takes over a thousand small queries.
On two processors, one thread renders the page of such a record (1.7 MB) a tenth faster and the printed output equally fast; a
record of 13 MB takes a seventh longer.  The threshold lies between.  An existing POLARS_MAX_THREADS is respected.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Final

from fireassay.record.untrusted.paths import walk

VARIABLE: Final = "POLARS_MAX_THREADS"
SMALL_BYTES: Final = 4_000_000  # of tables
TABLES: Final = (".parquet", ".arrows")  # sealed, and as they were written


def suited_to(path: Path) -> None:
    """Set the thread count of this process, unless it is set or Polars is already loaded."""
    if "polars" in sys.modules or VARIABLE in os.environ:
        return
    with suppress(OSError):  # a file of a record being written vanished: use all threads
        rows = (entry for entry in walk(path) if entry.name.endswith(TABLES))
        if sum(entry.stat(follow_symlinks=False).st_size for entry in rows) <= SMALL_BYTES:
            os.environ[VARIABLE] = "1"
