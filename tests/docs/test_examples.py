"""Is every example run by a test?"""

from __future__ import annotations

from pathlib import Path

import pytest

pytestmark = pytest.mark.slow


def examples(repository: Path) -> list[str]:
    """The experiments and scripts in examples/, relative to the repository."""
    found = [path for suffix in ("*.toml", "*.py", "*.csv") for path in (repository / "examples").rglob(suffix)]
    return sorted(path.relative_to(repository).as_posix() for path in found)


def test_every_example_is_named_in_a_test(repository: Path) -> None:
    tests = "\n".join(path.read_text() for path in (repository / "tests").rglob("test_*.py"))
    tests = tests.replace('" / "', "/")  # a path may be put together from its parts
    experiments = "\n".join(path.read_text() for path in (repository / "examples").rglob("*.toml"))
    names = [(path, path.removeprefix("examples/")) for path in examples(repository)]
    assert names
    assert [path for path, short in names if short not in tests and short not in experiments] == []
