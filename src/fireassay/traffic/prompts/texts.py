"""How is a text of exactly n tokens built without counting each one?

From a pool of units (words) whose tokens were counted once: a text is a first word, a code of words unique to it, and a slice of the pool.
This requires that tokens do not span units: the whole pool is checked, and so is a sample of finished texts inside their frame (the chat
template, the begin-of-sequence token).  If the check fails for a tokenizer, every text is counted and corrected, and `Texts.exact` is false.

A text depends only on the tokenizer, the corpus and a 64-bit number.  Numbers come from splitmix64 (Steele, Lea, Flood: Fast splittable
pseudorandom number generators, OOPSLA 2014), a bijection, so codes of enough words never collide.

How are messages written in OpenAI's format, and how does a conversation continue after an answer or a tool call?

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
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from fireassay.errors import SpecError, refuse
from fireassay.spec import user_file
from fireassay.traffic.parts import Json, Prompt
from fireassay.traffic.prompts.tokens import COMMON, Tokenizer

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

MASK: Final = 2**64 - 1
POOL: Final = 32_768  # units of synthetic text; longer texts wrap around
MAX_WORDS: Final = 8192  # candidates from a vocabulary
MAX_FIRST: Final = 256
MIN_WORDS: Final = 16  # with fewer whole-word tokens, use letters
MAX_UNIT_LENGTH: Final = 32  # maximum tokens per unit in a corpus without spaces
CORPUS: Final = 1_000_000  # characters of a file used as corpus
SAMPLES: Final = (1, 2, 3, 5, 8, 13, 17, 33, 64, 100, 257, 1000)  # lengths at which exactness is checked
ROUNDS: Final = 24  # maximum corrections of a text that is not additive
SENTINEL: Final = "assaysentinel"


def mix(number: int) -> int:
    """Scatter a number over all 64-bit values, bijectively."""
    number = (number + 0x9E3779B97F4A7C15) & MASK
    number = ((number ^ (number >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    number = ((number ^ (number >> 27)) * 0x94D049BB133111EB) & MASK
    return number ^ (number >> 31)


def mixed(numbers: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """`mix` of an array; same shape."""
    import numpy as np

    values = numbers.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))


@dataclass(frozen=True, kw_only=True, slots=True)
class Frame:
    """The tokens around a text when it is counted. `special`: includes the tokenizer's special tokens."""

    head: str = ""
    tail: str = ""
    special: bool = False


def chat_frame(tokenizer: Tokenizer) -> Frame:
    """The chat template's text around a single user message."""
    try:
        rendered = tokenizer.render([{"role": "user", "content": SENTINEL}])
    except ValueError:
        rendered = None
    if rendered is None or rendered.count(SENTINEL) != 1:
        return Frame()
    head, tail = rendered.split(SENTINEL)
    return Frame(head=head, tail=tail)


@dataclass(frozen=True, slots=True)
class Pool:
    """Text in units. `starts[k]` and `before[k]`: characters and tokens before unit k; both have one entry more than there are units."""

    text: str
    starts: Sequence[int]
    before: Sequence[int]

    def slice(self, begin: int, n: int) -> tuple[str, int]:
        """At most `n` tokens starting at unit `begin` (modulo the units), and how many are missing to `n`."""
        units = len(self.starts) - 1
        k, parts = begin % units, []
        while n > 0:
            last = bisect_right(self.before, self.before[k] + n, k) - 1
            if last == k:
                break
            parts.append(self.text[self.starts[k] : self.starts[last]])
            n -= self.before[last] - self.before[k]
            k = last % units
        return "".join(parts), n


