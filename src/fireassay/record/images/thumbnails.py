"""How are small copies of images kept in a record, and read from one of a stranger?

One archive for each launch, `images/launch=0003.zip`, uncompressed, an entry for each distinct image: `<sha256>.jpg`.  As every file of the folder it
is under the seal.  It is collected outside of the record and written at once, so that a launch that is cut short leaves none.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path
from tempfile import SpooledTemporaryFile
from types import TracebackType
from typing import Any, BinaryIO, Final, cast

from fireassay.errors import RecordError
from fireassay.printable import one_line
from fireassay.record import files
from fireassay.record.unsealed import launch_name
from fireassay.record.untrusted import jpeg, paths
from fireassay.units import MIB

FOLDER: Final = "images"
IN_MEMORY: Final = 64 * MIB  # of an archive; more goes to a temporary file
MAX_BYTES: Final = 64 << 10  # of a copy that is read
MAX_SIDE: Final = 256  # pixels of one that is shown
STAMP: Final = (1980, 1, 1, 0, 0, 0)  # the same archive from the same images


def name_of(launch: int) -> str:
    """The archive's path in a record."""
    return f"{FOLDER}/{launch_name(launch)}.zip"


class Thumbnails:
    """Collects the copies of a launch."""

    def __init__(self) -> None:
        self._spool = SpooledTemporaryFile(IN_MEMORY)  # noqa: SIM115
        self._archive = zipfile.ZipFile(self._spool, "w", zipfile.ZIP_STORED)
        self._entries: set[str] = set()

    def __enter__(self) -> Thumbnails:
        return self

    def __exit__(self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None) -> None:
        self._archive.close()
        self._spool.close()

    def add(self, sha256: str, jpeg: bytes) -> str:
        """Keep a copy of the image with this digest, once. Returns the entry's name."""
        entry = f"{sha256}.jpg"
        if entry not in self._entries:
            self._archive.writestr(zipfile.ZipInfo(entry, STAMP), jpeg)
            self._entries.add(entry)
        return entry

    def write(self, record: Path, launch: int) -> None:
        """Write the archive into the record, if it has an entry; nothing can be added afterwards.

        Raises:
            RecordError: it could not be written.
        """
        self._archive.close()
        if not self._entries:
            return
        path = record / name_of(launch)
        self._spool.seek(0)
        try:
            files.create(path, lambda file: shutil.copyfileobj(cast("BinaryIO", self._spool), file))
        except OSError as error:
            raise files.explain(error, path, "write") from error


# ---- read, of a record that may be a stranger's ----------------------------------------------------------------------


DIGEST: Final = re.compile("[0-9a-f]{64}")
LOCAL, LOCAL_SIZE = b"PK\x03\x04", 30  # header before an entry
END, END_SIZE = b"PK\x05\x06", 22  # of an archive, without a comment
LOCATOR, LOCATOR_SIZE, LARGE_SIZE = b"PK\x06\x07", 20, 56  # before that, of an archive of more than 65,535 entries
MAX_DIRECTORY: Final = 64 * MIB  # some 500,000 entries


@dataclass(frozen=True, slots=True)
class Entry:
    """Where an entry lies in an archive."""

    begin: int
    size: int
    crc: int
    plain: bool  # uncompressed, of one size


class Copies:
    """The small copies of a record. `sealed`: the sealed files with their digests, against which an archive is checked before anything of it is
    given; None: the record is not sealed."""

    def __init__(self, record: Path, sealed: Mapping[str, Any] | None = None) -> None:
        self._record, self._sealed = record, sealed
        self._archives: dict[int, Mapping[str, Entry]] = {}
        self._refused: dict[int, RecordError] = {}

    def jpeg(self, launch: int, sha256: str, entry: str) -> bytes:
        """The copy of the image with this digest: a plain JPEG of at most 256 x 256 pixels and 64 KiB.

        Raises:
            RecordError: there is none, it is anything else, or the archive was changed after sealing.
        """
        where = self._record / name_of(launch)
        if not DIGEST.fullmatch(sha256) or entry != f"{sha256}.jpg":
            raise RecordError(f"{where}: {one_line(entry)[:80]!r} is not the copy of the image with the digest {one_line(sha256)[:64]!r}")
        content = self.content(launch, entry)
        try:
            jpeg.size_of(content, MAX_SIDE)
        except ValueError as problem:
            raise RecordError(f"{where}: {entry} is no small copy: {problem}") from None
        return content

    def content(self, launch: int, entry: str) -> bytes:
        """An entry's bytes. Raises RecordError: there is none, or the archive is damaged, changed, compressed or too large."""
        name = name_of(launch)
        if launch in self._refused:
            raise self._refused[launch]
        try:
            with open(paths.descriptor(self._record, name), "rb") as file:
                if launch not in self._archives:
                    self._archives[launch] = self._directory(file, launch)
                found = self._archives[launch][entry]
                if not found.plain or found.size > MAX_BYTES:
                    raise RecordError(f"{self._record / name}: {entry} is compressed or larger than {MAX_BYTES:,} bytes")
                return _content(file, found)
        except (OSError, KeyError, ValueError, zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError) as error:
            problem = RecordError(f"{self._record / name} cannot be read: {_reason(error)}")
            if launch not in self._archives:
                self._refused[launch] = problem
            raise problem from None

    def _directory(self, file: BufferedReader, launch: int) -> Mapping[str, Entry]:
        """The entries of an archive that is as it was sealed."""
        if self._sealed is not None and _digest(self._sealed.get(name_of(launch))) != hashlib.file_digest(file, "sha256").hexdigest():
            raise ValueError("it was changed after it was sealed")
        if _directory_size(file) > MAX_DIRECTORY:
            raise ValueError("its directory is larger than any that assay writes")
        with zipfile.ZipFile(file) as archive:
            return {
                info.filename: Entry(
                    info.header_offset,
                    info.file_size,
                    info.CRC,
                    info.compress_type == zipfile.ZIP_STORED and info.compress_size == info.file_size,
                )
                for info in archive.infolist()
            }


def read(record: Path, launch: int, entry: str) -> bytes:
    """A small copy from an untrusted record, whatever it is an image of. Raises as `Copies.content`."""
    return Copies(record).content(launch, entry)


def _reason(error: Exception) -> str:
    if isinstance(error, KeyError):
        return f"it has no entry {error}"
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


def _digest(sealed: Any) -> object:
    return sealed.get("sha256") if isinstance(sealed, Mapping) else None


def _directory_size(file: BufferedReader) -> int:
    """Bytes of the list of entries, which is read whole."""
    length = file.seek(0, os.SEEK_END)
    file.seek(max(0, length - END_SIZE - LOCATOR_SIZE - LARGE_SIZE))
    tail = file.read()
    end, locator = tail[-END_SIZE:], tail[-END_SIZE - LOCATOR_SIZE : -END_SIZE]
    if not end.startswith(END):
        raise ValueError("it is no archive of small copies")
    if locator.startswith(LOCATOR):
        return int.from_bytes(tail[40:48], "little")
    return int.from_bytes(end[12:16], "little")


def _content(file: BufferedReader, entry: Entry) -> bytes:
    file.seek(entry.begin)
    header = file.read(LOCAL_SIZE)
    file.seek(int.from_bytes(header[26:28], "little") + int.from_bytes(header[28:30], "little"), os.SEEK_CUR)
    content = file.read(entry.size)
    if not header.startswith(LOCAL) or len(content) < entry.size or zlib.crc32(content) != entry.crc:
        raise ValueError("an entry is damaged")
    return content
