"""Do the blocks of docs/how-to/use-from-python.md and the notebooks run as they stand?  Against a stored record of the digits trainer."""

from __future__ import annotations

import shutil
from pathlib import Path

import nbformat
import pytest

from tests.docs.blocks import Block, blocks
from tests.docs.session import REPOSITORY, run_python
from tools import notebooks

PAGE = REPOSITORY / "docs" / "how-to" / "use-from-python.md"
CODE = [block for block in blocks(PAGE) if block.language == "python"]


@pytest.mark.deep
@pytest.mark.parametrize("block", CODE, ids=lambda block: f"line {block.line}")
def test_every_block_runs(block: Block, tmp_path: Path) -> None:
    shutil.copytree(notebooks.RECORD, tmp_path / "records" / "digits")
    run_python(block, tmp_path)


@pytest.mark.deep
@pytest.mark.parametrize("path", notebooks.PATHS, ids=lambda path: path.stem)
def test_every_notebook_runs_and_shows_something_in_every_cell(path: Path, tmp_path: Path) -> None:
    made = notebooks.executed(path, tmp_path)
    silent = [cell.source for cell in made.cells if cell.cell_type == "code" and not cell.outputs and "import" not in cell.source]
    assert silent == []


@pytest.mark.parametrize("path", notebooks.PATHS, ids=lambda path: path.stem)
def test_a_stored_notebook_has_real_outputs_and_no_path_of_a_machine(path: Path) -> None:
    stored = nbformat.read(path, as_version=4)
    assert any(cell.get("outputs") for cell in stored.cells)
    assert not any(word in path.read_text() for word in ("/home/", "/root/", "/tmp/", "Traceback"))
