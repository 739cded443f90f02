"""How is a commit checked out beside the working tree while it is measured, and never left behind?

In a temporary `git worktree`, removed at the end, at Ctrl-C and at a termination signal. One that a killed process left is removed by the
next: its lock is free. Git hooks are disabled.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from fireassay.record import environment
from fireassay.runners.experiment.context import SIGNALS

GIT_TIMEOUT_S = 120.0
CHECKOUT_TIMEOUT_S = 1800.0  # of a large repository, of its submodules
PREFIX = "assay-baseline-"  # of the temporary folder of a checkout
LOCK = "in-use"


class CannotCheckOut(Exception):
    """Why git cannot do it; completes a sentence."""


def git(folder: Path, *words: str, timeout_s: float = GIT_TIMEOUT_S, given: str = "") -> str:
    """What git prints, of `given` as its input. Raises CannotCheckOut: it failed, with its last line."""
    command = environment.command(folder, *words)
    settings = os.environ | {"LC_ALL": "C", "GIT_TERMINAL_PROMPT": "0"}
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, errors="surrogateescape", timeout=timeout_s, env=settings, input=given
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise CannotCheckOut(f"git could not run ({error})") from error
    if done.returncode:
        lines = done.stderr.strip().splitlines()
        raise CannotCheckOut(f"git {words[0]}: {lines[-1] if lines else done.returncode}")
    return done.stdout.strip()


def top_of(folder: Path) -> Path:
    """The top of the folder's repository. Raises CannotCheckOut: it is in none, or git does not trust it."""
    return Path(git(folder, "rev-parse", "--show-toplevel")).resolve()


@contextmanager
def checked_out(top: Path, commit: str) -> Iterator[Path]:
    """A temporary worktree of the commit, valid during the body. Raises CannotCheckOut: it cannot be made."""
    _sweep(top)
    with _unwinding(), tempfile.TemporaryDirectory(prefix=PREFIX) as temporary, _held(Path(temporary)):
        tree = Path(temporary).resolve() / "tree"
        try:
            git(top, "worktree", "add", "--detach", str(tree), commit, timeout_s=CHECKOUT_TIMEOUT_S)
            yield tree
        finally:
            with suppress(CannotCheckOut):  # measurements count even if git cannot clean up
                git(top, "worktree", "remove", "--force", str(tree))


@contextmanager
def _unwinding() -> Iterator[None]:
    """Make termination signals unwind like Ctrl-C; by default they end assay at once and leave the checkout behind."""

    def unwind(_number: int, _frame: object) -> None:
        raise KeyboardInterrupt

    is_main_thread = threading.current_thread() is threading.main_thread()
    former = {number: signal.signal(number, unwind) for number in SIGNALS if is_main_thread and _is_default(number)}
    try:
        yield
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)


def _is_default(number: signal.Signals) -> bool:
    return signal.getsignal(number) is signal.SIG_DFL


@contextmanager
def _held(folder: Path) -> Iterator[None]:
    """Mark a folder as in use until this process ends; the system releases the lock even if it is killed."""
    with (folder / LOCK).open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _sweep(top: Path) -> None:
    """Remove checkouts left by earlier processes that were killed."""
    listed = git(top, "worktree", "list", "--porcelain").splitlines()
    trees = [Path(line.removeprefix("worktree ")) for line in listed if line.startswith("worktree ")]
    for tree in trees:
        if tree.name == "tree" and tree.parent.name.startswith(PREFIX) and _is_abandoned(tree.parent):
            with suppress(CannotCheckOut):
                git(top, "worktree", "remove", "--force", str(tree))
            shutil.rmtree(tree.parent, ignore_errors=True)


def _is_abandoned(folder: Path) -> bool:
    if not folder.exists():  # killed, then cleaned by the system
        return True
    try:
        with (folder / LOCK).open() as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:  # in use, or not ours
        return False
    return True
