"""How does the reference server answer requests for images, speech, embeddings and ranks?

One piece after `first_s`, but for speech: a WAV of 24 kHz, 16 bit and mono, in pieces of a tenth of a second of silence, one for every ten
characters of the text.  The first is due after `first_s`, each further one `next_s` later, so that its real-time factor is known:
(first_s + (n - 1) next_s) / (n / 10 s).

An image is a PNG of the requested size, at most 4096 x 4096: a shape that the prompt names (circle, square, triangle) in a colour that it
names, on white, at a place that depends on the prompt and on which of the n images it is.  The n-th is ready `next_s` after the one before,
so n images are due after first_s + (n - 1) next_s.  With `stream` and `partial_images` there is one event for each preview, `next_s` apart,
and one for each image.  `--image-kib` makes every image that large, as photographs are.
"""

from __future__ import annotations

import base64
import json
import random
import re
import struct
import zlib
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, Final

from fireassay.instruments.reference_server.answers import LAST_CHUNK, Request, dumped, head, reply
from fireassay.instruments.reference_server.settings import Settings

RATE: Final = 48_000  # bytes of audio per second
PIECE: Final = RATE // 10
CHARACTERS: Final = 10  # of text in a piece of audio
DIMENSIONS: Final = 8
MAX_IMAGES: Final = 64
MAX_PIXELS: Final = 4096  # of a side
PREVIEWS: Final = 3
COLOURS: Final = {
    "red": (220, 30, 30),
    "green": (30, 160, 60),
    "blue": (40, 70, 220),
    "yellow": (240, 210, 40),
    "black": (20, 20, 20),
    "orange": (240, 140, 30),
    "purple": (140, 50, 170),
    "grey": (128, 128, 128),
}
SHAPES: Final[Mapping[str, Callable[[float], float]]] = {  # height from -1 to 1 -> half the width there
    "circle": lambda y: (1.0 - y * y) ** 0.5,
    "square": lambda y: 1.0,
    "triangle": lambda y: (1.0 + y) / 2.0,
}


@lru_cache(maxsize=32)
def drawn(text: str, width: int, height: int, number: int, nbytes: int = 0) -> bytes:
    """A PNG of the shape that the text names; image `number` of an answer, padded to `nbytes`."""
    words = re.findall(r"\w+", text.lower())
    colour = next((rgb for name, rgb in COLOURS.items() if name in words), COLOURS["grey"])
    half_width = next((shape for name, shape in SHAPES.items() if name in words or f"{name}s" in words), SHAPES["square"])
    place = random.Random(f"{text}|{number}")
    radius = max(1, min(width, height) // 4)
    left, top = (place.randrange(max(1, side - 2 * radius + 1)) for side in (width, height))
    rows = []
    for y in range(height):
        at = (y - top + 0.5) / radius - 1.0
        half = round(radius * half_width(at)) if -1.0 < at < 1.0 else 0
        begin = left + radius - half
        inside = bytes(colour) * min(2 * half, width - begin)
        rows.append(b"\0" + b"\xff" * (3 * begin) + inside + b"\xff" * (3 * width - 3 * begin - len(inside)))
    header = _chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
    content = b"\x89PNG\r\n\x1a\n" + header + _chunk(b"IDAT", zlib.compress(b"".join(rows), 1))
    padding = nbytes - len(content) - 24  # a chunk that no reader has to know, and the end
    noise = _chunk(b"raND", place.randbytes(padding)) if padding > 0 else b""
    return content + noise + _chunk(b"IEND", b"")


def _chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


WAV: Final = struct.pack(
    "<4sI4s4sIHHIIHH4sI", b"RIFF", 0xFFFFFFFF, b"WAVE", b"fmt ", 16, 1, 1, RATE // 2, RATE, 2, 16, b"data", 0xFFFFFFFF
)  # of unknown length, as a stream's is


def parse_media(path: str, body: bytes, settings: Settings) -> Request:
    """Parse a request and make the pieces of its answer.

    Raises:
        ValueError: not a JSON object with the path's keys; the message is for the client.
    """
    request = json.loads(body)
    if not isinstance(request, dict):
        raise ValueError("the body is not a JSON object")
    words, waits, pieces = _images(request, settings) if path == IMAGES else _at_once(*OTHERS[path](request))
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
        waits=waits,
    )


def _at_once(words: int, pieces: list[bytes]) -> tuple[int, int, list[bytes]]:
    return words, 0, pieces


def _text(request: Mapping[str, Any], key: str) -> str:
    text = request.get(key)
    if not isinstance(text, str) or not text:
        raise ValueError(f"{key} is not a text")
    return text


def _whole(request: Mapping[str, Any], key: str, default: int, least: int, most: int) -> int:
    value = request.get(key, default)
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise ValueError(f"{key} = {value!r}; it must be a whole number from {least} to {most}")
    return value


def _images(request: Mapping[str, Any], settings: Settings) -> tuple[int, int, list[bytes]]:
    """Words of the prompt, gaps before the first piece, and the pieces."""
    text, many = _text(request, "prompt"), _whole(request, "n", 1, 1, MAX_IMAGES)
    previews = _whole(request, "partial_images", 0, 0, PREVIEWS)
    size = re.fullmatch(r"([0-9]{1,4})x([0-9]{1,4})", str(request.get("size") or "256x256"))
    width, height = (int(size[1]), int(size[2])) if size else (0, 0)
    if not (1 <= width <= MAX_PIXELS and 1 <= height <= MAX_PIXELS):
        raise ValueError(f"size = {request.get('size')!r}; it must be WIDTHxHEIGHT, at most {MAX_PIXELS} each")
    linked = request.get("response_format", "b64_json") == "url"
    files = [drawn(text, width, height, number, settings.image_kib * 1024) for number in range(many)]
    entries = [
        {"url": f"https://images.invalid/{number}.png"} if linked else {"b64_json": _base64(file)} for number, file in enumerate(files)
    ]
    if request.get("stream") is True:
        return len(text.split()), 0, _image_events(entries, previews)
    return len(text.split()), many - 1, [reply(200, {"created": 0, "data": entries})]


def _base64(file: bytes) -> str:
    return base64.b64encode(file).decode()


def _image_events(entries: list[dict[str, str]], previews: int) -> list[bytes]:
    """Every preview and every image as an event of its own; the first has the head, the last the end."""
    kinds = [("partial_image", {"partial_image_index": index}) for index in range(previews)] + [("completed", {})]
    events = [{"type": f"image_generation.{kind}", **entry, **more} for entry in entries for kind, more in kinds]
    texts = [f"event: {event['type']}\ndata: {dumped(event)}\n\n".encode() for event in events]
    pieces = [b"%x\r\n%b\r\n" % (len(text), text) for text in texts]
    pieces[0] = head(200, "text/event-stream", b"transfer-encoding: chunked\r\n") + pieces[0]
    pieces[-1] += LAST_CHUNK
    return pieces


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


OTHERS: Final[Mapping[str, Callable[[Mapping[str, Any]], tuple[int, list[bytes]]]]] = {
    "/v1/audio/speech": _speech,
    "/v1/embeddings": _vectors,
    "/v1/rerank": _ranks,
}
IMAGES: Final = "/v1/images/generations"
PATHS: Final = frozenset({IMAGES, *OTHERS})
