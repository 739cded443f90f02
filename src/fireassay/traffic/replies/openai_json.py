"""What does JSON in OpenAI's dialect contain: a choice's text, usage, log probabilities, an error?

Input is untrusted: any value in any position yields a result or a ValueError.

How are server-sent events split, and how did a reply fail below its content?

A reply is parsed after it has ended, never while others are timed: all times come from its socket reads.  Events are split by the HTML
standard (lines end in CR, LF or CR LF; an empty line ends an event), with two exceptions: the last event may lack its empty line, which
some engines omit; and an event named for a failure is one even without data, with its comments as the reason.  Source: https://html.spec.whatwg.org/multipage/server-sent-events.html

How are chunks parsed that differ only in their text?

A `Template` is the bytes around the text.  One is learned when two consecutive chunks share them and their JSON contains nothing else.
`split` and `Heads` then split a run of such chunks at once: without transfer framing, and with.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

import orjson

from fireassay.traffic.parts import Answer, Kind, Reply, Status

WINDOW = 1 << 16  # bytes split at once: bounds the work on malicious streams
_BLANK: Final = re.compile(rb"\r\n(?:\r\n|\r|\n)|\n(?:\r\n|\r|\n)|\r\r\n|\r\r")
_LINE: Final = re.compile(rb"\r\n|\r|\n")

_FAILURE: Final = re.compile(r"error|exception|abort(ed)?|fail(ed|ure)?|cancell?ed|timeout", re.IGNORECASE)
_NO_END: Final = re.compile(
    "error|exception|abort|cancel|time_?out|fail|filter|safety|sensitive|block|prohibit|recitation|spii|guardrail|malformed|overload"
    "|insufficient|unavailable|interrupt|disconnect|incomplete|unspecified|^(other|unknown|language)$",
    re.IGNORECASE,
)

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
    """Name and data of one event's lines; None without data (a comment, a blank), unless it is named for a failure."""
    if block.startswith(b"data: ") and b"\n" not in block and b"\r" not in block:
        return "", block[6:]
    name, data, comments = "", [], []
    for line in _LINE.split(block):
        field, colon, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if field == b"data":
            data.append(value)
        elif field == b"event":
            name = value.decode("utf-8", "replace")
        elif field == b"error":  # older llama.cpp
            name, comments = "error", [value]
        elif colon and not field:
            comments.append(value)
    if data:
        return name, b"\n".join(data)
    return (name, b"\n".join(comments)) if is_failure(name) else None


def is_failure(event: str) -> bool:
    """True if an event's name says that the answer failed."""
    return _FAILURE.fullmatch(event) is not None


def no_end(reason: str | None) -> str | None:
    """What a finish reason says of an answer that stopped before its end; None if it ended."""
    if not reason or "stop_sequence" in reason or _NO_END.search(reason) is None:
        return None
    return f"the answer is not whole: its finish reason is {reason}"


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
        return f"HTTP {http}: {said(reply.body)}"[:MAX_ERROR]
    if http is not None and 300 <= http < 400:
        return f"HTTP {http} to {reply.headers.get('location', 'no location')}: redirects are not followed"[:MAX_ERROR]
    if status == "malformed" and reply.ended == "complete":
        return f"HTTP {http}"
    return reply.why[:MAX_ERROR] or None


def said(body: bytes) -> str:
    """The server's error message, if its answer has one."""
    try:
        message = error_message(orjson.loads(body[:WINDOW]))
    except orjson.JSONDecodeError:
        message = None
    return (message or body[: 4 * MAX_ERROR].decode("utf-8", "replace"))[:MAX_ERROR]


def began_well(reply: Reply) -> bool:
    return reply.http_status is not None and 200 <= reply.http_status < 300


MAX_ERROR: Final = 2000  # characters read of a server's message; 500 are kept after secrets are removed
NO_MESSAGE: Final = "an error without a message"
MAX_LIMITS: Final = 12
MAX_LIMIT: Final = 100  # characters
_MAX_INTEGER: Final = 1 << 53

# A surrogate pair, a lone surrogate, or any other escape, so that an escaped backslash does not start one.
_ESCAPES: Final = re.compile(
    rb"(\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})|(\\u[dD][89a-fA-F][0-9a-fA-F]{2})|\\.", re.DOTALL
)


# A key, not text: quotation marks within text are escaped.
_MODEL: Final = re.compile(rb'[{,]\s*"model"\s*:\s*("(?:[^"\\\x00-\x1f]|\\.){1,200}")')


def loads(data: bytes) -> Any:
    """Parse JSON as orjson does, plus two extensions that engines emit: NaN and Infinity, and lone surrogates.

    A token may end within a character; engines then write a lone surrogate, which becomes U+FFFD.

    Raises:
        ValueError: it is not JSON, or not UTF-8.
    """
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        repaired = _with_whole_characters(data)
        if b"NaN" in repaired or b"Infinity" in repaired:
            return _with_numbers_that_are_none(repaired)
        if repaired == data:
            raise
        return orjson.loads(repaired)


def _with_whole_characters(data: bytes) -> bytes:
    return _ESCAPES.sub(lambda match: rb"\ufffd" if match[2] else match[0], data)


def _with_numbers_that_are_none(data: bytes) -> Any:
    try:
        document = json.loads(data)
        orjson.dumps(document)  # also rejects what orjson would: lone surrogates, numbers beyond 64 bits, depth
    except RecursionError:
        raise ValueError("nested too deeply") from None
    except TypeError as error:  # includes orjson's own error
        raise ValueError(str(error)) from None
    return document


