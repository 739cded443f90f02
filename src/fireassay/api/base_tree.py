"""Which code is the base of a change, where does it stand while it is measured, and does each side run its own?

The base is a commit, checked out beside the working tree (`fireassay.api.checkout`); the change is the working tree as it is, uncommitted
changes included.  Submodules are checked out too, and what the trees need beyond files is built in each of them by the user's own lines.

A package that is installed from one of the trees belongs to an environment that both use: both sides would run one code, and no number would
show it.  What is installed in place (`pip install -e`) is therefore put on PYTHONPATH, from each tree its own; a copy is told.
"""

from __future__ import annotations

import difflib
import json
import os
import re
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from fireassay.api.checkout import CHECKOUT_TIMEOUT_S, CannotCheckOut, checked_out, git, top_of
from fireassay.errors import EnvironmentLacks, WorkloadError, refuse

MAX_LINES: Final = 15  # of what a failed setup printed
MAX_SCRIPT: Final = 1_000_000  # bytes of a script that is searched
ASK_S: Final = 30.0  # a Python for its packages
FETCHED: Final = re.compile(r"[0-9a-f]{40}|(?![0-9a-f]{4,39}$)[\w./-]+")  # a remote knows refs and whole hashes, no v1~2 or 25ca367
VARIABLE: Final = "PYTHONPATH"
# Prints the folders from which this Python imports, and the folders of which it holds a copy.
ASK: Final = """
import importlib.metadata, json, os, sys
places = [*sys.path[1:]]
for finder in sys.meta_path:
    mapping = getattr(sys.modules.get(getattr(finder, "__module__", "")), "MAPPING", {})
    places += [os.path.dirname(place) for place in mapping.values()]
copies = {}
for found in importlib.metadata.distributions():
    origin = json.loads(found.read_text("direct_url.json") or "{}")
    if "dir_info" in origin and not origin["dir_info"].get("editable"):
        copies[found.metadata["Name"]] = origin["url"].removeprefix("file://")
print(json.dumps({"prefix": sys.prefix, "places": places, "copies": copies}))
"""


@dataclass(frozen=True, kw_only=True)
class Base:
    """The commit with which the working tree is compared."""

    name: str  # as the user gave it
    commit: str
    top: Path  # of the repository
    inside: Path  # the working folder, seen from there
    same: bool  # the files that git knows are those of the working tree
    dirty: bool  # the working tree has changes that are not committed


@dataclass(frozen=True, kw_only=True)
class Trees:
    """The two folders in which the command runs, and what it needs to import its own code in each."""

    base: Path
    change: Path
    variables: tuple[Mapping[str, str], Mapping[str, str]] = ({}, {})  # of the base, of the change
    copied: tuple[str, ...] = ()  # packages of which both sides may run one copy


# ---- the commit ------------------------------------------------------------------------------------------------------


def base_of(name: str, here: Path, *, merge_base: bool = False) -> Base:
    """The commit that a name means, or with `merge_base` the one where the working tree's branch left it.

    Raises:
        SpecError: the folder is in no repository, or the repository has no such commit; the message says how to get it.
    """
    try:
        top = top_of(here)
    except CannotCheckOut as error:
        fix = "Two commands without Git: assay time -- ONE --- OTHER."
        raise refuse(str(here), str(error), "a folder of a Git repository", fix, source="the command line") from None
    commit = _commit(top, name, merge_base=merge_base)
    return Base(
        name=name,
        commit=commit,
        top=top,
        inside=here.resolve().relative_to(top),
        same=_says(top, "diff", "--quiet", commit),
        dirty=not _says(top, "diff", "--quiet", "HEAD"),
    )


