"""Every text of a batch is looked through, in few rows and in many; numbers and clean columns stay the same arrays."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fireassay.record.arrow_schemas import arrow_schema
from fireassay.record.secrets.batches import FEW, SHORT, cleaned, cleaned_batch, suspicious
from fireassay.record.secrets.redact import redact, secret_values
from fireassay.record.secrets.texts import cleaned_texts, cleaner
from fireassay.record.streams import read_stream
from fireassay.record.writer import StreamWriter

KEY = "hf_" + "aBcD3fGh" * 5
SECRETS = secret_values({"MY_TOKEN": "perfectly ordinary words"})


@pytest.mark.parametrize("rows", [4, 4 * FEW, 2 * SHORT])
@pytest.mark.parametrize("text", [f"key {KEY}", "so perfectly ordinary words", "perfectly\nordinary words", "password=hunter22"])
def test_a_secret_is_found_in_few_rows_and_in_many(rows: int, text: str) -> None:
    """The one is looked through in Python, the other by RE2 first."""
    column = pa.array([None, "nothing here", *(["plain"] * (rows - 3)), text])
    expected = "perfectly\nordinary words" if "\n" in text else text
    for secret in (KEY, "perfectly ordinary words", "hunter22"):
        expected = expected.replace(secret, "[redacted]")
    expected = text if "\n" in text else expected  # a line break in place of a blank: another text
    clean = [*column.to_pylist()[:-1], redact(expected, SECRETS)]
    assert cleaned(column, SECRETS).to_pylist() == clean
    different = [*(f"plain {number}" for number in range(rows)), text]
    assert cleaned_texts(different, SECRETS, keys_only=False) == [*different[:-1], clean[-1]]


def test_a_column_without_secrets_is_the_same_object() -> None:
    texts, numbers = pa.array(["a", None, "basic words"] * 50), pa.array([1, 2, 3] * 50)
    assert cleaned(texts, SECRETS) is texts
    assert cleaned_texts(listed := [f"task-{number} is nobody's" for number in range(99)], SECRETS, keys_only=False) is listed
    assert cleaned(numbers, SECRETS) is numbers
    batch = pa.RecordBatch.from_arrays([texts, numbers], ["host", "value"])
    assert cleaned_batch(batch, SECRETS) is batch


def test_an_error_loses_its_secrets_before_it_is_cut() -> None:
    """Where it is cut first, half of a key is left, which nobody recognises."""
    said = f"bad {KEY} " + "x " * 240 + KEY
    for rows in (1, 4 * FEW, SHORT):
        batch = pa.RecordBatch.from_arrays([pa.array([said, None] * rows)], ["error"])
        assert cleaned_batch(batch).to_pydict()["error"] == [("bad [redacted] " + "x " * 240 + "[redacted]")[:500], None] * rows
        assert cleaner(())("error", [said, None] * rows) == cleaned_batch(batch).to_pydict()["error"]


def test_lists_of_texts_are_looked_through() -> None:
    column = pa.array([["a", KEY], None, []] * 20)
    assert cleaned(column).to_pylist() == [["a", "[redacted]"], None, []] * 20


@pytest.mark.slow
@given(st.lists(st.one_of(st.none(), st.text(max_size=40), st.just(f"x {KEY}"), st.just("perfectly ordinary words!")), max_size=80))
def test_it_finds_what_a_look_at_every_text_finds(texts: list[str | None]) -> None:
    column = pa.array([text and text.encode("utf-8", "replace").decode() for text in texts], pa.string())
    expected = [text if text is None else redact(text, SECRETS) for text in column.to_pylist()]
    assert cleaned(column, SECRETS).to_pylist() == expected
    assert list(cleaned_texts(column.to_pylist(), SECRETS, keys_only=False)) == expected
    assert set(suspicious(column, SECRETS)) >= {row for row, (a, b) in enumerate(zip(column.to_pylist(), expected, strict=True)) if a != b}


def test_a_program_that_a_model_wrote_stays_and_a_key_in_it_goes() -> None:
    said = ["password = passphrase", f"use {KEY}"]
    batch = pa.RecordBatch.from_arrays([pa.array(said), pa.array(said)], ["text", "error"])
    made = cleaned_batch(batch).to_pydict()
    assert made["text"] == ["password = passphrase", "use [redacted]"]
    assert made["error"] == ["password = [redacted]", "use [redacted]"]
    assert {name: cleaner(())(name, said) for name in made} == made


def test_no_row_of_any_table_reaches_the_disk_uncleaned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_TOKEN", "perfectly ordinary words")
    writer = StreamWriter(tmp_path, "x")
    names = arrow_schema("events").names
    row = {"launch": 0, "ns": 1, "host": "h", "kind": "k", "detail": f'{{"a": "perfectly ordinary words {KEY}"}}'}
    writer.append("events", tuple(row.get(name) for name in names))
    writer.close()
    (stream,) = tmp_path.glob("events.*")
    ((batch,),) = [read_stream(stream).batches]
    assert batch.to_pydict()["detail"] == ['{"a": "[redacted] [redacted]"}']
    assert KEY.encode() not in stream.read_bytes()
