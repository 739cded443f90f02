"""Reading a trace event by event gives what reading it whole gives, wherever the pieces of the file end."""

from __future__ import annotations

import io
import json
import tracemalloc
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fireassay.record.untrusted import chrome_trace

ANY = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**18), 10**18) | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
EVENTS = st.lists(st.fixed_dictionaries({"ph": st.sampled_from("XiM"), "args": ANY}), max_size=6)


def everything(event: Mapping[str, Any]) -> Mapping[str, Any]:
    return event


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(
    before=st.dictionaries(st.text(max_size=4), ANY, max_size=3),
    events=EVENTS,
    after=ANY,
    chunk=st.integers(1, 40),
    indent=st.sampled_from([None, 1]),
)
def test_it_is_what_json_says(before: dict[str, Any], events: list[Any], after: Any, chunk: int, indent: int | None) -> None:
    content = {**before, "traceEvents": events, "after": after, "number": 12345}
    text = json.dumps(content, indent=indent, ensure_ascii=False).encode()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(chrome_trace, "CHUNK", chunk)
        assert chrome_trace.read(io.BytesIO(text), everything, len(text)) == json.loads(text)
        few = chrome_trace.read(io.BytesIO(text), lambda one: one if one["ph"] == "X" else None, len(text))
    assert few["traceEvents"] == [one for one in events if one["ph"] == "X"]


@pytest.mark.parametrize(
    "text", [b"", b"[1]", b"{1: 2}", b'{"a"}', b'{"a": 1', b'{"traceEvents": [{"ph": "X"}', b'{"traceEvents": [{]}', b'{"a": 1 "b": 2}']
)
def test_what_is_no_trace_or_ends_in_the_middle_is_an_error(text: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        chrome_trace.read(io.BytesIO(text), everything, 1000)


def test_what_is_too_long_is_not_read_on() -> None:
    with pytest.raises(chrome_trace.TooLarge):
        chrome_trace.read(io.BytesIO(b'{"a": "' + b"x" * 100 + b'"}'), everything, 50)
    assert chrome_trace.read(io.BytesIO(b"{}"), everything, 2) == {}
    assert chrome_trace.read(io.BytesIO(b'{"traceEvents": []}'), everything, 50) == {"traceEvents": []}


@pytest.mark.slow
def test_memory_is_needed_for_what_is_kept_and_not_for_the_file() -> None:
    """10 MB of events of which none is kept: less than 8 MB at once, where the whole of them as objects takes above 30."""
    event = json.dumps({"ph": "f", "name": "x" * 200, "args": {"a": 1}})
    text = io.BytesIO(b'{"traceEvents": [' + b",".join([event.encode()] * 40_000) + b"]}")
    tracemalloc.start()
    found = chrome_trace.read(text, lambda _: None, 10**9)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert found == {"traceEvents": []}
    assert most < 8e6


@pytest.mark.parametrize("text", [b'[{"ph": "X"}]', b'[{"ph": "X"},', b'[{"ph": "X"}', b'[{"ph": "X"}, 7, null]'])
def test_a_list_alone_is_a_trace_whose_bracket_may_be_missing(text: bytes) -> None:
    assert list(chrome_trace.events(io.BytesIO(text), 100, {}, alone=True)) == [{"ph": "X"}]


@pytest.mark.parametrize("text", [b"", b"7", b"[7 8]", b'[{"ph": "X"', b'[{"ph": "X"}}'])
def test_a_list_alone_is_cut_off_only_between_two_events(text: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        list(chrome_trace.events(io.BytesIO(text), 100, {}, alone=True))


def test_keys_after_the_events_are_there_once_the_events_were_taken() -> None:
    sections: dict[str, Any] = {}
    text = b'{"a": 1, "traceEvents": [{"ph": "X"}, {"ph": "i"}], "distributedInfo": {"rank": 3}}'
    assert [event["ph"] for event in chrome_trace.events(io.BytesIO(text), 1000, sections)] == ["X", "i"]
    assert (sections["a"], sections["distributedInfo"]) == (1, {"rank": 3})
