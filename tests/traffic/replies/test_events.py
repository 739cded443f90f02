"""A stream means the same however it was cut into reads, and whatever short cut was taken through it."""

from __future__ import annotations

import json
from itertools import accumulate
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fireassay.traffic.parts import Ask, Kind
from fireassay.traffic.replies import openai_stream
from fireassay.traffic.replies.openai_json import events
from fireassay.traffic.replies.openai_stream import read_openai
from tests.traffic.transcripts import load_all, reply_of

ASK = Ask(task="chat", model="m")
OPENAI = {"openai", "vllm", "trtllm", "transformers", "azure"}
TEXTS = st.text(max_size=12)


def frame(told: Any, *, ends: str = "\n", space: str = " ", ascii_only: bool = False) -> bytes:
    text = told if isinstance(told, str) else json.dumps(told, ensure_ascii=ascii_only, separators=(",", ":"))
    return f"data:{space}{text}{ends}{ends}".encode("utf-8", "surrogatepass")


def chunk(content: str | None = None, finish: str | None = None, name: str = "c-1", **delta: Any) -> dict[str, Any]:
    told = dict(delta) if content is None else {**delta, "content": content}
    return {
        "id": name,
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "m",
        "choices": [{"index": 0, "delta": told, "logprobs": None, "finish_reason": finish}],
    }


USAGE = {"prompt_tokens": 5, "completion_tokens": 3, "total_tokens": 8}
TAIL = [chunk(None, "stop"), {"id": "c-1", "choices": [], "usage": USAGE}, "[DONE]"]


def read(body: bytes, *, headers: dict[str, str] | None = None, **given: Any) -> Any:
    kind = {"content-type": "text/event-stream", "transfer-encoding": "chunked"}
    return read_openai(reply_of([(7, body)], headers=kind if headers is None else headers, **given), ASK, True)


def stream(*chunks: Any, tail: list[Any] = TAIL) -> bytes:
    return b"".join(frame(one) for one in [chunk("", role="assistant"), *chunks, *tail])


# ---- the golden set ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("made", [one for one in load_all() if one.dialect in OPENAI], ids=lambda one: one.name)
def test_a_transcript_means_what_was_worked_out_by_hand(made: Any) -> None:
    for _ in range(2):  # the second time from what was remembered
        assert made.differences(read_openai(made.reply, made.ask, made.ask.task == "chat")) == {}


# ---- however it is cut -------------------------------------------------------------------------------------------


@st.composite
def cut_streams(draw: st.DrawFn) -> tuple[list[str], bytes, list[int]]:
    """Some texts, a stream that says them, and where its reads end."""
    texts = draw(st.lists(TEXTS, min_size=1, max_size=12))
    ends = draw(st.sampled_from(["\n", "\r\n", "\r"]))
    space, ascii_only = draw(st.sampled_from(["", " "])), draw(st.booleans())
    names = draw(st.lists(st.sampled_from(["c-1", "c-2", 'q"x', "ü"]), min_size=len(texts), max_size=len(texts)))
    told = [chunk(text, name=name) for text, name in zip(texts, names, strict=True)]
    body = b"".join(frame(one, ends=ends, space=space, ascii_only=ascii_only) for one in [*told, *TAIL])
    cuts = draw(st.lists(st.integers(1, max(1, len(body) - 1)), max_size=10, unique=True))
    return texts, body, [*sorted(cuts), len(body)]


@pytest.mark.slow
@given(cut_streams())
def test_any_split_into_reads_gives_the_same_chunks_with_times_that_never_fall(made: tuple[list[str], bytes, list[int]]) -> None:
    texts, body, cuts = made
    reads = [(100 + n, body[begin:end]) for n, (begin, end) in enumerate(zip([0, *cuts], cuts, strict=False))]
    split = read_openai(reply_of(reads, headers={"content-type": "text/event-stream"}), ASK, True)
    whole = read(body)
    assert (split.status, split.text, split.tokens_out) == ("ok", "".join(texts) or None, 3)
    assert split.chunk_chars == whole.chunk_chars == [*map(len, texts), 0, 0, 0]
    assert split.chunk_kind == whole.chunk_kind == [*(1 if text else 0 for text in texts), 4, 5, 6]
    assert split.chunk_ns == sorted(split.chunk_ns)
    ends = [end for end, _, _ in events(body)]
    assert split.chunk_ns == [100 + next(n for n, cut in enumerate(cuts) if cut >= end) for end in ends]


