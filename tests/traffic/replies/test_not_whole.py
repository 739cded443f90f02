"""Any sign in a 200 that the answer is not whole makes it a failure: how engines, gateways and vendors say so."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fireassay import catalog
from fireassay.traffic.parts import Answer, Ask
from tests.traffic.replies.test_events import TAIL, chunk, frame, read, stream
from tests.traffic.transcripts import reply_of

BEGUN = stream(*(chunk(f" w{n}") for n in range(5)), tail=[])
END = b"".join(frame(one) for one in TAIL)


@pytest.mark.parametrize("chunked", [False, True])
@pytest.mark.parametrize(
    ("sign", "says"),
    [
        (b"event: error\n: the worker went away\n\n", "the worker went away"),  # the reason is in a comment
        (b"event: error\n\n", "without a message"),
        (b"event: error\ndata:\n\n", "without a message"),
        (b"event: error\ndata: \n\n", "without a message"),
        (b"event:error\r\n:gone\r\n\r\n", "gone"),
        (b"event: exception\ndata: {}\n\n", "without a message"),
        (b"event: abort\ndata: {}\n\n", "without a message"),
        (b'error: {"code":500,"message":"slot unavailable"}\n\n', "slot unavailable"),  # a field of its own, as older llama.cpp
        (b'data: {"id":"c-1","choices":[],"error":{"message":"out of memory"}}\n\n', "out of memory"),
        (b'data: {"id":"c-1","choices":[{"index":0,"delta":{},"error":{"code":502,"message":"upstream"}}]}\n\n', "upstream"),
        (b'data: {"detail":"Internal Server Error"}\n\n', "Internal Server Error"),
        (b'data: {"message":"no capacity","code":503}\n\n', "no capacity"),
    ],
)
def test_an_error_amid_a_stream_fails_it_although_it_ends_as_usual(sign: bytes, says: str, chunked: bool) -> None:
    events = [BEGUN, sign, END]
    body = b"".join(b"%x\r\n%b\r\n" % (len(one), one) for one in events) + b"0\r\n\r\n" if chunked else b"".join(events)
    answer = read_framed(body) if chunked else read(body)
    assert answer.status == "error"
    assert says in (answer.error or "")
    assert answer.text == " w0 w1 w2 w3 w4"


def read_framed(raw: bytes) -> Answer:
    from fireassay.traffic.chunks import Framed
    from fireassay.traffic.parts import Reply
    from fireassay.traffic.replies.openai_stream import read_openai

    reply = Reply(
        ended="complete", http_status=200, headers={"content-type": "text/event-stream"}, body=Framed(raw, [len(raw)]), ns=[7], unsure=[0]
    )
    return read_openai(reply, Ask(task="chat", model="m"), True)


@pytest.mark.parametrize("reason", ["error", "abort", "aborted", "cancelled", "timeout", "content_filter", "insufficient_system_resource"])
def test_a_finish_reason_that_is_no_end_fails_the_answer(reason: str) -> None:
    tail = [chunk(None, reason), "[DONE]"]
    for _ in range(2):  # the second time from what was remembered
        answer = read(stream(chunk("half"), tail=tail))
        assert (answer.status, answer.text, reason in (answer.error or "")) == ("error", "half", True)
    whole = {"choices": [{"index": 0, "message": {"content": "half"}, "finish_reason": reason}]}
    assert read(json.dumps(whole).encode(), headers={"content-type": "application/json"}).status == "error"


@pytest.mark.parametrize("reason", ["stop", "length", "tool_calls", "function_call", "eos_token", "stop_sequence_filtered"])
def test_an_answer_that_ended_is_whole(reason: str) -> None:
    assert read(stream(chunk("all"), tail=[chunk(None, reason), "[DONE]"])).status == "ok"


def test_comments_between_the_events_of_a_whole_answer_are_no_sign() -> None:
    told = stream(chunk("a"), tail=[]) + b": ping\n\n:\n\n: error budget fine\n\n" + b"event: message\nretry: 5\n\n" + END
    assert (read(told).status, read(told).text) == ("ok", "a")


def test_an_answer_in_one_piece_that_reports_an_error_beside_its_choices_has_failed() -> None:
    told = {"choices": [{"index": 0, "message": {"content": "half"}, "finish_reason": "stop"}], "error": {"message": "cut short"}}
    answer = read(json.dumps(told).encode(), headers={"content-type": "application/json"})
    assert (answer.status, answer.error) == ("error", "cut short")


NATIVE: dict[str, list[dict[str, Any]]] = {
    "sglang": [{"text": "half", "output_ids": [1], "meta_info": {"finish_reason": {"type": "abort"}, "completion_tokens": 1}}],
    "vertex": [{"candidates": [{"content": {"parts": [{"text": "half"}]}, "finishReason": "SAFETY"}]}],
    "oci": [{"text": "half"}, {"finishReason": "ERROR_TOXIC", "text": "half"}],
    "openai_responses": [
        {"type": "response.output_text.delta", "delta": "half"},
        {"type": "response.cancelled", "response": {"object": "response", "status": "cancelled"}},
    ],
    "tgi": [{"token": {"text": "half"}}, {"token": {"text": ""}, "generated_text": "half", "details": {"finish_reason": "timeout"}}],
}


@pytest.mark.parametrize("backend", NATIVE)
def test_so_it_is_in_every_dialect(backend: str) -> None:
    body = b"".join(map(frame, NATIVE[backend]))
    reply = reply_of([(7, body)], headers={"content-type": "text/event-stream"})
    answer = catalog.load("traffic.backends", backend).read(reply, Ask(task="completions", model="m"))
    assert (answer.status, answer.text) == ("error", "half")


@pytest.mark.parametrize("backend", NATIVE)
def test_an_error_event_without_data_is_one_in_every_dialect(backend: str) -> None:
    body = frame(NATIVE[backend][0]) + b"event: error\n: gone\n\n"
    reply = reply_of([(7, body)], headers={"content-type": "text/event-stream"})
    answer = catalog.load("traffic.backends", backend).read(reply, Ask(task="completions", model="m"))
    assert (answer.status, "gone" in (answer.error or "")) == ("error", True) or backend in ("sglang", "vertex")
