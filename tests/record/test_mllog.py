"""Is a line of an MLPerf log read as mlperf-logging reads it?  Anything else is broken, never an error."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from fireassay.record.mllog import MARK, Entry, event_type, kept, kept_broken, log, restored, written

LINE = '{"namespace": "", "time_ms": 1000, "event_type": "POINT_IN_TIME", "key": "seed", "value": 3, "metadata": {"lineno": 7}}'


def test_what_stands_before_the_last_marker_is_ignored() -> None:
    """A launcher's prefix: "0: "; the checker's `re.sub(".*:::MLLOG ", ...)` is greedy."""
    found = log("a.txt", [(1, "noise"), (2, f"0: {MARK} {LINE}"), (3, f"{MARK} broken {MARK} {LINE}\n")])
    assert [(entry.key, entry.value, entry.line, entry.metadata["lineno"]) for entry in found.entries] == [
        ("seed", 3, 2, 7),
        ("seed", 3, 3, 7),
    ]


def test_a_line_that_is_no_json_object_with_four_keys_is_broken() -> None:
    texts = ("", "{", "[1]", '{"key": "a"}', LINE.replace("1000", '"soon"'), LINE.replace("1000", "NaN"), LINE.replace('"seed"', "3"))
    found = log("a.txt", [(number, f"{MARK} {text}") for number, text in enumerate(texts, start=1)])
    assert not found.entries
    assert [one.line for one in found.broken] == list(range(1, len(texts) + 1))


def test_the_first_line_with_a_key_counts() -> None:
    found = log("a.txt", [(1, f"{MARK} {LINE}"), (2, f"{MARK} {LINE.replace('3,', '4,')}")])
    assert found.value("seed") == 3
    assert found.value("absent") is None


def test_intervals_have_a_start_and_an_end() -> None:
    assert [event_type(key) for key in ("run_start", "run_stop", "seed")] == ["INTERVAL_START", "INTERVAL_END", "POINT_IN_TIME"]


VALUES = st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=20)


@given(st.lists(st.tuples(st.text(max_size=20), VALUES, st.integers(0, 2**50)), max_size=20))
def test_what_is_written_is_read_back(rows: list[tuple[str, object, int]]) -> None:
    entries = tuple(
        Entry(key=key, value=value, metadata={"n": index}, time_ms=float(ms), file="a.txt", line=index + 1, event_type=event_type(key))
        for index, (key, value, ms) in enumerate(rows)
    )
    text = written(entries)
    assert log("a.txt", enumerate(text.splitlines(keepends=True), start=1)).entries == entries
    assert all(set(json.loads(line.removeprefix(MARK))) >= {"namespace", "event_type"} for line in text.splitlines())


def test_a_record_gives_back_what_it_keeps_of_a_log() -> None:
    found = log("a.txt", [(1, f"{MARK} {LINE}"), (2, f"{MARK} nothing")])
    details = [json.dumps(kept(found.entries[0])), json.dumps(kept_broken(found.broken[0]))]
    assert restored(details) == found


@given(st.lists(st.text(max_size=200), max_size=10))
def test_no_text_is_an_error(texts: list[str]) -> None:
    found = log("a.txt", enumerate((f"{MARK} {text}" for text in texts), start=1))
    assert len(found.entries) + len(found.broken) == len(texts)
