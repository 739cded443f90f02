"""A record of an older format is read in today's terms, and its folder is never touched."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import tomli_w

from fireassay.record import manifest, seal
from fireassay.record.manifest import Migration, ReadTable, steps_from
from fireassay.record.reader import open_record
from fireassay.record.seal import verify
from fireassay.record.tables import FORMAT_VERSION, HISTORY
from tests.record.making import sealed

# The made-up format 0: `title` instead of `name`, seconds instead of nanoseconds in the steps, `trainer` in the experiment.


def _manifest(old: dict[str, Any]) -> dict[str, Any]:
    return {**old, "name": old["title"]}


def _experiment(old: dict[str, Any]) -> dict[str, Any]:
    return {**{key: value for key, value in old.items() if key != "trainer"}, "workload": {"script": old["trainer"]}}


def _table(name: str, read: ReadTable) -> pa.Table | None:
    found = read(name)
    if name != "steps" or found is None:
        return found
    for column in ("begin_ns", "end_ns"):
        seconds = found[column.replace("_ns", "_s")]
        found = found.append_column(column, pa.array([round(value.as_py() * 1e9) for value in seconds], pa.int64()))
    return found.select([*read_names()])


def read_names() -> tuple[str, ...]:
    from fireassay.record.declared import STEPS

    return STEPS.column_names


FROM_0 = Migration(manifest=_manifest, experiment=_experiment, table=_table)


def of_format_0(root: Path) -> Path:
    """A sealed record of the made-up format 0, sealed as that format would have been."""
    path = sealed(root, launches=1)
    file = path / "tables/steps/launch=0000/part-0.parquet"
    table = pq.read_table(file, partitioning=None)
    for column in ("begin_ns", "end_ns"):
        seconds = pa.array([value.as_py() / 1e9 for value in table[column]], pa.float64())
        table = table.drop_columns([column]).append_column(column.replace("_ns", "_s"), seconds)
    pq.write_table(table, file)
    experiment = tomllib.loads((path / "experiment.toml").read_text())
    experiment["trainer"] = experiment.pop("workload")["script"]
    (path / "experiment.toml").write_text(tomli_w.dumps(experiment))
    manifest = json.loads((path / "manifest.json").read_bytes())
    manifest |= {"format_version": 0, "title": manifest.pop("name")}
    manifest["sealed"]["files"] = seal.describe(path)
    content = seal.encode(manifest)
    (path / "manifest.json").write_bytes(content)
    (path / "SEAL").write_bytes(seal.seal_line(content))
    return path


@pytest.mark.slow
def test_an_old_record_is_migrated_while_it_is_read_and_stays_intact(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = of_format_0(tmp_path)
    monkeypatch.setitem(manifest.MIGRATIONS, 0, FROM_0)
    record = open_record(path)
    monkeypatch.setattr("fireassay.record.reader.MIGRATED", ("steps",))
    assert record.manifest["name"] == "digits"
    assert record.experiment.workload.script == "train.py"
    assert record.table("steps")["begin_ns"].to_list() == [0, 100, 200, 300, 400]
    assert record.table("samples").height == 5
    assert verify(path) == ()


@pytest.mark.parametrize("table", ["examples", "arrivals"])
def test_of_format_5_nobody_knows_what_examples_share(table: str) -> None:
    import pyarrow as pa

    old = pa.table({"launch": pa.array([0, 1], pa.int32())})
    found = manifest.MIGRATIONS[5].table(table, {table: old}.get)
    assert found is not None
    assert (found.schema.field("cluster").type, found["cluster"].to_pylist()) == (pa.string(), [None, None])
    assert manifest.MIGRATIONS[5].table("steps", {"steps": old}.get) is old


def test_migrations_are_chained_in_order_and_a_gap_is_not_jumped() -> None:
    step = Migration()
    assert steps_from(FORMAT_VERSION, {}) == ()
    assert steps_from(FORMAT_VERSION - 2, {FORMAT_VERSION - 2: FROM_0, FORMAT_VERSION - 1: step}) == (FROM_0, step)
    assert steps_from(FORMAT_VERSION - 2, {FORMAT_VERSION - 2: FROM_0}) is None


def test_every_format_since_the_first_can_be_read_and_is_in_the_history() -> None:
    assert sorted(HISTORY) == list(range(1, FORMAT_VERSION + 1))
    assert all(steps_from(version) is not None for version in HISTORY)


def test_requests_of_format_3_say_nothing_of_the_time_inside_a_model() -> None:
    step = manifest.MIGRATIONS[3]
    old = pa.table({"request": [1, 2]})
    read = step.table("requests", lambda _: old)
    assert read is not None
    assert read.column_names == ["request", "tokenize_ns", "prefill_ns"]
    assert read["prefill_ns"].to_pylist() == [None, None]
    assert step.table("steps", lambda _: old) is old
    assert step.table("requests", lambda _: None) is None


def test_requests_of_format_6_say_nothing_of_how_unsure_their_times_are() -> None:
    step = manifest.MIGRATIONS[6]
    old = pa.table({"request": [1, 2]})
    read = step.table("requests", lambda _: old)
    assert read is not None
    assert read["chunk_uncertainty_ns"].to_pylist() == [[], []]
    assert read.schema.field("chunk_uncertainty_ns").type == pa.list_(pa.int64())
    assert step.table("steps", lambda _: old) is old
    assert step.table("requests", lambda _: None) is None
