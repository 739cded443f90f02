"""Which versions of other packages may be installed?  Those up to the major that the tests ran with: the next one may break what nobody changed."""

from __future__ import annotations

import tomllib
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pytest
from packaging.requirements import Requirement

PROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
EXTRAS = {name: words for name, words in PROJECT["optional-dependencies"].items() if name not in ("dev", "examples", "nvidia")}
RUNTIME = sorted({*PROJECT["dependencies"], *(word for words in EXTRAS.values() for word in words)})


@pytest.mark.parametrize("words", RUNTIME)
def test_a_runtime_dependency_ends_before_the_major_that_nobody_has_tested(words: str) -> None:
    wanted = Requirement(words)
    bounds = {one.operator: one.version for one in wanted.specifier}
    assert set(bounds) == {">=", "<"}, words
    try:
        installed = version(wanted.name)
    except PackageNotFoundError:
        pytest.skip(f"{wanted.name} is not installed here")
    assert wanted.specifier.contains(installed, prereleases=True)
    assert int(bounds["<"].split(".")[0]) == int(installed.split(".")[0]) + 1