def _commit(top: Path, name: str, *, merge_base: bool) -> str:
    try:
        commit = git(top, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
    except CannotCheckOut:
        raise refuse("BASE", repr(name), "a commit of this repository", _fetching(top, name), source="the command line") from None
    if not merge_base:
        return commit
    try:
        return git(top, "merge-base", commit, "HEAD")
    except CannotCheckOut:
        found = f"no common commit of {name} and HEAD"
        raise refuse("--merge-base", found, "", "Fetch the history: git fetch --unshallow origin", source="the command line") from None


def _fetching(top: Path, name: str) -> str:
    """How to get a commit that is not here: fetch it, or a name that is nearly the same."""
    remote, _, branch = name.partition("/")
    remotes = git(top, "remote").splitlines()
    depth = "--depth=1 " if git(top, "rev-parse", "--is-shallow-repository") == "true" else ""
    if depth and remotes and not FETCHED.fullmatch(name):
        return f"Fetch the history: git fetch --unshallow {remotes[0]}"
    if branch and remote in remotes:
        return f"Fetch it: git fetch {depth}{remote} +{branch}:refs/remotes/{name}"
    known = git(top, "for-each-ref", "--format=%(refname:short)").splitlines()
    near = [ref for ref in known if ref.rpartition("/")[2] == name.rpartition("/")[2]] or difflib.get_close_matches(name, known, n=1)
    if near:
        return f"Did you mean {near[0]}?"
    return f"Fetch it: git fetch {depth}{remotes[0]} {name}" if remotes else "`git branch -a` lists the branches."


def _says(top: Path, *words: str) -> bool:
    with suppress(CannotCheckOut):
        git(top, *words)
        return True
    return False


# ---- the two trees ---------------------------------------------------------------------------------------------------


@contextmanager
def trees_of(base: Base, setup: Sequence[str], program: str, told: Callable[[str], None]) -> Iterator[Trees]:
    """Both trees, set up, while the body runs.

    Raises:
        EnvironmentLacks: git cannot check the base out.
        SpecError: the base lacks the working folder.
        WorkloadError: a line of the setup failed in a tree.
    """
    try:
        with checked_out(base.top, base.commit) as tree:
            _submodules(tree, base.name)
            folder, here = tree / base.inside, base.top / base.inside
            if not folder.is_dir():
                raise refuse("BASE", f"{base.name}, which has no folder {base.inside}", "a base that has it", source="the command line")
            for place, name in ((folder, base.name), (here, "the working tree")):
                for line in setup:
                    told(f"{name}: {line}")
                    _set_up(line, place, name)
            yield _own_code(Trees(base=folder, change=here), tree, base.top, program)
    except CannotCheckOut as error:
        raise EnvironmentLacks(f"{base.name} cannot be checked out beside the working tree: {error}") from error


def _submodules(tree: Path, name: str) -> None:
    try:
        if (tree / ".gitmodules").exists():
            git(tree, "submodule", "update", "--init", "--recursive", timeout_s=CHECKOUT_TIMEOUT_S)
    except CannotCheckOut as error:
        raise EnvironmentLacks(f"the submodules of {name} cannot be fetched: {error}") from error


def _set_up(line: str, folder: Path, name: str) -> None:
    environment = {**os.environ, "PWD": str(folder)}
    child = subprocess.Popen(
        ["/bin/sh", "-c", line],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    try:
        printed, _ = child.communicate()
    except BaseException:  # stopped: no build goes on in the user's tree
        with suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        raise
    if child.returncode:
        last = "".join(f"\n  {text}" for text in printed.splitlines()[-MAX_LINES:])
        raise WorkloadError(f"--setup in {name} ended with exit code {child.returncode}: {line}{last}")


def only_here(words: Sequence[str], trees: Trees) -> list[str]:
    """The words of a command that are files of the change, and none of the base."""
    parts = [part for word in words for part in (word, word.partition("=")[2]) if part and not part.startswith("-")]
    return [part for part in parts if _in_tree(trees.change, part) and not (trees.base / part).exists()]


def only_in_change(base: Base, trees: Trees, words: Sequence[str], outputs: Sequence[Path]) -> tuple[str, ...]:
    """Files and folders that git does not know and that the base's tree lacks, from the working folder: one side would run without them.

    Of what git is told to ignore only what the command or a script that it names mentions: the rest is caches and environments.
    `outputs`: what this gate writes.
    """
    top = trees.base.parents[len(base.inside.parts) - 1] if base.inside.parts else trees.base
    made = {path.resolve() for path in outputs}
    mentioned = "\n".join((*words, *(_text(trees.change, word) for word in words)))
    listed = [*_others(base.top), *(name for name in _others(base.top, "--ignored") if Path(name).name in mentioned)]
    found = []
    for name in listed:
        path = base.top / name
        output = any(one == path or path in one.parents or one in path.parents for one in made)
        if not output and not (top / name).exists():
            found.append(os.path.relpath(path, trees.change) + ("/" if name.endswith("/") else ""))
    return tuple(found)


def _others(top: Path, *which: str) -> list[str]:
    """What git does not know, or is told to ignore; a folder of nothing else is one name, with a slash."""
    with suppress(CannotCheckOut):
        listed = git(top, "ls-files", "-z", "--others", "--exclude-standard", "--directory", "--no-empty-directory", *which)
        return [name for name in listed.split("\0") if name]
    return []


def _text(folder: Path, word: str) -> str:
    """What a script says, if the word names one of the folder."""
    path = folder / word
    with suppress(OSError, ValueError):
        if _in_tree(folder, word) and path.is_file() and path.stat().st_size <= MAX_SCRIPT:
            return path.read_text(errors="replace")
    return ""


def _in_tree(folder: Path, word: str) -> bool:
    with suppress(OSError):  # too long for a name
        return not Path(word).is_absolute() and (folder / word).exists()
    return False


# ---- installed from a tree -------------------------------------------------------------------------------------------


def _own_code(trees: Trees, tree: Path, top: Path, program: str) -> Trees:
    """The trees, with the variables by which a Python that both use imports from each its own code."""
    found = _asked(program)
    if not found:
        return trees
    prefix = Path(found["prefix"])
    places = [Path(place).resolve() for place in found["places"] if place]
    inside = [place for place in places if any(place.is_relative_to(folder) for folder in (top, tree)) and not place.is_relative_to(prefix)]
    roots = dict.fromkeys(place.relative_to(tree if place.is_relative_to(tree) else top) for place in inside)
    origins = {name: Path(origin).resolve() for name, origin in found["copies"].items()}
    copied = tuple(name for name, origin in origins.items() if origin.is_relative_to(top) or origin.is_relative_to(tree))
    if not roots:
        return Trees(base=trees.base, change=trees.change, copied=copied)
    outer = [entry for entry in os.environ.get(VARIABLE, "").split(os.pathsep) if entry and Path(entry).resolve() not in inside]
    base, change = ({VARIABLE: os.pathsep.join([*(str(folder / root) for root in roots), *outer])} for folder in (tree, top))
    return Trees(base=trees.base, change=trees.change, variables=(base, change), copied=copied)


def _asked(program: str) -> dict[str, Any]:
    """What the Python of the command says of its packages; nothing if there is none, or if each tree has its own."""
    is_python = Path(program).name.startswith(("python", "pypy"))
    if is_python and "/" in program and not Path(program).is_absolute():
        return {}
    python = shutil.which(program) if is_python else shutil.which("python3")
    if python is None:
        return {}
    with suppress(OSError, subprocess.SubprocessError, ValueError):
        done = subprocess.run([python, "-c", ASK], cwd="/", capture_output=True, text=True, timeout=ASK_S, check=True)
        return dict(json.loads(done.stdout))
    return {}
