"""With how many threads is a record read?  A small one with a single one: to start and to meet takes the others longer than the work.

Folding ten thousand requests takes more than a thousand small queries.  On two processors the page of such a record (1.7 MB) came
in a tenth less time with one thread, what is printed in the same; a record of 13 MB took a seventh longer.  The limit lies between.
Whoever sets POLARS_MAX_THREADS is left alone.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Final

from assay.record.untrusted.paths import walk

VARIABLE: Final = "POLARS_MAX_THREADS"
SMALL_BYTES: Final = 4_000_000  # of tables
TABLES: Final = (".parquet", ".arrows")  # sealed, and as they were written


def suited_to(path: Path) -> None:
    """Choose for the rest of this process, if nobody has chosen and Polars is not there yet."""
    if "polars" in sys.modules or VARIABLE in os.environ:
        return
    with suppress(OSError):  # a record that is being written loses a file between two looks: all threads, then
        rows = (entry for entry in walk(path) if entry.name.endswith(TABLES))
        if sum(entry.stat(follow_symlinks=False).st_size for entry in rows) <= SMALL_BYTES:
            os.environ[VARIABLE] = "1"
