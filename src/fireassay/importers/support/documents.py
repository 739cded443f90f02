"""How is an untrusted file of any size read in bounded memory?

JSON is read in pieces: long lists, given by their paths ("benchmarks", "*", "requests"), are spooled to a temporary file
element by element, and everything else must be small.  So one element bounds the memory, whatever the file's length, and
the order of keys does not matter.  Errors of syntax, encoding, nesting depth and length give the file and the line.
Nothing that is read is ever executed.

How is a zip file from a stranger read in bounded memory?  One member at a time, never written to disk, each with a limit.

Member names are labels only and are never used as paths.  What a member declares of its size is not trusted: reading stops at the limit.
Members compressed with zstandard, which Python's zipfile cannot read before 3.14, are decompressed by Arrow.
"""

from __future__ import annotations

import errno
import gzip
import io
import itertools
import json
import struct
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NoReturn, TextIO

from fireassay.errors import SpecError, refuse
from fireassay.spec.user_file import MAX_NESTS, too_nested

CHUNK: Final = 1 << 20  # characters read at a time
# characters of a value outside the long lists, or of one element of such a list
MAX_VALUE: Final = 64 << 20
SHOWN: Final = 60  # characters of an invalid value that are shown
SLACK: Final = 16  # characters before the buffer's end in which an error, or a number's end, may be due to truncation
GZIP: Final = b"\x1f\x8b"
GZIP_WINDOW: Final = 31  # zlib's number for a gzip header and the largest window
MAX_UNPACKED: Final = 8 << 30
EVERY: Final = "*"  # in a path: any element of a list

Pattern = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Place:
    """A position in a file, for error messages."""

    file: str
    line: int = 0  # from 1; 0: unknown
    path: str = ""

    def at(self, key: str | int) -> Place:
        """The place of a nested key or element."""
        more = f"[{key}]" if isinstance(key, int) else f".{key}" if self.path else key
        return Place(self.file, self.line, f"{self.path}{more}")

    def wrong(self, found: object, allowed: str, fix: str = "") -> SpecError:
        """The error to raise for an invalid value."""
        line = f", line {self.line}" if self.line else ""
        where = f"{self.path} ({self.file}{line})" if self.path else f"{self.file}{line}"
        return refuse(where, shown(found), allowed, fix, source="the file")


def shown(value: object) -> str:
    """An invalid value in one short line; `Words` unchanged."""
    if isinstance(value, Words):
        return str(value)
    text = json.dumps(value, default=str)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]} ..."


class Words(str):
    """A description, not a value: shown without quotes."""


NOTHING: Final = Words("nothing")
NESTS: Final = Words(f"a value with more than {MAX_NESTS:,} lists and objects")


class Spool:
    """A list from a file, spooled to disk element by element: `for line, element in spool`."""

    def __init__(self, stack: ExitStack) -> None:
        file = tempfile.TemporaryFile("w+", encoding="utf-8", newline="\n")  # noqa: SIM115
        self._file = stack.enter_context(file)
        self._count = 0

    def add(self, line: int, source: str) -> None:
        """Add the JSON of the next element, which begins in this line of the file."""
        # In JSON a line end is white space between values and cannot occur inside a string.
        self._file.write(f"{line}\t{source.replace(chr(10), ' ').replace(chr(13), ' ')}\n")
        self._count += 1

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[tuple[int, Any]]:
        self._file.seek(0)
        for text in self._file:
            line, _, element = text.partition("\t")
            yield int(line), json.loads(element)


def documents(path: Path, spooled: Sequence[Pattern], stack: ExitStack) -> Iterator[tuple[Place, Any]]:
    """The JSON documents of a file, usually one, each with its place; lists at the paths `spooled` become `Spool`s.

    Raises:
        SpecError: not JSON, truncated, or a value is too large; with the line.
    """
    with opened(path) as file:
        text = _Text(file, path.name)
        while text.peek():
            place = text.place
            yield place, _walk(text, (), spooled, stack)


def opened(path: Path) -> TextIO:
    """Open a regular file, which may be gzipped, as text: a pipe might never end. Raises SpecError: the file is missing, not regular, or unreadable."""
    place = Place(str(path))
    if not path.exists():
        raise place.wrong(Words("no such file"), "a file that another tool wrote")
    if not path.is_file():
        raise place.wrong(Words("not a regular file"), "a file that another tool wrote, or for some a folder of them")
    try:
        with path.open("rb") as file:
            packed = file.read(len(GZIP)) == GZIP
        binary: Any = Unpacked(path) if packed else path.open("rb")
        return io.TextIOWrapper(binary, encoding="utf-8-sig", newline="")
    except OSError as error:
        raise place.wrong(Words(f"a file that cannot be read ({error.strerror})"), "a readable file") from None


