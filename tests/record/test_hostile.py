"""Whatever somebody puts into a record: one sentence, in bounded memory and time, and its neighbours are still seen."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fireassay.cli import main
from fireassay.errors import RecordError
from fireassay.record.arrow_schemas import arrow_schema
from fireassay.record.lookup import resolve
from fireassay.record.reader import open_record
from fireassay.record.seal import encode, seal_line, verify
from fireassay.record.tables import TABLES
from fireassay.record.untrusted import memory_bound, paths
from tests.limits import PROCESS_S
from tests.record.making import sealed, unfinished
from tests.records.make import HERE
from tests.tiers import some

pytestmark = pytest.mark.slow


MIB = 1 << 20


def resealed(record: Path) -> Path:
    """The record as its forger leaves it: every digest fits."""
    manifest = json.loads((record / "manifest.json").read_bytes())
    for name, told in manifest["sealed"]["files"].items():
        content = (record / name).read_bytes()
        told |= {"sha256": hashlib.sha256(content).hexdigest(), "bytes": len(content)}
    (record / "manifest.json").write_bytes(encode(manifest))
    (record / "SEAL").write_bytes(seal_line((record / "manifest.json").read_bytes()))
    assert verify(record) == ()
    return record


def table_of(record: Path, name: str) -> Path:
    return min((record / "tables" / name).glob("launch=*/part-0.parquet"))


def good(root: Path) -> Path:
    return Path(shutil.copytree(HERE / "good", root / "good-20260101T000000Z-abcdef"))


def sentence(capsys: pytest.CaptureFixture[str]) -> str:
    """What was said: one sentence, and no traceback."""
    said = capsys.readouterr().err
    assert "Traceback" not in said
    assert len(said.splitlines()) == 1, said
    assert len(said) < 2000
    return said


# ---- the manifest and the experiment ---------------------------------------------------------------------------------


def manifest_with(**changes: Any) -> Callable[[Path], None]:
    def change(record: Path) -> None:
        content = json.loads((record / "manifest.json").read_bytes())
        (record / "manifest.json").write_text(json.dumps(content | changes))

    return change


def manifest_text(text: str) -> Callable[[Path], None]:
    return lambda record: (record / "manifest.json").write_text(text) and None


def experiment_text(text: str) -> Callable[[Path], None]:
    return lambda record: (record / "experiment.toml").write_text(text) and None


def instead(name: str, make: Callable[[Path], Any]) -> Callable[[Path], None]:
    def change(record: Path) -> None:
        (record / name).unlink(missing_ok=True)
        make(record / name)

    return change


DEEP = 100_000
PLAIN = '[workload]\nscript = "t.py"\n'
MANIFESTS: dict[str, Callable[[Path], None]] = {
    "lists nested deep": manifest_text("[" * DEEP),
    "objects nested deep": manifest_text('{"format_version": 5, "a": ' + '{"a":' * DEEP + "1" + "}" * DEEP + "}"),
    "nested just above the limit": manifest_text('{"format_version": 5, "a": ' + "[" * 70 + "]" * 70 + "}"),
    "a number of 10,000 digits": manifest_text('{"format_version": ' + "9" * 10_000 + "}"),
    "a version that is huge": manifest_text('{"format_version": 99999999999999999999}'),
    "a version below zero": manifest_text('{"format_version": -1}'),
    "a key twice": manifest_text('{"format_version": 5, "format_version": 4}'),
    "NaN": manifest_text('{"format_version": 5, "x": NaN}'),
    "a number beyond floats": manifest_text('{"format_version": 5, "x": 1e999}'),
    "a lone surrogate": manifest_with(name="\ud800", state=7),
    "UTF-16": lambda record: (record / "manifest.json").write_bytes('{"format_version": 5}'.encode("utf-16")) and None,
    "no UTF-8": lambda record: (record / "manifest.json").write_bytes(b'{"format_version": 5, "x": "\xff"}') and None,
    "25 MiB": manifest_text(" " * (25 * MIB)),
    "a coordinator of texts": manifest_with(coordinator={"pid": "x", "create_time": "y", "host": 3}),
    "a process number beyond integers": manifest_with(coordinator={"pid": 1 << 70, "create_time": 0, "host": "h"}),
    "no coordinator": manifest_with(coordinator=None),
    "sealed is a list": manifest_with(sealed=[1]),
    "files are a list": manifest_with(sealed={"files": ["tables/steps/x"]}),
    "a file outside": manifest_with(sealed={"files": {"../../etc/passwd": {"sha256": "", "bytes": 1}}}),
    "a file with a NUL": manifest_with(sealed={"files": {"tables/steps/a\0b": {"sha256": "", "bytes": 1}}}),
    "a file at the root": manifest_with(sealed={"files": {"/dev/zero": {"sha256": "", "bytes": 1}}}),
    "files without what is said of them": manifest_with(sealed={"files": {"tables/steps/x": 3}}),
    "environment is a text": manifest_with(environment="none"),
    "looks are an object": manifest_with(looks={"confidence": 0.9}),
    "nulls are a number": manifest_with(nulls=3),
    "nulls lead through a text": manifest_with(nulls=["name.x.y"]),
    "nulls nest deep": manifest_with(nulls=["a." * 10_000]),
    "an experiment nested deep": experiment_text("a = " + "[" * DEEP),
    "a key of 100,000 parts": experiment_text("a" + ".a" * DEEP + " = 1"),
    "tables of 100,000 parts": experiment_text("[a" + ".a" * DEEP + "]"),
    "a hundred thousand wrong keys": experiment_text("".join(f"k{i} = 1\n" for i in range(50_000))),
    "an experiment of 2 MiB": experiment_text("#" * (2 * MIB)),
    "an experiment with a NUL": experiment_text(f'name = "x\\u0000"\n{PLAIN}'),
    "an experiment with endless launches": experiment_text(
        f'name = "x"\n{PLAIN}[factor]\nlevels = {list(range(1, 20_001))}\n[launches]\nper_configuration = 1000\n'
    ),
    "an experiment that is no UTF-8": lambda record: (record / "experiment.toml").write_bytes(b'name = "\xff"') and None,
    "a manifest that is a pipe": instead("manifest.json", os.mkfifo),
    "a manifest that is a link to a device": instead("manifest.json", lambda path: path.symlink_to("/dev/zero")),
    "a manifest that is a link to itself": instead("manifest.json", lambda path: path.symlink_to("manifest.json")),
    "a manifest that is a folder": instead("manifest.json", Path.mkdir),
    "an experiment that is a pipe": instead("experiment.toml", os.mkfifo),
    "a seal that is a pipe": instead("SEAL", os.mkfifo),
    "a seal that is a link": instead("SEAL", lambda path: path.symlink_to("/dev/zero")),
}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A record that is whole, to be copied."""
    return sealed(tmp_path_factory.mktemp("made"), name="bad")


