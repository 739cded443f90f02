"""How are messages written in OpenAI's format, and how does a conversation continue after an answer or a tool call?

Which images are sent?

Synthetic PNGs of a given size, each unique, or files.  A synthetic image is a mosaic of coloured squares with a unique first row of pixels.
Only that row is built per image: its deflate stream ends on a byte boundary (Z_FULL_FLUSH), the rest is compressed once, and the checksum
of the whole is combined from those of the parts.  A 512 x 512 image takes tens of microseconds instead of milliseconds.
Sources: PNG (ISO/IEC 15948), zlib (RFC 1950), deflate (RFC 1951); combination of Adler-32 sums as in zlib's adler32_combine.
"""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from fireassay.errors import SpecError, refuse
from fireassay.traffic.parts import Json, Prompt
from fireassay.traffic.prompts.texts import SENTINEL, mix
from fireassay.traffic.prompts.tokens import Tokenizer

NO_ANSWER: Final = "(no answer)"  # placeholder for a failed turn: templates require alternating turns
CALL_ID: Final = 9  # letters and digits: some templates require this length


def user(text: str) -> Json:
    return {"role": "user", "content": text}


def messages_of(prompt: Prompt) -> tuple[Json, ...]:
    """The messages of a prompt; images go into the last one, before the text."""
    messages = prompt.messages or (user(prompt.text),)
    if not prompt.images:
        return messages
    parts: list[Json] = [{"type": "image_url", "image_url": {"url": data_url(image)}} for image in prompt.images]
    return (*messages[:-1], {**messages[-1], "content": [*parts, {"type": "text", "text": messages[-1]["content"]}]})


def flat(prompt: Prompt) -> str:
    """The prompt as one text, for engines without messages."""
    if not prompt.messages:
        return prompt.text
    return "\n\n".join(str(message.get("content") or "") for message in prompt.messages)


def after(prompt: Prompt, answer: str | None) -> tuple[Json, ...]:
    """The history for the next turn, without images."""
    messages = prompt.messages or (user(prompt.text),)
    return (*messages, {"role": "assistant", "content": answer or NO_ANSWER})


def tool_step(history: Sequence[Json], result: str, call: str) -> tuple[Json, ...]:
    """The history with its last answer turned into a tool call, followed by the tool's result."""
    function = {"name": "lookup", "arguments": "{}"}
    request = {**history[-1], "tool_calls": [{"id": call, "type": "function", "function": function}]}
    return (*history[:-1], request, {"role": "tool", "tool_call_id": call, "name": "lookup", "content": result})


def tool_role(tokenizer: Tokenizer) -> str:
    """The role for tool results: tool if the model's chat template shows them, else user."""
    history: list[dict[str, Any]] = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]
    try:
        rendered = tokenizer.render(tool_step(history, SENTINEL, "a" * CALL_ID))
    except ValueError:
        return "user"
    return "tool" if rendered is not None and SENTINEL in rendered else "user"


SIGNATURE: Final = b"\x89PNG\r\n\x1a\n"
SQUARE: Final = 16  # pixels per side
ADLER: Final = 65521
ZLIB_HEAD: Final = b"\x78\x01"
KNOWN: Final = ((SIGNATURE, "image/png"), (b"\xff\xd8\xff", "image/jpeg"), (b"GIF8", "image/gif"), (b"RIFF", "image/webp"))
FILES_KEPT: Final = 64


class Images:
    """Images of one size."""

    def __init__(self, width: int, height: int) -> None:
        self._width = width
        bands = [_row(width, squares) for squares in range(-(-height // SQUARE))]
        rest = b"".join(bands[y // SQUARE] for y in range(1, height))
        self._adler, self._length = zlib.adler32(rest), len(rest)
        packed = zlib.compressobj(6, zlib.DEFLATED, -15)
        self._begin = SIGNATURE + _chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
        self._middle = _chunk(b"IDAT", packed.compress(rest) + packed.flush())

    def png(self, number: int) -> bytes:
        """The image with that number: a PNG of 8-bit RGB."""
        row = b"\0" + _noise(3 * self._width, number)
        packed = zlib.compressobj(1, zlib.DEFLATED, -15)
        first = ZLIB_HEAD + packed.compress(row) + packed.flush(zlib.Z_FULL_FLUSH)
        total = _joined(zlib.adler32(row), self._adler, self._length)
        end = _chunk(b"IDAT", struct.pack(">I", total)) + _chunk(b"IEND", b"")
        return b"".join((self._begin, _chunk(b"IDAT", first), self._middle, end))


@lru_cache(FILES_KEPT)
def from_file(text: str, folder: Path) -> bytes:
    """An image from a data file: a path relative to it, or a data URL. Raises SpecError: it is not an image."""
    try:
        content = base64.b64decode(text.partition(",")[2]) if text.startswith("data:") else (folder / text).read_bytes()
    except (OSError, ValueError) as error:
        raise _wrong(text, f"which cannot be read ({type(error).__name__})") from None
    if media_type(content) is None:
        raise _wrong(text, "which is not a known image format")
    return content


def media_type(content: bytes) -> str | None:
    """Media type from the first bytes; None unless PNG, JPEG, GIF or WebP."""
    return next((kind for magic, kind in KNOWN if content.startswith(magic)), None)


def data_url(content: bytes) -> str:
    return f"data:{media_type(content) or 'application/octet-stream'};base64,{base64.b64encode(content).decode()}"


def _wrong(text: str, finding: str) -> SpecError:
    excerpt = text if len(text) <= 80 else f"{text[:76]} ..."
    return refuse("serving.prompts.image_field", f"{excerpt!r}, {finding}", "PNG, JPEG, GIF or WebP", source="the load")


def _row(width: int, squares: int) -> bytes:
    """One row of mosaic pixels, preceded by PNG's filter byte for "none"."""
    colours = [(mix(squares * 65_537 + x) & 0xFFFFFF).to_bytes(3, "big") * SQUARE for x in range(-(-width // SQUARE))]
    return b"\0" + b"".join(colours)[: 3 * width]


def _noise(n: int, number: int) -> bytes:
    """`n` noise bytes that start with the number."""
    words, x = [], mix(number)
    for _ in range(8):
        words.append(x.to_bytes(8, "big"))
        x = mix(x)
    block = b"".join(words)
    return (block * (n // len(block) + 1))[:n]


def _chunk(kind: bytes, content: bytes) -> bytes:
    return b"".join((struct.pack(">I", len(content)), kind, content, struct.pack(">I", zlib.crc32(content, zlib.crc32(kind)))))


def _joined(first: int, second: int, length: int) -> int:
    """Adler-32 of two concatenated byte strings, from their checksums and the second's length."""
    a1, b1, a2, b2 = first & 0xFFFF, first >> 16, second & 0xFFFF, second >> 16
    a = (a1 + a2 - 1) % ADLER
    b = (b1 + b2 + length % ADLER * (a1 - 1)) % ADLER
    return b << 16 | a
