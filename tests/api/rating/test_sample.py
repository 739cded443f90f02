"""Are the items that people should label a random sample, the same each time, and never written over others?"""

from __future__ import annotations

from pathlib import Path

import pytest

from fireassay.api.rating import items
from fireassay.api.rating.sample import write
from fireassay.errors import SpecError
from fireassay.frames.record_data import RecordData
from tests.kinds.evaluation.judged import by_worth, record

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> RecordData:
    return record(tmp_path_factory.mktemp("record"), {"a": (3,) * 12, "b": (4,) * 12}, by_worth())


def test_a_larger_sample_holds_a_smaller_one(measured: RecordData, tmp_path: Path) -> None:
    assert write(measured, tmp_path, 4, seed=0) == 4
    first = items.read(tmp_path)
    assert write(measured, tmp_path, 4, seed=0) == 4
    assert write(measured, tmp_path, 9, seed=0) == 9
    assert items.read(tmp_path)[:4] == first


def test_another_seed_chooses_others_and_replaces_nothing(measured: RecordData, tmp_path: Path) -> None:
    write(measured, tmp_path, 4, seed=0)
    before = (tmp_path / "items.jsonl").read_bytes()
    with pytest.raises(SpecError, match="with other items"):
        write(measured, tmp_path, 4, seed=1)
    assert (tmp_path / "items.jsonl").read_bytes() == before


def test_no_more_items_than_there_are(measured: RecordData, tmp_path: Path) -> None:
    assert write(measured, tmp_path / "new", 100, seed=0) == 12


def test_the_sides_show_what_was_answered(measured: RecordData, tmp_path: Path) -> None:
    write(measured, tmp_path, 12, seed=0)
    for item in items.read(tmp_path):
        assert item.sides["a"].text.startswith(f"a {item.id.removeprefix('q')} is worth 3")
        assert item.prompt == f"Question {item.id.removeprefix('q')}?"