class Unpacked(gzip.GzipFile):
    """A gzip file that unpacks to a limited length. Raises OSError alone, whatever is wrong with it."""

    def read1(self, size: int = -1) -> bytes:
        try:
            piece = super().read1(size)
        except (OSError, EOFError, zlib.error) as error:
            raise OSError(errno.EIO, f"damaged or cut off: {error}") from None
        if self.tell() > MAX_UNPACKED:
            raise OSError(errno.EFBIG, f"it unpacks to more than {MAX_UNPACKED >> 30} GiB")
        return piece


def refuse_links(path: Path, beside: Iterable[Path] = ()) -> None:
    """Raises SpecError: a folder of results, or one directly below it, holds a link that leads out of it; or a file beside the given one does."""
    home = path.resolve() if path.is_dir() else path.resolve().parent
    found = list(beside)
    if path.is_dir():
        found += path.iterdir()
        found += [entry for folder in found if folder.is_dir() and not folder.is_symlink() for entry in folder.iterdir()]
    for entry in found:
        if entry.is_symlink() and not entry.resolve().is_relative_to(home):
            raise Place(entry.name).wrong(
                Words("a link that leads out of the folder"), "files", "Copy it with the files themselves: cp -rL."
            )


def open_end(path: Path) -> tuple[str, ...]:
    """What a text's last line leaves open, if it has no line end and no bracket closes it: half a number is a number too."""
    with path.open("rb") as file:
        packed = file.read(len(GZIP)) == GZIP  # damage is found when it is unpacked
        file.seek(max(0, path.stat().st_size - 1))
        last = file.read(1)
    return () if packed or last in (b"", b"\n", b"}", b"]") else ("whether its last line is whole: nothing ends it",)


def lines(path: Path) -> Iterator[tuple[Place, str]]:
    """The non-empty lines of a file, each with its place. Raises SpecError: a line is not UTF-8, or longer than 64 MiB."""
    with opened(path) as file:
        for number in itertools.count(1):
            place = Place(path.name, number)
            line = guarded(lambda: file.readline(MAX_VALUE + 1), place)
            if not line:
                return
            if len(line) > MAX_VALUE:
                raise place.wrong(Words(f"a line of more than {MAX_VALUE >> 20} MiB"), "lines as the tool writes them")
            if line.strip():
                yield place, line


class Twice(ValueError):
    """A key that an object has twice: Python keeps the last without a word."""


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        twice = next(name for index, (name, _) in enumerate(pairs) if any(name == other for other, _ in pairs[:index]))
        raise Twice(twice)
    return made


def loads(text: str, place: Place) -> Any:
    """The single JSON value in a string. Raises SpecError."""
    if too_nested(text):
        raise place.wrong(NESTS, "JSON as the tool writes it")
    try:
        return json.loads(text, object_pairs_hook=_once)
    except json.JSONDecodeError as error:
        raise place.wrong(Words(f"not JSON ({error.msg} at column {error.pos + 1}: {shown(text)})"), "one JSON object") from None
    except (RecursionError, ValueError) as error:
        raise place.wrong(Words(_reason(error)), "JSON as the tool writes it") from None


def head(path: Path, length: int = 1 << 16) -> str:
    """The beginning of any file as text, to identify the tool that wrote it."""
    if not path.is_file():
        return ""
    try:
        with path.open("rb") as file:
            raw = file.read(length)
        text = zlib.decompressobj(GZIP_WINDOW).decompress(raw, length) if raw.startswith(GZIP) else raw
    except (OSError, zlib.error):
        return ""
    return text.decode("utf-8-sig", "replace")


# ---- one document ----------------------------------------------------------------------------------------------------


def _walk(text: _Text, path: Pattern, spooled: Sequence[Pattern], stack: ExitStack) -> Any:
    """The value at the cursor. Recurses only as deep as the patterns."""
    matching = [pattern for pattern in spooled if _fits(path, pattern)]
    first = text.peek()
    if first == "[" and any(len(pattern) == len(path) for pattern in matching):
        spool = Spool(stack)
        for line in text.elements():
            spool.add(line, text.source())
        return spool
    if not any(len(pattern) > len(path) for pattern in matching):
        return text.value()
    if first == "{":
        pairs = [(key, _walk(text, (*path, key), spooled, stack)) for key in text.members()]
        try:
            return _once(pairs)
        except Twice as error:
            raise text.place.wrong(Words(_reason(error)), "JSON as the tool writes it") from None
    if first == "[":
        return [_walk(text, (*path, EVERY), spooled, stack) for _ in text.elements()]
    return text.value()


