"""Is the current folder left only where nobody asked for it?"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from fireassay import isolated

LIBRARY = os.path.dirname(os.__file__)


def left(monkeypatch: pytest.MonkeyPatch, here: Path, path: list[str], named: str = "") -> list[str]:
    monkeypatch.chdir(here)
    monkeypatch.setenv("PYTHONPATH", named)
    monkeypatch.setattr(sys, "path", path)
    isolated.leave_current_folder()
    return sys.path


def test_the_current_folder_before_the_library_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here = str(tmp_path)
    assert left(monkeypatch, tmp_path, ["", here, "/x", LIBRARY, "/site"]) == ["/x", LIBRARY, "/site"]


def test_an_editable_installation_stands_behind_the_library_and_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here = str(tmp_path)
    assert left(monkeypatch, tmp_path, [here, LIBRARY, "/site", here]) == [LIBRARY, "/site", here]


def test_a_folder_that_pythonpath_names_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here = str(tmp_path)
    assert left(monkeypatch, tmp_path, [here, LIBRARY], named=here) == [here, LIBRARY]


def test_assay_itself_is_still_found_where_it_lies_in_the_current_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    source = Path(isolated.__file__).parents[1]
    assert left(monkeypatch, source, ["", LIBRARY, "/site"]) == [LIBRARY, "/site", str(source)]


def test_a_current_folder_that_is_gone_is_no_trouble(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    monkeypatch.setattr(sys, "path", ["/x", LIBRARY])
    isolated.leave_current_folder()
    assert sys.path == ["/x", LIBRARY]
    monkeypatch.chdir(tmp_path)


def test_an_empty_element_of_pythonpath_is_not_handed_on() -> None:
    assert isolated.environment({"PYTHONPATH": ":/a::/b:", "X": "1"}) == {"PYTHONPATH": "/a:/b", "X": "1"}
    assert isolated.environment({"PYTHONPATH": ":"}) == {}
    assert isolated.environment({"X": "1"}) == {"X": "1"}
