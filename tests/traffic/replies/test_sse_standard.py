"""Server-sent events as the WHATWG standard reads them: a table of its grammar, its processing rules and its own examples.

Source: HTML Living Standard, 9.2.5 "Parsing an event stream" and 9.2.6 "Interpreting an event stream".
Two deviations, on purpose: the end of a whole body ends its last event, which some engines leave open; and an event named for a failure is
one even without data.
"""

from __future__ import annotations

import json

import pytest

from fireassay.traffic.chunks import Framed
from fireassay.traffic.parts import Ask, Reply
from fireassay.traffic.replies.openai_json import events
from fireassay.traffic.replies.openai_stream import read_openai

Event = tuple[str, str]
TABLE: list[tuple[str, bytes, list[Event]]] = [
    # 9.2.6, the examples of the standard
    ("two lines of data", b"data: YHOO\ndata: +2\ndata: 10\n\n", [("", "YHOO\n+2\n10")]),
    (
        "four blocks: a comment, an event with an ID, one that resets it, and data that begins with a space",
        b": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\ndata:  third event\n\n",
        [("", "first event"), ("", "second event"), ("", " third event")],
    ),
    ("data without a value is an empty line: two events, the second of one line end", b"data\n\ndata\ndata\n\n", [("", ""), ("", "\n")]),
    ("a last block without its blank line counts here", b"data\n\ndata\ndata\n\ndata:", [("", ""), ("", "\n"), ("", "")]),
    ("one space after the colon is removed", b"data:test\n\ndata: test\n\n", [("", "test"), ("", "test")]),
    # 9.2.5, the grammar: ends of lines
    ("lines end in LF", b"data: a\ndata: b\n\n", [("", "a\nb")]),
    ("lines end in CR", b"data: a\rdata: b\r\r", [("", "a\nb")]),
    ("lines end in CR LF", b"data: a\r\ndata: b\r\n\r\n", [("", "a\nb")]),
    ("ends may differ from line to line", b"data: a\rdata: b\ndata: c\r\n\ndata: d\n\r", [("", "a\nb\nc"), ("", "d")]),
    ("CR LF is one end, so that it closes no event", b"data: a\r\ndata: b\n\n", [("", "a\nb")]),
    ("LF CR is two ends", b"data: a\n\rdata: b\n\n", [("", "a"), ("", "b")]),
    ("CR CR LF is two ends", b"data: a\r\r\ndata: b\n\n", [("", "a"), ("", "b")]),
    ("CR LF CR is two ends", b"data: a\r\n\rdata: b\n\n", [("", "a"), ("", "b")]),
    ("other separators are text", "data: a\x0b\x0c\x1c\x85\u2028b\n\n".encode(), [("", "a\x0b\x0c\x1c\x85\u2028b")]),
    ("a NUL is text", b"data: a\0b\n\n", [("", "a\0b")]),
    # the byte order mark
    ("one byte order mark at the start is skipped", b"\xef\xbb\xbfdata: a\n\n", [("", "a")]),
    ("a second one is part of the field's name", b"\xef\xbb\xbf\xef\xbb\xbfdata: a\n\ndata: b\n\n", [("", "b")]),
    ("later ones are too", b"data: a\n\n\xef\xbb\xbfdata: b\n\n", [("", "a")]),
    # comments
    ("a line that begins with a colon is ignored", b": data: a\ndata: b\n\n", [("", "b")]),
    ("so is a bare colon", b":\n\n:\ndata: b\n:\n\n", [("", "b")]),
    ("a comment closes no event", b"data: a\n: between\ndata: b\n\n", [("", "a\nb")]),
    # fields
    ("names are compared literally: case", b"Data: a\nDATA: b\ndata: c\n\n", [("", "c")]),
    ("names are compared literally: spaces", b" data: a\ndata : b\ndata: c\n\n", [("", "c")]),
    ("unknown fields are ignored", b"foo: a\ndatas: b\ndat: c\ndata: d\n\n", [("", "d")]),
    ("the value begins after the first colon", b"data: a: b:c\n\n", [("", "a: b:c")]),
    ("only a space is removed, not a tab", b"data:\ta\n\n", [("", "\ta")]),
    ("a space at the end stays", b"data: a \n\n", [("", "a ")]),
    ("an empty value and none are the same", b"data:\ndata\ndata: \n\n", [("", "\n\n")]),
    ("id and retry are no data", b"id: 1\nretry: 10\ndata: a\nid: 2\0\nretry: x\n\nid: 3\n\n", [("", "a")]),
    # dispatch
    ("an event has the last of its names", b"event: a\nevent: b\ndata: c\n\n", [("b", "c")]),
    ("without a value the name is reset", b"event: a\nevent\ndata: c\n\n", [("", "c")]),
    ("the name ends with the event", b"event: a\ndata: b\n\ndata: c\n\n", [("a", "b"), ("", "c")]),
    ("an event without data is none, and its name is forgotten", b"event: a\n\ndata: b\n\n", [("", "b")]),
    ("empty data is an event", b"event: a\ndata\n\n", [("a", "")]),
    ("blank lines are no events", b"\n\n\n\ndata: a\n\n\n\n\ndata: b\n\n\n", [("", "a"), ("", "b")]),
    ("a name may be of any characters", "event: 事件\ndata: a\n\n".encode(), [("事件", "a")]),
    ("bytes that are not UTF-8 become U+FFFD in a name", b"event: \xff\ndata: a\n\n", [("\ufffd", "a")]),
    ("nothing is no event", b"", []),
]
IDS = [name for name, _, _ in TABLE]


