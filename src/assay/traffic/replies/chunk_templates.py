"""How are chunks taken apart that differ in nothing but their text?

A `Template` is what stands around the text; one is learned where two chunks in a row have the same, and JSON says that nothing
else is hidden in it.  `split` and `Heads` then take a run of such chunks apart at once: without the transfer's framing, and with.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import orjson

from assay.traffic.parts import Kind
from assay.traffic.replies.openai_json import Said, first_choice, said_by

TEMPLATES: Final[list[Template]] = []  # the ones last seen, the latest first
ID: Final = b'data: {"id":"'  # how a chunk begins that can be remembered
LONGEST: Final = 1024  # bytes of a chunk that is remembered
_MOST_TEMPLATES: Final = 8
_NEEDLE: Final = 24


class Template(NamedTuple):
    """What stands around the text in a run of equal chunks."""

    before: bytes  # from behind the id to the text
    after: bytes  # from the text to the event's end, blank line included
    kind: Kind


STARTS: Final = bytes.startswith


class Heads(dict[int, bytes]):
    """What stands before a text, from the end of the text before it on, by the length of both: the framing tells the size."""

    def __init__(self, before: bytes, after: bytes) -> None:
        super().__init__()
        self.needle, self.tail = after[:_NEEDLE], after[_NEEDLE:] + b"\r\n"
        self.bare = len(self.tail) + len(before) - 2  # bytes of a head that are no framing
        self._before, self._around = before, len(after) - len(self.tail) - 2

    def __missing__(self, length: int) -> bytes:
        size = length + self._around  # and the digits of the size itself
        digits = next((n for n in (2, 3, 4, 1) if 16 ** (n - 1) <= size - n < 16**n), 0)
        head = self[length] = b"%b%x\r\n%b" % (self.tail, size - digits, self._before) if digits else b"\0"
        return head


def first_other(pieces: list[bytes], rest: bytes, heads: Heads) -> int:
    """How many pieces are of the form at the begin; 0 also where one of them does not end as it should."""
    first = next((n for n, piece in enumerate(pieces) if not piece.startswith(heads[len(piece)])), len(pieces))
    behind = pieces[first] if first < len(pieces) else rest
    return first if behind.startswith(heads.tail) else 0


def learn_template(body: bytes, begin: int, end: int, said: Said) -> None:
    """Keep what stands around this event's text, if the next event has the same and nothing else is hidden in it."""
    text = said.content or said.reasoning
    if said.chars != len(text) or not (text.isascii() and text.isprintable()) or '"' in text or "\\" in text:
        return
    event = body[begin:end]
    behind = event.find(b'"', len(ID)) + 1
    if not (event.startswith(ID) and event.find(b"\n") == len(event) - 2 and behind):
        return
    if not is_plain(event[len(ID) : behind - 1]):
        return
    start = _place(event, behind, text.encode())
    if not start or not body.startswith(event[:start], end):
        return
    template = Template(event[behind:start], event[start + len(text) :], said.kind)
    if len(event) <= 4 * LONGEST and _is_the_text(template, said):
        TEMPLATES.insert(0, template)
        del TEMPLATES[_MOST_TEMPLATES:]


def is_plain(text: bytes) -> bool:
    """Whether it is a JSON string as it stands."""
    return text.isascii() and b"\\" not in text and text.decode().isprintable()


def _place(event: bytes, behind: int, text: bytes) -> int:
    """Where the text begins, if it stands there once as a value in JSON; else 0."""
    for colon in (b'":"', b'": "'):
        quoted = colon + text + b'"'
        place = event.find(quoted, behind)
        if place >= 0:
            return place + len(colon) if event.find(quoted, place + 1) < 0 else 0
    return 0


def _is_the_text(template: Template, said: Said) -> bool:
    """Whether what is put between the two is the chunk's text and nothing else."""
    mark = "assay?"
    try:
        told = orjson.loads(b'{"id":""' + template.before + mark.encode() + template.after)
    except orjson.JSONDecodeError:
        return False
    choice = first_choice(told.get("choices")) if isinstance(told, dict) else None
    if choice is None or told.get("usage") or choice.get("finish_reason") or choice.get("logprobs"):
        return False
    found = said_by(choice)
    return found.kind == said.kind and found.chars == len(mark) and mark in (found.content, found.reasoning)


def split(window: bytes, after: bytes, before: bytes) -> list[bytes]:
    """What stands between `after` and `before` again and again, from the begin, up to the last `after`."""
    between = after + before
    short = between[:_NEEDLE]  # CPython looks for a short needle three times as fast
    pieces = window.split(short)
    pieces.pop()  # behind the last one
    skip = len(between) - len(short)
    pieces[1:] = [piece[skip:] for piece in pieces[1:]]
    if pieces and window.startswith(between.join(pieces) + after):
        return pieces
    pieces = window.split(between)  # the short one stands elsewhere, too
    last = pieces.pop()
    stop = last.find(after)
    return [*pieces, last[:stop]] if stop >= 0 else pieces


def texts_of(pieces: list[bytes]) -> list[str]:
    """The texts of JSON strings without their quotes, up to the first that is none."""
    texts = []
    for piece in pieces:
        try:
            text = orjson.loads(b'"' + piece + b'"')
        except orjson.JSONDecodeError:
            break
        texts.append(text)
    return texts