def _fits(path: Pattern, pattern: Pattern) -> bool:
    return len(path) <= len(pattern) and all(element == wanted for element, wanted in zip(path, pattern, strict=False))


class _Text:
    """A cursor over text that is read in pieces."""

    def __init__(self, file: TextIO, name: str) -> None:
        self._file, self._name = file, name
        self._buffer, self._pos, self._ended = "", 0, False
        self._begin = 0  # start of the last value
        self._line, self._counted = 1, 0  # the line at the position up to which line ends were counted
        self._decode = json.JSONDecoder(object_pairs_hook=_once).raw_decode

    @property
    def place(self) -> Place:
        self._line += self._buffer.count("\n", self._counted, self._pos)
        self._counted = self._pos
        return Place(self._name, self._line)

    def peek(self) -> str:
        """Skip white space; the next character, or an empty string at the end."""
        while True:
            while self._pos < len(self._buffer):
                character = self._buffer[self._pos]
                if character not in " \t\r\n":
                    return character
                self._pos += 1
            if not self._more():
                return ""

    def value(self) -> Any:
        """The JSON value at the cursor; advances past it."""
        if not self.peek():
            raise self.place.wrong(Words("the end of the file"), "a JSON value", CUT)
        while True:
            try:
                decoded, end = self._decode(self._buffer, self._pos)
            except json.JSONDecodeError as error:
                if self._ended or not self._may_be_cut(error):
                    self._raise(error)
            except (RecursionError, ValueError) as error:
                raise self.place.wrong(Words(_reason(error)), "JSON as the tool writes it") from None
            else:
                if end < len(self._buffer) - SLACK or self._ended:  # a number may continue beyond the buffer
                    self._begin, self._pos = self._pos, end
                    return decoded
            if len(self._buffer) - self._pos > MAX_VALUE:
                raise self.place.wrong(Words(f"a value of more than {MAX_VALUE >> 20} MiB"), "a result as the tool writes it")
            self._more()

    def source(self) -> str:
        """The source of the JSON value at the cursor; advances past it."""
        self.value()
        return self._buffer[self._begin : self._pos]

    def members(self) -> Iterator[str]:
        """The keys of the object at the cursor, with the cursor at each value."""
        self._pos += 1
        following = False
        while (character := self.peek()) != "}":
            if following:
                self._expect(",")
                character = self.peek()
            if character != '"':
                raise self.place.wrong(Words(self._here()), "a key in quotes", "" if character else CUT)
            key = self.value()
            self._expect(":")
            yield key
            following = True
        self._pos += 1

    def elements(self) -> Iterator[int]:
        """The line of each element of the list at the cursor, with the cursor at the element."""
        self._pos += 1
        following = False
        while self.peek() != "]":
            if following:
                self._expect(",")
                self.peek()
            yield self.place.line
            following = True
        self._pos += 1

    def _expect(self, expected: str) -> None:
        if self.peek() != expected:
            raise self.place.wrong(Words(self._here()), f"{expected!r} here", "" if self.peek() else CUT)
        self._pos += 1

    def _here(self) -> str:
        rest = self._buffer[self._pos : self._pos + 20]
        return repr(rest) if rest else "the end of the file"

    def _may_be_cut(self, error: json.JSONDecodeError) -> bool:
        return error.msg.startswith("Unterminated string") or error.pos >= len(self._buffer) - SLACK

    def _raise(self, error: json.JSONDecodeError) -> NoReturn:
        cut = self._may_be_cut(error)
        self._pos = max(self._counted, min(error.pos, len(self._buffer)))
        raise self.place.wrong(Words(f"not JSON ({error.msg}): {self._here()}"), "JSON", CUT if cut else "") from None

    def _more(self) -> bool:
        """Read more and drop the text before the cursor. False at the end of the file."""
        place, rest = self.place, self._buffer[self._pos :]
        if too_nested(rest):  # of one unfinished value
            raise place.wrong(NESTS, "a result as the tool writes it")
        piece = guarded(lambda: self._file.read(max(CHUNK, len(rest))), place)  # doubles the buffer
        self._buffer, self._pos, self._counted, self._ended = rest + piece, 0, 0, not piece
        return bool(piece)


CUT: Final = "The file is cut off; was the tool still writing it?"


