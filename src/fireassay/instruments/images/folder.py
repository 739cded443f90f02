"""Which bytes does a file of answers mean by the name of an image?

A name is a path relative to the folder of the file of answers, or a data URL (base64).  Nothing is fetched, and nothing outside of that folder is
read: no absolute path, no `..` beyond it, no link that leads out, no pipe or device.  A file of answers may come from anybody, and the record
keeps a thumbnail of what it names.
"""

from __future__ import annotations

import base64
import binascii
import os
import stat
from pathlib import Path
from typing import Final

from fireassay.instruments.images.decoding import MAX_BYTES, NotAnImage

DATA: Final = "data:"
MAX_NAME: Final = 100  # characters of a name that are shown
OUTSIDE: Final = "outside the folder of the file of answers; the images must be below it"


def shown(name: str) -> str:
    """A name as a record keeps it: of a data URL its type and length."""
    if not name.startswith(DATA):
        return name
    return f"{name[: MAX_NAME // 2].partition(',')[0]}, {len(name):,} characters"


class ImageFolder:
    """Reads the images that a file in this folder names."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder.resolve()

    def read(self, name: str) -> bytes:
        """The bytes of an image's file, at most 64 MiB.

        Raises:
            NotAnImage: there is no such file, it is outside of the folder, or it is none.
        """
        if name.startswith(DATA):
            return _decoded(name)
        if "://" in name[:MAX_NAME]:
            raise NotAnImage(f"{_cut(name)} is an address; nothing is fetched")
        try:
            path = (self._folder / name).resolve()
            if not path.is_relative_to(self._folder):
                raise NotAnImage(f"{_cut(name)} is {OUTSIDE}")
            return _content(path, _cut(name))
        except (OSError, ValueError, RuntimeError) as error:  # ValueError: a NUL; RuntimeError: links in a circle
            raise NotAnImage(f"{_cut(name)}: {getattr(error, 'strerror', None) or error}") from None

    def has(self, name: str) -> bool:
        """True if the name may be an image's: of a path whether something is there."""
        try:
            return name.startswith(DATA) or (self._folder / name).exists()
        except (OSError, ValueError):
            return False


def _content(path: Path, name: str) -> bytes:
    with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC), "rb") as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise NotAnImage(f"{name} is no plain file")
        if status.st_size > MAX_BYTES:
            raise NotAnImage(f"{name} has {status.st_size:,} bytes, at most {MAX_BYTES:,}")
        return file.read(MAX_BYTES + 1)


def _decoded(name: str) -> bytes:
    head, comma, content = name.partition(",")
    if not comma or not head.endswith(";base64"):
        raise NotAnImage("a data URL without ;base64")
    if len(content) > 4 * MAX_BYTES // 3 + 4:
        raise NotAnImage(f"a data URL of {len(content):,} characters, at most {4 * MAX_BYTES // 3 + 4:,}")
    try:
        return base64.b64decode(content, validate=True)
    except (binascii.Error, ValueError):
        raise NotAnImage("a data URL that is not base64") from None


def _cut(name: str) -> str:
    return repr(name if len(name) <= MAX_NAME else f"{name[:MAX_NAME]}...")