def is_error(document: Mapping[str, Any]) -> bool:
    """True if a JSON object within a 200 reports an error."""
    if document.get("error") or document.get("object") == "error" or document.get("type") == "error":
        return True
    told = isinstance(document.get("message"), str) and ("code" in document or "status" in document)
    return "choices" not in document and (told or isinstance(document.get("detail"), str))


def error_message(document: object) -> str | None:
    """The message of an error in JSON: {"error": {"message": ...}}, {"error": ...}, {"message": ...}, {"detail": ...}."""
    if not isinstance(document, dict):
        return None
    inner = document.get("error") or document
    if isinstance(inner, str):
        return inner
    if not isinstance(inner, dict):
        return None
    message = inner.get("message") or inner.get("detail") or inner.get("error") or inner.get("type")
    return message if isinstance(message, str) else _as_json(inner) if inner else None


def _as_json(document: dict[str, Any]) -> str:
    try:
        return orjson.dumps(document).decode()[:MAX_ERROR]
    except TypeError:  # orjson parses deeper nesting than it serialises
        return "an error nested too deeply to be shown"


def rate_limits(headers: Mapping[str, str]) -> dict[str, str]:
    """Headers that report a server's limits: x-ratelimit-..., ratelimit-..., retry-after.  Source: RFC 9110, 10.2.3."""
    limits = sorted((name, text) for name, text in headers.items() if "ratelimit" in name or name == "retry-after")
    return {name[:MAX_LIMIT]: text[:MAX_LIMIT] for name, text in limits[:MAX_LIMITS]}


def model_named(begin: bytes) -> str:
    """The model named in an answer's first bytes, framing included; "" if none, or split across chunks."""
    match = _MODEL.search(begin)
    if match is None:
        return ""
    try:
        return str(loads(match[1]))
    except ValueError:
        return ""


class ChoiceText(NamedTuple):
    """One choice's text."""

    kind: Kind
    chars: int
    content: str
    reasoning: str


def first_choice(choices: object) -> Mapping[str, Any] | None:
    """The choice with index 0: of several answers to one prompt, only the first is read."""
    if not isinstance(choices, list):
        return None
    for choice in choices:
        if isinstance(choice, dict) and not choice.get("index"):
            return choice
    return None


def text_of_choice(choice: Mapping[str, Any]) -> ChoiceText:
    """The text of a choice: a chat's delta or message, or a completion's text."""
    delta = choice.get("delta")
    if not isinstance(delta, dict):
        delta = choice.get("message")
    if not isinstance(delta, dict):
        content, reasoning, tool = _text(choice.get("text")), "", 0
    else:
        content = _text(delta.get("content")) or _text(delta.get("refusal"))
        reasoning = _text(delta.get("reasoning_content") or delta.get("reasoning"))
        tool = _tool_chars(delta.get("tool_calls")) if delta.get("tool_calls") else 0
        if not tool and delta.get("function_call"):
            tool = _tool_chars([{"function": delta["function_call"]}])
    chars = len(content) + len(reasoning) + tool
    kind = Kind.CONTENT if content else Kind.REASONING if reasoning else Kind.TOOL if tool else Kind.ROLE
    return ChoiceText(kind, chars, content, reasoning)


def _text(value: object) -> str:
    """A string, or a list of parts of which some are text."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "".join(part["text"] for part in value if isinstance(part, dict) and isinstance(part.get("text"), str))
    return ""


def _tool_chars(calls: object) -> int:
    """Characters of the names and arguments in tool calls."""
    functions = [call.get("function") for call in calls if isinstance(call, dict)] if isinstance(calls, list) else []
    return sum(
        len(_text(function.get("name"))) + len(_text(function.get("arguments"))) for function in functions if isinstance(function, dict)
    )


def logprobs_of(logprobs: object) -> list[float]:
    """Log probabilities of chat ({"content": [{"logprob": ...}]}) or of completions ({"token_logprobs": [...]})."""
    if not isinstance(logprobs, dict):
        return []
    content = logprobs.get("content")
    candidates: list[object]
    if isinstance(content, list):
        candidates = [token.get("logprob") for token in content if isinstance(token, dict)]
    else:
        values = logprobs.get("token_logprobs")
        candidates = values if isinstance(values, list) else []
    return [float(value) for value in candidates if isinstance(value, (int, float)) and not isinstance(value, bool)]


def usage_of(usage: object) -> dict[str, int | None]:
    """A server's token counts: in, out, reasoning, cached; None if not reported.

    Raises:
        ValueError: a value is not a count: negative, fractional, or not a number.
    """
    if not isinstance(usage, dict):
        return {}
    prompt_details, completion_details = usage.get("prompt_tokens_details"), usage.get("completion_tokens_details")
    cached = prompt_details.get("cached_tokens") if isinstance(prompt_details, dict) else None
    reasoning = completion_details.get("reasoning_tokens") if isinstance(completion_details, dict) else None
    return {
        "in": count(usage.get("prompt_tokens"), "prompt_tokens"),
        "out": count(usage.get("completion_tokens"), "completion_tokens"),
        "reasoning": count(usage.get("reasoning_tokens") if reasoning is None else reasoning, "reasoning_tokens"),
        "cached": count(cached, "cached_tokens"),
    }


def count(value: object, name: str) -> int | None:
    """A token count reported by a server. Raises ValueError: it is not a count."""
    if value is None:
        return None
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _MAX_INTEGER:
        return value
    if isinstance(value, float) and value.is_integer() and 0 <= value < _MAX_INTEGER:
        return int(value)
    raise ValueError(f"usage reports {name} = {str(value)[:40]}, which is not a count")


# ---- chunks that differ only in their text ---------------------------------------------------------------------------


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
