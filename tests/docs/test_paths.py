"""Does every source file that a page, a docstring or a comment names exist?  Files move; prose about them must follow."""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.docs.blocks import pages

REPOSITORY = Path(__file__).resolve().parents[2]
PACKAGE = REPOSITORY / "src" / "fireassay"
OURS = "|".join(sorted(path.name for path in PACKAGE.iterdir() if path.is_dir() and path.name != "__pycache__"))
FILE = re.compile(rf"`((?:src/fireassay/|fireassay/)?(?:{OURS}|tests|benchmarks|tools)/[a-z0-9_/]+\.py)`")
MODULE = re.compile(rf"`(?:fireassay\.)((?:{OURS})(?:\.[a-z0-9_]+)+)`")
SOURCES = [path for folder in (PACKAGE, *(REPOSITORY / name for name in ("benchmarks", "tools"))) for path in sorted(folder.rglob("*.py"))]


def prose(path: Path) -> Iterator[str]:
    """The docstrings and comments of a source, or a whole page."""
    if path.suffix != ".py":
        yield path.read_text()
        return
    for token in tokenize.generate_tokens(io.StringIO(path.read_text()).readline):
        if token.type == tokenize.COMMENT or (token.type == tokenize.STRING and token.string.startswith('"""')):
            yield token.string


@cache
def exists(name: str) -> bool:
    return any((base / name).exists() for base in (REPOSITORY, PACKAGE, REPOSITORY / "src"))


def module_exists(name: str) -> bool:
    """A module or package, or something in one."""
    parts = name.split(".")
    return any(exists(f"{'/'.join(head)}.py") or exists("/".join(head)) for head in (parts, parts[:-1]) if len(head) > 1)


def wrong(path: Path) -> list[str]:
    return missing([path.read_text()]) and missing(list(prose(path)))  # few files name any outside of strings: only those are taken apart


def missing(texts: list[str]) -> list[str]:
    files = [name for text in texts for name in FILE.findall(text) if not exists(name)]
    return files + [name for text in texts for name in MODULE.findall(text) if not module_exists(name)]


@pytest.mark.slow
def test_pages_docstrings_and_comments_name_files_that_exist() -> None:
    found = {path.relative_to(REPOSITORY).as_posix(): names for path in (*pages(REPOSITORY), *SOURCES) if (names := wrong(path))}
    assert found == {}


def test_a_file_that_moved_is_noticed(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("`stats/no_such_file.py` and `fireassay.stats.no_such_module.value` and `stats/intervals/means.py`")
    assert wrong(page) == ["stats/no_such_file.py", "stats.no_such_module.value"]
