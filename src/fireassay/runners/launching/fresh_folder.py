"""In which folder does a launch run?  In the experiment's folder or, with `workload.fresh_folder`, in a fresh copy.

The copy is next to the record, below `<record>.folders/launch=0003`, where there is space and every worker can reach it.  Neighbours of
the original and of its parent folders are linked, so that `../data` and `../../data` resolve.
All incarnations of a launch share the copy; it is removed after the launch, unless `workload.keep_folders`.
Not copied: version control, virtual environments, caches, records, sockets and devices.  A link out of the folder keeps its target,
which all launches share; this suits read-only data.
Cannot isolate files that a script addresses by an absolute path or keeps elsewhere (a home directory, a database).
"""

from __future__ import annotations

import os
import shutil
import stat
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from fireassay.errors import RecordError, SpecError, refuse
from fireassay.record import files
from fireassay.record.folder import write_event
from fireassay.record.unsealed import launch_name
from fireassay.runners.experiment.context import Job, RunContext
from fireassay.runners.experiment.script import script_path
from fireassay.spec.experiment import Experiment
from fireassay.units import MIB

IGNORED: Final = frozenset(
    {".git", ".hg", ".svn", ".jj", ".venv", "node_modules", ".tox", ".nox", ".mypy_cache", ".pytest_cache", ".ruff_cache"}
)
SUFFIX: Final = ".folders"
BLOCK: Final = 4096  # bytes assumed even for an empty file
MAX_NEIGHBOURS: Final = 1000
LEVELS: Final = 3  # of parent folders whose neighbours are linked: up to `../../../data`
MAX_NAMED: Final = 3  # entries named in the error


def check(experiment: Experiment, folder: Path) -> None:
    """Check that the folder can be copied for every launch. Raises SpecError: the folder is too large or partly unreadable."""
    if not experiment.workload.fresh_folder:
        return
    try:
        _check(folder, experiment.limits.fresh_folder_mib)
    except OSError as error:
        raise _unreadable(f"{error.filename}: {error.strerror}") from error


def _check(folder: Path, limit: float) -> None:
    sizes: Counter[str] = Counter()
    for path, entry in _walk(folder, folder):
        sizes[path.parts[0]] += _bytes(entry)
        if sizes.total() > limit * MIB:
            largest = ", ".join(f"{name} ({size / MIB:,.0f} MiB)" for name, size in sizes.most_common(MAX_NAMED))
            raise refuse(
                "workload.fresh_folder",
                f"more than {limit:g} MiB in {folder}, most of it so far in {largest}",
                "a folder of at most limits.fresh_folder_mib",
                "Move read-only data elsewhere and link to it (links are kept), start in a smaller folder, or raise "
                "limits.fresh_folder_mib.",
            )
        if entry.is_file(follow_symlinks=False) and not os.access(entry.path, os.R_OK):
            raise _unreadable(f"{entry.path}, without read permission")


def _unreadable(found: str) -> SpecError:
    fix = "Give yourself read permission, or move it away."
    return refuse("workload.fresh_folder", found, "a folder that can be copied", fix)


@contextmanager
def working_folder(context: RunContext, job: Job) -> Iterator[Path]:
    """The folder of a running launch. Raises RecordError: copying failed, e.g. on a full disk. No part of the copy is left."""
    workload = context.experiment.workload
    if not workload.fresh_folder or job.planned.role == "sweep":
        yield context.folder
        return
    launch_folder = folders_of(context.record.path) / launch_name(job.number)
    source = context.folder.resolve()
    target = launch_folder.joinpath(*source.parts[1:][-LEVELS:] or ("root",))
    begin = context.clock.now_ns()
    try:
        copied = _copy(source, target, launch_folder)
        duration_ns = context.clock.now_ns() - begin
        detail = {"copied": copied, "kept": str(target) if workload.keep_folders else ""}
        write_event(context.record.writer(job.number), job.number, "fresh_folder", begin, detail, duration_ns=duration_ns)
        yield target
    finally:
        if not workload.keep_folders:
            _remove(launch_folder)


def folders_of(record: Path) -> Path:
    """The folder that holds the copies of a record's launches."""
    return record.resolve().with_name(f"{record.resolve().name}{SUFFIX}")


def clear(context: RunContext) -> None:
    """Remove the copies left by a killed coordinator."""
    if context.experiment.workload.fresh_folder and not context.experiment.workload.keep_folders:
        for copy in folders_of(context.record.path).glob("launch=*"):
            _remove(copy)


