"""Small records are read by one thread, large ones by all, and nobody's own choice is changed."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from fireassay.api import lookup


@pytest.fixture
def before_polars(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "polars", raising=False)
    monkeypatch.setenv(lookup.VARIABLE, "")  # so that whatever is set here is undone afterwards
    monkeypatch.delenv(lookup.VARIABLE)


def record(folder: Path, name: str, size: int) -> Path:
    table = folder / "tables" / "steps"
    table.mkdir(parents=True)
    (table / name).write_bytes(bytes(size))
    (folder / "report.html").write_bytes(bytes(2 * lookup.SMALL_BYTES))  # no table
    return folder


@pytest.mark.usefixtures("before_polars")
@pytest.mark.parametrize("name", ["launch=0.parquet", "steps.rank=0.arrows"])
def test_a_small_record_has_one_thread_and_a_large_one_all(tmp_path: Path, name: str) -> None:
    lookup.suit_threads(record(tmp_path / "large", name, lookup.SMALL_BYTES + 1))
    assert lookup.VARIABLE not in os.environ
    lookup.suit_threads(record(tmp_path / "small", name, 1000))
    assert os.environ[lookup.VARIABLE] == "1"


@pytest.mark.usefixtures("before_polars")
def test_a_choice_that_was_made_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(lookup.VARIABLE, "3")
    lookup.suit_threads(tmp_path)
    assert os.environ[lookup.VARIABLE] == "3"


@pytest.mark.usefixtures("before_polars")
def test_a_file_that_is_gone_between_two_looks_stops_no_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = record(tmp_path / "small", "launch=0.parquet", 10)

    def walked(_: Path) -> Iterator[os.DirEntry[str]]:
        with os.scandir(gone / "tables" / "steps") as entries:
            found = list(entries)
        (gone / "tables" / "steps" / "launch=0.parquet").unlink()
        yield from found

    monkeypatch.setattr(lookup, "walk", walked)
    lookup.suit_threads(gone)
    assert lookup.VARIABLE not in os.environ


def test_where_polars_is_there_already_nothing_is_chosen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(lookup.VARIABLE, raising=False)
    monkeypatch.setitem(sys.modules, "polars", sys)
    lookup.suit_threads(tmp_path)
    assert lookup.VARIABLE not in os.environ
