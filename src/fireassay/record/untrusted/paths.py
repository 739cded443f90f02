"""How are files of an untrusted record read and written?

A name is resolved from the record's folder down, folder by folder, never through a symbolic link (O_NOFOLLOW, relative to the open
folder), so that it cannot leave the record.  Only plain files are opened, so that no pipe blocks and no device is read, and reads
have a limit.  A file is written under a new temporary name and renamed over its target: existing files, including hard links, are
never written into.  The record's folder itself is the user's choice and may be a link.
Source: open(2), openat(2), renameat(2).

How is untrusted JSON or TOML parsed unambiguously and without crashing the parser?

Stricter than the parsers: duplicate keys, non-finite numbers (NaN, Infinity, 1e999) and deep nesting are refused.
Every problem is a ValueError with a short reason.
"""

from __future__ import annotations

import errno
import json
import math
import os
import secrets
import stat
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final, NoReturn

from fireassay.errors import RecordError

MIB: Final = 1 << 20
_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_READ: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
TEMPORARY: Final = ".tmp"


def problem_of_name(name: str) -> str:
    """Why a record's file name is unacceptable; empty if it stays below the record's folder."""
    parts = name.split("/")
    if not all(parts) or ".." in parts or "." in parts or "\\" in name or "\0" in name:
        return f"it names the file {name[:200]!r}, which is outside the record"
    return ""


def descriptor(record: Path, name: str) -> int:
    """The file descriptor of a record's plain file, opened for reading.

    Raises:
        RecordError: the name leads outside, through a link, or to something other than a plain file.
        OSError: the file is missing or cannot be opened.
    """
    with _parent(record, name) as (folder, last):
        try:
            opened = os.open(last, _READ, dir_fd=folder)
        except OSError as error:
            raise _link_or(error, folder, last, record / name) from None
    kind = os.fstat(opened).st_mode
    if not stat.S_ISREG(kind):
        os.close(opened)
        raise _no_file(record / name, kind)
    return opened


def read(record: Path, name: str, most: int) -> bytes:
    """A small file's content. Raises like `descriptor`, and RecordError if it exceeds `most` bytes."""
    with open(descriptor(record, name), "rb", buffering=0) as file:
        content = b""
        while len(content) <= most and (piece := file.read(min(MIB, most + 1 - len(content)))):
            content += piece
    if len(content) > most:
        raise RecordError(f"{record / name} has more than {most / MIB:g} MiB, which is more than assay writes into it.")
    return content


def plain(record: Path, name: str) -> Path:
    """The path of a plain file reached without links, for callers that open it by path. Raises like `descriptor`."""
    if why := problem_of_name(name):
        raise RecordError(f"{record} is damaged: {why}.")
    path = record
    for part in name.split("/"):
        path /= part
        kind = path.lstat().st_mode
        if stat.S_ISLNK(kind):
            raise _link(path)
    if not stat.S_ISREG(kind):
        raise _no_file(path, kind)
    return path


def write(record: Path, name: str, content: bytes) -> Path:
    """Write a file of a record atomically, creating its parent folders.

    Raises:
        RecordError: the name leads through a link, or something other than a file has this name.
        OSError: the file cannot be written.
    """
    with _parent(record, name, make=True) as (folder, last):
        _free_for_a_file(folder, last, record / name)
        replace_at(folder, last, content)
    return record / name


