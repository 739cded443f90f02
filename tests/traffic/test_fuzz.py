"""Whatever bytes come back, however they are cut: an answer or a class of failure, never an exception, and a row that can be written.

The corpus is the golden set of engines' answers (tests/golden/sse), and what fuzzing found (tests/golden/fuzz).  Hypothesis cuts,
repeats, swaps and replaces; `FUZZ_EXAMPLES` says how many examples are drawn.
"""

from __future__ import annotations

import base64
import json
import os
import time
from collections.abc import Sequence
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fireassay import catalog
from fireassay.record.streams import to_batch
from fireassay.traffic.parts import Answer, Ask, Reply
from fireassay.traffic.replies.openai_json import MAX_ERROR
from fireassay.traffic.wire import transports
from fireassay.traffic.wire.connection import Connection
from fireassay.traffic.wire.response import Exchange, parse_head
from tests.tiers import some
from tests.traffic.transcripts import FOLDER, Transcript, load

pytestmark = pytest.mark.slow


EXAMPLES: Final = int(os.environ.get("FUZZ_EXAMPLES", "60"))
FOUND: Final = sorted((Path(__file__).parents[1] / "golden" / "fuzz").glob("*.json"))
CORPUS: Final = [load(path) for path in sorted(FOLDER.glob("*.json"))]
ASK: Final = Ask(task="chat", model="m")
READERS: Final = {
    name: catalog.load("traffic.backends", name).read
    for name in catalog.names("traffic.backends")
    if catalog.load("traffic.backends", name).process is None
}
SEVERE: Final = settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck))
# What breaks parsers: ends of lines and texts, numbers that are none, depth, sizes, half characters.
SHARDS: Final = [
    b"",
    b"\n",
    b"\n\n",
    b"\r",
    b"\r\n",
    b"\r\n\r\n",
    b"data: ",
    b"data:",
    b"event: error\n",
    b"data: [DONE]\n\n",
    b":",
    b"id: \0\n",
    b"\xef\xbb\xbf",
    b"\xff",
    b"\xc3",
    b"\xed\xa0\x80",
    b"\0",
    b'"',
    b"\\",
    b"\\ud800",
    b"{",
    b"}",
    b"[",
    b"]",
    b"null",
    b"NaN",
    b"-Infinity",
    b"1e999",
    b"-1",
    b"9" * 400,
    b"1" + b"0" * 30,
    b"[" * 300,
    b'{"a":' * 300,
    b"0\r\n\r\n",
    b"ffffffffffff\r\n",
    b"-1\r\n",
    b"5;x=y\r\n",
    b"HTTP/1.1 100 \r\n\r\n",
    b"HTTP/1.1 200 OK\r\n",
    b"Content-Length: 5\r\n",
    b"Transfer-Encoding: chunked\r\n",
    b'{"error": {"x": ' + b"[" * 300 + b"]" * 300 + b"}}",
]


@st.composite
def spoiled(draw: st.DrawFn, bodies: Sequence[bytes]) -> bytes:
    """A body of the corpus after some cuts and grafts."""
    body = draw(st.sampled_from(bodies))
    for _ in range(draw(st.integers(0, 4))):
        begin = draw(st.integers(0, len(body)))
        end = min(len(body), begin + draw(st.sampled_from([0, 0, 1, 2, 7, 40, 1000])))
        graft = draw(st.one_of(st.sampled_from(SHARDS), st.binary(max_size=8), st.sampled_from(bodies).map(lambda b: b[:400])))
        body = body[:begin] + graft * draw(st.sampled_from([1, 1, 1, 2, 30])) + body[end:]
    return body


@st.composite
def reads(draw: st.DrawFn, body: bytes) -> list[bytes]:
    """The body, cut into some reads."""
    cuts = sorted({0, len(body), *draw(st.lists(st.integers(0, len(body)), max_size=6))})
    return [body[a:b] for a, b in pairwise(cuts)]


