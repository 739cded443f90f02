"""Whatever is changed in a record's bytes: it is read, or it is one RecordError.

Each file of a small record is cut, repeated and overwritten by hypothesis, sealed again or not; `FUZZ_EXAMPLES` says how many
examples are drawn.  What was found is kept in tests/golden/fuzz_record: the file's name and its bytes.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fireassay.errors import RecordError
from fireassay.record.lookup import record_folders
from fireassay.record.reader import open_record
from fireassay.record.seal import verify
from fireassay.record.tables import TABLES
from tests.record.making import sealed, unfinished

pytestmark = pytest.mark.slow


EXAMPLES: Final = int(os.environ.get("FUZZ_EXAMPLES", "40"))
SEVERE: Final = settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck))
SHARDS: Final = [
    b"",
    b"\0",
    b"\xff",
    b"{",
    b"[",
    b"]",
    b'"',
    b"null",
    b"NaN",
    b"1e999",
    b"-1",
    b"9" * 300,
    b"\\ud800",
    b"[" * 200,
    b"../",
    b"\x1b[2J",
    b"PAR1",
    b"\xff\xff\xff\x7f",
    b"\x80" * 10,
    b"= 1\n",
    b"[[a]]\n",
    b"\r\n",
    b"\xff\xff\xff\xff\x00\x00\x00\x00",
    b"\x7f" * 8,
]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return sealed(tmp_path_factory.mktemp("sealed"), launches=1, steps=3)


@pytest.fixture(scope="module")
def open_one(tmp_path_factory: pytest.TempPathFactory) -> Path:
    record = unfinished(tmp_path_factory.mktemp("open"), launches=1, steps=3)
    record.finish("interrupted")
    return record.path


@st.composite
def spoiled(draw: st.DrawFn, content: bytes) -> bytes:
    for _ in range(draw(st.integers(1, 4))):
        begin = draw(st.integers(0, len(content)))
        end = min(len(content), begin + draw(st.sampled_from([0, 1, 1, 2, 8, 100])))
        graft = draw(st.one_of(st.sampled_from(SHARDS), st.binary(min_size=1, max_size=8)))
        content = content[:begin] + graft + content[end:]
    return content


@contextmanager
def holding(file: Path, content: bytes) -> Iterator[None]:
    """A file with other content for a while."""
    before = file.read_bytes()
    file.write_bytes(content)
    try:
        yield
    finally:
        file.write_bytes(before)


def expect_read_or_refused(record: Path) -> None:
    """Every table, both ways, and the seal: anything but a RecordError is a finding."""
    with suppress(RecordError):
        assert isinstance(verify(record), tuple)
    assert record in record_folders(record.parent)
    try:
        opened = open_record(record)
    except RecordError as error:
        refused = str(error)
    else:
        refused = ""
        for name in TABLES:
            for read in (opened.table, opened.arrow):
                with suppress(RecordError):
                    read(name)
        assert isinstance(opened.profiles, tuple)
    assert "\n" not in refused


FILES: Final = ("manifest.json", "experiment.toml", "SEAL")


def changed(record: Path, names: list[str], data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(names))
    content = data.draw(spoiled((record / name).read_bytes()))
    with holding(record / name, content):
        expect_read_or_refused(record)


@SEVERE
@given(st.data())
def test_a_sealed_record_whose_bytes_were_changed(whole: Path, data: st.DataObject) -> None:
    tables = [path.relative_to(whole).as_posix() for path in sorted(whole.rglob("*.parquet"))]
    changed(whole, [*FILES, *tables, *tables], data)


@SEVERE
@given(st.data())
def test_an_unfinished_record_whose_bytes_were_changed(open_one: Path, data: st.DataObject) -> None:
    streams = [path.relative_to(open_one).as_posix() for path in sorted(open_one.rglob("*.arrows"))]
    changed(open_one, ["manifest.json", "experiment.toml", *streams, *streams], data)


FOUND: Final = sorted((Path(__file__).parents[1] / "golden" / "fuzz_record").glob("*"))


@pytest.mark.parametrize("found", FOUND, ids=lambda path: path.name)
def test_what_fuzzing_found_stays_mended(found: Path, whole: Path, tmp_path: Path) -> None:
    """The name of a find is the table that it stands for, and what was wrong."""
    record = Path(shutil.copytree(whole, tmp_path / "record"))
    shutil.copy(found, next((record / "tables" / found.name.partition(".")[0]).glob("launch=*/part-0.parquet")))
    expect_read_or_refused(record)
