"""How is a file read that a user names, so that no pipe, device or endless file stops the reader or fills its memory?"""

from __future__ import annotations

import errno
import os
import re
import stat
from pathlib import Path
from typing import Final

from fireassay.errors import closest

MIB: Final = 1 << 20
MAX_TOML: Final = 4 * MIB
MAX_TABLE: Final = 4 * MIB  # its cells take a hundred times as much memory
MAX_DATA: Final = 256 * MIB  # is read whole: bytes, text and values together take four times as much
MAX_LINES: Final = 250_000  # of data: a line becomes values that take a kilobyte or two, however short it is
MAX_NESTS: Final = 1_500_000  # lists and objects of one JSON text: each takes up to 232 bytes, from three
MAX_DOTS: Final = 64  # in a dotted key: the parser's time grows with the square of their number
SHELLS: Final = re.compile(r"/dev/(?:stdin|fd/\d+)|/proc/self/fd/\d+")  # what a shell puts in the place of a file: <(...)
_KEY: Final = r"""(?:[A-Za-z0-9_-]+|"[^"\n]*"|'[^'\n]*')"""
_DOTTED: Final = re.compile(rf"(?<![A-Za-z0-9_-]){_KEY}(?:[ \t]*\.[ \t]*{_KEY}){{{MAX_DOTS}}}")


def content(path: Path, most: int = MAX_TOML) -> bytes:
    """The bytes of a plain file, or of a shell's pipe.

    Raises:
        OSError: it does not exist, cannot be read, is a pipe, a socket or a device, or has more bytes than `most`; `strerror` says which.
    """
    with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC), "rb") as file:
        mode = os.fstat(file.fileno()).st_mode
        if stat.S_ISFIFO(mode) and SHELLS.fullmatch(str(path)):
            os.set_blocking(file.fileno(), True)
        elif not stat.S_ISREG(mode):
            raise OSError(errno.EINVAL, "a folder" if stat.S_ISDIR(mode) else "a pipe, a socket or a device, and no file", str(path))
        found = file.read(most + 1)
    if len(found) > most:
        raise OSError(errno.EFBIG, f"more than {most // MIB:,} MiB", str(path))
    return found


def too_many_lines(data: bytes) -> bool:
    """True if a file of data has more lines than `MAX_LINES`."""
    return len(data) > MAX_LINES and max(data.count(b"\n"), data.count(b"\r")) > MAX_LINES


def too_nested(text: str) -> bool:
    """True if a JSON text has more lists and objects than `MAX_NESTS`: as values they would take more than 60 times its memory."""
    return len(text) > MAX_NESTS and text.count("[") + text.count("{") > MAX_NESTS


def long_key(text: str) -> int:
    """The line of a TOML key with more than `MAX_DOTS` dots; 0 if there is none."""
    found = _DOTTED.search(text)
    return text.count("\n", 0, found.start()) + 1 if found else 0


def similar_file(path: Path) -> str:
    """Which file of the folder may be meant, or that there is no such folder."""
    if not path.parent.is_dir():
        return f'There is no folder "{path.parent}".'
    match = closest(path.name, (file.name for file in path.parent.iterdir() if file.suffix == path.suffix))
    return f"Did you mean {path.parent / match}?" if match else ""