@pytest.mark.parametrize("case", some(MANIFESTS, 14))
def test_a_manifest_or_an_experiment_from_elsewhere_is_one_sentence_and_hides_no_neighbour(
    case: str, made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bad = Path(shutil.copytree(made, tmp_path / "bad-20270101T000000Z-ffffff"))
    neighbour = Path(shutil.copytree(made, tmp_path / "good-20260101T000000Z-abcdef"))
    MANIFESTS[case](bad)
    assert main(["report", str(bad)]) == 6
    assert sentence(capsys).startswith("error: ")
    with pytest.raises(RecordError):
        open_record(bad)
    assert main(["list", str(tmp_path), "--json"]) == 0
    states = {Path(one["folder"]).name: one["state"] for one in json.loads(capsys.readouterr().out)}
    assert states == {bad.name: "damaged", neighbour.name: "complete"}
    assert resolve("latest", tmp_path) == neighbour
    assert main(["verify", str(bad)]) == 6 or case.startswith("a manifest that is")


def test_the_time_for_wrong_keys_grows_with_their_number_alone() -> None:
    """A key of n parts costs the parser n squared: keys of more than 64 parts are refused before they are parsed."""
    with pytest.raises(ValueError, match="nested too deep"):
        paths.toml_of(b"a" + b".a" * 70 + b" = 1")
    assert paths.toml_of(b'x = "' + b"a." * 1000 + b'"\n# ' + b"." * 1000) == {"x": "a." * 1000}


def test_a_newer_record_that_cannot_be_opened_is_not_passed_over_in_silence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    neighbour = sealed(tmp_path)
    bad = Path(shutil.copytree(neighbour, tmp_path / "bad-20270101T000000Z-ffffff"))
    manifest_with(created_utc="2027-01-01T00:00:00+00:00")(bad)
    experiment_text("x = 1")(bad)
    assert resolve("latest", tmp_path) == neighbour
    assert "not the latest" in capsys.readouterr().err


# ---- tables ----------------------------------------------------------------------------------------------------------


def with_table(record: Path, name: str, change: Callable[[pa.Table], pa.Table], **written: Any) -> Path:
    file = table_of(record, name)
    pq.write_table(change(pq.ParquetFile(file).read()), file, **written)
    return resealed(record)


def column(name: str, make: Callable[[pa.ChunkedArray], Any]) -> Callable[[pa.Table], pa.Table]:
    """A table in which one column is another, of the same type."""

    def change(table: pa.Table) -> pa.Table:
        place = table.schema.get_field_index(name)
        field = table.schema.field(name)
        return table.set_column(place, field, pa.chunked_array([pa.array(make(table[name]), field.type)]))

    return change


ALTERED: dict[str, tuple[str, Callable[[pa.Table], pa.Table]]] = {
    "detail is no JSON": ("events", column("detail", lambda old: ["{"] * len(old))),
    "detail is a list": ("events", column("detail", lambda old: ["[1]"] * len(old))),
    "detail is nested deep": ("events", column("detail", lambda old: ["[" * DEEP] * len(old))),
    "detail holds NaN": ("events", column("detail", lambda old: ['{"error": NaN}'] * len(old))),
    "placement is no JSON": ("launches", column("placement", lambda old: ["\x1b]0;x\x07"] * len(old))),
    "begin is no date": ("launches", column("begin_utc", lambda old: ["yesterday"] * len(old))),
    "status is another word": ("launches", column("status", lambda old: ["OK\u202e"] * len(old))),
    "configuration is unknown": ("launches", column("configuration", lambda old: ["workers=99"] * len(old))),
    "times run backwards": ("steps", column("end_ns", lambda old: [-(2**62)] * len(old))),
    "times overflow": ("steps", column("end_ns", lambda old: [2**63 - 1] * len(old))),
    "items are NaN": ("steps", column("items", lambda old: [float("nan")] * len(old))),
    "items are infinite": ("steps", column("items", lambda old: [float("-inf")] * len(old))),
    "scores are NaN": ("examples", column("score", lambda old: [float("nan")] * len(old))),
    "ranks are negative": ("steps", column("rank", lambda old: [-5] * len(old))),
    "all steps are one": ("steps", column("step", lambda old: [0] * len(old))),
    "a launch number of another": ("steps", column("launch", lambda old: [2**31 - 1] * len(old))),
    "fingerprints are NaN": ("fingerprints", column("value", lambda old: [float("nan")] * len(old))),
    "telemetry is infinite": ("telemetry", column("value", lambda old: [float("inf")] * len(old))),
}


@pytest.mark.parametrize("case", some(ALTERED, 3))
def test_altered_columns_are_judged_or_told_in_one_sentence(case: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The page, too: nothing that stands in a record may bring its rendering down."""
    name, change = ALTERED[case]
    record = with_table(good(tmp_path), name, change)
    code = main(["report", str(record), "--json"])
    out, err = capsys.readouterr()
    assert "Traceback" not in err
    assert code in (0, 1, 3, 4, 6)
    if code == 6:
        assert len(err.splitlines()) == 1
        assert "cannot be judged" in err or "is damaged" in err
    else:
        assert json.loads(out)["verdict"]["status"] in ("PASS", "FAIL", "INVALID", "INCONCLUSIVE")


@pytest.mark.parametrize("older", [False, True])
def test_a_column_without_a_value_where_one_must_be_is_damage(older: bool, tmp_path: Path) -> None:
    def emptied(table: pa.Table) -> pa.Table:
        place = table.schema.get_field_index("status")
        return table.set_column(place, pa.field("status", pa.string()), pa.nulls(len(table), pa.string()))

    record = with_table(good(tmp_path) if older else sealed(tmp_path), "launches", emptied)
    with pytest.raises(RecordError, match="column status of its table launches has no value"):
        open_record(record).table("launches")


WRONG: dict[str, Callable[[pa.Table], pa.Table]] = {
    "a column too many": lambda table: table.append_column("x", pa.nulls(len(table), pa.int64())),
    "a column too few": lambda table: table.drop_columns("reason"),
    "numbers where texts belong": lambda table: table.set_column(
        table.schema.get_field_index("status"), "status", pa.array([1] * len(table))
    ),
    "bytes that are no UTF-8": lambda table: table.set_column(
        table.schema.get_field_index("status"), "status", pa.array([b"\xff\xfe"] * len(table), pa.binary())
    ),
    "four thousand columns": lambda table: pa.table({f"c{i}": [1] for i in range(4000)}),
}


@pytest.mark.parametrize("case", WRONG)
@pytest.mark.parametrize("older", [False, True])
def test_a_wrong_schema_is_one_sentence(case: str, older: bool, tmp_path: Path) -> None:
    record = with_table(good(tmp_path) if older else sealed(tmp_path), "launches", WRONG[case])
    with pytest.raises(RecordError, match="is damaged"):
        open_record(record).table("launches")
    with pytest.raises(RecordError, match="is damaged"):
        open_record(record).arrow("launches")


def test_text_that_is_no_utf_8_is_damage(tmp_path: Path) -> None:
    """The type says text, the bytes are none."""
    record = good(tmp_path)
    with_table(record, "launches", column("status", lambda old: ["QQQQQQ"] * len(old)), compression="none", use_dictionary=False)
    file = table_of(record, "launches")
    file.write_bytes(file.read_bytes().replace(b"QQQQQQ", b"\xff\xfe\xff\xfe\xff\xfe"))
    with pytest.raises(RecordError, match="is damaged"):
        open_record(resealed(record)).table("launches")


# ---- more than it looks ----------------------------------------------------------------------------------------------


def one_text(rows: int, length: int) -> pa.Array:
    return pa.DictionaryArray.from_arrays(pa.array(np.zeros(rows, dtype=np.int32)), pa.array(["x" * length]))


def launches_of(rows: int, **columns: Any) -> pa.Table:
    """A table `launches` of so many equal rows, each column a dictionary with one value."""
    values = {"int32": pa.int32(), "int64": pa.int64(), "string": pa.string()}
    zero = pa.array(np.zeros(rows, dtype=np.int32))
    made = {}
    for one in TABLES["launches"].columns:
        value = pa.array(["ok" if one.type == "string" else 0], values[one.type])
        made[one.name] = columns.get(one.name, pa.DictionaryArray.from_arrays(zero, value))
    return pa.table(made)


def bomb_of_repeats() -> pa.Table:
    """6,200 characters, a million times: 6.2 GB out of some kilobytes."""
    return launches_of(1_000_000, reason=one_text(1_000_000, 6200))


def bomb_of_runs() -> pa.Table:
    """Seventeen columns of 20 million equal numbers: 1.9 GB out of a few hundred kilobytes."""
    return launches_of(20_000_000)


def bomb_of_zeros() -> pa.Table:
    """Four hundred texts of a million characters, which compress to nothing."""
    return launches_of(400, reason=pa.array(["x" * MIB] * 400))


def write_bomb(root: Path, table: pa.Table) -> Path:
    record = sealed(root, launches=1)
    options: dict[str, Any] = {"store_schema": False, "compression": "zstd"}
    dictionaries = [field.name for field in table.schema if pa.types.is_dictionary(field.type)]
    pq.write_table(table, table_of(record, "launches"), use_dictionary=dictionaries, **options)
    return resealed(record)


CHILD = """
import sys
from fireassay.cli import main
codes = [main(words.split()) for words in sys.argv[1:]]
told = dict(line.split(":", 1) for line in open("/proc/self/status"))  # ru_maxrss would count the parent's, too
print(*codes, int(told["VmHWM"].split()[0]) // 1024)
"""


def child(*verbs: str) -> tuple[list[int], int, str]:
    """Exit codes of verbs run in one process, the MiB that it took at most, and what it said."""
    done = subprocess.run([sys.executable, "-c", CHILD, *verbs], capture_output=True, text=True, timeout=PROCESS_S, check=True)
    *codes, peak = map(int, done.stdout.splitlines()[-1].split())
    return codes, peak, done.stderr


@pytest.mark.deep
@pytest.mark.parametrize("bomb", [bomb_of_repeats, bomb_of_runs, bomb_of_zeros])
def test_a_small_file_that_means_gigabytes_is_refused_in_bounded_memory(bomb: Callable[[], pa.Table], tmp_path: Path) -> None:
    root = tmp_path / "records"
    record = write_bomb(root, bomb())
    assert table_of(record, "launches").stat().st_size < 2 * MIB
    codes, peak, said = child(f"report {record}", f"list {root}", f"audit {record}")
    assert codes == [6, 0, 6]
    assert "would take" in said
    assert "FIREASSAY_READ_MIB" in said
    assert "Traceback" not in said
    assert peak < 1000, f"{peak} MiB"


def test_the_bound_can_be_raised_and_is_named_where_it_is_nonsense(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    record = write_bomb(tmp_path, launches_of(1000, reason=one_text(1000, 300_000)))  # 300 MB of text
    with pytest.raises(RecordError, match="would take 286 MiB"):
        open_record(record).table("launches")
    monkeypatch.setenv("FIREASSAY_READ_MIB", "400")
    assert open_record(record).table("launches").height == 1000
    monkeypatch.setenv("FIREASSAY_READ_MIB", "lots")
    with pytest.raises(RecordError, match="not a number of MiB"):
        open_record(record).table("launches")


@pytest.mark.parametrize("rows", [1_000_000])
def test_a_large_honest_table_is_read(rows: int, tmp_path: Path) -> None:
    """A million steps of 10,000 ranks, as a simulated cluster writes them."""
    record = sealed(tmp_path, launches=1)
    rng = np.random.default_rng(1)
    schema = arrow_schema("steps")
    begin = np.cumsum(rng.integers(10**6, 10**8, rows))
    columns = {
        "launch": np.zeros(rows, np.int32),
        "rank": np.arange(rows, dtype=np.int32) % 10_000,
        "incarnation": np.zeros(rows, np.int32),
        "step": np.arange(rows) // 10_000,
        "begin_ns": begin,
        "end_ns": begin + rng.integers(10**6, 10**8, rows),
        "items": np.full(rows, 32.0),
        "method": ["simulated"] * rows,
    }
    table = pa.table([pa.array(columns[f.name], f.type) if f.name in columns else pa.nulls(rows, f.type) for f in schema], schema=schema)
    pq.write_table(table, table_of(record, "steps"), compression="zstd")
    assert open_record(resealed(record)).table("steps").height == rows


def footer_with(record: Path, make: Callable[[bytes], bytes]) -> Path:
    file = table_of(record, "launches")
    content = file.read_bytes()
    length = int.from_bytes(content[-8:-4], "little")
    footer = make(content[-8 - length : -8])
    file.write_bytes(content[: -8 - length] + footer + len(footer).to_bytes(4, "little") + b"PAR1")
    return resealed(record)


@pytest.mark.parametrize(
    "make",
    [
        lambda footer: b"\x15\x04\x19\xfc\xff\xff\xff\xff\x07" + footer[4:],  # two billion columns
        lambda footer: b"",
        lambda footer: b"\x00" * 100,
        lambda footer: b"\xff" * 100,
        lambda footer: footer + b"\0" * (3 * MIB),
        lambda footer: footer[: len(footer) // 2],
        lambda footer: footer[:4] + b"\x9f" * 50_000,
    ],
)
def test_a_forged_footer_is_damage(make: Callable[[bytes], bytes], tmp_path: Path) -> None:
    record = footer_with(sealed(tmp_path, launches=1), make)
    with pytest.raises(RecordError, match="is damaged"):
        open_record(record).table("launches")


def test_a_table_that_is_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    record = sealed(tmp_path, launches=1)
    table_of(record, "launches").unlink()
    os.mkfifo(record / "tables/launches/launch=0000/part-0.parquet")
    with pytest.raises(RecordError, match="is a pipe"):
        open_record(record).table("launches")
    assert any("is missing" in problem for problem in verify(record))


# ---- unfinished ones -------------------------------------------------------------------------------------------------


def stream_of(schema: pa.Schema, batches: list[pa.RecordBatch], **options: Any) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, schema, options=pa.ipc.IpcWriteOptions(**options)) as writer:
        for batch in batches:
            writer.write_batch(batch)
    return bytes(sink.getvalue().to_pybytes())


def zeros(rows: int) -> pa.RecordBatch:
    """A batch of `samples` with so many ids."""
    schema = arrow_schema("samples")
    ids = pa.ListArray.from_arrays(pa.array([0, rows], pa.int32()), pa.array(np.zeros(rows, np.int64)))
    ones = [pa.array([0], field.type) for field in list(schema)[:-1]]
    return pa.RecordBatch.from_arrays([*ones, ids], schema=schema)


def test_a_compressed_stream_is_no_stream_of_assay(tmp_path: Path) -> None:
    """800 MB of zeros in a file of some kilobytes: its writer never compresses."""
    record = unfinished(tmp_path, launches=1)
    record.finish("interrupted")
    batch = zeros(100_000_000)
    content = stream_of(batch.schema, [batch], compression="zstd")
    del batch
    assert len(content) < MIB
    (record.path / "streams/launch=0000/samples.x.arrows").write_bytes(content)
    before = pa.total_allocated_bytes()
    opened = open_record(record.path)
    assert opened.table("samples").height == 5  # those of the honest writer
    assert any("samples.x.arrows: the last" in note for note in opened.salvaged)
    assert pa.total_allocated_bytes() - before < 100 * MIB


@pytest.mark.parametrize(
    "array",
    [
        pa.RunEndEncodedArray.from_arrays(pa.array([10**9], pa.int32()), pa.array([1], pa.int64())),
        pa.nulls(10**9),
        pa.array([{"a": 1}]),
        pa.array(["a"]).dictionary_encode(),
    ],
)
def test_a_stream_of_other_types_is_no_stream_of_assay(array: pa.Array, tmp_path: Path) -> None:
    record = unfinished(tmp_path, launches=1)
    record.finish("interrupted")
    batch = pa.RecordBatch.from_arrays([array], names=["launch"])
    (record.path / "streams/launch=0000/trials.x.arrows").write_bytes(stream_of(batch.schema, [batch]))
    opened = open_record(record.path)
    assert opened.table("trials").height == 0
    assert opened.salvaged


def test_a_stream_with_the_columns_of_another_table_is_damage(tmp_path: Path) -> None:
    record = unfinished(tmp_path, launches=1)
    record.finish("interrupted")
    batch = zeros(3)
    (record.path / "streams/launch=0000/trials.x.arrows").write_bytes(stream_of(batch.schema, [batch]))
    with pytest.raises(RecordError, match="columns of its table trials"):
        open_record(record.path).table("trials")


def test_a_stream_that_is_all_holes_is_refused_unread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    record = unfinished(tmp_path, launches=1)
    record.finish("interrupted")
    with (record.path / "streams/launch=0000/trials.x.arrows").open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(RecordError, match="more than the allowed"):
        open_record(record.path).table("trials")


@pytest.mark.parametrize("name", ["streams/coordinator.lock", "streams/launch=0000/steps.x.arrows"])
def test_a_pipe_in_an_unfinished_record_is_not_waited_for(name: str, tmp_path: Path) -> None:
    record = unfinished(tmp_path, launches=1)
    record.finish("interrupted")
    manifest_with(
        state="running",
        coordinator={
            "pid": 1,
            "create_time": 1.0,
            "host": "elsewhere",
            "boot_id": Path("/proc/sys/kernel/random/boot_id").read_text().strip(),
        },
    )(record.path)
    (record.path / name).unlink(missing_ok=True)
    os.mkfifo(record.path / name)
    opened = open_record(record.path)
    if name.endswith(".arrows"):
        with pytest.raises(RecordError, match="is a pipe"):
            opened.table("steps")


# ---- a history -------------------------------------------------------------------------------------------------------


def test_one_bad_record_hides_no_other_of_a_history(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = tmp_path / "records"
    days = [Path(shutil.copytree(HERE / "good", root / f"good-2026010{day}T000000Z-abcde{day}")) for day in (1, 2, 3)]
    for day, record in enumerate(days, 1):
        manifest_with(id=f"abcde{day}", created_utc=f"2026-01-0{day}T00:00:00+00:00")(record)
        resealed(record)
    with_table(days[1], "launches", WRONG["a column too few"])
    main(["check", str(days[2]), "--history", str(root), "--confirm", "never"])
    out, err = capsys.readouterr()
    assert "Traceback" not in err
    assert f"skipped: {days[1]}" in err
    assert out


def test_memory_is_counted_as_parquet_s_documentation_says(tmp_path: Path) -> None:
    """By hand: 1000 rows of 9 numbers of 8 bytes; 8 texts of 16, and their dictionaries' and pages' bytes."""
    record = write_bomb(tmp_path, launches_of(1000))
    part = "tables/launches/launch=0000/part-0.parquet"
    memory, largest, size = memory_bound._looked_at(record, part, "launches")
    texts = sum(one.type == "string" for one in TABLES["launches"].columns)
    values = 1000 * (16 * texts + 8 * (len(TABLES["launches"].columns) - texts))
    assert values < memory < values + 100 * texts
    assert 0 < largest < 100
    assert size == (record / part).stat().st_size
    assert pl.read_parquet(record / part).height == 1000