@given(st.lists(st.sampled_from([b"a", b":", b" ", b"data", b"event", b"\n", b"\r", b"\r\n", b"\xef\xbb\xbf", b"x"])))
def test_events_are_split_as_the_standard_says(parts: list[bytes]) -> None:
    body = b"".join(parts)
    assert [(name, data) for _, name, data in events(body)] == standard(body)


def standard(body: bytes) -> list[tuple[str, bytes]]:
    """The HTML standard's interpretation, line by line; an event that the end cuts off counts, as engines leave out its end."""
    text = body.removeprefix(b"\xef\xbb\xbf").replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    found: list[tuple[str, bytes]] = []
    data: list[bytes] = []
    name = ""
    for line in [*text.split(b"\n"), b""]:
        if not line:
            if data:
                found.append((name, b"\n".join(data)))
            name, data = "", []
            continue
        field, _, value = line.partition(b":")
        value = value[1:] if value[:1] == b" " else value
        if field == b"data":
            data.append(value)
        elif field == b"event":
            name = value.decode()
    return found


# ---- short cuts --------------------------------------------------------------------------------------------------


@given(st.lists(st.one_of(TEXTS, st.sampled_from(['"', "\\", "word ", '"},"x', "\u200b", "naïve"])), min_size=1, max_size=20))
def test_a_run_of_like_chunks_reads_as_json_does(texts: list[str]) -> None:
    made = read(stream(*(chunk(text) for text in texts)))
    assert made.text == ("".join(texts) or None)
    assert made.chunk_chars[1:-3] == [len(text) for text in texts]
    assert made.status == "ok"


def test_what_was_remembered_of_one_answer_is_not_mixed_into_the_next() -> None:
    first = read(stream(*(chunk(f"w{n}") for n in range(9))))
    other = [chunk(f"v{n}", name="c-2") for n in range(9)]
    tail = [chunk(None, "length", name="c-2"), {"id": "c-2", "choices": [], "usage": {**USAGE, "completion_tokens": 9}}, "[DONE]"]
    second = read(b"".join(frame(one) for one in [chunk("", name="c-2", role="assistant"), *other, *tail]))
    assert (first.text, first.finish_reason, first.tokens_out) == ("w0w1w2w3w4w5w6w7w8", "stop", 3)
    assert (second.text, second.finish_reason, second.tokens_out) == ("v0v1v2v3v4v5v6v7v8", "length", 9)


def test_a_field_that_changes_in_the_middle_of_a_run_ends_the_run() -> None:
    told = [chunk(f"w{n}") for n in range(8)]
    for one in told[4:]:
        one["created"] = 2
    made = read(stream(*told))
    assert made.text == "w0w1w2w3w4w5w6w7"
    assert made.chunk_kind == [0, *[1] * 8, 4, 5, 6]


def test_reasoning_in_the_place_of_content_is_not_taken_for_it() -> None:
    told = [*(chunk(reasoning_content=f"r{n}") for n in range(5)), *(chunk(f"c{n}") for n in range(5))]
    made = read(stream(*told))
    assert (made.reasoning, made.text) == ("r0r1r2r3r4", "c0c1c2c3c4")
    assert made.chunk_kind[1:11] == [2] * 5 + [1] * 5


def test_an_answer_longer_than_a_window_is_read_whole() -> None:
    texts = [f"word{n} " for n in range(2000)]
    made = read(stream(*(chunk(text) for text in texts)))
    assert made.text == "".join(texts)
    assert len(made.chunk_ns) == 2004


def test_memory_of_meanings_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(openai_stream, "_MAX_MEANINGS", 4)
    for n in range(20):
        read(stream(tail=[chunk(None, f"reason {n}"), "[DONE]"]))
    assert len(openai_stream._MEANINGS) <= 4


def test_an_id_that_is_no_json_is_not_skipped_over() -> None:
    good = frame(chunk(None, "stop"))
    assert read(stream(tail=[chunk(None, "stop")])).status == "ok"
    assert read(good.replace(b'"c-1"', b'"\xff"')).status == "malformed"
    assert read(good.replace(b'"c-1"', b'"\\q"')).status == "malformed"


# ---- dialects and defects ----------------------------------------------------------------------------------------


def test_of_several_choices_the_first_is_read() -> None:
    both = chunk("mine")
    both["choices"].insert(0, {"index": 1, "delta": {"content": "other"}, "finish_reason": None})
    alone = chunk("other")
    alone["choices"][0]["index"] = 1
    made = read(stream(both, alone))
    assert made.text == "mine"
    assert made.chunk_kind == [0, 1, 8, 4, 5, 6]


