"""Framing is taken off exactly, whatever the reads; and requests are what was asked for."""

from __future__ import annotations

from itertools import accumulate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fireassay.traffic.chunks import Dechunker, plain_chunks
from fireassay.traffic.parts import Wire
from fireassay.traffic.wire.response import Exchange, Payloads, address_of, parse_head

WIRE = Wire(path="/v1/chat/completions", body=b"{}")
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


# ---- framing -----------------------------------------------------------------------------------------------------


def exchange(parts: list[bytes]) -> Exchange:
    """An exchange that got these reads, one nanosecond after the other, up to its end."""
    made = Exchange(None, b"", 1 << 20, lambda one: None)
    for ns, part in enumerate(parts):
        made.ns.append(ns)
        made.parts.append(part)
        if made.head is None and not made.find_head(part):
            continue
        if "transfer-encoding" in (made.head.headers if made.head else {}):
            made.chunks_ended()
    made.finish("complete")
    return made


def cut(data: bytes, places: list[int]) -> list[bytes]:
    ends = sorted({place % len(data) for place in places} - {0})
    return [data[begin:end] for begin, end in zip([0, *ends], [*ends, len(data)], strict=True)]


BODIES = st.lists(st.binary(min_size=1, max_size=40), max_size=8)
PLACES = st.lists(st.integers(0, 5000), max_size=12)


@given(BODIES, PLACES, st.booleans(), st.booleans())
def test_a_chunked_body_is_the_same_however_it_was_cut(chunks: list[bytes], places: list[int], odd: bool, tail: bool) -> None:
    size = "%X;x=1\r\n" if odd else "%x\r\n"
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    framed = [(size % len(chunk)).encode() + chunk + b"\r\n" for chunk in chunks]
    last = b"0\r\nX-Trailer: 1\r\n\r\n" if tail else b"0\r\n\r\n"
    parts = cut(head + b"".join(framed) + last, places)
    reply = exchange(parts).reply()
    assert reply.body == b"".join(chunks)
    assert (reply.http_status, len(reply.ends), reply.ends[-1]) == (200, len(parts), len(reply.body))
    assert list(reply.ends) == [body_bytes(head, framed, chunks, raw) for raw in accumulate(map(len, parts))]


def body_bytes(head: bytes, framed: list[bytes], chunks: list[bytes], raw: int) -> int:
    """How much of the body stands in the first `raw` bytes: counted byte by byte."""
    owner: list[int] = [0] * len(head)
    for whole, chunk in zip(framed, chunks, strict=True):
        owner += [0] * (len(whole) - len(chunk) - 2) + [1] * len(chunk) + [0] * 2
    return sum(owner[:raw])


@given(st.binary(max_size=200), PLACES)
def test_a_body_of_known_length_is_the_same_however_it_was_cut(body: bytes, places: list[int]) -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body)
    parts = cut(head + body, places)
    reply = exchange(parts).reply()
    assert reply.body == body
    assert list(reply.ends) == [max(0, raw - len(head)) for raw in accumulate(map(len, parts))]


@given(st.binary(max_size=120))
def test_no_bytes_make_dechunking_raise_anything_but_a_value_error(data: bytes) -> None:
    dechunker = Dechunker()
    try:
        dechunker.feed(data)
    except ValueError:
        return
    assert dechunker.size == len(b"".join(dechunker.pieces)) <= len(data)


def test_what_came_before_the_framing_broke_is_kept_once() -> None:
    made = Exchange(None, b"", 1 << 20, lambda one: None)
    data = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nno size\r\n\r\n"
    made.ns, made.parts = [1], [data]
    assert made.find_head(data)
    with pytest.raises(ValueError, match="not a chunk size"):
        made.chunks_ended()
    made.finish("malformed", "not a chunk size")
    assert made.reply().body == b"abc"


def test_nothing_after_broken_framing_is_body_when_a_later_read_shows_the_break() -> None:
    made = Exchange(None, b"", 1 << 20, lambda one: None)
    reads = [b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nno size\r\n", b"2\r\nde\r\n", b"2\r\nfg\r\n\r\n"]
    made.ns, made.parts = [1, 2, 3], reads
    assert made.find_head(reads[0])
    with pytest.raises(ValueError, match="not a chunk size"):
        made.chunks_ended()
    made.finish("malformed", "not a chunk size")
    reply = made.reply()
    assert (reply.body, list(reply.ends)) == (b"abc", [3, 3, 3])


def test_plain_chunks_refuse_what_only_looks_plain() -> None:
    assert plain_chunks(b"2\r\nab\r\n0\r\n\r\n") == [b"2", b"ab"]
    assert plain_chunks(b"2\r\nab\r\n") is None
    assert plain_chunks(b"3\r\nab\r\n0\r\n\r\n") is None
    assert plain_chunks(b"6\r\na\r\nb\r\n\r\n0\r\n\r\n") is None
    assert plain_chunks(b"+2\r\nab\r\n0\r\n\r\n") is None


@pytest.mark.parametrize(
    ("head", "keep"),
    [
        ("HTTP/1.1 200 OK\r\nContent-Length: 2", True),
        ("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close", False),
        ("HTTP/1.0 200 OK\r\nContent-Length: 2", False),
        ("HTTP/1.0 200 OK\r\nContent-Length: 2\r\nConnection: keep-alive", True),
        ("HTTP/1.1 200 OK", False),
        ("HTTP/1.1 204 No Content", True),
        ("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked", False),
    ],
)
def test_a_connection_is_kept_only_where_both_sides_know_the_end(head: str, keep: bool) -> None:
    assert parse_head(f"{head}\r\n\r\n".encode()).keep is keep


@pytest.mark.parametrize("head", ["HTTP/2 200", "HTTP/1.1 2x0 No", "ICY 200 OK", "HTTP/1.1 200 OK\r\nno colon", ""])
def test_what_is_no_head_is_refused(head: str) -> None:
    with pytest.raises(ValueError, match="not"):
        parse_head(f"{head}\r\n\r\n".encode())


# ---- what goes out -----------------------------------------------------------------------------------------------


def test_a_request_is_what_the_wire_says_behind_the_replicas_own_path() -> None:
    wire = Wire(path="/v1/x", body=b"{}", headers=(("content-type", "application/json"), ("host", "other")))
    assert Payloads(address_of("http://[::1]:80/base/")).payload(wire) == (
        b"POST /base/v1/x HTTP/1.1\r\nAccept-Encoding: identity\r\nUser-Agent: assay\r\n"
        b"content-type: application/json\r\nhost: other\r\nContent-Length: 2\r\n\r\n{}"
    )


@pytest.mark.parametrize("evil", [("x", "a\r\nX: b"), ("x\r\ny", "a"), ("x", "a\0")])
def test_a_header_cannot_end_its_line(evil: tuple[str, str]) -> None:
    with pytest.raises(ValueError, match="line break"):
        Payloads(address_of("http://h")).payload(Wire(path="/", body=b"", headers=(evil,)))


def test_an_address_is_taken_apart() -> None:
    found = address_of("https://user:word@host.example/a/b/")
    assert (found.host, found.port, found.tls, found.path, found.authority) == ("host.example", 443, True, "/a/b", "host.example")
    assert address_of("host:81").authority == "host:81"
    with pytest.raises(ValueError, match="not a URL"):
        address_of("ftp://host")