def expect_writable(answer: Answer) -> None:
    """A row of the table `requests`, with what else stands in it left out."""
    assert answer.error is None or len(answer.error) <= MAX_ERROR  # 500 are kept: tests/record/secrets/test_batches.py
    row = (
        0,
        0,
        0,
        "main",
        "normal",
        None,
        None,
        None,
        None,
        "lean",
        0,
        1,
        None,
        None,
        None,
        None,
        None,
        5,
        answer.status,
        200,
        answer.error,
        answer.finish_reason,
        answer.tokens_in,
        answer.tokens_out,
        answer.tokens_reasoning,
        answer.tokens_cached,
        list(answer.chunk_ns),
        [int(kind) for kind in answer.chunk_kind],
        answer.chunk_chars,
        None,
        None,
        answer.text,
        answer.reasoning,
        answer.logprobs,
        None,
        None,
        answer.chunk_uncertainty_ns,
    )
    batch = to_batch("requests", [row])
    assert batch is not None, answer
    batch.validate(full=True)
    assert len(answer.chunk_ns) == len(answer.chunk_kind) == len(answer.chunk_chars)
    assert list(answer.chunk_ns) == sorted(answer.chunk_ns)
    assert len(answer.chunk_uncertainty_ns) == len(answer.chunk_ns)
    assert all(unsure >= 0 for unsure in answer.chunk_uncertainty_ns)


def read_by(reader: str, transcript: Transcript, body: bytes, parts: Sequence[bytes], *, ended: Any = "complete") -> Answer:
    reply = Reply(
        ended=ended,
        http_status=transcript.reply.http_status,
        headers=transcript.reply.headers,
        body=body,
        ends=list(accumulate(map(len, parts))) or [0],
        ns=list(range(1, len(parts) + 1)) or [1],
        unsure=[place % 2 * 9 - 3 for place in range(max(1, len(parts)))],
    )
    answer: Answer = READERS[reader](reply, transcript.ask)
    return answer


@SEVERE
@given(st.data())
def test_every_dialect_reads_every_spoiled_answer(data: st.DataObject) -> None:
    transcript = data.draw(st.sampled_from(CORPUS))
    body = data.draw(spoiled([transcript.reply.body or b"{}"]))
    ended = data.draw(st.sampled_from(["complete", "complete", "closed"]))
    reader = data.draw(st.sampled_from([transcript.dialect, transcript.dialect, *READERS]))
    expect_writable(read_by(reader, transcript, body, data.draw(reads(body)), ended=ended))


@pytest.mark.parametrize("path", FOUND, ids=lambda path: path.stem)
def test_what_fuzzing_found_stays_mended(path: Path) -> None:
    """Every body of the corpus of finds, by the dialect that fell, and by all others."""
    told = json.loads(path.read_text())
    body = base64.b64decode(told["body"])
    like = next(one for one in CORPUS if one.name == told["like"])
    for reader in READERS:
        expect_writable(read_by(reader, like, body, [body]))


# ---- HTTP ------------------------------------------------------------------------------------------------------------


class _Pool:
    """Takes connections back."""

    address = transports.address_of("http://127.0.0.1:1")
    looks = None

    def under_way(self) -> None:
        pass

    def __init__(self) -> None:
        self.released = 0

    def release(self, connection: Connection, ns: int) -> None:
        self.released += 1

    def lost(self, connection: Connection) -> None:
        pass

    def send(self, exchange: Exchange) -> None:
        exchange.finish("closed", "taken elsewhere")


class _Link:
    """A transport without a socket."""

    def __init__(self, connection: Connection) -> None:
        self._connection, self.gone = connection, False

    def get_extra_info(self, name: str) -> None:
        return None

    def write(self, data: bytes) -> None:
        pass

    def is_closing(self) -> bool:
        return self.gone

    def get_write_buffer_size(self) -> int:
        return 0

    def abort(self) -> None:
        self.gone = True


def exchanged(parts: Sequence[bytes], *, lost: Exception | None = None, room: int = 1 << 20) -> Exchange:
    """An exchange whose answer came by these reads, after which the connection was lost."""
    ended: list[Exchange] = []
    connection = Connection(_Pool())  # type: ignore[arg-type]
    link = _Link(connection)
    connection.connection_made(link)  # type: ignore[arg-type]
    exchange = Exchange(None, b"GET / HTTP/1.1\r\n\r\n", room, ended.append)
    connection.start(exchange)
    for ns, part in enumerate(parts, 1):
        if not link.gone:
            connection.received(part, ns, ns)
    connection.connection_lost(lost)
    assert ended == [exchange], "an exchange ends once"
    return exchange


