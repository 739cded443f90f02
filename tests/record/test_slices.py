"""A large table is judged in slices, as if it had been read whole."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fireassay.cli import main
from fireassay.errors import RecordError
from fireassay.frames.record_data import from_record
from fireassay.record import slices
from fireassay.record.reader import open_record, sliced
from fireassay.record.slices import Slices, of_frame
from fireassay.record.tables import TABLES

RECORDS = Path(__file__).resolve().parents[1] / "records"
TRAININGS = ("good", "unsynced", "padding_duplicates", "seed_mismatch")
EVERY = [column.name for column in TABLES["steps"].columns]


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every table with steps is large, and a slice holds one rank."""
    monkeypatch.setattr(slices, "KEPT_ROWS", 0)
    monkeypatch.setattr(slices, "SLICE_ROWS", 1)


def steps_of(record: Path) -> Slices:
    found = open_record(record).slices("steps")
    assert found is not None
    return found


def report(record: Path, capsys: pytest.CaptureFixture[str]) -> object:
    main(["report", str(record), "--json"])
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("name", TRAININGS)
def test_a_record_in_slices_is_judged_as_one_in_memory(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    record = Path(shutil.copytree(RECORDS / name, tmp_path / name))
    whole = report(record, capsys)
    monkeypatch.setattr(slices, "KEPT_ROWS", 0)
    monkeypatch.setattr(slices, "SLICE_ROWS", 1)
    monkeypatch.setattr("fireassay.record.reader.read_frame", _without_steps)
    assert report(record, capsys) == whole


def _without_steps(path: Path, parts: list[str], name: str) -> pl.DataFrame:
    from fireassay.record import reader

    assert name != "steps", "the steps were read whole"
    return pl.concat(reader._read_part(path, part, name) for part in parts) if parts else reader._without_rows(name)


@pytest.mark.usefixtures("small")
def test_slices_hold_the_rows_of_the_table_in_its_order() -> None:
    record = open_record(RECORDS / "good")
    parts = list(steps_of(RECORDS / "good").frames(EVERY))
    assert len(parts) == 9  # of launches of one and of two ranks, three each
    assert pl.concat(parts).equals(record.table("steps"))


@pytest.mark.usefixtures("small")
def test_some_launches_and_ranks_are_read_alone() -> None:
    table = open_record(RECORDS / "good").table("steps")
    some = pl.concat(steps_of(RECORDS / "good").frames(["launch", "rank", "step"], launches=[1, 2, 3], ranks=[0]))
    assert some.equals(table.filter(pl.col("launch").is_in([1, 2, 3]) & (pl.col("rank") == 0)).select("launch", "rank", "step"))
    (nothing,) = steps_of(RECORDS / "good").frames(["step"], launches=[])
    assert nothing.is_empty()


def test_a_small_table_is_held_in_memory() -> None:
    assert open_record(RECORDS / "good").slices("steps") is None


@pytest.mark.usefixtures("small")
def test_a_table_in_another_order_is_read_whole(tmp_path: Path) -> None:
    record = tmp_path / "r"
    part = "tables/steps/launch=0000/part-0.parquet"
    (record / part).parent.mkdir(parents=True)
    table = open_record(RECORDS / "good").table("steps")
    table.reverse().write_parquet(record / part)
    assert sliced(record, [part], "steps") is None
    table.write_parquet(record / part)
    assert sliced(record, [part], "steps") is not None


@pytest.mark.usefixtures("small")
def test_a_part_that_is_damaged_or_lacks_values_is_named(tmp_path: Path) -> None:
    record = Path(shutil.copytree(RECORDS / "good", tmp_path / "good"))
    part = "tables/steps/launch=0000/part-0.parquet"
    found = steps_of(record)
    whole = (record / part).read_bytes()
    (record / part).write_bytes(b"")
    with pytest.raises(RecordError, match=r"part-0.parquet is damaged"):
        list(found.frames(EVERY))
    (record / part).write_bytes(whole)
    pl.read_parquet(record / part).with_columns(end_ns=pl.lit(None, pl.Int64)).write_parquet(record / part)
    with pytest.raises(RecordError, match=r"the column end_ns of its table steps has no value"):
        list(steps_of(record).frames(EVERY))


@pytest.mark.usefixtures("small")
def test_steps_of_a_record_are_counted_without_the_table() -> None:
    measured = from_record(open_record(RECORDS / "good"))
    table = open_record(RECORDS / "good").table("steps")
    assert measured.stepped["rows"].sum() == table.height
    assert measured.global_steps.height == table.select("launch", "step").n_unique()


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 3)), max_size=30), st.integers(1, 10))
def test_groups_of_ranks_hold_every_row_once_and_no_rank_twice(rows: list[tuple[int, int]], most: int) -> None:
    steps = pl.DataFrame(rows, schema={"launch": pl.Int32, "rank": pl.Int32}, orient="row").with_row_index()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(slices, "SLICE_ROWS", most)
        groups = list(of_frame(steps).frames(["index", "launch", "rank"]))
    assert pl.concat(groups).sort("index").equals(steps.select("index", "launch", "rank"))
    of_groups = [group.select("launch", "rank").unique() for group in groups]
    assert not pl.concat(of_groups).is_duplicated().any()
    assert all(group.height <= most or ranks.height == 1 for group, ranks in zip(groups, of_groups, strict=True))
