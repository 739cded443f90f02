"""tools/suite.py: what fails once more, alone, is red; what does not is flaky; a run that did not end is red."""

from __future__ import annotations

import os
import runpy
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from tests.limits import PROCESS_S
from tests.tiers import some

SUITE = Path(__file__).resolve().parents[2] / "tools" / "suite.py"
ALL_KINDS = """
import os, pathlib, pytest

def first(name):
    here = pathlib.Path(name)
    return not here.exists() and not here.touch()

@pytest.fixture
def ending():
    yield
    assert not first("ending")

def test_passes(): pass
def test_flaky(): assert not first("flaky")
def test_of_a_flaky_end(ending): pass
@pytest.mark.parametrize("name", ["a b/[::]"])
def test_ends_its_worker(name): first("crash") and os._exit(3)
@pytest.mark.skip
def test_skipped(): pass
"""


def suite(folder: Path, source: str, *words: str) -> tuple[int, list[str]]:
    """Exit code and lines of a suite of one file."""
    (folder / "test_one.py").write_text(source)
    (folder / "pytest.ini").write_text("[pytest]\nmarkers = deep\n")
    own = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    own |= {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_PLUGINS": "xdist.plugin"}  # others take a second of each process
    command = [sys.executable, str(SUITE), *words]
    done = subprocess.run(command, cwd=folder, env=own, capture_output=True, text=True, timeout=PROCESS_S, check=False)
    return done.returncode, done.stdout.splitlines()


@pytest.mark.deep
def test_what_fails_beside_others_only_is_named_and_the_run_is_green(tmp_path: Path) -> None:
    code, lines = suite(tmp_path, ALL_KINDS)
    assert (code, lines[-1]) == (0, "4 passed, 0 failed, 1 skipped"), "\n".join(lines)
    (begin,) = (number for number, line in enumerate(lines) if line.startswith("flaky"))
    named = {f"  test_one.py::{name}" for name in ("test_flaky", "test_of_a_flaky_end", "test_ends_its_worker[a b/[::]]")}
    assert set(lines[begin + 1 : -2]) == named
    assert sum(" in " in line and "passed" in line for line in lines) == 1, "pytest closes one run only"


TIERED = """
import pytest
@pytest.mark.deep
def test_of_the_rest(): assert 0
def test_of_the_first_tier(): pass
"""


@pytest.mark.parametrize(
    ("tiers", "code", "last"),
    some(
        [
            (("test",), 0, "1 passed, 0 failed, 0 skipped"),
            (("-q",), 1, "1 passed, 1 failed, 0 skipped"),
            (("test-all",), 1, "0 passed, 1 failed, 0 skipped"),
            ((), 1, "1 passed, 1 failed, 0 skipped"),
        ],
        rows=True,
    ),
)
def test_the_tiers_together_are_every_test_once(tmp_path: Path, tiers: tuple[str, ...], code: int, last: str) -> None:
    found, lines = suite(tmp_path, TIERED, *tiers)
    assert (found, lines[-1]) == (code, last), "\n".join(lines)


@pytest.mark.parametrize(
    ("source", "last"),
    [
        ("def test_passes(): pass\ndef test_broken(): assert 0\n", "1 passed, 1 failed, 0 skipped"),
        ("raise ValueError\n", "0 passed, 1 failed, 0 skipped"),
    ],
)
@pytest.mark.deep
def test_what_fails_alone_too_is_red(tmp_path: Path, source: str, last: str) -> None:
    code, lines = suite(tmp_path, source)
    assert code != 0
    assert lines[-1] == last


Run = tuple[int, dict[str, str]]


@cache
def loaded() -> dict[str, Any]:
    """What tools/suite.py defines: it holds no state."""
    return runpy.run_path(str(SUITE))


@pytest.fixture
def twice() -> Callable[..., tuple[int, dict[str, str], list[str]]]:
    """`twice`, whose two runs of pytest end as they are given."""

    def ran(*ends: Run) -> tuple[int, dict[str, str], list[str]]:
        left = list(ends)
        with patch.dict(made := loaded()["twice"].__globals__, pytest=lambda *_: left.pop(0), workers=lambda: 3):  # it computes for a while
            found: tuple[int, dict[str, str], list[str]] = made["twice"](Path(), [])
        assert left == []
        return found

    return ran


@pytest.mark.parametrize(
    ("first", "second", "code", "flaky"),
    [
        ({"a": "failed", "b": "passed"}, (0, {"a": "passed"}), 0, ["a"]),
        ({"a": "failed", "b": "failed"}, (1, {"a": "passed", "b": "failed"}), 1, ["a"]),
        ({"a": "failed"}, (5, {}), 1, []),  # nothing was collected
        ({"a": "failed", "b": "failed"}, (0, {"a": "passed"}), 1, ["a"]),  # one was not run again
        ({"a": "failed"}, (0, {"a": "skipped"}), 1, []),
        ({"a": "failed"}, (3, {"a": "passed"}), 1, ["a"]),  # and then pytest broke
    ],
)
def test_only_a_second_run_in_which_all_of_them_pass_is_green(
    twice: Callable[..., tuple[int, dict[str, str], list[str]]], first: dict[str, str], second: Run, code: int, flaky: list[str]
) -> None:
    found = twice((1, first), second)
    assert (found[0], found[2]) == (code, flaky)
    assert {name for name, outcome in found[1].items() if outcome == "passed"} == {*flaky, *({"b"} if first.get("b") == "passed" else ())}


@pytest.mark.parametrize(
    ("code", "found"),
    [
        (2, {"a": "failed"}),  # interrupted, or a module did not load
        (3, {"a": "failed"}),  # pytest's own error
        (5, {}),
        (1, {f"a{number}": "failed" for number in range(51)}),
        (1, {"a": "passed"}),  # red for another reason than a test
        (-9, {}),
    ],
)
def test_a_run_that_did_not_end_or_failed_as_a_whole_is_red_at_once(
    twice: Callable[..., tuple[int, dict[str, str], list[str]]], code: int, found: dict[str, str]
) -> None:
    assert twice((code, found)) == (code, found, [])
