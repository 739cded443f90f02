"""How are chunks parsed that differ only in their text?

A `Template` is the bytes around the text.  One is learned when two consecutive chunks share them and their JSON contains nothing else.
`split` and `Heads` then split a run of such chunks at once: without transfer framing, and with.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import orjson

from fireassay.traffic.parts import Kind
from fireassay.traffic.replies.openai_json import ChoiceText, first_choice, text_of_choice

TEMPLATES: Final[list[Template]] = []  # the latest first
ID: Final = b'data: {"id":"'  # start of a chunk that can be cached
MAX_CHUNK_BYTES: Final = 1024  # maximum bytes of a cached chunk
_MAX_TEMPLATES: Final = 8
_NEEDLE: Final = 24


class Template(NamedTuple):
    """The bytes around the text in a run of equal chunks."""

    before: bytes  # from after the ID to the text
    after: bytes  # from the text to the event's end, blank line included
    kind: Kind


STARTS: Final = bytes.startswith


class Heads(dict[int, bytes]):
    """Length of head and text -> head: the bytes between two texts, whose chunk size follows from that length."""

    def __init__(self, before: bytes, after: bytes) -> None:
        super().__init__()
        self.needle, self.tail = after[:_NEEDLE], after[_NEEDLE:] + b"\r\n"
        self.bare = len(self.tail) + len(before) - 2  # bytes of a head that are not framing
        self._before, self._around = before, len(after) - len(self.tail) - 2

    def __missing__(self, length: int) -> bytes:
        size = length + self._around  # plus the digits of the size itself
        digits = next((n for n in (2, 3, 4, 1) if 16 ** (n - 1) <= size - n < 16**n), 0)
        head = self[length] = b"%b%x\r\n%b" % (self.tail, size - digits, self._before) if digits else b"\0"
        return head


def first_other(pieces: list[bytes], rest: bytes, heads: Heads) -> int:
    """How many leading pieces match the form; 0 also if one of them has a wrong end."""
    first = next((n for n, piece in enumerate(pieces) if not piece.startswith(heads[len(piece)])), len(pieces))
    behind = pieces[first] if first < len(pieces) else rest
    return first if behind.startswith(heads.tail) else 0


def learn_template(body: bytes, begin: int, end: int, choice: ChoiceText) -> None:
    """Store the bytes around this event's text if the next event has the same and they contain nothing else."""
    text = choice.content or choice.reasoning
    if choice.chars != len(text) or not (text.isascii() and text.isprintable()) or '"' in text or "\\" in text:
        return
    event = body[begin:end]
    id_end = event.find(b'"', len(ID)) + 1
    if not (event.startswith(ID) and event.find(b"\n") == len(event) - 2 and id_end):
        return
    if not is_plain(event[len(ID) : id_end - 1]):
        return
    start = _text_start(event, id_end, text.encode())
    if not start or not body.startswith(event[:start], end):
        return
    template = Template(event[id_end:start], event[start + len(text) :], choice.kind)
    if len(event) <= 4 * MAX_CHUNK_BYTES and _is_the_text(template, choice):
        TEMPLATES.insert(0, template)
        del TEMPLATES[_MAX_TEMPLATES:]


def is_plain(text: bytes) -> bool:
    """True if it is the content of a JSON string without escapes."""
    return text.isascii() and b"\\" not in text and text.decode().isprintable()


def _text_start(event: bytes, behind: int, text: bytes) -> int:
    """Where the text starts if it occurs exactly once as a JSON value; else 0."""
    for colon in (b'":"', b'": "'):
        quoted = colon + text + b'"'
        position = event.find(quoted, behind)
        if position >= 0:
            return position + len(colon) if event.find(quoted, position + 1) < 0 else 0
    return 0


def _is_the_text(template: Template, learned: ChoiceText) -> bool:
    """True if the bytes between the two are the chunk's text and nothing else."""
    mark = "assay?"
    try:
        document = orjson.loads(b'{"id":""' + template.before + mark.encode() + template.after)
    except orjson.JSONDecodeError:
        return False
    choice = first_choice(document.get("choices")) if isinstance(document, dict) else None
    if choice is None or document.get("usage") or choice.get("finish_reason") or choice.get("logprobs"):
        return False
    delta = text_of_choice(choice)
    return delta.kind == learned.kind and delta.chars == len(mark) and mark in (delta.content, delta.reasoning)


def split(window: bytes, after: bytes, before: bytes) -> list[bytes]:
    """The parts between repeated `after` and `before`, from the start up to the last `after`."""
    separator = after + before
    needle = separator[:_NEEDLE]  # CPython finds a short needle three times as fast
    pieces = window.split(needle)
    pieces.pop()  # after the last one
    skip = len(separator) - len(needle)
    pieces[1:] = [piece[skip:] for piece in pieces[1:]]
    if pieces and window.startswith(separator.join(pieces) + after):
        return pieces
    pieces = window.split(separator)  # the needle also occurs elsewhere
    last = pieces.pop()
    stop = last.find(after)
    return [*pieces, last[:stop]] if stop >= 0 else pieces


def texts_of(pieces: list[bytes]) -> list[str]:
    """The texts of JSON strings without their quotes, up to the first invalid one."""
    texts = []
    for piece in pieces:
        try:
            text = orjson.loads(b'"' + piece + b'"')
        except orjson.JSONDecodeError:
            break
        texts.append(text)
    return texts
