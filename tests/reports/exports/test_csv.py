"""CSV and Parquet come back through other readers, value by value, and the dictionary describes every column."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow.parquet as pq
import pytest

from fireassay import catalog
from fireassay.record.files import pieces
from fireassay.reports.exports.export import Subject
from tests.exporting import subject
from tests.statuses import RECORDS

pytestmark = pytest.mark.slow
KINDS = {"string": str, "number": float, "integer": int, "boolean": lambda text: {"true": True, "false": False}[text], "array": json.loads}


@pytest.fixture(scope="module")
def load() -> Subject:
    return subject(RECORDS["load", "INVALID"](Path()))


def exported(made: Subject, name: str) -> dict[str, bytes]:
    files = catalog.load("reports.exports", name).files(made).files
    return {path: b"".join(pieces(content)) for path, content in files.items()}


def read_csv(content: bytes, columns: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """As the dictionary says, with Python's own reader."""
    rows = csv.DictReader(io.StringIO(content.decode(), newline=""))
    kinds = {column["name"]: KINDS[column["type"]] for column in columns}
    return [{name: None if text == "" else kinds[name](text) for name, text in row.items()} for row in rows]


@pytest.mark.parametrize("name", ["csv", "parquet"])
def test_every_value_comes_back_with_its_interval_verdict_and_digest(name: str, load: Subject) -> None:
    files = exported(load, name)
    package = json.loads(files["datapackage.json"])
    columns = package["resources"][0]["schema"]["fields"]
    rows = read_csv(files["values.csv"], columns) if name == "csv" else pq.read_table(io.BytesIO(files["values.parquet"])).to_pylist()
    assert len(rows) == len(load.values)
    for row, ours in zip(rows, load.values, strict=True):
        for key in ("metric", "configuration", "unit", "value", "low", "high", "confidence", "launches", "admissible", "status"):
            assert row[key] == getattr(ours, key), key
        assert (row["digest"], row["verdict"], row["load"]) == ("unsealed", "INVALID", 6.0 if ours.configuration == "rate=6" else None)
        assert row["standing"] == ours.standing
    assert not any(row["admissible"] for row in rows)
    assert (package["fireassay"]["status"], package["fireassay"]["admissible"]) == ("INVALID", False)


@pytest.mark.parametrize("name", ["csv", "parquet"])
def test_raw_tables_are_those_of_the_record_and_every_column_is_described(name: str, load: Subject) -> None:
    files = exported(load, name)
    package = json.loads(files["datapackage.json"])
    assert {one["path"] for one in package["resources"]} | {"datapackage.json"} == set(files)
    for one in package["resources"]:
        assert all(column["description"] for column in one["schema"]["fields"])
        names = [column["name"] for column in one["schema"]["fields"]]
        content = files[one["path"]]
        head = content.split(b"\n")[0].decode().split(",") if name == "csv" else pq.read_schema(io.BytesIO(content)).names
        assert head == names
    (requests,) = (one for one in package["resources"] if one["name"] == "tables-requests")
    ours = load.measured.table("requests")
    if name == "csv":
        rows = read_csv(files[requests["path"]], requests["schema"]["fields"])
        lists = [column["name"] for column in requests["schema"]["fields"] if column["type"] == "array"]
        assert lists
        for name in lists:
            assert [row[name] for row in rows] == ours[name].to_list()
        assert [row["sent_ns"] for row in rows] == ours["sent_ns"].to_list()
    else:
        table = pq.read_table(io.BytesIO(files[requests["path"]]))
        assert pl.DataFrame(table).equals(ours.select(table.column_names))
        field = table.schema.field("sent_ns")
        assert field.metadata[b"unit"] == b"ns"
        assert table.schema.metadata[b"fireassay.status"] == b"INVALID"


def test_a_record_without_metrics_has_an_empty_table_of_values(tmp_path: Path) -> None:
    made = subject(RECORDS["watch", "FAIL"](tmp_path))
    assert len(exported(made, "csv")["values.csv"].splitlines()) == 1
    assert pq.read_table(io.BytesIO(exported(made, "parquet")["values.parquet"])).num_rows == 0
