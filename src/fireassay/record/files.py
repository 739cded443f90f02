"""How are files written so that a crash leaves the old or the new content, and a full disk gives a clear message?

Replacing: write a temporary file beside the target, fsync it, rename it over the target, fsync the folder.
Source: the rename and fsync contracts of POSIX; T. S. Pillai et al., "All File Systems Are Not Created Equal", OSDI 2014.
Every operation by which the coordinator changes a record's folder goes through this module, so that tests can
interrupt each one.

Where does assay keep what it can make again?  Pulled records, and verdicts of sealed records.

XDG Base Directory Specification: $XDG_CACHE_HOME, else ~/.cache.
"""

from __future__ import annotations

import errno
import hashlib
import os
import secrets
import shutil
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, Final

from fireassay.errors import RecordError, refuse


def user_cache(environ: Mapping[str, str], home: Callable[[], Path] = Path.home) -> Path:
    """The folder of all caches; without a home, one in the current folder."""
    base = environ.get("XDG_CACHE_HOME", "")
    with suppress(RuntimeError):
        return (Path(base) if base else home() / ".cache") / "assay"
    return Path(".assay-cache")


TEMPORARY = ".tmp"


def replace(path: Path, content: bytes) -> None:
    """Replace a file's content atomically: after a crash it holds either the whole old or the whole new content."""
    temporary = path.with_name(path.name + TEMPORARY)
    with _fresh(temporary) as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    rename(temporary, path)


def write_output(path: Path, content: bytes | Iterable[bytes], *, append: bool = False) -> None:
    """Write a file that the user named, atomically: a link is replaced, its target left unchanged.

    A device or a pipe (/dev/stdout, a shell's >(...)) is written in place: it has no content to lose.

    Raises:
        OSError: the file cannot be written, or `append` was given for a link.
    """
    if _is_special(path):
        with path.open("wb") as file:
            file.writelines([content] if isinstance(content, bytes) else content)
        return
    if append:
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        with open(os.open(path, flags, 0o666), "ab") as file:
            file.writelines([content] if isinstance(content, bytes) else content)
        return
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    temporary = path.with_name(f".{path.name[:100]}.{secrets.token_hex(4)}{TEMPORARY}")
    try:
        with _fresh(temporary) as file:
            file.writelines([content] if isinstance(content, bytes) else content)
            if path.is_file() and not path.is_symlink():  # keep the permissions
                os.fchmod(file.fileno(), stat.S_IMODE(path.lstat().st_mode))
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _is_special(path: Path) -> bool:
    try:
        mode = path.stat().st_mode
    except OSError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def _fresh(path: Path) -> BinaryIO:
    """A new file: a crash's leftover or a planted link of this name is removed, never written into."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        return open(os.open(path, flags, 0o666), "wb")
    except FileExistsError:
        path.unlink()
        return open(os.open(path, flags, 0o666), "wb")


def rename(source: Path, target: Path) -> None:
    """Rename durably."""
    os.replace(source, target)
    sync_folder(target.parent)


def sync_file(path: Path) -> None:
    """Make a file's content durable."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_folder(path: Path) -> None:
    """Make the names in a folder durable."""
    sync_file(path)


def remove_tree(path: Path) -> None:
    """Remove a folder and its content, if it exists."""
    if os.path.lexists(path):
        shutil.rmtree(path)  # refuses a link and follows none


def digest(path: Path) -> str:
    """SHA-256 of a file in hexadecimal, read in pieces; for a symbolic link, of its target path."""
    if path.is_symlink():
        return hashlib.sha256(os.fsencode(path.readlink())).hexdigest()
    with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def size(path: Path) -> int:
    """Bytes of a file; a symbolic link is not followed."""
    return path.lstat().st_size


def free_bytes(path: Path) -> int:
    """Bytes available to an unprivileged user on the file system of the path or its nearest existing parent."""
    while not path.exists() and path != path.parent:
        path = path.parent
    state = os.statvfs(path)
    return state.f_bavail * state.f_frsize