def replace_at(folder: int | None, name: str, content: bytes, *, mode: int = 0o666) -> None:
    """Write to a temporary name and rename; an existing file is never opened. `folder`: a descriptor, or None if `name` is a full path."""
    head, _, last = name.rpartition("/")
    hidden = f"{head}{'/' if head or name.startswith('/') else ''}.{last[:100]}.{secrets.token_hex(4)}{TEMPORARY}"
    try:
        with open(os.open(hidden, _NEW, mode, dir_fd=folder), "wb") as file:
            file.write(content)
        os.replace(hidden, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        with suppress(OSError):
            os.unlink(hidden, dir_fd=folder)
        raise


def refuse_all_but_plain_files(record: Path) -> None:
    """Check, before writing into an untrusted record, that it holds only folders and plain files without further hard links.

    Raises:
        RecordError: an entry is a symbolic link, has further hard links, or is a pipe, a socket or a device.
    """
    for entry in walk(record):
        status = entry.stat(follow_symlinks=False)
        if stat.S_ISLNK(status.st_mode):
            raise _link(Path(entry.path))
        if stat.S_ISDIR(status.st_mode):
            continue
        if not stat.S_ISREG(status.st_mode):
            raise _no_file(Path(entry.path), status.st_mode)
        if status.st_nlink > 1:
            raise RecordError(f"{entry.path} has another hard link, so it is not written to. Copy the record first.")


def walk(folder: Path) -> Iterator[os.DirEntry[str]]:
    """Everything below a folder at any depth, without following links. Raises OSError if a folder cannot be listed."""
    waiting = [os.fspath(folder)]
    while waiting:
        with os.scandir(waiting.pop()) as entries:
            for entry in entries:
                yield entry
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(entry.path)


# ---- below -----------------------------------------------------------------------------------------------------------


@contextmanager
def _parent(record: Path, name: str, *, make: bool = False) -> Iterator[tuple[int, str]]:
    """The open folder of a file, and the file's name in it."""
    if why := problem_of_name(name):
        raise RecordError(f"{record} is damaged: {why}.")
    *above, last = name.split("/")
    folder = os.open(record, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        reached = record
        for part in above:
            reached /= part
            folder = _below(folder, part, reached, make=make)
        yield folder, last
    finally:
        os.close(folder)


def _below(folder: int, part: str, reached: Path, *, make: bool) -> int:
    if make:
        with suppress(FileExistsError):
            os.mkdir(part, dir_fd=folder)
    try:
        inner = os.open(part, _FOLDER, dir_fd=folder)
    except OSError as error:
        raise _link_or(error, folder, part, reached) from None
    os.close(folder)
    return inner


def _free_for_a_file(folder: int, last: str, path: Path) -> None:
    try:
        status = os.stat(last, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return
    if stat.S_ISLNK(status.st_mode):
        raise _link(path)
    if not stat.S_ISREG(status.st_mode):
        raise _no_file(path, status.st_mode)


def _link_or(error: OSError, folder: int, name: str, path: Path) -> Exception:
    """The refusal if the name is a link, else the error itself."""
    if error.errno in (errno.ELOOP, errno.ENOTDIR, errno.EMLINK):
        with suppress(OSError):
            if stat.S_ISLNK(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
                return _link(path)
    if error.errno == errno.ENXIO:  # a socket
        return _no_file(path, stat.S_IFSOCK)
    return type(error)(error.errno, error.strerror, str(path))


def _link(path: Path) -> RecordError:
    return RecordError(f"{path} is a symbolic link, which a record must not hold. Replace it with the file itself.")


_KINDS: Final = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


def _no_file(path: Path, mode: int) -> RecordError:
    what = next((words for fits, words in _KINDS if fits(mode)), "something else")
    return RecordError(f"{path} is {what}, but a record holds a plain file there. Restore it from a copy.")


DEEPEST: Final = 64  # assay's own files go to 10
MAX_DOTS: Final = 64  # in a key: parsing is quadratic in their number


def json_of(content: bytes) -> Any:
    """One JSON value."""
    try:
        value = json.loads(content, object_pairs_hook=_once, parse_constant=_no_number)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    except UnicodeDecodeError:
        raise ValueError("it is not UTF-8") from None
    _check(value)
    return value


def toml_of(content: bytes) -> dict[str, Any]:
    """A TOML document."""
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        raise ValueError("it is not UTF-8") from None
    _refuse_long_keys(text)
    try:
        value = tomllib.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    _check(value, finite=False)  # TOML allows inf, and a limit may be infinite
    return value


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for number, name in enumerate(names) if name in set(names[:number]))
        raise ValueError(f"the key {twice[:60]!r} is duplicated in one object")
    return result


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"{text} is not a JSON number")


def _check(value: Any, *, finite: bool = True) -> None:
    """Check depth and numbers, level by level."""
    level = [value]
    for _ in range(DEEPEST):
        inner: list[Any] = []
        for item in level:
            if isinstance(item, dict):
                inner.extend(item.values())
            elif isinstance(item, list):
                inner.extend(item)
            elif finite and isinstance(item, float) and not math.isfinite(item):
                raise ValueError("a number in it is too large")
        if not inner:
            return
        level = inner
    raise ValueError("it is nested too deeply")


def _refuse_long_keys(text: str) -> None:
    for number, line in enumerate(text.splitlines(), 1):
        head = line.partition("=")[0]
        if head.count(".") > MAX_DOTS and not head.lstrip().startswith(("#", '"', "'")):
            raise ValueError(f"the key in line {number} is nested too deeply")
