"""Does `make test` keep a training with torch, a page in a browser and a kill, and do both tiers together hold every test once?"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.limits import PROCESS_S
from tests.tiers import some

COLLECT = """
import sys, pytest
for expression in ("not deep", "deep"):
    print("----", flush=True)
    pytest.main(["-p", "no:cacheprovider", "-p", "tests.conftest", "--collect-only", "-q", *sys.argv[1:], "-m", expression])
"""
MARKED = """
import hypothesis, hypothesis.strategies, pytest
def test_plain(): pass
@pytest.mark.deep
def test_of_one_file(): pass
@pytest.mark.torch
def test_of_torch(): pass
@pytest.mark.{kind}
def test_of_a_costly_kind(): pass
@pytest.mark.{kind}
@pytest.mark.core
def test_of_the_core(): pass
@hypothesis.given(hypothesis.strategies.integers())
def test_of_a_property(_): pass
"""


@pytest.mark.parametrize("kind", some(["browser", "survival"]))
def test_what_is_costly_is_deep_unless_it_is_core(repository: Path, tmp_path: Path, kind: str) -> None:
    (tmp_path / "test_one.py").write_text(MARKED.format(kind=kind))
    words = ("--rootdir", str(repository), "-c", str(repository / "pyproject.toml"), str(tmp_path / "test_one.py"))
    command = [sys.executable, "-c", COLLECT, *words]
    done = subprocess.run(command, cwd=repository, capture_output=True, text=True, timeout=PROCESS_S, check=False)
    _, first, rest = (set(re.findall(r"::test_(\w+)", part)) for part in done.stdout.split("----\n"))
    assert first == {"plain", "of_torch", "of_the_core", "of_a_property"}
    assert rest == {"of_one_file", "of_a_costly_kind", "of_a_property"}, "a property is drawn once more, with all its examples"


def test_the_gate_runs_in_one_go_what_make_runs_in_two_tiers(repository: Path) -> None:
    makefile, gate = ((repository / name).read_text() for name in ("Makefile", ".ci/run"))
    for tier in ("test", "test-all"):
        assert re.search(rf"^{tier}: prepare\n(\t@.*\n)*\t\$\(SUITE\) {tier}$", makefile, re.MULTILINE)
    assert gate.endswith("tools/suite.py\n")


@pytest.mark.parametrize("kind", ["browser", "survival"])
def test_each_costly_kind_has_a_test_in_the_core(repository: Path, kind: str) -> None:
    sources = [path.read_text() for path in (repository / "tests").rglob("test_*.py") if path != Path(__file__)]
    assert any("pytest.mark.core" in source and f"pytest.mark.{kind}" in source for source in sources)


def test_of_equal_cases_the_first_few_are_not_deep() -> None:
    first, second, third = some("abc", 2)
    assert (first, second, third.values, [mark.name for mark in third.marks]) == ("a", "b", ("c",), ["deep"])
    assert some([(1, 2), (3, 4)], rows=True)[1].values == (3, 4)
