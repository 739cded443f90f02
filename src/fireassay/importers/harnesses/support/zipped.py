"""How is a zip file from a stranger read in bounded memory?  One member at a time, never written to disk, each with a limit.

Member names are labels only and are never used as paths.  What a member declares of its size is not trusted: reading stops at the limit.
Members compressed with zstandard, which Python's zipfile cannot read before 3.14, are decompressed by Arrow.
"""

from __future__ import annotations

import struct
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from fireassay.importers.support.documents import MOST, Place, Words, loads, opened

MOST_MEMBERS: Final = 1_000_000
DIRECTORY: Final = 256 << 20  # bytes of a file that may be its directory: zipfile reads that at once
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
        """The JSON of a member.

        Raises:
            SpecError: the member is damaged, encrypted, too large, no UTF-8 or no JSON.
        """
        place, member = self.place(name), self._members[name]
        if member.flag_bits & ENCRYPTED:
            raise place.wrong(Words("an encrypted member"), "a log as the tool writes it")
        try:
            content = self._zstandard(member) if member.compress_type == ZSTANDARD else self._read(member)
        except (zipfile.BadZipFile, OSError, EOFError, ValueError, struct.error, NotImplementedError, RuntimeError) as error:
            raise place.wrong(Words(f"a damaged member ({str(error)[:80]})"), "a log as the tool writes it") from None
        except Exception as error:  # zlib.error, lzma.LZMAError: classes of their own
            raise place.wrong(Words(f"a damaged member ({type(error).__name__})"), "a log as the tool writes it") from None
        if len(content) > MOST:
            raise place.wrong(Words(f"a member of more than {MOST >> 20} MiB"), "a log as the tool writes it")
        try:
            return loads(content.decode("utf-8-sig"), place)
        except UnicodeDecodeError as error:
            raise place.wrong(Words(f"invalid UTF-8 (byte {error.object[error.start]:#04x})"), "UTF-8 text") from None

    def _read(self, member: zipfile.ZipInfo) -> bytes:
        with self._archive.open(member) as file:
            return file.read(MOST + 1)

    def _zstandard(self, member: zipfile.ZipInfo) -> bytes:
        import pyarrow as pa

        if member.compress_size > MOST:
            return bytes(MOST + 1)
        file = self._archive.fp
        assert file is not None
        file.seek(member.header_offset)
        signature, name, extra = LOCAL.unpack(file.read(LOCAL.size))
        if signature != b"PK\x03\x04":
            raise zipfile.BadZipFile("no header where the directory says")
        file.seek(member.header_offset + LOCAL.size + name + extra)
        source = pa.BufferReader(file.read(member.compress_size))
        with pa.CompressedInputStream(source, "zstd") as stream:
            content: bytes = stream.read(MOST + 1)
        return content


@contextmanager
def archive(path: Path) -> Iterator[Archive]:
    """A zip file, open.

    Raises:
        SpecError: no zip file, or one with too many members.
    """
    place = Place(path.name)
    opened(path).close()
    try:
        with zipfile.ZipFile(path) as file:
            if len(file.infolist()) > MOST_MEMBERS:
                raise place.wrong(Words(f"{len(file.infolist()):,} members"), f"at most {MOST_MEMBERS:,}")
            yield Archive(file, path.name)
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError, struct.error) as error:
        raise place.wrong(Words(f"no readable zip file ({str(error)[:80]})"), "a log as the tool writes it") from None
