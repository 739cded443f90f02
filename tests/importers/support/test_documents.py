"""JSON is read piece by piece, whatever its size, order and layout; what is wrong is told with its line, and nothing hangs."""

from __future__ import annotations

import json
import os
import tracemalloc
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fireassay.errors import SpecError
from fireassay.importers.support import documents
from fireassay.importers.support.documents import EVERY, Place, Spool, head, lines
from tests.tiers import examples

SCALARS = st.none() | st.booleans() | st.integers(-(10**6), 10**6) | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4), max_leaves=12
)


def read(path: Path, *spooled: tuple[str, ...]) -> list[Any]:
    """Every document of a file, with its spools as lists of elements."""
    with ExitStack() as stack:
        return [plain(found) for _, found in documents.documents(path, spooled, stack)]


def plain(value: Any) -> Any:
    if isinstance(value, Spool):
        return [element for _, element in value]
    if isinstance(value, dict):
        return {key: plain(inner) for key, inner in value.items()}
    return [plain(inner) for inner in value] if isinstance(value, list) else value


def told(path: Path, *spooled: tuple[str, ...]) -> str:
    with pytest.raises(SpecError) as caught:
        read(path, *spooled)
    return str(caught.value)


@pytest.mark.slow
@examples(60)
@given(
    value=st.dictionaries(st.sampled_from(["rows", "more", "x"]), VALUES),
    indent=st.sampled_from([None, 1]),
    ascii_only=st.booleans(),
    chunk=st.integers(1, 40),
)
def test_a_document_is_what_json_says_it_is_however_it_is_cut(
    tmp_path_factory: pytest.TempPathFactory, value: dict[str, Any], indent: int | None, ascii_only: bool, chunk: int
) -> None:
    path = tmp_path_factory.mktemp("json") / "any.json"
    path.write_text(json.dumps(value, indent=indent, ensure_ascii=ascii_only), encoding="utf-8")
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(documents, "CHUNK", chunk)
        assert read(path, ("rows",), ("more", EVERY, "rows")) == [value]


def test_several_documents_stand_behind_one_another(tmp_path: Path) -> None:
    path = tmp_path / "several.json"
    path.write_text('{"rows": [1]}\n\n{"rows": []} {"rows": 3}')
    assert read(path, ("rows",)) == [{"rows": [1]}, {"rows": []}, {"rows": 3}]


def test_elements_know_their_line(tmp_path: Path) -> None:
    path = tmp_path / "lines.json"
    path.write_text('{\n "rows": [\n  1,\n  {"a":\n   2},\n  3\n ]\n}\n')
    with ExitStack() as stack:
        ((_, found),) = documents.documents(path, [("rows",)], stack)
        assert list(found["rows"]) == [(3, 1), (4, {"a": 2}), (6, 3)]
        assert list(found["rows"]) == [(3, 1), (4, {"a": 2}), (6, 3)]  # as often as one likes


@pytest.mark.slow
@pytest.mark.deep
def test_a_long_list_is_not_held_in_memory(tmp_path: Path) -> None:
    path = tmp_path / "long.json"
    with path.open("w") as file:
        file.write('{"rows": [' + ",".join('{"ttft": 0.25, "tokens": 10}' for _ in range(60_000)) + "]}")
    assert path.stat().st_size > 1_500_000
    tracemalloc.start()
    with ExitStack() as stack:
        ((_, found),) = documents.documents(path, [("rows",)], stack)
        count = sum(1 for _ in found["rows"])
        peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert count == len(found["rows"]) == 60_000
    assert peak < 8 * documents.CHUNK  # a few pieces of the text; the list itself would take 24 MB


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"rows": [1, 2', "cut off"),
        ('{"rows": [1, 2], "a": "unfinished', "cut off"),
        ('{"rows"', "cut off"),
        ('{"rows": [1 2]}', "',' here"),
        ('{"rows": [1, ]}', "Expecting value"),
        ("{'rows': 1}", "a key in quotes"),
        ('{"a": tru}', "Expecting value"),
        ('{"a": "tab\tin text"}', "Invalid control character"),
        ('{"a": ' + "[" * 100_000 + "]" * 100_000 + "}", "nested too deeply"),
        ('{"a": ' + "9" * 5000 + "}", "thousands of digits"),
        ("<html>", "not JSON"),
    ],
)
def test_wrong_syntax_is_told_with_its_line(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "wrong.json"
    path.write_text(f"\n\n{text}")
    message = told(path, ("rows",))
    assert words in message
    assert "wrong.json, line 3" in message


def test_a_value_that_is_too_large_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documents, "MAX_VALUE", 1000)
    monkeypatch.setattr(documents, "CHUNK", 100)
    path = tmp_path / "large.json"
    path.write_text(json.dumps({"rows": ["x" * 10_000]}))
    assert "a value of more than" in told(path, ("rows",))
    path.write_text("y" * 10_000)
    with pytest.raises(SpecError, match="a line of more than"):
        list(lines(path))


def test_bytes_that_are_no_utf8_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "bytes.json"
    path.write_bytes(b'{"a": "\xff\xfe"}')
    assert "invalid UTF-8" in told(path)
    with pytest.raises(SpecError, match="invalid UTF-8"):
        list(lines(path))


def test_a_pipe_a_folder_and_nothing_are_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert "not a regular file" in told(tmp_path / "pipe")
    assert "not a regular file" in told(tmp_path)
    assert "no such file" in told(tmp_path / "absent")
    assert head(tmp_path / "pipe") == ""


def test_lines_have_their_numbers_and_empty_ones_are_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "lines.jsonl"
    path.write_text("a\n\n  \nb")
    assert [(place.line, line.strip()) for place, line in lines(path)] == [(1, "a"), (4, "b")]


def test_a_mark_of_byte_order_is_no_content(tmp_path: Path) -> None:
    path = tmp_path / "marked.json"
    path.write_bytes(b'\xef\xbb\xbf{"a": 1}')
    assert read(path) == [{"a": 1}]
    assert head(path).startswith("{")


def test_a_place_names_field_file_and_line() -> None:
    place = Place("run.json", 7).at("requests").at(3).at("ttft")
    assert str(place.wrong(-1, "a number of at least 0")) == (
        "the file: requests[3].ttft (run.json, line 7): found -1; allowed: a number of at least 0."
    )


def test_a_long_wrong_value_is_cut() -> None:
    assert len(str(Place("f").wrong("x" * 10_000, "less"))) < 200
