"""Where is the history of a repository's gates, and how does a line get there while other jobs write?

    branch:NAME     the file history.jsonl of a branch of `origin` that shares no commit with the code, and its badge.svg
    mlflow:SERVER   a run a gate in an experiment of MLflow (`fireassay.api.ci.mlflow_runs`)
    FOLDER, s3://   a file a gate, of the record's time and digest: an object store cannot append, and no two jobs write one file

A branch is written by Git's own objects, without a working tree: fetch, append, commit, push; where another job pushed first, the same again
on top of what it pushed.  A record that is there already is not added again.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final, Protocol

from fireassay.api.checkout import CannotCheckOut, git, top_of
from fireassay.errors import EnvironmentLacks, refuse
from fireassay.record.store import Store
from fireassay.verdict.checking.kept import DIGEST, Kept, line, read

BRANCH: Final = "branch:"
MLFLOW: Final = "mlflow:"
FILE: Final = "history.jsonl"
BADGE: Final = "badge.svg"
SUFFIX: Final = ".jsonl"
REMOTE: Final = "origin"
TRIES: Final = 10  # pushes; one of the jobs that push at once succeeds each time
COMMITTER: Final = ("-c", "user.name=assay", "-c", "user.email=assay@localhost", "-c", "commit.gpgsign=false")


def reachable(where: str, here: Path) -> None:
    """Raise before anything is measured if nothing could be kept: SpecError, EnvironmentLacks or RecordError."""
    _place(where, here).check()


def keep(where: str, kept: Kept, here: Path, badge: str = "") -> str:
    """Add a line, unless its record is there; of a branch, with the badge. Returns what to say.

    Raises:
        EnvironmentLacks: the branch cannot be pushed, or MLflow does not take it.
        RecordError: the history there is not of kept gates, or the store cannot be written.
    """
    return _place(where, here).add(kept, badge)


def load(where: str, here: Path) -> list[Kept]:
    """Every line there. Raises as `keep`."""
    return _place(where, here).load()


class Place(Protocol):
    """A history that is somewhere."""

    def check(self) -> None: ...

    def add(self, kept: Kept, badge: str) -> str: ...

    def load(self) -> list[Kept]: ...


def _place(where: str, here: Path) -> Place:
    if where.startswith(BRANCH):
        return _Branch(where, here)
    if where.startswith(MLFLOW):
        from fireassay.api.ci.mlflow_runs import Runs  # deferred: it needs MLflow

        return Runs(where.removeprefix(MLFLOW))
    return _Files(where)


class _Files:
    """A file a gate. Raises SpecError or EnvironmentLacks: the address is none."""

    def __init__(self, where: str) -> None:
        self.store = Store(where)

    def check(self) -> None:
        """Whether it can be written is seen when it is."""

    def add(self, kept: Kept, _: str) -> str:
        name = f"{re.sub('[^0-9T]', '', kept.created_utc[:19])}-{kept.digest[:DIGEST]}{SUFFIX}"
        new = self.store.put(name, f"{line(kept)}\n".encode())
        return f"{self.store.shown.rstrip('/')}/{name}{'' if new else ', kept before'}"

    def load(self) -> list[Kept]:
        return [one for name, content in self.store.small_files(SUFFIX) for one in read(content, name)]


class _Branch:
    """A branch of the remote. Raises SpecError: it has no such name, or the folder is in no repository with a remote."""

    def __init__(self, where: str, here: Path) -> None:
        self.where, name = where, where.removeprefix(BRANCH)
        self.ref, self.local = f"refs/heads/{name}", f"refs/assay/{name}"
        try:
            self.top = top_of(here)
            git(self.top, "check-ref-format", self.ref)
            git(self.top, "remote", "get-url", REMOTE)
        except CannotCheckOut as error:
            allowed = f"{BRANCH}NAME in a repository with a remote {REMOTE}, {MLFLOW}SERVER, a folder, or the address of a store"
            raise refuse("history", f"{where} ({error})", allowed, source="the command line") from None

    def check(self) -> None:
        self.newest()

    def load(self) -> list[Kept]:
        return read(self.text(self.newest()), self.where)

    def newest(self) -> str:
        """The newest commit of the branch; empty if the remote has no such branch. Raises EnvironmentLacks: the remote cannot be asked."""
        try:
            if not git(self.top, "ls-remote", "--heads", REMOTE, self.ref):
                return ""
            git(self.top, "fetch", "--quiet", "--no-tags", REMOTE, f"+{self.ref}:{self.local}")
            return git(self.top, "rev-parse", "--verify", self.local)
        except CannotCheckOut as error:
            raise EnvironmentLacks(f"{self.where} cannot be read: {error}. Does the job have access to {REMOTE}?") from None

    def text(self, commit: str) -> bytes:
        """The lines of the history at a commit; nothing if there are none."""
        listed = self._tree(commit)
        return git(self.top, "cat-file", "blob", listed[FILE].split()[2]).encode(errors="surrogateescape") if FILE in listed else b""

    def add(self, kept: Kept, badge: str) -> str:
        before = self.newest()
        for _ in range(TRIES):
            text = self.text(before)
            if any(one.digest == kept.digest for one in read(text, self.where)):
                return f"{self.where}, kept before"
            try:
                made = self._commit(before, text.decode(), kept, badge)
                git(self.top, "push", "--quiet", REMOTE, f"{made}:{self.ref}")
            except CannotCheckOut as error:
                why, before, former = error, self.newest(), before
                if before == former:  # nobody was faster: it is refused
                    break
            else:
                return self.where
        fix = "A job that keeps a history needs write access: `contents: write` on GitHub, a token with write_repository on GitLab."
        raise EnvironmentLacks(f"{self.where} cannot be pushed: {why}. {fix}")

    def _tree(self, commit: str) -> dict[str, str]:
        """Name -> mode, type and object of a commit's files."""
        listed = git(self.top, "ls-tree", "-z", commit) if commit else ""
        return {name: what for one in listed.split("\0") if one for what, _, name in [one.partition("\t")]}

    def _commit(self, before: str, text: str, kept: Kept, badge: str) -> str:
        files = {FILE: f"{text.rstrip()}\n{line(kept)}\n".lstrip(), **({BADGE: badge} if badge else {})}
        tree = self._tree(before)
        for name, content in files.items():
            tree[name] = f"100644 blob {git(self.top, 'hash-object', '-w', '--stdin', given=content)}"
        made = git(self.top, "mktree", "-z", given="".join(f"{what}\t{name}\0" for name, what in sorted(tree.items())))
        parent = ("-p", before) if before else ()
        subject = f"Keep {kept.verdict} of {kept.commit[:10] or 'a gate'}"
        return git(self.top, *COMMITTER, "commit-tree", made, *parent, "-m", subject)
