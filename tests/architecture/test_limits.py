"""May a test that hangs cost more than itself?  The rules of tests/limits.py, read from the source of every test."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
import tomllib
from functools import cache
from pathlib import Path

import pytest

from tests.limits import PROCESS_S

pytestmark = pytest.mark.slow


TESTS = Path(__file__).resolve().parents[1]
SETTINGS = tomllib.loads((TESTS.parent / "pyproject.toml").read_text())["tool"]["pytest"]["ini_options"]


@cache
def sources() -> dict[str, ast.Module]:
    """The files that name a time limit at all."""
    texts = {path.relative_to(TESTS).as_posix(): path.read_text() for path in sorted(TESTS.rglob("*.py"))}
    return {name: ast.parse(text) for name, text in texts.items() if "timeout" in text}


def calls(tree: ast.AST) -> list[ast.Call]:
    return [node for node in ast.walk(tree) if isinstance(node, ast.Call)]


def marked(tree: ast.AST) -> list[ast.Call]:
    return [one for one in calls(tree) if ast.unparse(one.func) == "pytest.mark.timeout"]


@pytest.mark.deep
def test_an_alarm_rings_in_a_body_only_and_never_ends_a_worker() -> None:
    """Outside of a body it would raise in pytest's own code, which ends a whole run; the thread method ends the process."""
    assert SETTINGS["timeout_func_only"] is True
    assert SETTINGS["timeout_method"] == "signal"
    assert [name for name, tree in sources().items() for one in marked(tree) if one.keywords] == []


SLOW_BETWEEN = """
import time
def pytest_runtest_logreport(report): time.sleep(0.5 if report.failed else 0)
"""


@pytest.mark.parametrize(("body_only", "code"), [("true", 1), ("false", 3)])
def test_an_alarm_while_a_failure_is_being_reported_would_end_the_run(tmp_path: Path, body_only: str, code: int) -> None:
    """As it did: a limit of a test's own rang shortly before pytest-timeout's, and 7,150 tests never ran."""
    (tmp_path / "conftest.py").write_text(SLOW_BETWEEN)
    (tmp_path / "test_one.py").write_text("def test_fails(): assert 0\ndef test_next(): pass\n")
    (tmp_path / "pytest.ini").write_text(f"[pytest]\ntimeout = 0.25\ntimeout_func_only = {body_only}\n")
    words = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider"]
    own = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_PLUGINS": "pytest_timeout"}
    done = subprocess.run(words, cwd=tmp_path, env=own, capture_output=True, text=True, timeout=PROCESS_S, check=False)
    assert done.returncode == code
    assert ("1 failed, 1 passed" in done.stdout) == (body_only == "true")


def test_a_mark_only_lengthens() -> None:
    found = {name: [ast.literal_eval(one.args[0]) for one in marked(tree)] for name, tree in sources().items()}
    assert {name: given for name, given in found.items() if any(one <= SETTINGS["timeout"] for one in given)} == {}


def test_what_is_waited_for_in_a_body_may_take_half_of_its_time() -> None:
    assert SETTINGS["timeout"] >= 2 * PROCESS_S


def test_no_test_has_a_limit_of_its_own() -> None:
    """A number beside the call is a guess of how busy the machine is; tests/limits.py says one for all."""
    given = [(name, one.lineno, word) for name, tree in sources().items() for one in calls(tree) for word in one.keywords]
    limits = [(name, line, ast.unparse(word)) for name, line, word in given if word.arg == "timeout"]
    assert [one for one in limits if one[2].removeprefix("timeout=").replace(".", "").isdigit()] == []
