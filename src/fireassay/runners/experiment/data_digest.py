"""Are these the same data?  A digest by content: of a file its bytes, of a folder the names and bytes of its files.

At most MAX_BYTES in MAX_FILES files are read, so that it takes seconds.  Of larger data every file counts with its name and size, and evenly
chosen files with evenly spaced pieces; such a digest says "sampled", and cannot tell a change between the pieces.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Collection, Iterator
from contextlib import suppress
from io import BufferedReader
from pathlib import Path
from typing import Final

from fireassay.errors import Problem, refuse_any

MAX_BYTES: Final = 2 << 30
MAX_FILES: Final = 20_000  # opened
PIECES: Final = 16  # of a file that is read in part


def digests(texts: Collection[str], folder: Path, records: Path) -> list[str]:
    """One per path, as in "3 files, 1,024 bytes, 0123456789abcdef", without the records below it.

    Raises:
        SpecError: data that cannot be read.
    """
    problems, found = [], []
    for index, text in enumerate(texts):
        try:
            found.append(_digest((folder / Path(text).expanduser()).resolve(), records.resolve()))
        except OSError as error:
            why = f"{text!r}, which cannot be read: {error.strerror or error}"
            problems.append(Problem(f"data.paths[{index}]", why, "files and folders that can be read"))
    refuse_any(problems)
    return found


def _digest(path: Path, records: Path) -> str:
    if not path.is_dir() and not stat.S_ISREG(path.stat().st_mode):  # a pipe would wait for ever
        raise OSError("it is neither a file nor a folder")
    files = sorted(_files(path, records)) if path.is_dir() else [(b"", path, path.stat().st_size)]
    total = sum(size for _, _, size in files)
    every = -(-len(files) // MAX_FILES) or 1
    opened = files[::every]
    whole = every == 1 and total <= MAX_BYTES
    most = total if whole else MAX_BYTES // len(opened)
    content = hashlib.sha256()
    for name, _, size in files:
        content.update(b"%s\0%d\0" % (name, size))
    for _, file, size in opened:
        with file.open("rb") as read:
            content.update(_of_file(read, size, most))
    counted = f"{len(files):,} file{'' if len(files) == 1 else 's'}, {total:,} bytes"
    return f"{counted}, {'' if whole else 'sampled '}{content.hexdigest()[:16]}"


def _files(folder: Path, records: Path) -> Iterator[tuple[bytes, Path, int]]:
    """(name below the folder, file, bytes) of every regular file; links are followed, each folder once."""
    known = set()
    for at, folders, names in os.walk(folder, followlinks=True, onerror=_raise):
        state = os.stat(at)
        if (state.st_dev, state.st_ino) in known or (Path(at) == records and records != folder):
            folders.clear()
            continue
        known.add((state.st_dev, state.st_ino))
        folders.sort()
        for name in names:
            file = Path(at, name)
            with suppress(FileNotFoundError):  # a link to nothing
                seen = file.stat()
                if stat.S_ISREG(seen.st_mode):
                    yield os.fsencode(file.relative_to(folder)), file, seen.st_size


def _raise(error: OSError) -> None:
    raise error


def _of_file(file: BufferedReader, size: int, most: int) -> bytes:
    """SHA-256 of a file, or of pieces of it from its first byte to its last."""
    if size <= most:
        return hashlib.file_digest(file, "sha256").digest()
    content, piece = hashlib.sha256(), max(1, most // PIECES)
    for number in range(PIECES):
        file.seek(number * (size - piece) // (PIECES - 1))
        content.update(file.read(piece))
    return content.digest()