def test_a_completion_has_its_text_in_the_choice() -> None:
    told = [{"id": "x", "choices": [{"index": 0, "text": text, "finish_reason": None}]} for text in ("a", "b", "c")]
    end = {"id": "x", "choices": [{"index": 0, "text": "", "finish_reason": "stop"}]}
    made = read(b"".join(map(frame, [*told, end, "[DONE]"])))
    assert (made.text, made.chunk_kind) == ("abc", [1, 1, 1, 4, 6])


def test_parts_of_content_are_joined() -> None:
    made = read(stream(chunk(content=[{"type": "text", "text": "a"}, {"type": "text", "text": "b"}])))  # type: ignore[arg-type]
    assert made.text == "ab"


@pytest.mark.parametrize(
    "usage",
    [
        '{"prompt_tokens":5,"completion_tokens":NaN}',
        '{"prompt_tokens":5,"completion_tokens":-3}',
        '{"prompt_tokens":5,"completion_tokens":1e999}',
        '{"prompt_tokens":5,"completion_tokens":1.5}',
        '{"prompt_tokens":5,"completion_tokens":"many"}',
        '{"prompt_tokens":5,"completion_tokens":true}',
    ],
)
def test_a_usage_that_is_no_count_is_malformed_and_counts_nothing(usage: str) -> None:
    made = read(stream(chunk("a"), tail=[chunk(None, "stop"), f'{{"id":"c-1","choices":[],"usage":{usage}}}', "[DONE]"]))
    assert (made.status, made.tokens_out, made.text) == ("malformed", None, "a")
    assert "completion_tokens" in made.error or "JSON" in made.error


@pytest.mark.parametrize(
    ("event", "status", "says"),
    [
        (b"data: {\n\n", "malformed", "not JSON"),
        (b"data: [1]\n\n", "malformed", "object"),
        (b'data: {"id":"\xff"}\n\n', "malformed", "not JSON"),
        (b"data: " + b"[" * 5000 + b"\n\n", "malformed", "not JSON"),
        (b"data: " + b"[" * 5000 + b"NaN\n\n", "malformed", "not JSON"),
        (b'data: {"error":{"message":"out of memory"}}\n\n', "error", "out of memory"),
        (b'data: {"error":"plain"}\n\n', "error", "plain"),
        (b'data: {"object":"error","message":"old form"}\n\n', "error", "old form"),
        (b"event: error\ndata: not even JSON\n\n", "error", "not even JSON"),
        (b'event: error\ndata: {"detail":"in detail"}\n\n', "error", "in detail"),
    ],
)
def test_what_goes_wrong_inside_of_a_200_fails_the_request(event: bytes, status: str, says: str) -> None:
    made = read(stream(chunk("begun"), tail=[]) + event + frame("[DONE]"))
    assert made.status == status
    assert says in made.error
    assert made.text == "begun"


@pytest.mark.parametrize(
    "told",
    [
        {"choices": 5},
        {"choices": [5]},
        {"choices": [{"delta": 5}]},
        {"choices": [{"delta": {"content": 5}}]},
        {"choices": [{"delta": {"tool_calls": [5, {"function": 5}]}}]},
        {"choices": [{"logprobs": 5}]},
        {"usage": 5},
        {},
        {"choices": [{"finish_reason": 5}]},
        {"choices": [{"logprobs": {"content": [5, {"logprob": "x"}]}}]},
    ],
)
def test_chunks_of_any_shape_are_no_text_and_no_crash(told: dict[str, Any]) -> None:
    made = read(stream(told))
    assert (made.status, made.text) == ("ok", None)
    assert made.chunk_kind[1] in (Kind.ROLE, Kind.OTHER, Kind.FINISH)


@given(st.binary(max_size=200))
def test_no_bytes_make_the_parser_raise(body: bytes) -> None:
    for kind in ("text/event-stream", "application/json", "text/html", ""):
        assert read(body, headers={"content-type": kind}).status in ("malformed", "error", "truncated", "ok")


# ---- whole answers and failures ----------------------------------------------------------------------------------


