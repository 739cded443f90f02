"""Do the notebooks of docs/notebooks run?  Each is executed beside a small stored record, in the place of the one that `make demo` makes.

python tools/notebooks.py             execute them and store the outputs
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

REPOSITORY = Path(__file__).resolve().parents[1]
RECORD = REPOSITORY / "tests" / "records" / "good"
PATHS = sorted((REPOSITORY / "docs" / "notebooks").glob("*.ipynb"))
CELL_S = 120  # longest time of a cell


def executed(path: Path, home: Path) -> Any:
    """The notebook with its outputs; `home` becomes a checkout with a record and this notebook."""
    folder = home / "docs" / "notebooks"
    folder.mkdir(parents=True)
    shutil.copytree(RECORD, home / "records" / "digits")
    notebook = nbformat.read(path, as_version=4)
    client = NotebookClient(
        notebook, timeout=CELL_S, kernel_name="python3", resources={"metadata": {"path": str(folder)}}, record_timing=False
    )
    return client.execute()


def main() -> int:
    """Execute and store every notebook."""
    for path in PATHS:
        with tempfile.TemporaryDirectory() as home:
            made = executed(path, Path(home))
        made.metadata.pop("language_info", None)  # the interpreter of this machine
        nbformat.write(made, path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