def script_in(experiment: Experiment, folder: Path, original: Path) -> Path:
    """The path of a launch's script: in the copy, if it was copied."""
    script = script_path(experiment, original)
    if folder == original or not script.is_relative_to(original):
        return script
    copied = folder / script.relative_to(original)
    return copied if copied.is_file() else script


# ---- copying ---------------------------------------------------------------------------------------------------------


def _copy(source: Path, target: Path, launch_folder: Path) -> int:
    """Copy the wanted files. Returns their number."""
    copied = 0
    try:
        target.mkdir(parents=True)
        for path, entry in _walk(source, source):
            copied += _copy_one(source, entry, target / path, target)
        _link_neighbours(source, target, launch_folder)
    except OSError as error:
        raise files.explain(error, target, "copy the working folder to") from error
    except shutil.Error as error:
        raise RecordError(f"cannot copy the working folder to {target}: {error}") from error
    return copied


def _link_neighbours(source: Path, target: Path, top: Path) -> None:
    """Link the readable neighbours of the folder and its parents, where scripts keep their data."""
    while target != top:
        with suppress(PermissionError), os.scandir(source.parent) as entries:
            for entry in sorted(entries, key=lambda item: item.name)[:MAX_NEIGHBOURS]:
                if entry.name != target.name:
                    (target.parent / entry.name).symlink_to(entry.path)
        source, target = source.parent, target.parent


def _copy_one(source: Path, entry: os.DirEntry[str], target: Path, root: Path) -> int:
    """Copy one entry; a file that vanishes meanwhile does not count."""
    try:
        if entry.is_symlink():
            target.symlink_to(_leads_to(Path(entry.path), source, target, root))
        elif entry.is_dir(follow_symlinks=False):
            target.mkdir()
        else:
            shutil.copy2(entry.path, target, follow_symlinks=False)
            target.chmod(target.stat().st_mode | stat.S_IWUSR)
            return 1
    except FileNotFoundError:
        if not target.parent.is_dir():
            raise
    return 0


def _leads_to(link: Path, source: Path, target: Path, root: Path) -> str:
    """Target of a copied link: the target's copy if it was copied, else the original target, resolved since the folder may have aliases."""
    written = link.parent / link.readlink()
    end = Path(os.path.realpath(written.parent)) / written.name if written.name != ".." else Path(os.path.realpath(written))
    if end.is_relative_to(source) and _is_copied(end.relative_to(source), source):
        return os.path.relpath(root / end.relative_to(source), target.parent)
    return str(end)


def _is_copied(path: Path, source: Path) -> bool:
    """True if no folder on its path is excluded."""
    return not any((source / part).is_dir() and _is_left_out(source / part) for part in (path, *path.parents) if part.name)


def _walk(root: Path, folder: Path) -> Iterator[tuple[Path, os.DirEntry[str]]]:
    """(path below the root, entry) of everything to copy, folders before their contents. Raises OSError: a folder cannot be read."""
    try:
        with os.scandir(folder) as entries:
            ordered = sorted(entries, key=lambda entry: entry.name)
    except FileNotFoundError:  # removed meanwhile
        return
    for entry in ordered:
        if not _is_wanted(entry):
            continue
        yield Path(entry.path).relative_to(root), entry
        if entry.is_dir(follow_symlinks=False):
            yield from _walk(root, Path(entry.path))


def _is_wanted(entry: os.DirEntry[str]) -> bool:
    if entry.is_symlink():
        return True
    if not entry.is_dir(follow_symlinks=False):
        return entry.is_file(follow_symlinks=False)
    return not _is_left_out(Path(entry.path))


def _is_left_out(folder: Path) -> bool:
    """True if it is version control, an environment, a cache, a record or a record's copies."""
    if folder.name in IGNORED or (folder / "pyvenv.cfg").is_file() or _is_record(folder):
        return True
    return folder.name.endswith(SUFFIX) and any(folder.glob("launch=*"))


def _is_record(path: Path) -> bool:
    return (path / "manifest.json").is_file() and (path / "experiment.toml").is_file()


def _bytes(entry: os.DirEntry[str]) -> int:
    if not entry.is_file(follow_symlinks=False):
        return BLOCK
    try:
        size = entry.stat(follow_symlinks=False).st_size
    except FileNotFoundError:
        return 0
    return -(-size // BLOCK) * BLOCK


def _remove(copy: Path) -> None:
    """Remove a copy, ignoring errors: a leftover costs disk space, not measurements."""
    shutil.rmtree(copy, ignore_errors=True)
    with suppress(OSError):
        copy.parent.rmdir()  # succeeds for the last copy only