RESUME: Final = "run `assay resume` on the record"
AGAIN: Final = "run the same command again"  # where no record can be resumed


def explain(error: OSError, path: Path, doing: str, remedy: str = RESUME) -> RecordError:
    """The error for a failed file operation, in one sentence: what failed, where, why, and what to do."""
    return RecordError(f"cannot {doing} {path}: {reason(error, path, remedy)}")


def reason(error: OSError, path: Path, remedy: str = RESUME) -> str:
    """Why a file operation failed and what to do about it, in one sentence."""
    number = error.errno
    if number in (errno.ENOSPC, errno.EDQUOT):
        what = "the disk is full" if number == errno.ENOSPC else "the disk quota is used up"
        return (
            f"{what} ({free_bytes(path)} bytes free). Free some space and {remedy}, "
            "or choose another folder; what was already written stays readable."
        )
    if number in (errno.EACCES, errno.EPERM, errno.EROFS):
        return f"{os.strerror(number)}. Give yourself the right to write there, or choose another folder."
    if number in (errno.ENOTDIR, errno.EEXIST):
        return "a file has the name of a required folder. Move it, or choose another folder."
    return f"{error.strerror or error}. Choose another folder, or put that right and {remedy}; what was already written stays readable."


def create(path: Path, fill: Callable[[BinaryIO], None]) -> None:
    """A new file that `fill` writes, durable with its folder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with _fresh(path) as file:
        fill(file)
        file.flush()
        os.fsync(file.fileno())
    sync_folder(path.parent)


# ---- folders of files that other programs read -----------------------------------------------------------------------


Content = str | bytes | Callable[[], Iterator[bytes]]  # the last: of a large file, made piece by piece as it is written


def pieces(content: Content) -> Iterator[bytes]:
    """The bytes of a file."""
    return iter((content.encode() if isinstance(content, str) else content,)) if isinstance(content, str | bytes) else content()


def same(path: Path, content: Content) -> bool:
    """True if a file holds this content and nothing else."""
    with path.open("rb") as file:
        return all(file.read(len(piece)) == piece for piece in pieces(content)) and not file.read(1)


def fill_folder(flag: str, folder: Path, contents: Mapping[str, Content]) -> bool:
    """Write files into a new or an empty folder; False if it holds just these already.

    Raises:
        SpecError: the folder holds something else.
        RecordError: the files cannot be written.
    """
    if folder.is_dir() and not folder.is_symlink():
        there = {str(path.relative_to(folder)): path for path in folder.rglob("*") if path.is_symlink() or not path.is_dir()}
        plain = there.keys() == contents.keys() and all(path.is_file() and not path.is_symlink() for path in there.values())
        if plain and all(same(path, contents[name]) for name, path in there.items()):
            return False
    refuse_used(flag, folder)
    write_folder(folder, contents)
    return True


def refuse_used(flag: str, folder: Path) -> None:
    """Never write among files that exist. Raises SpecError: the folder is neither new nor empty."""
    if folder.is_dir() and not any(folder.iterdir()):
        return
    if folder.exists() or folder.is_symlink():
        raise refuse(flag, f"{folder}, which exists", "a new or an empty folder", "Choose another name.", source="the command line")


def write_folder(folder: Path, contents: Mapping[str, Content]) -> None:
    """Write files into a new or an empty folder: all of them, or none if that is interrupted. Raises RecordError: they cannot be written."""
    made = not folder.exists()
    unfinished = folder / f".unfinished-{secrets.token_hex(4)}{TEMPORARY}"  # inside: an empty folder may be a mounted one
    try:
        for name, content in contents.items():
            (unfinished / name).parent.mkdir(parents=True, exist_ok=True)
            write_output(unfinished / name, pieces(content))
        for entry in sorted(unfinished.iterdir()):
            os.replace(entry, folder / entry.name)
        unfinished.rmdir()
    except BaseException as error:
        shutil.rmtree(folder if made else unfinished, ignore_errors=True)
        if isinstance(error, OSError):
            raise RecordError(f"cannot write into {folder}: {error.strerror}. Choose another folder.") from error
        raise