class Texts:
    """Builds texts for one frame. Setup takes a fraction of a second, a text of 100 tokens some microseconds."""

    def __init__(self, tokenizer: Tokenizer, frame: Frame, corpus: str = "") -> None:
        self.tokenizer, self.frame = tokenizer, frame
        self.words, joint = _words(tokenizer)
        self._pieces = [joint + word for word in self.words]
        self._joint = joint
        self.pool = _of_corpus(tokenizer, corpus) if corpus else _of_words(self._pieces)
        self._first, self.overhead = self._firsts()
        self._digits = _digits(len(self._first), len(self._pieces))
        self.exact = self._holds()

    def count(self, text: str) -> int:
        """Tokens of a text in its frame."""
        return self.tokenizer.count(f"{self.frame.head}{text}{self.frame.tail}", special=self.frame.special)

    def make(self, n: int, number: int, *, shared: int = 0, group: int = 0, unique: bool = True) -> str:
        """A text with `n` tokens in its frame, but at least one token outside the frame.

        The first `shared` tokens are equal in every text of that `group`, except that the last token is always the text's own.
        `unique`: after the shared part, it starts unlike the text of any other `number`, if it has enough words.
        """
        return self.content(max(1, n - self.overhead), number, shared=shared, group=group, unique=unique)

    def content(self, m: int, number: int, *, shared: int = 0, group: int = 0, unique: bool = True) -> str:
        """The same with `m` tokens, not counting the frame."""
        shared = min(shared, m - 1)
        x = mix(number)
        beginning = self.beginning(shared, group) if shared > 0 else ""
        text = beginning + self._more(m - shared, x, unique) if beginning else self._new(m, x, unique)
        return text if self.exact else self._corrected(text, m)

    def beginning(self, m: int, group: int) -> str:
        """The first `m` tokens of a group's texts; a shorter beginning is a prefix of a longer one."""
        return self._new(m, mix(group), unique=True, last=False)

    def chained(self, n: int, numbers: Sequence[int], each: int) -> str:
        """A text with `n` tokens in its frame, of blocks of `each` tokens that depend only on their numbers; the last one is truncated.

        Texts whose first k numbers are equal share their first k blocks.
        """
        remaining = m = max(1, n - self.overhead)
        parts = []
        for index, number in enumerate(numbers):
            size = remaining if index == len(numbers) - 1 else min(each, remaining)
            if size <= 0:
                break
            x, last = mix(number), size == remaining
            parts.append(self._more(size, x, unique=True, last=last) if index else self._new(size, x, True, last))
            remaining -= size
        text = "".join(parts)
        return text if self.exact else self._corrected(text, m)

    def extended(self, text: str, n: int, number: int) -> str:
        """The text, extended to `n` tokens in its frame; unchanged if it has as many or more."""
        missing = n - self.count(text)
        if missing <= 0:
            return text
        return self._corrected(text + self._more(missing, mix(number), unique=False), n - self.overhead)

    def characters(self, n: int, number: int) -> str:
        text = self.content(max(1, n), number)[:n]
        return text if text == text.rstrip() else text[:-1] + "s"

    def _new(self, m: int, x: int, unique: bool, last: bool = True) -> str:
        """A text's start, whose first word has no leading space."""
        x, digit = divmod(x, len(self._first))
        return self._first[digit] + (self._more(m - 1, x, unique, self._digits - 1, last) if m > 1 else "")

    def _more(self, m: int, x: int, unique: bool, digits: int | None = None, last: bool = True) -> str:
        """A continuation: the code, a slice, and, for the `last` part, a word from the vocabulary.

        The vocabulary word is needed because the end of corpus text might merge with the frame into one token.
        """
        pieces, base = self._pieces, len(self._pieces)
        code = min(m, self._digits if digits is None else digits) if unique else 0
        parts, quotient = [], x
        for _ in range(code):
            parts.append(pieces[quotient % base])
            quotient //= base
        begin, end = mix(x), int(last and m > code)
        text, missing = self.pool.slice(begin, m - code - end)
        parts.append(text)
        parts.extend(pieces[(begin + k) % base] for k in range(missing + end))
        return "".join(parts)

    def _corrected(self, text: str, m: int) -> str:
        """The text cut or extended until its count is exact, or as close as possible."""
        for round_ in range(ROUNDS):
            excess = self.count(text) - self.overhead - m
            if excess == 0:
                return text
            text = self._cut(text, excess) if excess > 0 else text + "".join(self._fill(mix(round_), -excess))
        return text

    def _cut(self, text: str, units: int) -> str:
        if not self._joint:
            return text[:-units] or text
        shorter = text.rsplit(self._joint, units)[0]
        return shorter if shorter != text else text[:-units] or text

    def _fill(self, begin: int, n: int) -> Iterator[str]:
        return (self._pieces[(begin + k) % len(self._pieces)] for k in range(n))

    def _firsts(self) -> tuple[list[str], int]:
        """Possible first words, and the tokens that the frame adds to such a text."""
        candidates = self.words[:MAX_FIRST]
        rest, missing = self.pool.slice(0, 7)
        text = rest + "".join(self._fill(0, missing + 1))
        framed = [f"{self.frame.head}{word}{text}{self.frame.tail}" for word in candidates]
        overheads = [n - 9 for n in self.tokenizer.counts(framed, special=self.frame.special)]
        occurrences = Counter(overheads)
        overhead = min(
            occurrences,
            key=lambda count: (occurrences[count] < MIN_WORDS, count if occurrences[count] >= MIN_WORDS else -occurrences[count]),
        )
        return [word for word, count in zip(candidates, overheads, strict=True) if count == overhead], overhead

    def _holds(self) -> bool:
        """True if texts of many lengths have exactly the intended tokens in their frame."""
        self.exact = True
        expected, framed = [], []
        for number, m in enumerate(SAMPLES * 2):
            text = self.content(m, number, shared=number % 3 * 7, group=number % 2, unique=number % 2 == 0)
            expected.append(m + self.overhead)
            framed.append(f"{self.frame.head}{text}{self.frame.tail}")
        return self.tokenizer.counts(framed, special=self.frame.special) == expected


