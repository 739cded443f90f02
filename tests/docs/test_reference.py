"""Is the generated reference up to date, and would it be noticed if it were not?"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.limits import PROCESS_S
from tools import reference


@pytest.fixture(autouse=True)
def window(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")


def test_the_reference_is_up_to_date(repository: Path) -> None:
    command = [sys.executable, "tools/reference.py", "--check"]
    result = subprocess.run(command, cwd=repository, capture_output=True, text=True, timeout=PROCESS_S, check=False)
    assert (result.returncode, result.stderr.strip()) == (0, "")


def test_a_changed_a_missing_and_a_left_over_page_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reference, "PAGES", {"a.md": lambda: "a", "b.md": lambda: "b", "c.md": lambda: "c"})
    for file, text in {"a.md": "a", "b.md": "changed", "d.md": "left over"}.items():
        (tmp_path / file).write_text(text)
    assert reference.stale(tmp_path) == ["b.md", "c.md", "d.md"]
