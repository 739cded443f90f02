"""Any change to a sealed record is found, and the right file is named."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fireassay.errors import RecordError
from fireassay.record.folder import reopen
from fireassay.record.seal import seal_line, verify
from tests.record.making import sealed, unfinished
from tests.tiers import examples

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def record(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sealed record that every test leaves as it found it."""
    return sealed(tmp_path_factory.mktemp("intact"))


def all_files(path: Path) -> list[str]:
    return sorted(file.relative_to(path).as_posix() for file in path.rglob("*") if file.is_file())


@contextmanager
def changed(file: Path, content: bytes) -> Iterator[None]:
    """The file with other content, for a while."""
    right = file.read_bytes()
    file.write_bytes(content)
    try:
        yield
    finally:
        file.write_bytes(right)


def test_an_untouched_record_is_intact(record: Path) -> None:
    assert all_files(record)[:2] == ["SEAL", "experiment.toml"]
    assert verify(record) == ()


@pytest.mark.slow
@examples(200)
@given(data=st.data())
def test_any_single_flipped_bit_is_found_and_its_file_named(record: Path, data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(all_files(record)))
    content = bytearray((record / name).read_bytes())
    at = data.draw(st.integers(0, len(content) - 1))
    content[at] ^= 1 << data.draw(st.integers(0, 7))
    with changed(record / name, bytes(content)):
        (problem,) = verify(record)
        assert problem.startswith(f"{name}: ")
    assert verify(record) == ()


@pytest.mark.deep
@pytest.mark.slow
def test_every_flipped_bit_of_the_seal_itself_is_laid_to_the_seal(record: Path) -> None:
    right = (record / "SEAL").read_bytes()
    for at in range(len(right) * 8):
        content = bytearray(right)
        content[at // 8] ^= 1 << (at % 8)
        with changed(record / "SEAL", bytes(content)):
            (problem,) = verify(record)
            assert problem.startswith("SEAL: "), f"bit {at}"


@pytest.mark.parametrize("content", [b"", b"x", b"0" * 64 + b"  manifest.json\n" + b"more"])
def test_a_seal_of_another_length_is_laid_to_the_seal(record: Path, content: bytes) -> None:
    with changed(record / "SEAL", content):
        assert verify(record)[0].startswith("SEAL: ")


@pytest.mark.parametrize("name", ["manifest.json", "experiment.toml", "logs/launch=0000.log"])
def test_bytes_cut_off_or_added_are_found(record: Path, name: str) -> None:
    right = (record / name).read_bytes()
    for content in (right[:-1], right + b" ", b""):
        with changed(record / name, content):
            assert [problem.split(":")[0] for problem in verify(record)] == [name]


def test_every_missing_file_is_named(tmp_path: Path) -> None:
    path = sealed(tmp_path)
    for name in all_files(path):
        right = (path / name).read_bytes()
        (path / name).unlink()
        assert [problem.split(":")[0] for problem in verify(path)] == [name]
        (path / name).write_bytes(right)
    assert verify(path) == ()


@pytest.mark.parametrize(
    "name", ["extra.txt", "manifest.json.tmp", "tables/steps/launch=0000/part-1.parquet", "logs/.hidden", "traces/a.json"]
)
def test_every_additional_file_is_named(tmp_path: Path, name: str) -> None:
    path = sealed(tmp_path)
    (path / name).parent.mkdir(exist_ok=True)
    (path / name).touch()
    assert verify(path) == (f"{name}: was added after sealing.",)


def test_a_file_swapped_for_a_folder_or_a_link_is_found(tmp_path: Path) -> None:
    path = sealed(tmp_path)
    log = path / "logs" / "launch=0000.log"
    copy = tmp_path / "copy.log"
    copy.write_bytes(log.read_bytes())
    log.unlink()
    log.symlink_to(copy)
    assert [problem.split(":")[0] for problem in verify(path)] == ["logs/launch=0000.log"]
    log.unlink()
    log.mkdir()
    assert [problem.split(":")[0] for problem in verify(path)] == ["logs/launch=0000.log"]


def test_links_and_pipes_below_a_record_can_be_sealed_and_are_not_followed(tmp_path: Path) -> None:
    folder = unfinished(tmp_path)
    traces = folder.path / "traces"
    traces.mkdir()
    (traces / "nowhere").symlink_to("does-not-exist")
    (traces / "outside").symlink_to(tmp_path)
    os.mkfifo(traces / "pipe")
    folder.finish("complete")
    assert verify(folder.path) == ()
    (traces / "nowhere").unlink()
    (traces / "nowhere").symlink_to("elsewhere-now")
    assert [problem.split(":")[0] for problem in verify(folder.path)] == ["traces/nowhere"]


def test_reports_are_outside_the_seal(tmp_path: Path) -> None:
    path = sealed(tmp_path)
    (path / "reports").mkdir()
    (path / "reports" / "report.html").write_text("<p>derived</p>")
    assert verify(path) == ()


def test_several_problems_are_all_named_in_order(tmp_path: Path) -> None:
    path = sealed(tmp_path)
    (path / "experiment.toml").unlink()
    (path / "added").touch()
    (path / "logs/launch=0001.log").write_text("other")
    assert [problem.split(":")[0] for problem in verify(path)] == ["added", "experiment.toml", "logs/launch=0001.log"]


def test_an_unsealed_record_says_what_to_do(tmp_path: Path) -> None:
    (problem,) = verify(unfinished(tmp_path).path)
    assert "is not sealed yet" in problem
    assert "`assay resume" in problem


def test_streams_left_behind_by_a_crash_are_named_and_removed_by_reopening(tmp_path: Path) -> None:
    path = sealed(tmp_path)
    (path / "streams" / "launch=0000").mkdir(parents=True)
    (problem,) = verify(path)
    assert problem.startswith("streams/: is left over")
    reopen(path)
    assert verify(path) == ()


def test_a_folder_that_is_no_record_is_an_error_not_a_problem(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match="is not a record of assay"):
        verify(tmp_path)


@pytest.mark.parametrize("content", [b"[]", b"no json", b'{"sealed": null}', b'{"sealed": {"files": {"a": {}}}}'])
def test_a_sealed_manifest_that_lists_no_files_is_named(tmp_path: Path, content: bytes) -> None:
    path = sealed(tmp_path)
    (path / "manifest.json").write_bytes(content)
    (path / "SEAL").write_bytes(seal_line(content))
    (problem,) = verify(path)
    assert problem.startswith("manifest.json: does not list the sealed files")
