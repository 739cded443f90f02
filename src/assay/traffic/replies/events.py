"""What does a finished reply say below its content?  Server-sent events, and how a reply failed.

A reply is parsed when it has ended, never while others are timed: all times come from the socket reads that it lists.
Events are split as the HTML standard says (lines end in CR, LF or CR LF; an event ends at an empty line), but the last
event may lack its empty line, as engines leave it out.  Source: https://html.spec.whatwg.org/multipage/server-sent-events.html
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

import orjson

from assay.traffic.parts import Answer, Reply, Status
from assay.traffic.replies.openai_json import MOST_ERROR, error_message

WINDOW = 1 << 16  # bytes that are split at once: bounds the work if a stream is made to mislead
_BLANK: Final = re.compile(rb"\r\n(?:\r\n|\r|\n)|\n(?:\r\n|\r|\n)|\r\r\n|\r\r")
_LINE: Final = re.compile(rb"\r\n|\r|\n")

Event = tuple[int, str, bytes]  # where it ends in the body, its name ("" for none), its data


def events(body: bytes, *, whole: bool = True) -> Iterator[Event]:
    """The events of a body. `whole`: the body has ended as it should, so that its end ends the last event."""
    begin = 3 if body.startswith(b"\xef\xbb\xbf") else 0
    return _events(body, begin, whole)


def _events(body: bytes, begin: int, whole: bool) -> Iterator[Event]:
    bare = b"\r" not in body  # nearly always: lines end in LF alone
    while begin < len(body):
        if bare:
            position = body.find(b"\n\n", begin)
            stop, end = (position, position + 2) if position >= 0 else (-1, len(body))
        else:
            match = _BLANK.search(body, begin)
            stop, end = match.span() if match else (-1, len(body))
        if stop < 0 and not whole:
            return
        event = parse_event(body[begin : stop if stop >= 0 else end])
        if event is not None:
            yield (end, *event)
        begin = end


def parse_event(block: bytes) -> tuple[str, bytes] | None:
    """Name and data of one event's lines; None if it has no data (a comment, a blank)."""
    if block.startswith(b"data: ") and b"\n" not in block and b"\r" not in block:
        return "", block[6:]
    name, data = "", []
    for line in _LINE.split(block):
        field, _, value = line.partition(b":")
        if field == b"data":
            data.append(value.removeprefix(b" "))
        elif field == b"event":
            name = value.removeprefix(b" ").decode("utf-8", "replace")
    return (name, b"\n".join(data)) if data else None


def failure(reply: Reply) -> Answer | None:
    """The answer of a reply that failed below its content; None if it ended as it should and its status is 2xx.

    A stream that was cut off keeps what came before: parse it, then set `status` and `error` from this.
    """
    status = status_of(reply)
    return None if status is None else Answer(status=status, error=why_failed(reply, status))


def status_of(reply: Reply) -> Status | None:
    """How a reply failed by its end and its HTTP status; None if it did not."""
    http = reply.http_status
    if reply.ended in ("refused", "timeout", "cancelled"):
        return reply.ended
    if reply.ended in ("too_large", "malformed"):
        return "malformed"
    if http is not None and 400 <= http < 600:
        return "4xx" if http < 500 else "5xx"
    if reply.ended == "closed":
        return "reset" if http is None or not reply.body or reply.why.startswith("reset") else "truncated"
    return None if http is not None and 200 <= http < 300 else "malformed"


def why_failed(reply: Reply, status: Status) -> str | None:
    http = reply.http_status
    if status in ("4xx", "5xx"):
        return f"HTTP {http}: {said(reply.body)}"[:MOST_ERROR]
    if http is not None and 300 <= http < 400:
        return f"HTTP {http} to {reply.headers.get('location', 'nowhere')}: redirects are not followed"[:MOST_ERROR]
    if status == "malformed" and reply.ended == "complete":
        return f"HTTP {http}"
    return reply.why[:MOST_ERROR] or None


def said(body: bytes) -> str:
    """What a server says went wrong, in its own words where its answer has a place for them."""
    try:
        message = error_message(orjson.loads(body[:WINDOW]))
    except orjson.JSONDecodeError:
        message = None
    return (message or body[: 4 * MOST_ERROR].decode("utf-8", "replace"))[:MOST_ERROR]


def began_well(reply: Reply) -> bool:
    return reply.http_status is not None and 200 <= reply.http_status < 300
