"""Would the checks of the pages notice a broken page?  Each one is shown a page that is wrong in one way."""

from __future__ import annotations

from pathlib import Path

import pytest

from fireassay.errors import SpecError
from tests.docs.blocks import blocks
from tests.docs.session import check


def page(folder: Path, text: str) -> Path:
    path = folder / "page.md"
    path.write_text(text)
    return path


def test_blocks_are_found_with_their_line_language_file_and_text(tmp_path: Path) -> None:
    found = blocks(page(tmp_path, "words\n\n<!-- file: a.py -->\n```python\nx = 1\n```\n\n```text\n```\n"))
    assert [(block.line, block.language, block.file, block.text) for block in found] == [
        (4, "python", "a.py", "x = 1\n"),
        (8, "text", None, ""),
    ]


def test_a_command_carries_the_exit_code_of_the_line_above_and_a_backslash_joins_lines(tmp_path: Path) -> None:
    (block,) = blocks(page(tmp_path, "```sh\ntrue\n# exit 3 or 4: as meant\nexit \\\n3\n# a remark\ntrue\n```\n"))
    assert block.commands == (("true", {0}), ("exit  3", {3, 4}), ("true", {0}))


@pytest.mark.parametrize(
    "text",
    [
        "```python\nraise SystemExit(1)\n```\n",
        "<!-- file: a.py -->\n```python\nx =\n```\n",
        "```sh\nfalse\n```\n",
        "```sh\n# exit 2\ntrue\n```\n",
        "```sh\nmake nothing-of-that-name\n```\n",
        "```sh\npip install -e '.[nothing-of-that-name]'\n```\n",
        "```toml\nnothing_of_that_name = 1\n```\n",
        "```toml\n[gates]\nefficiency = 7.0\n```\n",
    ],
)
def test_a_block_that_does_not_hold_is_noticed(tmp_path: Path, text: str) -> None:
    (block,) = blocks(page(tmp_path, text))
    with pytest.raises((AssertionError, SyntaxError, SpecError)):
        check(block, tmp_path)