@pytest.mark.parametrize(("name", "body", "expected"), TABLE, ids=IDS)
def test_a_stream_is_read_as_the_standard_says(name: str, body: bytes, expected: list[Event]) -> None:
    assert [(event, data.decode("utf-8", "replace")) for _, event, data in events(body)] == expected


@pytest.mark.parametrize(("name", "body", "expected"), TABLE, ids=IDS)
def test_each_event_ends_where_its_blank_line_does(name: str, body: bytes, expected: list[Event]) -> None:
    """Every prefix of a stream holds the events whose last byte it holds, and no other: the read of that byte is their time."""
    ends = [end for end, _, _ in events(body, whole=False)]
    for cut in range(len(body) + 1):
        complete = list(events(body[:cut], whole=False))
        certain = [end for end in ends if end <= cut - (body[:cut].endswith(b"\r") and body[cut : cut + 1] == b"\n")]
        assert [end for end, _, _ in complete][: len(certain)] == certain


def document(text: str) -> str:
    return json.dumps({"id": "c", "choices": [{"index": 0, "delta": {"content": text}}]}, separators=(",", ":"))


LAST = json.dumps({"id": "c", "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}, separators=(",", ":"))
WRITTEN = [
    "data: {}\n\n",
    "data:{}\n\n",
    "data: {}\r\n\r\n",
    "data: {}\r\r",
    "data: {}\r\r\n",
    "\ndata: {}\n\n",
    ": ping\ndata: {}\n\n",
    "data: {}\n: ping\n\n",
    "id: 7\ndata: {}\n\n",
    "data: {}\nid: 7\nretry: 3\n\n",
    "event: message\ndata: {}\n\n",
    "event: chunk\r\ndata:{}\r\n\r\n",
    ": a\n\n: b\n\ndata: {}\n\n",
    "foo: bar\ndata: {}\n\n",
    "retry: 3\n\ndata: {}\n\n",
]


def read(pieces: list[bytes], *, framed: bool, mark: bytes = b"") -> tuple[str, str | None, int]:
    body = mark + b"".join(pieces)
    raw = b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in [*filter(None, [mark]), *pieces]) + b"0\r\n\r\n"
    sent: bytes | Framed = Framed(raw, [len(raw)]) if framed else body
    reply = Reply(
        ended="complete", http_status=200, headers={"content-type": "text/event-stream"}, body=sent, ends=[len(body)], ns=[7], unsure=[0]
    )
    answer = read_openai(reply, Ask(task="chat", model="m"), True)
    return answer.status, answer.text, len(answer.chunk_ns)


@pytest.mark.parametrize("framed", [False, True], ids=["plain", "chunked"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"], ids=["", "bom"])
@pytest.mark.parametrize("written", WRITTEN)
def test_every_way_to_write_an_event_is_read_in_a_run_of_equal_chunks(written: str, mark: bytes, framed: bool) -> None:
    """The short cuts through runs of equal chunks see what the standard sees."""
    texts = [f" w{n}" for n in range(4)]
    usual = [f"data: {document(text)}\n\n" for text in texts]
    odd = [written.replace("{}", document(" odd"))]
    ends = [f"data: {LAST}\n\n", "data: [DONE]\n\n"]
    for order in ([*usual, *odd, *usual, *ends], [*odd, *usual, *ends], [*odd, *odd, *odd, *ends]):
        pieces = [piece.encode() for piece in order]
        says = "".join(json.loads(line[5:])["choices"][0]["delta"].get("content", "") for line in data_lines(order))
        assert read(pieces, framed=framed, mark=mark) == ("ok", says, len(order))


def data_lines(pieces: list[str]) -> list[str]:
    lines = "".join(pieces).replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return [line for line in lines if line.startswith("data:") and "[DONE]" not in line]


def test_data_in_several_lines_is_one_document() -> None:
    odd = document(" odd").replace(',"choices"', ',\ndata: "choices"')
    pieces = [f"data: {document(' a')}\n\n", f"data: {odd}\n\n", f"data: {LAST}\n\n", "data: [DONE]\n\n"]
    for framed in (False, True):
        assert read([piece.encode() for piece in pieces], framed=framed) == ("ok", " a odd", 4)
