"""How are server-sent events split, and how did a reply fail below its content?

A reply is parsed after it has ended, never while others are timed: all times come from its socket reads.  Events are split by the HTML
standard (lines end in CR, LF or CR LF; an empty line ends an event), except that the last event may lack its empty line, which some
engines omit.  Source: https://html.spec.whatwg.org/multipage/server-sent-events.html
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

import orjson

from fireassay.traffic.parts import Answer, Reply, Status
from fireassay.traffic.replies.openai_json import MOST_ERROR, error_message

WINDOW = 1 << 16  # bytes split at once: bounds the work on malicious streams
_BLANK: Final = re.compile(rb"\r\n(?:\r\n|\r|\n)|\n(?:\r\n|\r|\n)|\r\r\n|\r\r")
_LINE: Final = re.compile(rb"\r\n|\r|\n")

Event = tuple[int, str, bytes]  # its end in the body, its name ("" for none), its data


def events(body: bytes, *, whole: bool = True) -> Iterator[Event]:
    """The events of a body. `whole`: the body ended properly, so its end ends the last event."""
    begin = 3 if body.startswith(b"\xef\xbb\xbf") else 0
    return _events(body, begin, whole)


def _events(body: bytes, begin: int, whole: bool) -> Iterator[Event]:
    bare = b"\r" not in body  # the common case: lines end in LF alone
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
    """Name and data of one event's lines; None without data (a comment, a blank)."""
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
    """The answer of a reply that failed below its content; None if it ended properly with status 2xx.

    A truncated stream keeps its earlier content: parse it, then take `status` and `error` from here.
    """
    status = status_of(reply)
    return None if status is None else Answer(status=status, error=why_failed(reply, status))


def status_of(reply: Reply) -> Status | None:
    """How a reply failed, from its end and HTTP status; None if it did not."""
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
        return f"HTTP {http} to {reply.headers.get('location', 'no location')}: redirects are not followed"[:MOST_ERROR]
    if status == "malformed" and reply.ended == "complete":
        return f"HTTP {http}"
    return reply.why[:MOST_ERROR] or None


def said(body: bytes) -> str:
    """The server's error message, if its answer has one."""
    try:
        message = error_message(orjson.loads(body[:WINDOW]))
    except orjson.JSONDecodeError:
        message = None
    return (message or body[: 4 * MOST_ERROR].decode("utf-8", "replace"))[:MOST_ERROR]


def began_well(reply: Reply) -> bool:
    return reply.http_status is not None and 200 <= reply.http_status < 300
