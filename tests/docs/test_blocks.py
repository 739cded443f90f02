"""Does everything that the pages show to run, run?"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.docs.blocks import LANGUAGES, Block, blocks, pages
from tests.docs.session import REPOSITORY, printed
from tests.tiers import some

PAGES = pages(REPOSITORY)
RUNNABLE = ("python", "sh", "toml")
MEASURES = re.compile(r"assay (run|time|comm|doctor) (?!.*--dry-run)|import torch")  # what takes its time by being measured
# Pages that are not sessions of their own, and the test that runs their blocks.
ELSEWHERE = {
    "README.md": "tests/docs/test_blocks.py",
    "docs/how-to/read-a-record.md": "tests/record/test_read_a_record.py",
    "docs/how-to/use-from-python.md": "tests/docs/test_python_page.py",
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
            marks = [pytest.mark.timeout(1200)]  # a page is a session of several commands
            marks += [pytest.mark.deep] if MEASURES.search(words) else []
            marks += [pytest.mark.torch] if "import torch" in words else []
            found.append(pytest.param(page, id=name(page), marks=marks))
    return found


def test_every_block_says_what_it_is() -> None:
    unknown = [(name(page), block.line, block.language) for page in PAGES for block in blocks(page) if block.language not in LANGUAGES]
    assert unknown == []


def test_every_fence_is_closed() -> None:
    assert [name(page) for page in PAGES if page.read_text().count("```") != 2 * len(blocks(page))] == []


@pytest.mark.parametrize("page", some(sessions(), 6))
def test_every_block_runs_and_prints_what_is_shown(page: Path, tmp_path: Path) -> None:
    for block, text in printed(page, tmp_path):
        advice = f"{name(page)}, line {block.line}, shows something else; python -m tools.page_outputs {name(page)} writes it again"
        assert block.shows(text), f"{advice}\n{block.cut(text)}"


def test_what_the_readme_runs_is_run_as_part_of_another_page() -> None:
    others = [REPOSITORY / page for page in ("docs/tutorial.md", "docs/how-to/load-a-serving-engine.md")]
    ours = [(block.file, line) for page in others for block in blocks(page) for line in _lines(block)]
    elsewhere = [block for block in blocks(REPOSITORY / "README.md") if block.language in RUNNABLE]
    elsewhere = [block for block in elsewhere if not block.text.startswith("make ")]
    assert elsewhere
    assert [block.line for block in elsewhere if any((block.file, line) not in ours for line in _lines(block))] == []


def _lines(block: Block) -> list[str]:
    """A file as a whole; of a session each command, for a page may have others between."""
    return [block.text] if block.file else block.text.splitlines()


@pytest.mark.parametrize(("page", "test"), ELSEWHERE.items())
def test_a_page_that_is_run_elsewhere_is_named_there(page: str, test: str) -> None:
    assert page in (REPOSITORY / test).read_text()
