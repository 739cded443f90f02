"""Does everything that the pages show to run, run?"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.blocks import LANGUAGES, blocks, pages
from tests.docs.session import REPOSITORY, check

PAGES = pages(REPOSITORY)
RUNNABLE = ("python", "sh", "toml")
# Pages that are not sessions of their own, and the test that runs their blocks.
ELSEWHERE = {
    "README.md": "tests/docs/test_blocks.py",
    "docs/how-to/read-a-record.md": "tests/record/test_read_a_record.py",
}


def name(page: Path) -> str:
    return page.relative_to(REPOSITORY).as_posix()


def sessions() -> list[object]:
    """The pages with something to run; those that start workers need torch."""
    found: list[object] = []
    for page in PAGES:
        runnable = [block for block in blocks(page) if block.language in RUNNABLE]
        if runnable and name(page) not in ELSEWHERE:
            words = "".join(block.text for block in runnable)
            marks = [pytest.mark.slow, pytest.mark.timeout(400)] if "assay run" in words else []
            marks += [pytest.mark.torch] if "import torch" in words else []
            found.append(pytest.param(page, id=name(page), marks=marks))
    return found


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_block_says_what_it_is(page: Path) -> None:
    unknown = [(block.line, block.language) for block in blocks(page) if block.language not in LANGUAGES]
    assert unknown == []
    assert page.read_text().count("```") == 2 * len(blocks(page)), "a fence is not closed"


@pytest.mark.parametrize("page", sessions())
def test_every_block_runs(page: Path, tmp_path: Path) -> None:
    for block in blocks(page):
        if block.file:
            (tmp_path / block.file).write_text(block.text, encoding="utf-8")
    for block in blocks(page):
        check(block, tmp_path)


def test_what_the_readme_runs_is_run_as_part_of_the_tutorial() -> None:
    readme, tutorial = (blocks(REPOSITORY / page) for page in ("README.md", "docs/tutorial.md"))
    elsewhere = [block for block in readme if block.language in RUNNABLE and not block.text.startswith("make ")]
    assert elsewhere
    ours = [(block.file, block.text) for block in tutorial]
    assert [block.line for block in elsewhere if (block.file, block.text) not in ours] == []


@pytest.mark.parametrize(("page", "test"), ELSEWHERE.items())
def test_a_page_that_is_run_elsewhere_is_named_there(page: str, test: str) -> None:
    assert page in (REPOSITORY / test).read_text()