def http_answers() -> list[bytes]:
    """Answers as servers send them: with a length, in chunks, until the end."""
    made = []
    for one in CORPUS:
        body = one.reply.body[:3000]
        kind = one.reply.headers.get("content-type", "text/event-stream")
        head = f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\n".encode()
        chunks = b"".join(b"%x\r\n%b\r\n" % (len(body[n : n + 100]), body[n : n + 100]) for n in range(0, len(body), 100))
        made += [
            head + b"Content-Length: %d\r\n\r\n" % len(body) + body,
            head + b"Transfer-Encoding: chunked\r\n\r\n" + chunks + b"0\r\n\r\n",
            head + b"Connection: close\r\n\r\n" + body,
            b"HTTP/1.1 103 Early\r\nLink: x\r\n\r\n" + head + b"Content-Length: 2\r\n\r\n{}",
        ]
    return made


ANSWERS: Final = http_answers()


@SEVERE
@given(st.data())
def test_every_spoiled_answer_of_http_is_filed(data: st.DataObject) -> None:
    raw = data.draw(spoiled(ANSWERS))
    lost = data.draw(st.sampled_from([None, None, ConnectionResetError(104, "reset"), OSError("no number")]))
    exchange = exchanged(data.draw(reads(raw)), lost=lost, room=data.draw(st.sampled_from([1 << 20, 1 << 12, 10])))
    answer = READERS["openai"](exchange.reply(), ASK)
    expect_writable(answer)


@SEVERE
@given(st.binary(max_size=200), st.sampled_from(SHARDS), st.binary(max_size=50))
def test_every_head_is_read_or_refused_with_a_reason(before: bytes, shard: bytes, after: bytes) -> None:
    for head in (before + shard + after, b"HTTP/1.1 200 OK\r\n" + before + shard + after):
        try:
            found = parse_head(head + b"\r\n\r\n")
        except ValueError as error:
            said = str(error)
        else:
            said = f"{found.status} {found.length}"
            assert 0 <= found.status < 1000
            assert found.length >= 0
        assert said


# ---- time ------------------------------------------------------------------------------------------------------------

MEAN: Final = {
    "events of two forms in turn": b'data: {"id":"x","choices":[{"delta":{"content":"a"}}]}\n\ndata: {"id":"x","choices":[{"delta":{"reasoning":"a"}}]}\n\n',
    "an id that changes": b'data: {"id":"%d","choices":[{"delta":{"content":"a"}}]}\n\n',
    "empty events": b"data:\n\n",
    "blank lines": b"\n",
    "comments": b":\n\n",
    "lines without an end of the event": b"data: x\n",
    "CR LF": b'data: {"choices":[{"delta":{"content":"a"}}]}\r\n\r\n',
    "bare CR": b"data: {}\r",
    "no line end": b"x",
    "open brackets": b"data: " + b"[" * 900 + b"\n\n",
    "quotes": b'data: "' + b'\\"' * 20 + b"\n\n",
}


@pytest.mark.parametrize("name", some(MEAN, 3))
def test_reading_takes_time_in_proportion_to_the_answer(name: str) -> None:
    """Sixteen times the bytes may take at most 16 x 6 the processor time: what grows with the square takes 256."""

    def seconds(size: int) -> float:
        piece = MEAN[name]
        body = (b"".join(piece % n for n in range(size // len(piece))) if b"%d" in piece else piece * (size // len(piece)))[:size]
        reply = Reply(ended="complete", http_status=200, headers={"content-type": "text/event-stream"}, body=body, ends=[len(body)], ns=[1])
        begin = time.process_time()
        READERS["openai"](reply, ASK)
        return time.process_time() - begin

    small = max(min(seconds(1 << 15) for _ in range(3)), 1e-3)
    assert seconds(1 << 19) < 16 * 6 * small
