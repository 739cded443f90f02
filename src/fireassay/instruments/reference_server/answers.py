"""What does the reference server answer, and in which bytes?

An answer begins with the word that the prompt requests, else with the prompt's last word, repeats the words before that, and continues
with words from a fixed tape, at an offset that is a hash of those last words and the server's salt. So equal prompts have equal answers
on every replica with the same salt, and an answer identifies its prompt. One word is one token.

The bytes of a word's chunk are built once and reused: a stream costs the server little more than its sends. All answers therefore have
the same id.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final
from zlib import crc32

from fireassay.instruments.reference_server.settings import Settings
from fireassay.instruments.reference_server.solving import Sum, sum_of

ECHOED: Final = 8  # words of the prompt that an answer repeats
TAPE: Final = 8192
LAST_CHUNK: Final = b"0\r\n\r\n"
VOCABULARY: Final = tuple(a + b + c + d for a in "bdklmrst" for b in "aeiou" for c in "fnpvz" for d in "aio")


def _tape() -> list[str]:
    """Words in a fixed order without a short period: the high bits of a linear congruential generator."""
    state, words = 1, []
    for _ in range(TAPE):
        state = (1664525 * state + 1013904223) & 0xFFFFFFFF
        words.append(VOCABULARY[(state >> 8) % len(VOCABULARY)])
    return words


@dataclass(frozen=True, slots=True)
class Request:
    """The parts of a request that the server uses."""

    chat: bool
    stream: bool
    tail: tuple[str, ...]  # the prompt's last words
    begin: tuple[str, ...]  # its first ones
    whole: int  # a hash of all of them
    tokens_in: int  # words of the whole prompt
    tokens_out: int | None
    usage: bool  # whether the stream should include its usage
    model: str  # "": unspecified
    pieces: tuple[bytes, ...] = ()  # of an answer that is no text
    waits: int = 0  # gaps (`next_s`) before the first of them, besides `first_s`
    sum: Sum | None = None  # in the prompt


def parse_request(body: bytes, *, chat: bool) -> Request:
    """Parse a request's body.

    Raises:
        ValueError: not a JSON object with a prompt or messages; the message is for the client.
    """
    request = json.loads(body)
    if not isinstance(request, dict):
        raise ValueError("the body is not a JSON object")
    if request.get("n", 1) != 1:
        raise ValueError("only n = 1 is supported")
    texts = _texts(request.get("messages")) if chat else [_text(request.get("prompt"))]
    if not texts:
        raise ValueError("messages is empty")
    words = [word for text in texts for word in text.split()]
    length = request.get("max_completion_tokens", request.get("max_tokens"))
    if length is not None and (not isinstance(length, int) or isinstance(length, bool) or length < 1):
        raise ValueError(f"max_tokens = {length!r}; it must be a whole number above 0")
    options = request.get("stream_options")
    last = texts[-1].split()
    tail = tuple(map(_sayable, (*last[-ECHOED:], *_requested_start(last))[-ECHOED:]))
    return Request(
        chat=chat,
        stream=request.get("stream") is True,
        tail=tail,
        begin=tuple(words[:ECHOED]),
        whole=hash(tuple(texts)),
        tokens_in=len(words),
        tokens_out=length,
        usage=isinstance(options, dict) and options.get("include_usage") is True,
        model=str(request.get("model") or "")[:200],
        sum=sum_of(request, texts),
    )


def _requested_start(words: Sequence[str]) -> tuple[str, ...]:
    """The word with which a canary prompt requires the answer to begin: "... Begin your answer with it: CODE"."""
    indices = [index for index, word in enumerate(words[:-1]) if word == "it:" and index >= 4 and words[index - 4] == "Begin"]
    return (words[indices[0] + 1].rstrip("."),) if indices else ()


def _texts(messages: Any) -> list[str]:
    if not isinstance(messages, list):
        raise ValueError("messages is not a list")
    return [_text(message.get("content")) if isinstance(message, dict) else "" for message in messages]


def _text(content: Any) -> str:
    """A content's text: itself, or the text parts of a list."""
    if isinstance(content, list):
        return " ".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    if not isinstance(content, str):
        raise ValueError("a prompt or content is not text")
    return content


def _sayable(word: str) -> str:
    """Replace lone surrogates: valid in JSON, but not encodable as UTF-8."""
    return word if word.isascii() else word.encode("utf-8", "replace").decode()


class Texts:
    """Which words answer a prompt?"""

    def __init__(self, salt: str) -> None:
        self._salt = salt
        self._tape = _tape()

    def words(self, tail: Sequence[str], count: int, *, salt: str = "") -> list[str]:
        """`count` words for a prompt that ends with `tail`."""
        echo = [tail[-1], *tail[:-1]] if tail else []
        begin = crc32("\0".join((self._salt, salt, *tail)).encode("utf-8", "replace")) % TAPE
        tape = self._tape[begin : begin + count]
        while len(tape) < count:
            tape += self._tape[: count - len(tape)]
        return [*echo[:count], *tape[: max(0, count - len(echo))]]