def test_an_answer_in_one_piece_has_one_chunk() -> None:
    told = {"choices": [{"index": 0, "message": {"role": "assistant", "content": "Hello"}, "finish_reason": "stop"}], "usage": USAGE}
    made = read(json.dumps(told).encode(), headers={"content-type": "application/json"})
    assert (made.status, made.text, made.tokens_out, made.finish_reason) == ("ok", "Hello", 3, "stop")
    assert (made.chunk_ns, made.chunk_kind, made.chunk_chars) == ([7], [1], [5])


@pytest.mark.parametrize(
    ("body", "kind", "status", "says"),
    [
        (b"<html>Welcome</html>", "text/html", "malformed", "text/html"),
        (b"data: {}\n\n", "text/html", "malformed", "text/html"),
        (b'{"error":{"message":"no"}}', "application/json", "error", "no"),
        (b"{}", "application/json", "malformed", "choices"),
        (b'{"choices":[]}', "application/json", "malformed", "choice"),
        (b"", "application/json", "malformed", "not JSON"),
        (b"", "text/event-stream", "malformed", "no chunk"),
    ],
)
def test_an_answer_that_is_none_is_malformed(body: bytes, kind: str, status: str, says: str) -> None:
    made = read(body, headers={"content-type": kind})
    assert made.status == status
    assert says in made.error


def test_a_stream_under_a_wrong_content_type_is_still_read() -> None:
    assert read(stream(chunk("a")), headers={"content-type": "text/plain"}).text == "a"


@pytest.mark.parametrize(
    ("given", "status", "says"),
    [
        ({"http_status": 307, "headers": {"location": "/there"}}, "malformed", "HTTP 307 to /there"),
        ({"http_status": 404}, "4xx", "HTTP 404"),
        ({"http_status": 500}, "5xx", "HTTP 500"),
        ({"http_status": None, "ended": "refused", "why": "Connection refused"}, "refused", "Connection refused"),
        ({"http_status": None, "ended": "closed"}, "reset", None),
        ({"http_status": 200, "ended": "closed", "why": "reset: Connection reset by peer"}, "reset", "reset"),
        ({"http_status": 200, "ended": "closed"}, "truncated", None),
        ({"http_status": 200, "ended": "too_large", "why": "larger"}, "malformed", "larger"),
        ({"http_status": 200, "ended": "cancelled"}, "cancelled", None),
        ({"http_status": 500, "ended": "timeout", "why": "late"}, "timeout", "late"),
        ({"http_status": 500, "ended": "closed", "why": "closed"}, "5xx", "HTTP 500"),
    ],
)
def test_each_way_to_fail_has_its_class(given: dict[str, Any], status: str, says: str | None) -> None:
    given.setdefault("headers", {"content-type": "text/event-stream"})
    made = read(b"data: half", **given)
    assert made.status == status
    assert made.error == says if says is None else says in (made.error or "")


def test_times_of_reads_are_those_of_the_read_that_completed_a_chunk() -> None:
    body = stream(*(chunk(f"w{n}") for n in range(6)))
    pieces = body.split(b"\n\n")[:-1]
    whole = [piece + b"\n\n" for piece in pieces]
    reads = [(10 * n, part) for n, part in enumerate(whole)]
    assert read_openai(reply_of(reads), ASK, True).chunk_ns == [10 * n for n in range(len(whole))]
    pairs = [(10 * n, b"".join(whole[2 * n : 2 * n + 2])) for n in range(len(whole) // 2)]
    assert read_openai(reply_of(pairs), ASK, True).chunk_ns == [10 * (n // 2) for n in range(len(whole))]
    assert list(accumulate(map(len, whole)))[-1] == len(body)


@pytest.mark.parametrize(
    ("written", "text"),
    [
        (rb"a\ud83d", "a\ufffd"),
        (rb"\ude00b", "\ufffdb"),
        (rb"\ud83d\ude00", "\U0001f600"),
        (rb"\\ud83d", "\\ud83d"),
        (rb"\ud83d\ud83d\ude00", "\ufffd\U0001f600"),
        (rb"\u00e4\uD800!", "\u00e4\ufffd!"),
    ],
)
def test_half_a_character_is_replaced_and_fails_nothing(written: bytes, text: str) -> None:
    """A token may end inside of a character; the same in a stream and in the middle of a run of equal chunks."""
    chunks = [b'data: {"id":"c","choices":[{"index":0,"delta":{"content":"%b"}}]}\n\n' % one for one in (b"x", b"y", written, b"z")]
    body = b"".join(chunks) + b'data: {"id":"c","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
    found = read(body)
    assert (found.status, found.text) == ("ok", f"xy{text}z")
