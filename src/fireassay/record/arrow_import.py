"""How do we avoid the third of a second that the first row costs because pyarrow imports pandas?

assay's own processes do not need pandas: `without_pandas` makes pyarrow look for it while it is hidden, once for rows that become
columns and once for columns that become NumPy arrays.  pyarrow looks again when it infers a type, so rows are converted to explicit
types.  Not for a process that runs user code, which may pass data frames to pyarrow.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType


class _Hidden(MetaPathFinder):
    """Reports pandas as not installed."""

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        """None for any other module: leave it to the other finders."""
        if name == "pandas":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return None


def without_pandas() -> None:
    """Make pyarrow do without pandas for the rest of this process. Does nothing if pandas is already imported."""
    if "pandas" in sys.modules:
        return
    import pyarrow as pa

    hidden = _Hidden()
    sys.meta_path.insert(0, hidden)
    try:
        pa.array((), pa.int64()).to_numpy()
    finally:
        sys.meta_path.remove(hidden)
