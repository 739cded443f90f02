"""Why does writing a first row take a third of a second?  pyarrow looks for pandas, and loads it if it is installed.

A process of assay's own needs no pandas: `without_pandas` lets pyarrow look once in a moment when there is none to be found, once for
rows that become columns and once for columns that become NumPy's.  It looks again where it must guess a type, so rows are
converted to types that are given.  Not for a process in which a user's
code runs: that code may want to hand its data frames to pyarrow.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType


class _Hidden(MetaPathFinder):
    """Says that there is no pandas."""

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        """None for anything else: others may find it."""
        if name == "pandas":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return None


def without_pandas() -> None:
    """Make pyarrow do without pandas for the rest of this process. Nothing happens if pandas is there already."""
    if "pandas" in sys.modules:
        return
    import pyarrow as pa

    hidden = _Hidden()
    sys.meta_path.insert(0, hidden)
    try:
        pa.array((), pa.int64()).to_numpy()
    finally:
        sys.meta_path.remove(hidden)