def guarded(read: Callable[[], str], place: Place) -> str:
    """What `read` returns. Raises SpecError: the text is not UTF-8, or the file cannot be read."""
    try:
        return read()
    except UnicodeDecodeError as error:
        where = f"after line {place.line}" if place.line else "in it"
        problem = Words(f"invalid UTF-8 {where} (byte {error.object[error.start]:#04x})")
        raise Place(place.file).wrong(problem, "UTF-8 text") from None
    except OSError as error:
        raise place.wrong(Words(f"a file that cannot be read ({error.strerror})"), "a readable file") from None


def _reason(error: BaseException) -> str:
    if isinstance(error, Twice):
        return f"the key {shown(str(error))} twice in one object"
    return "lists or objects nested too deeply" if isinstance(error, RecursionError) else "a number with thousands of digits"


MAX_MEMBERS: Final = 1_000_000
ZSTANDARD: Final = 93
LOCAL: Final = struct.Struct("<4s22xHH")  # header of a member: signature, lengths of name and extra field
ENCRYPTED: Final = 0x1


class Archive:
    """The members of an open zip file."""

    def __init__(self, archive: zipfile.ZipFile, name: str) -> None:
        self._archive, self._name = archive, name
        # Of members with one name the last counts: a log that was amended holds the older one too.
        self._members = {member.filename: member for member in archive.infolist() if not member.is_dir()}

    def names(self) -> Iterator[str]:
        """The names of the members, sorted."""
        return iter(sorted(self._members))

    def __contains__(self, name: str) -> bool:
        return name in self._members

    def place(self, name: str) -> Place:
        """Where a member is, for errors."""
        return Place(f"{self._name}: {name[:80]}")

    def json(self, name: str) -> Any:
        """The JSON of a member. Raises SpecError: the member is damaged, encrypted, too large, no UTF-8 or no JSON."""
        place, member = self.place(name), self._members[name]
        if member.flag_bits & ENCRYPTED:
            raise place.wrong(Words("an encrypted member"), "a log as the tool writes it")
        try:
            content = self._zstandard(member) if member.compress_type == ZSTANDARD else self._read(member)
        except (zipfile.BadZipFile, OSError, EOFError, ValueError, struct.error, NotImplementedError, RuntimeError) as error:
            raise place.wrong(Words(f"a damaged member ({str(error)[:80]})"), "a log as the tool writes it") from None
        except Exception as error:  # zlib.error, lzma.LZMAError: classes of their own
            raise place.wrong(Words(f"a damaged member ({type(error).__name__})"), "a log as the tool writes it") from None
        if len(content) > MAX_VALUE:
            raise place.wrong(Words(f"a member of more than {MAX_VALUE >> 20} MiB"), "a log as the tool writes it")
        try:
            return loads(content.decode("utf-8-sig"), place)
        except UnicodeDecodeError as error:
            raise place.wrong(Words(f"invalid UTF-8 (byte {error.object[error.start]:#04x})"), "UTF-8 text") from None

    def _read(self, member: zipfile.ZipInfo) -> bytes:
        with self._archive.open(member) as file:
            return file.read(MAX_VALUE + 1)

    def _zstandard(self, member: zipfile.ZipInfo) -> bytes:
        import pyarrow as pa

        if member.compress_size > MAX_VALUE:
            return bytes(MAX_VALUE + 1)
        file = self._archive.fp
        assert file is not None
        file.seek(member.header_offset)
        signature, name, extra = LOCAL.unpack(file.read(LOCAL.size))
        if signature != b"PK\x03\x04":
            raise zipfile.BadZipFile("no header where the directory says")
        file.seek(member.header_offset + LOCAL.size + name + extra)
        source = pa.BufferReader(file.read(member.compress_size))
        with pa.CompressedInputStream(source, "zstd") as stream:
            content: bytes = stream.read(MAX_VALUE + 1)
        return content


@contextmanager
def archive(path: Path) -> Iterator[Archive]:
    """A zip file, open. Raises SpecError: no zip file, or one with too many members."""
    place = Place(path.name)
    opened(path).close()
    try:
        with zipfile.ZipFile(path) as file:
            if len(file.infolist()) > MAX_MEMBERS:
                raise place.wrong(Words(f"{len(file.infolist()):,} members"), f"at most {MAX_MEMBERS:,}")
            yield Archive(file, path.name)
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError, struct.error) as error:
        raise place.wrong(Words(f"no readable zip file ({str(error)[:80]})"), "a log as the tool writes it") from None
