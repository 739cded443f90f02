"""Does every transcript of the golden set say what was worked out by hand, and does it matter how the network cut it up?"""

from __future__ import annotations

from itertools import accumulate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fireassay import catalog
from fireassay.traffic.parts import Answer, Ended, Reply
from tests.traffic.transcripts import Transcript, load_all, reply_with

TRANSCRIPTS = load_all()
STREAMED = [one for one in TRANSCRIPTS if one.reply.http_status == 200 and one.reply.ended == "complete"]


def read(one: Transcript, reply: Reply | None = None) -> Answer:
    answer: Answer = catalog.load("traffic.backends", one.dialect).read(reply or one.reply, one.ask)
    return answer


def test_there_are_at_least_twenty() -> None:
    assert len(TRANSCRIPTS) >= 20
    assert len({one.name for one in TRANSCRIPTS}) == len(TRANSCRIPTS)


@pytest.mark.parametrize("one", TRANSCRIPTS, ids=lambda one: one.name)
def test_a_transcript_says_what_is_expected(one: Transcript) -> None:
    assert one.differences(read(one)) == {}


@given(one=st.sampled_from(STREAMED), data=st.data())
def test_other_reads_change_nothing_but_times(one: Transcript, data: st.DataObject) -> None:
    body = one.reply.body
    cuts = data.draw(st.sets(st.integers(min_value=1, max_value=max(1, len(body) - 1)), max_size=30))
    ends = sorted({*(cut for cut in cuts if cut < len(body)), len(body)})
    again = read(one, reply_with(one.reply, ends=ends, ns=list(range(len(ends)))))
    assert one.differences(again).keys() <= {"chunk_ns"}
    assert again.chunk_ns == sorted(again.chunk_ns)


@given(one=st.sampled_from(STREAMED), share=st.floats(0.0, 1.0), ended=st.sampled_from(["closed", "timeout"]))
def test_a_stream_that_is_cut_off_has_failed_and_keeps_what_came(one: Transcript, share: float, ended: Ended) -> None:
    body = one.reply.body[: int(share * len(one.reply.body))]
    answer = read(one, _reply(one, [body], ended))
    assert answer.status in ("timeout", "truncated", "reset", "error")
    assert (one.expected["text"] or "").startswith(answer.text or "")
    assert answer.chunk_kind == one.expected["chunk_kind"][: len(answer.chunk_kind)]


@given(one=st.sampled_from(TRANSCRIPTS), data=st.data())
def test_whatever_a_server_sends_there_is_an_answer(one: Transcript, data: st.DataObject) -> None:
    body = bytearray(one.reply.body)
    for _ in range(data.draw(st.integers(1, 8))):
        place = data.draw(st.integers(0, max(0, len(body) - 1)))
        body[place : place + data.draw(st.integers(0, 6))] = data.draw(st.binary(max_size=6))
    answer = read(one, _reply(one, [bytes(body)], one.reply.ended))
    assert len(answer.chunk_ns) == len(answer.chunk_kind) == len(answer.chunk_chars)
    assert answer.error is None or len(answer.error) <= 520


@given(name=st.sampled_from(catalog.names("traffic.backends")), body=st.binary(max_size=200), status=st.sampled_from([200, 404, 500]))
def test_noise_is_no_answer(name: str, body: bytes, status: int) -> None:
    backend = catalog.load("traffic.backends", name)
    if backend.process is not None:
        return
    reply = _reply(TRANSCRIPTS[0], [body], "complete")
    answer = backend.read(reply_with(reply, http_status=status), TRANSCRIPTS[0].ask)
    assert answer.status != "ok" or b"[DONE]" in body
    assert answer.status == {404: "4xx", 500: "5xx"}.get(status, answer.status)


def _reply(one: Transcript, reads: list[bytes], ended: Ended) -> Reply:
    body = b"".join(reads)
    ends = list(accumulate(map(len, reads)))
    return reply_with(one.reply, body=body, ends=ends, ns=list(range(len(ends))), ended=ended)
