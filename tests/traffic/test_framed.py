"""Does a stream say the same whether its framing was taken off before it was read, or on the way?"""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fireassay.traffic.chunks import LAST, Framed
from fireassay.traffic.parts import Answer, Ask, Kind, Reply
from fireassay.traffic.replies import openai_json
from fireassay.traffic.replies.openai_stream import read_openai
from tests.traffic.test_transcripts import STREAMED

ASK = Ask(task="chat", model="m")
HEADERS = {"content-type": "text/event-stream"}
TEXTS = st.one_of(
    st.text(max_size=12), st.text(alphabet="abc XYZ,.", min_size=1, max_size=400), st.sampled_from(['"', "\\", "\r\n", "é", ""])
)


def framed(chunks: list[bytes]) -> bytes:
    return b"".join(b"%x\r\n%b\r\n" % (len(chunk), chunk) for chunk in chunks if chunk) + LAST


def both(raw: bytes, cuts: set[int]) -> tuple[Reply, Reply]:
    """The reply with its framing, and the same without; cut into reads at these places."""
    ends = sorted({cut % len(raw) for cut in cuts} - {0} | {len(raw)})
    on = Framed(raw, ends)
    body, body_ends = on.unframed()
    ns = [100 * (n + 1) for n in range(len(ends))]
    told: dict[str, Any] = {"ended": "complete", "http_status": 200, "headers": HEADERS, "ns": ns}
    return Reply(**told, body=on), Reply(**told, body=body, ends=body_ends)


def read_both(raw: bytes, cuts: set[int]) -> tuple[Answer, Reply]:
    with_framing, without = both(raw, cuts)
    expected = read_openai(without, ASK, chat=True)
    found = read_openai(with_framing, ASK, chat=True)
    assert found == expected
    assert with_framing.size == len(without.body)
    return found, with_framing


def event(number: int, key: str, text: str) -> bytes:
    delta = orjson.dumps({"index": 0, "delta": {key: text}, "finish_reason": None}).decode()
    return f'data: {{"id":"chat-{number}","object":"chat.completion.chunk","choices":[{delta}]}}\n\n'.encode()


def stream(number: int, said: list[tuple[str, str]]) -> list[bytes]:
    begin = f'data: {{"id":"chat-{number}","object":"chat.completion.chunk","choices":'
    return [
        f'{begin}[{{"index":0,"delta":{{"role":"assistant","content":""}}}}]}}\n\n'.encode(),
        *(event(number, key, text) for key, text in said),
        f'{begin}[{{"index":0,"delta":{{}},"finish_reason":"stop"}}]}}\n\n'.encode(),
        f'{begin}[],"usage":{{"prompt_tokens":7,"completion_tokens":{len(said)}}}}}\n\n'.encode(),
        b"data: [DONE]\n\n",
    ]


SAID = st.lists(st.tuples(st.sampled_from(["content", "content", "content", "reasoning"]), TEXTS), max_size=30)


@given(said=SAID, number=st.integers(0, 10**6), cuts=st.sets(st.integers(1, 10**5), max_size=40))
def test_a_stream_is_read_alike_in_its_framing_and_out_of_it(said: list[tuple[str, str]], number: int, cuts: set[int]) -> None:
    answer, _ = read_both(framed(stream(number, said)), cuts)
    assert (answer.status, answer.tokens_out, answer.finish_reason) == ("ok", len(said), "stop")
    assert (answer.text or "") == "".join(text for key, text in said if key == "content")
    assert (answer.reasoning or "") == "".join(text for key, text in said if key == "reasoning")
    assert answer.chunk_chars[1:-3] == [len(text) for _, text in said]


@given(one=st.sampled_from(STREAMED), data=st.data())
def test_transcripts_are_read_alike_however_they_are_framed(one: Any, data: st.DataObject) -> None:
    body = one.reply.body
    places = data.draw(st.sets(st.integers(1, max(1, len(body) - 1)), max_size=12)) if data.draw(st.booleans()) else None
    if places is None:  # where nearly all servers do: behind each event
        chunks = [part + b"\n\n" for part in body.split(b"\n\n")[:-1]] + [body.split(b"\n\n")[-1]]
    else:
        ends = sorted({place for place in places if place < len(body)} | {len(body)})
        chunks = [body[begin:end] for begin, end in zip([0, *ends], ends, strict=False)]
    read_both(framed(chunks), data.draw(st.sets(st.integers(1, 10**5), max_size=20)))


def test_the_common_form_is_taken_in_its_framing() -> None:
    """Else the tests above would compare one way with itself."""
    said = [("reasoning", "so"), ("reasoning", " be"), *[("content", "word" * n) for n in range(1, 90)]]
    for number in range(3):
        answer, reply = read_both(framed(stream(number, said)), {300, 900, 5000})
        assert answer.chunk_kind.count(Kind.CONTENT) == 89
    assert reply.framed is not None
    assert openai_json.TEMPLATES


def test_what_goes_on_behind_its_end_is_malformed() -> None:
    raw = framed(stream(1, [("content", "a")]))
    late = framed([raw + b"data: x\n\n"])[: -len(b"data: x\n\n\r\n" + LAST)]  # ends like a body, inside of a chunk
    assert late.endswith(LAST)
    reply = Reply(ended="complete", http_status=200, headers=HEADERS, ns=[1], body=Framed(late, [len(late)]))
    answer = read_openai(reply, ASK, chat=True)
    assert (answer.status, reply.ended) == ("malformed", "malformed")


@pytest.mark.parametrize("headers", [{}, {"content-type": "text/plain"}])
def test_a_stream_that_only_its_body_shows_is_read_too(headers: dict[str, str]) -> None:
    raw = framed(stream(1, [("content", "hi")]))
    reply = Reply(ended="complete", http_status=200, headers=headers, ns=[1], body=Framed(raw, [len(raw)]))
    answer = read_openai(reply, ASK, chat=True)
    assert (answer.status, answer.text) == ("ok", "hi")