class Chunks:
    """The bytes of a dialect, chat or completions, by this server's settings."""

    def __init__(self, settings: Settings, *, chat: bool, model: str = "") -> None:
        self._end = "\r\n" if settings.crlf else "\n"
        self._comment = f": alive{2 * self._end}" if settings.comments else ""
        self._done = "" if settings.no_done else f"data: [DONE]{2 * self._end}"
        self._chat = chat
        kind, prefix = ("chat.completion", "chatcmpl") if chat else ("text_completion", "cmpl")
        self._about = {"id": f"{prefix}-reference", "object": kind, "created": 0, "model": settings.model_name(model)}
        self._streamed = {**self._about, "object": f"{kind}.chunk" if chat else kind}
        self.text = lru_cache(maxsize=1 << 16)(self._text)
        self.tail = lru_cache(maxsize=1 << 12)(self._tail)
        mime = "text/event-stream; charset=utf-8"
        self.head = head(200, mime, b"transfer-encoding: chunked\r\n")
        self.role = self.framed(self._event([{"index": 0, "delta": {"role": "assistant", "content": ""}, "finish_reason": None}]))

    def framed(self, text: str | bytes) -> bytes:
        """One HTTP chunk."""
        data = text.encode("utf-8", "surrogateescape") if isinstance(text, str) else text
        return b"%x\r\n%b\r\n" % (len(data), data)

    def _event(self, choices: list[dict[str, Any]], more: str = "") -> str:
        payload = dumped({**self._streamed, "choices": choices})
        return f"data: {payload[:-1]}{more}}}{2 * self._end}"

    def _text(self, text: str) -> bytes:
        """The chunk that carries this text."""
        part = {"delta": {"content": text}} if self._chat else {"text": text}
        return self.framed(self._comment + self._event([{"index": 0, **part, "logprobs": None, "finish_reason": None}]))

    def _tail(self, usage: str, finish: str) -> bytes:
        """The bytes after the last text: finish reason, usage if any, end mark, and the end of the HTTP message."""
        part: dict[str, Any] = {"delta": {}} if self._chat else {"text": ""}
        events = self._event([{"index": 0, **part, "finish_reason": finish}])
        events += self._event([], f',"usage":{usage}') if usage else ""
        return self.framed(events + self._done) + LAST_CHUNK

    def event(self, payload: str) -> bytes:
        """An event with any payload."""
        return self.framed(f"data: {payload}{2 * self._end}")

    def whole(self, text: str, usage: str, finish: str = "length") -> bytes:
        """The answer in one piece, head included."""
        part = {"message": {"role": "assistant", "content": text}} if self._chat else {"text": text}
        choices = [{"index": 0, **part, "logprobs": None, "finish_reason": finish}]
        payload = dumped({**self._about, "choices": choices})
        return reply(200, f'{payload[:-1]},"usage":{usage}}}'.encode("utf-8", "surrogateescape"))


def dumped(value: Any) -> str:
    """JSON without spaces, as the engines' own serialisers write it."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def usage_of(tokens_in: int, tokens_out: int | str, reasoning: int = 0) -> str:
    """Usage in OpenAI's form, as JSON; the output tokens may be any JSON text, for servers that report nonsense."""
    total = tokens_in + tokens_out if isinstance(tokens_out, int) else tokens_in
    details = f',"completion_tokens_details":{{"reasoning_tokens":{reasoning}}}' if reasoning else ""
    return f'{{"prompt_tokens":{tokens_in},"completion_tokens":{tokens_out},"total_tokens":{total}{details}}}'


REASONS: Final = {
    200: "OK",
    307: "Temporary Redirect",
    400: "Bad Request",
    404: "Not Found",
    405: "Method Not Allowed",
    411: "Length Required",
    429: "Too Many Requests",
    431: "Request Header Fields Too Large",
    500: "Internal Server Error",
    503: "Service Unavailable",
}


def head(status: int, mime: str, more: bytes = b"") -> bytes:
    """The head of an answer."""
    reason = REASONS.get(status, "Status")
    return f"HTTP/1.1 {status} {reason}\r\nserver: assay-reference\r\ncontent-type: {mime}\r\n".encode() + more + b"\r\n"


def reply(status: int, content: Any, more: bytes = b"", mime: str = "application/json") -> bytes:
    """A whole response: JSON of a value, or raw bytes."""
    body = content if isinstance(content, bytes) else dumped(content).encode("utf-8", "surrogateescape")
    return head(status, mime, b"content-length: %d\r\n%b" % (len(body), more)) + body


def problem(status: int, message: str, more: bytes = b"") -> bytes:
    """An error in OpenAI's form."""
    return reply(status, {"error": {"message": message, "type": "reference", "code": status}}, more)
