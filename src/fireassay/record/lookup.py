"""Which record does a path, a name, an id, a name's prefix, `latest`, or `latest:` with a kind or a name refer to?"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from fireassay import catalog
from fireassay.errors import RecordError, did_you_mean
from fireassay.printable import one_line, remark, shell_word
from fireassay.record import files
from fireassay.record.manifest import read_manifest

if TYPE_CHECKING:
    from fireassay.record.reader import Record

LATEST: Final = "latest"
STAMPED: Final = re.compile(r"(.+)-\d{8}T\d{6}Z-[0-9a-f]+")
MAX_NAMES: Final = 12  # in a message


def resolve(text: str, root: Path) -> Path:
    """The record folder for a path, a name or an id below `root`, a unique prefix of a name, `latest`, or `latest:WHICH`.

    WHICH is a kind of record or the name of an experiment: `latest:serving`, `latest:vit`.

    Raises:
        RecordError: no record or more than one matches.
    """
    given = Path(text)
    if (given / "manifest.json").is_file() or "/" in text:
        return given
    names = [folder.name for folder in record_folders(root)]
    if given.is_dir() and not any(_is_called(name, text) or _experiment(name) == text for name in names):
        return given
    head, colon, which = text.partition(":")
    if head == LATEST:
        if not names:
            how = _of_jobs(root) or "`assay run` creates one; give the record's path if it is elsewhere."
            raise RecordError(f"there is no record in {root}. {how}")
        paths = sorted((root / name for name in names), key=_created, reverse=True)
        return _newest_of(which, paths, root) if colon else _newest(paths)
    fitting = [name for name in names if _is_called(name, text)] or [name for name in names if name.startswith(text)]
    named = [name for name in fitting if _experiment(name) == text]  # "pb" is not "pb1", though that begins with it
    if len(fitting) == 1 or len(named) == 1:
        fitting = named or fitting
        return root / fitting[0]
    if fitting:
        raise RecordError(f"{len(fitting)} records in {root} begin with {text!r}: {', '.join(fitting)}. Write more of the name.")
    if Path(text).is_file():
        raise RecordError(f"{text} is a file, not the folder of a record. `assay list` shows the records in {root}.")
    near = _of_jobs(root) or (did_you_mean(text, (*names, *map(_without_time, names), LATEST)) if names else "")
    raise RecordError(
        f"no record in {root} has the name or id {text!r}, or a name that begins with it. {near or '`assay list` shows those that exist.'}"
    )


def _of_jobs(root: Path) -> str:
    """What to do with jobs that have recorded themselves here (FIREASSAY_ATTACH=1) and are not sealed yet."""
    jobs = sorted(file.parents[1] for file in root.glob("*/attached/command.json") if not (file.parents[1] / "manifest.json").exists())
    return f"A job has left rows in {jobs[-1].name}: `assay report {shell_word(jobs[-1])}` makes them a record." if jobs else ""


def short_name(folder: str, name: str, identifier: str) -> str:
    """The shortest text for `resolve` that still names the experiment: "vit-8f0b5f"; of a renamed folder, its name."""
    short = f"{name}-{identifier}"
    return short if identifier and _is_called(folder, short) else folder


def _experiment(folder: str) -> str:
    """ "vit" of "vit-20260102T030405Z-8f0b5f"; empty if the folder was renamed."""
    found = STAMPED.fullmatch(folder)
    return found[1] if found else ""


def _without_time(folder: str) -> str:
    """ "vit-8f0b5f" of "vit-20260102T030405-8f0b5f"."""
    return re.sub(r"-\d{8}T\d{6}Z(?=-)", "", folder)


def _is_called(folder: str, text: str) -> bool:
    """True if a folder has this name, this id, or, with its timestamp left out, this name and id."""
    head, _, identifier = text.rpartition("-")
    return (
        folder == text or folder.endswith(f"-{text}") or bool(head and folder.startswith(f"{head}-") and folder.endswith(f"-{identifier}"))
    )


# ---- the newest ------------------------------------------------------------------------------------------------------


def _newest(paths: Sequence[Path]) -> Path:
    """The first of these that can be read; the others are reported on standard error."""
    found, trouble = _first(paths, lambda record: True)
    if found is None:
        raise RecordError(trouble[0])
    return _reported(found, trouble)


def _newest_of(which: str, paths: Sequence[Path], root: Path) -> Path:
    """The newest record of a kind, or of an experiment's name."""
    kinds = (*catalog.names("kinds"), *catalog.third_party("kinds"))
    named, trouble = _first(paths, lambda record: record.manifest["name"] == which)
    of_kind, more = _first(paths, lambda record: _kind(record) == which) if which in kinds else (None, [])
    if named and of_kind and named != of_kind:
        raise RecordError(
            f"{LATEST}:{which} is ambiguous in {root}: {of_kind.name} is the newest of the kind {which}, "
            f"{named.name} the newest with the name {which}. Give one of them."
        )
    if named is None and of_kind is None:
        raise RecordError(_no_such(which, paths, root))
    return _reported(named or of_kind or paths[0], trouble if named else more)


def _first(paths: Sequence[Path], fits: Callable[[Record], bool]) -> tuple[Path | None, list[str]]:
    """The first readable record that fits, and the problems of those before it."""
    from fireassay.record.reader import open_record

    trouble: list[str] = []
    for path in paths:
        try:
            if fits(open_record(path)):
                return path, trouble
        except RecordError as error:
            trouble.append(str(error))
    return None, trouble


def _reported(path: Path, trouble: Sequence[str]) -> Path:
    for sentence in trouble:
        remark(f"not the latest: {sentence}")
    return path


def _no_such(which: str, paths: Sequence[Path], root: Path) -> str:
    """What there is instead."""
    records = list(_readable(paths))
    kinds = Counter(map(_kind, records)).most_common()
    names = Counter(one_line(record.manifest["name"]) for record in records).most_common()
    problem = f"no record in {root} has the kind or name {which!r}" if which else f"`{LATEST}:` needs a kind or a name after the colon"
    shown = "; ".join(f"{title}: {_counted(counted)}" for title, counted in (("kinds", kinds), ("names", names)) if counted)
    return f"{problem}. Found {shown or 'no record that can be read'}. `assay list` shows the records."


def _readable(paths: Sequence[Path]) -> Iterator[Record]:
    from fireassay.record.reader import open_record

    for path in paths:
        with suppress(RecordError):
            yield open_record(path)


def _counted(counted: Sequence[tuple[str, int]]) -> str:
    more = len(counted) - MAX_NAMES
    words = [f"{name} ({number})" for name, number in counted[:MAX_NAMES]]
    return ", ".join([*words, *([f"and {more} more"] if more > 0 else [])])


def _kind(record: Record) -> str:
    from fireassay.spec.kind import kind_of

    return kind_of(record.experiment).name


# ---- the folders -----------------------------------------------------------------------------------------------------


def record_folders(root: Path) -> list[Path]:
    """The folders directly below `root` that hold a manifest, sorted by name."""
    try:
        return sorted(folder for folder in root.iterdir() if os.path.lexists(folder / "manifest.json"))
    except FileNotFoundError:
        return []
    except OSError as error:
        raise files.explain(error, root, "list the records in") from error


def _created(path: Path) -> tuple[str, int, str]:
    """Creation time; within the same second, the time at which the experiment was written."""
    written = 0
    with suppress(OSError):
        written = (path / "experiment.toml").lstat().st_mtime_ns
    try:
        return str(read_manifest(path).get("created_utc", "")), written, path.name
    except RecordError:
        return "", written, path.name
