"""Any folder gets either its rows or one clear sentence."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path
from unittest.mock import Mock

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fireassay.clock import FakeClock
from fireassay.errors import RecordError
from fireassay.record.folder import create
from fireassay.record.lookup import resolve
from fireassay.record.reader import MIGRATED, judged_from, open_record, refuse_gaps
from fireassay.record.tables import FORMAT_VERSION, TABLES
from fireassay.record.writer import StreamWriter
from tests.record.making import experiment, launch_row, sealed, step_row, unfinished

POLARS = {
    "int32": pl.Int32,
    "int64": pl.Int64,
    "float64": pl.Float64,
    "string": pl.String,
    "list<int64>": pl.List(pl.Int64),
    "list<float64>": pl.List(pl.Float64),
}


@pytest.mark.parametrize("finished", [False, True], ids=["streams", "sealed"])
def test_every_table_has_the_schema_of_the_tables_page_even_without_rows(tmp_path: Path, finished: bool) -> None:
    path = sealed(tmp_path) if finished else unfinished(tmp_path).path
    record = open_record(path)
    for name, table in TABLES.items():
        assert record.table(name).schema == {column.name: POLARS[column.type] for column in table.columns}


@pytest.mark.parametrize("reads", ["read_metadata", "ParquetFile"])
def test_what_the_machine_lacks_is_not_called_damage(reads: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    record = open_record(sealed(tmp_path))
    monkeypatch.setattr(pq, reads, Mock(side_effect=OSError(errno.EMFILE, "Too many open files")))
    with pytest.raises(RecordError, match="cannot read .*: Too many open files"):
        record.arrow("steps")


@pytest.mark.slow
def test_sealing_changes_no_row(tmp_path: Path) -> None:
    folder = unfinished(tmp_path, launches=3)
    unsealed = open_record(folder.path)
    before = {name: unsealed.table(name) for name in TABLES}
    folder.finish("complete")
    for name, frame in before.items():
        assert open_record(folder.path).table(name).equals(frame)


def test_nulls_stay_nulls_and_zeros_stay_zeros(tmp_path: Path) -> None:
    row = open_record(sealed(tmp_path, launches=1, steps=1)).table("steps").row(0, named=True)
    assert (row["data_ns"], row["forward_ns"], row["begin_ns"]) == (None, 40, 0)


def test_streams_of_several_processes_are_read_together(tmp_path: Path) -> None:
    folder = create(tmp_path, experiment(), "", clock=FakeClock())
    for rank in range(3):
        writer = StreamWriter(folder.launch_folder(0), f"rank={rank}.inc=0.pid=1")
        writer.append("steps", step_row(0, 0, rank))
        writer.close()
    assert open_record(folder.path).table("steps")["rank"].to_list() == [0, 1, 2]


def test_a_cut_off_stream_is_read_up_to_the_cut_and_named_before_and_after_sealing(tmp_path: Path) -> None:
    folder = unfinished(tmp_path, launches=1)
    (stream,) = (folder.path / "streams" / "launch=0000").glob("samples.*")
    with stream.open("ab") as file:
        file.write(b"\xff\xff\xff\xff\x00\x01")  # the beginning of a message
    note = f"streams/launch=0000/{stream.name}: the last 6 bytes are cut off or damaged; 5 rows were kept"
    assert open_record(folder.path).salvaged == (note,)
    assert open_record(folder.path).table("samples").height == 5
    folder.finish("complete")
    assert open_record(folder.path).salvaged == (note,)
    assert open_record(folder.path).table("samples").height == 5


def test_a_stream_with_foreign_columns_is_left_out_and_named(tmp_path: Path) -> None:
    folder = unfinished(tmp_path, launches=1)
    streams = folder.path / "streams" / "launch=0000"
    (foreign,) = streams.glob("samples.*")
    foreign.rename(streams / "steps.zzz.arrows")
    record = open_record(folder.path)
    assert record.table("steps").height == 5
    assert record.salvaged == ("streams/launch=0000/steps.zzz.arrows: its columns are not those of the table steps; not read",)


@pytest.mark.slow
@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(cut=st.integers(min_value=0), data=st.data())
def test_a_record_whose_streams_are_cut_anywhere_still_opens_and_seals(
    tmp_path_factory: pytest.TempPathFactory, cut: int, data: st.DataObject
) -> None:
    folder = unfinished(tmp_path_factory.mktemp("cut"), launches=1)
    streams = sorted((folder.path / "streams" / "launch=0000").glob("*.arrows"))
    stream = data.draw(st.sampled_from(streams))
    os.truncate(stream, cut % stream.stat().st_size)
    before = {name: open_record(folder.path).table(name) for name in TABLES}
    assert before["steps"].height in (0, 5)
    folder.finish("complete")
    record = open_record(folder.path)
    assert all(record.table(name).equals(frame) for name, frame in before.items())


# ---- folders that are no records ---------------------------------------------------------------------------------


def fails(path: Path, sentence: str) -> None:
    """Opening raises a RecordError of one paragraph that names the path and matches."""
    with pytest.raises(RecordError, match=sentence) as caught:
        open_record(path)
    assert str(path) in str(caught.value)
    assert caught.value.exit_code == 6


def edit(path: Path, **changes: object) -> None:
    """Change keys of a manifest."""
    manifest = json.loads((path / "manifest.json").read_bytes())
    (path / "manifest.json").write_text(json.dumps(manifest | changes))


def test_a_missing_folder_points_to_the_list(tmp_path: Path) -> None:
    fails(tmp_path / "nothing", "does not exist. `assay list` shows")


def test_a_file_is_no_record(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    fails(tmp_path / "file", "is a file, not a record folder")


def test_an_empty_folder_says_so(tmp_path: Path) -> None:
    fails(tmp_path, "is not a record of assay: it is empty")


def test_a_foreign_folder_says_what_is_missing(tmp_path: Path) -> None:
    (tmp_path / "thesis.pdf").touch()
    fails(tmp_path, r"is not a record of assay: it has no manifest\.json")


@pytest.mark.parametrize("content", [b"", b"{", b"\xff\xfe", b"\x00" * 100, b"not json"])
def test_a_manifest_that_is_not_json_is_named(tmp_path: Path, content: bytes) -> None:
    path = sealed(tmp_path)
    (path / "manifest.json").write_bytes(content)
    fails(path, r"manifest\.json is damaged or foreign: it is not JSON")


@pytest.mark.parametrize("content", ["[]", "3", "{}", '{"format_version": "1"}', '{"format_version": true}', '{"name": "npm"}'])
def test_another_programs_manifest_is_foreign(tmp_path: Path, content: str) -> None:
    (tmp_path / "manifest.json").write_text(content)
    fails(tmp_path, r"is not a record of assay: its manifest\.json names no format_version")


@pytest.mark.slow
def test_a_newer_format_names_the_assay_that_can_read_it(tmp_path: Path) -> None:
    path = sealed(tmp_path)
    edit(path, format_version=99)
    fails(path, f"is of record format 99; this assay .* reads formats up to {FORMAT_VERSION}. Open it with the assay that wrote it")


def test_a_format_that_no_migration_knows_is_refused(tmp_path: Path) -> None:
    path = sealed(tmp_path)
    edit(path, format_version=-3)
    fails(path, "is of record format -3, which assay .* cannot read")


@pytest.mark.parametrize("key", ["id", "name", "created_utc", "state", "coordinator"])
def test_a_manifest_without_a_key_names_the_key(tmp_path: Path, key: str) -> None:
    path = sealed(tmp_path)
    edit(path, **{key: None})
    fails(path, rf"manifest\.json is damaged: {key} is missing or of the wrong type")


def test_a_sealed_manifest_without_its_files_is_damaged(tmp_path: Path) -> None:
    path = sealed(tmp_path)
    edit(path, sealed=None)
    fails(path, r"sealed\.files is missing")


def test_a_table_that_is_a_link_is_refused(tmp_path: Path) -> None:
    path = sealed(tmp_path)
    part = sorted((path / "tables" / "launches").rglob("*.parquet"))[0]
    part.rename(tmp_path / "elsewhere.parquet")
    part.symlink_to(tmp_path / "elsewhere.parquet")
    with pytest.raises(RecordError, match="is a symbolic link"):
        open_record(path).table("launches")


@pytest.mark.parametrize("name", ["tables/steps/../../../secret.parquet", "/etc/hostname"])
def test_a_manifest_that_points_outside_of_its_record_is_damaged(tmp_path: Path, name: str) -> None:
    path = sealed(tmp_path)
    edit(path, sealed={"files": {name: {"sha256": "", "bytes": 0}}})
    fails(path, r"sealed\.files is missing or of the wrong type")


def test_a_removed_seal_never_reads_as_an_empty_interrupted_record(tmp_path: Path) -> None:
    path = sealed(tmp_path)
    (path / "SEAL").unlink()
    fails(path, "SEAL is missing")


@pytest.mark.parametrize("content", ["", "name = ", 'name = "x"\n', "\ud800"])
def test_a_damaged_experiment_is_named(tmp_path: Path, content: str) -> None:
    path = sealed(tmp_path)
    (path / "experiment.toml").write_bytes(content.encode("utf-8", "surrogatepass"))
    fails(path, r"experiment\.toml is damaged")


def test_a_missing_experiment_is_named(tmp_path: Path) -> None:
    path = sealed(tmp_path)
    (path / "experiment.toml").unlink()
    fails(path, r"cannot read .*experiment\.toml: No such file")


def test_a_missing_table_file_is_named_when_the_table_is_read(tmp_path: Path) -> None:
    path = sealed(tmp_path)
    (path / "tables/steps/launch=0001/part-0.parquet").unlink()
    record = open_record(path)
    assert record.table("samples").height == 10
    with pytest.raises(RecordError, match=r"tables/steps/launch=0001/part-0\.parquet is missing"):
        record.table("steps")


def test_a_damaged_table_file_is_named_when_the_table_is_read(tmp_path: Path) -> None:
    path = sealed(tmp_path)
    (path / "tables/steps/launch=0001/part-0.parquet").write_bytes(b"PAR1 nonsense")
    with pytest.raises(RecordError, match=r"part-0\.parquet is damaged .* `assay verify"):
        open_record(path).table("steps")


def test_a_record_that_is_sealed_while_it_is_read_never_gives_half_its_rows(tmp_path: Path) -> None:
    folder = unfinished(tmp_path)
    early = open_record(folder.path)
    folder.finish("complete")
    with pytest.raises(RecordError, match=r"was sealed while it was being read. Read it again"):
        early.table("steps")


def test_nothing_in_a_record_is_unpickled_or_executed() -> None:
    package = Path(__file__).resolve().parents[2] / "src" / "fireassay" / "record"
    for file in package.glob("*.py"):
        for word in ("pickle.", "import pickle", "eval(", "exec(", "marshal", "yaml"):
            assert word not in file.read_text(encoding="utf-8"), f"{word} in {file.name}"


# ---- which record is meant ---------------------------------------------------------------------------------------


def test_a_record_is_found_by_path_name_id_beginning_and_latest(tmp_path: Path) -> None:
    root = tmp_path / "records"
    older = create(root, experiment("digits"), "", clock=FakeClock()).path
    newer = create(root, experiment("words"), "", clock=FakeClock(ns=10**12)).path
    (root / "not-a-record").mkdir()
    assert resolve(str(older), root) == older
    assert resolve(older.name, root) == older
    assert resolve(older.name[-6:], root) == older
    assert resolve("dig", root) == older
    assert resolve("latest", root) == newer


def test_the_latest_of_two_that_were_made_in_one_second_is_not_a_matter_of_their_names(tmp_path: Path) -> None:
    paths = [create(tmp_path, experiment(name), "", clock=FakeClock()).path for name in ("words", "digits")]
    for place, path in enumerate(paths):
        os.utime(path / "experiment.toml", ns=(place, place))
    assert resolve("latest", tmp_path) == paths[1]


def test_an_ambiguous_beginning_lists_what_it_fits(tmp_path: Path) -> None:
    first, second = (create(tmp_path, experiment(), "", clock=FakeClock()).path for _ in range(2))
    with pytest.raises(RecordError, match=r"2 records in .* begin with 'digits'") as caught:
        resolve("digits", tmp_path)
    assert first.name in str(caught.value)
    assert second.name in str(caught.value)


def test_nothing_that_fits_says_so(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match=r"no record in .* has the name or id 'x', or a name that begins with it"):
        resolve("x", tmp_path)
    with pytest.raises(RecordError, match=r"there is no record in .*none"):
        resolve("latest", tmp_path / "none")


def test_an_interrupted_launch_row_is_read_like_any_other(tmp_path: Path) -> None:
    folder = create(tmp_path, experiment(), "", clock=FakeClock())
    folder.writer(0).append("launches", launch_row(0, status="aborted"))
    folder.finish("interrupted")
    assert open_record(folder.path).table("launches")["status"].to_list() == ["aborted"]


def test_migrations_change_no_table_that_is_read_as_todays(repository: Path) -> None:
    steps = open_record(repository / "tests" / "records" / "good")._migrations  # of the first format
    assert len(steps) == FORMAT_VERSION - 1
    table = pa.table({"launch": pa.array([0, 1], pa.int32())})
    assert [name for name in set(TABLES) - set(MIGRATED) for step in steps if step.table(name, lambda _: table) is not table] == []


def test_what_cannot_be_judged_says_where_it_failed(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match=r"KeyError at reader:\d+: "), judged_from(tmp_path):
        refuse_gaps(tmp_path, "no such table", {})
