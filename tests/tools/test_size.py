"""tools/size.py: growth counts from the newest written reason, and both sides of the table come from git."""

from __future__ import annotations

import runpy
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

SIZE = Path(__file__).resolve().parents[2] / "tools" / "size.py"
REASON = "# 0001 A page\n\n**Size.** The formulas need these lines.\n"


@pytest.fixture(scope="module")
def size() -> dict[str, Any]:
    """The names of the script."""
    return runpy.run_path(str(SIZE))


@pytest.fixture
def commit(tmp_path: Path) -> Callable[..., None]:
    """Writes files, given as path=text with `__` for `/`, and commits them."""
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)

    def written(files: dict[str, str]) -> None:
        for name, text in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        who = ("-c", "user.name=a", "-c", "user.email=a@b.c")
        subprocess.run(["git", "-C", str(tmp_path), "add", "-A"], check=True)
        subprocess.run(["git", "-C", str(tmp_path), *who, "commit", "-qm", "Change"], check=True)

    return written


def lines(count: int) -> str:
    return "x = 1\n" * count


def test_statements_are_counted_without_docstrings(size: dict[str, Any]) -> None:
    # def, assignment, return, class, pass: five; two docstrings are none.
    text = '"""Module."""\ndef f():\n    """Function."""\n    x = 1\n    return x\nclass C: pass\n'
    assert size["measured"](text) == size["Size"](5, 6, 1)


def test_a_file_belongs_to_the_folder_below_its_package(size: dict[str, Any]) -> None:
    assert size["folder"]("src/fireassay/cli/verbs/run.py") == "cli"
    assert size["folder"]("src/assay/clock.py") == "."


def test_growth_needs_a_reason_from_1001_lines_on(
    size: dict[str, Any], commit: Callable[..., None], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    commit({"src/p/a.py": lines(5), "docs/decisions/0001-a.md": REASON})
    commit({"src/p/a.py": lines(1005)})
    assert size["main"](["--check"], tmp_path) == 0
    commit({"src/p/b.py": lines(1)})
    assert size["main"](["--check"], tmp_path) == 1
    assert "+1,001 source lines" in capsys.readouterr().out
    commit({"docs/decisions/0002-b.md": REASON})
    assert size["main"](["--check"], tmp_path) == 0


def test_another_decision_is_no_reason_for_growth(size: dict[str, Any], commit: Callable[..., None], tmp_path: Path) -> None:
    commit({"src/p/a.py": "", "docs/decisions/0001-a.md": REASON})
    commit({"src/p/a.py": lines(2000), "docs/decisions/0002-b.md": "# 0002 Something else\n"})
    assert size["main"](["--check"], tmp_path) == 1


def test_uncommitted_lines_count_and_deleted_ones_pay(size: dict[str, Any], commit: Callable[..., None], tmp_path: Path) -> None:
    commit({"src/p/a.py": lines(3000), "src/p/b.py": "", "docs/decisions/0001-a.md": REASON})
    (tmp_path / "src/p/b.py").write_text(lines(3500))
    assert size["main"](["--check"], tmp_path) == 1
    (tmp_path / "src/p/a.py").write_text("")
    assert size["main"](["--check"], tmp_path) == 0


def test_the_release_is_the_commit_that_changed_the_version(
    size: dict[str, Any], commit: Callable[..., None], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    commit({"pyproject.toml": 'version = "0.1"\n', "src/old/cli/a.py": lines(2)})
    commit({"pyproject.toml": 'version = "0.1"\nname = "n"\n', "src/old/cli/a.py": lines(7)})
    assert size["main"]([], tmp_path) == 0
    row = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("cli"))
    assert row.split() == ["cli", "7", "7", "1", "|", "2", "2", "1"]


def test_without_a_history_nothing_is_compared(size: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "src/p").mkdir(parents=True)
    (tmp_path / "src/p/a.py").write_text(lines(3))
    assert size["main"]([], tmp_path) == 0
    assert "release" not in capsys.readouterr().out
    assert size["main"](["--check"], tmp_path) == 0
