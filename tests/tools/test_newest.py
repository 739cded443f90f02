"""Without its upper bounds the project file asks for the same packages, and stays TOML."""

from __future__ import annotations

import tomllib
from pathlib import Path

from tools.newest import unbounded


def test_every_upper_bound_goes_and_nothing_else(repository: Path) -> None:
    text = (repository / "pyproject.toml").read_text(encoding="utf-8")
    bounded, free = (tomllib.loads(one)["project"] for one in (text, unbounded(text)))
    assert "<" not in str([free["dependencies"], free["optional-dependencies"]])
    assert [one.partition(",<")[0] for one in bounded["dependencies"]] == [one.partition(";")[0] for one in free["dependencies"]]
