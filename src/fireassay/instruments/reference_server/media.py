"""How does the reference server answer requests for images, speech, embeddings and ranks?

One piece after `first_s`, but for speech: a WAV of 24 kHz, 16 bit and mono, in pieces of a tenth of a second of silence, one for every ten
characters of the text.  The first is due after `first_s`, each further one `next_s` later, so that its real-time factor is known:
(first_s + (n - 1) next_s) / (n / 10 s).  An image is one grey pixel, whatever its size.
"""

from __future__ import annotations

import base64
import json
import struct
import zlib
from collections.abc import Callable, Mapping
from typing import Any, Final

from fireassay.instruments.reference_server.answers import LAST_CHUNK, Request, head, reply

RATE: Final = 48_000  # bytes of audio per second
PIECE: Final = RATE // 10
CHARACTERS: Final = 10  # of text in a piece of audio
DIMENSIONS: Final = 8
MAX_IMAGES: Final = 64


def _png() -> bytes:
    def chunk(kind: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    header = chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + header + chunk(b"IDAT", zlib.compress(b"\0\x80")) + chunk(b"IEND", b"")


PIXEL: Final = base64.b64encode(_png()).decode()
WAV: Final = struct.pack(
    "<4sI4s4sIHHIIHH4sI", b"RIFF", 0xFFFFFFFF, b"WAVE", b"fmt ", 16, 1, 1, RATE // 2, RATE, 2, 16, b"data", 0xFFFFFFFF
)  # of unknown length, as a stream's is


def parse_media(path: str, body: bytes) -> Request:
    """Parse a request and make the pieces of its answer.

    Raises:
        ValueError: not a JSON object with the path's keys; the message is for the client.
    """
    request = json.loads(body)
    if not isinstance(request, dict):
        raise ValueError("the body is not a JSON object")
    words, pieces = PATHS[path](request)
    return Request(
        chat=False,
        stream=False,
        tail=(),
        begin=(),
        whole=hash(body),
        tokens_in=words,
        tokens_out=None,
        usage=False,
        model=str(request.get("model") or "")[:200],
        pieces=tuple(pieces),
    )


def _text(request: Mapping[str, Any], key: str) -> str:
    text = request.get(key)
    if not isinstance(text, str) or not text:
        raise ValueError(f"{key} is not a text")
    return text


def _images(request: Mapping[str, Any]) -> tuple[int, list[bytes]]:
    text, many = _text(request, "prompt"), request.get("n", 1)
    if not isinstance(many, int) or isinstance(many, bool) or not 1 <= many <= MAX_IMAGES:
        raise ValueError(f"n = {many!r}; it must be a whole number from 1 to {MAX_IMAGES}")
    return len(text.split()), [reply(200, {"created": 0, "data": [{"b64_json": PIXEL}] * many})]


def _speech(request: Mapping[str, Any]) -> tuple[int, list[bytes]]:
    text = _text(request, "input")
    if request.get("response_format", "wav") != "wav":
        raise ValueError("only response_format = wav is supported")
    start = head(200, "audio/wav", b"transfer-encoding: chunked\r\n")
    silence = b"%x\r\n%b\r\n" % (PIECE, bytes(PIECE))
    pieces = [silence] * max(1, len(text) // CHARACTERS)
    pieces[0] = start + b"%x\r\n%b\r\n" % (len(WAV), WAV) + pieces[0]
    pieces[-1] += LAST_CHUNK
    return len(text.split()), pieces


def _vectors(request: Mapping[str, Any]) -> tuple[int, list[bytes]]:
    given = request.get("input") or request.get("messages")
    inputs = [given] if isinstance(given, str) else given
    if not isinstance(inputs, list) or not inputs:
        raise ValueError("input is neither a text nor a list")
    data = [{"object": "embedding", "index": index, "embedding": [1.0] * DIMENSIONS} for index in range(len(inputs))]
    words = sum(len(text.split()) for text in inputs if isinstance(text, str))
    usage = {"usage": {"prompt_tokens": words, "total_tokens": words}} if words else {}  # nobody counts an image's tokens here
    return words, [reply(200, {"object": "list", "data": data, "model": str(request.get("model") or ""), **usage})]


def _ranks(request: Mapping[str, Any]) -> tuple[int, list[bytes]]:
    documents = request.get("documents")
    if not isinstance(documents, list) or not documents:
        raise ValueError("documents is not a list")
    words = sum(len(str(text).split()) for text in (*documents, request.get("query", "")))
    results = [{"index": index, "relevance_score": 1.0 / (index + 1)} for index in range(len(documents))]
    return words, [reply(200, {"results": results, "usage": {"prompt_tokens": words, "total_tokens": words}})]


PATHS: Final[Mapping[str, Callable[[Mapping[str, Any]], tuple[int, list[bytes]]]]] = {
    "/v1/images/generations": _images,
    "/v1/audio/speech": _speech,
    "/v1/embeddings": _vectors,
    "/v1/rerank": _ranks,
}