def _words(tokenizer: Tokenizer) -> tuple[list[str], str]:
    """Words of one token each, and the separator between two of them."""
    candidates = list(dict.fromkeys(tokenizer.words()))[:MAX_WORDS]
    counted = tokenizer.counts([f" {word}" for word in candidates])
    words = [word for word, n in zip(candidates, counted, strict=True) if n == 1]
    if len(words) >= MIN_WORDS:
        return words, " "
    letters = [letter for letter in "abcdefghijklmnopqrstuvwxyz" if tokenizer.count(letter) == 1]
    if len(letters) >= 2 and tokenizer.count("".join(letters)) == len(letters):
        return letters, ""
    return list(dict.fromkeys(COMMON.split())), " "


def _digits(first: int, base: int) -> int:
    """Number of code words at which 64-bit numbers never share a code."""
    digits, reached = 1, first
    while reached <= MASK:
        digits, reached = digits + 1, reached * base
    return digits


def _of_words(pieces: Sequence[str]) -> Pool:
    """One unit, one token."""
    chosen = [pieces[mix(k) % len(pieces)] for k in range(POOL)]
    starts = [0]
    for piece in chosen:
        starts.append(starts[-1] + len(piece))
    return Pool("".join(chosen), starts, range(POOL + 1))


def _of_corpus(tokenizer: Tokenizer, corpus: str) -> Pool:
    """Words of a text as units, with each one's token count in context."""
    import numpy as np

    text = " " + " ".join(corpus[:CORPUS].split())
    ends = np.asarray(tokenizer.ends([text])[0], dtype=np.int64)
    spaces = np.flatnonzero(np.frombuffer(text.encode("utf-32-le"), dtype=np.uint32) == ord(" "))
    starts = np.union1d(np.append(spaces, len(text)), _cuts(spaces, ends, len(text)))
    before = np.searchsorted(ends, starts, side="right")
    return Pool(text, starts.tolist(), before.tolist())


def _cuts(spaces: npt.NDArray[np.int64], ends: npt.NDArray[np.int64], length: int) -> npt.NDArray[np.int64]:
    """Cut positions in long stretches without spaces, so that texts of any length can be built."""
    import numpy as np

    bounds = np.searchsorted(ends, np.append(spaces, length), side="right")
    cuts = [
        ends[low + MAX_UNIT_LENGTH - 1 : high - 1 : MAX_UNIT_LENGTH]
        for low, high in pairwise(bounds.tolist())
        if high - low > MAX_UNIT_LENGTH
    ]
    return np.concatenate(cuts) if cuts else np.empty(0, dtype=np.int64)


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
MAX_IMAGE: Final = 16 << 20  # bytes; engines take less


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
        content = base64.b64decode(text.partition(",")[2]) if text.startswith("data:") else user_file.content(folder / text, MAX_IMAGE)
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
