"""How is untrusted code isolated on this machine, and does that hold?

bubblewrap of the distribution if it is installed, else the same namespaces made by `inside`.  Both end in the same program, which drops
privileges and lowers limits.  A tier is used only after a look from the inside: what it should forbid is tried.  There is no
weaker one: without namespaces, code is refused.

What may untrusted code use, how did its run end, and whose doing was it?

Processor time decides; the wall clock only catches what neither computes nor ends.  A limit of wall time would move scores with the load of the
machine: the share of solved problems of one set fell from 0.40 to 0.23 on a busy host (evalplus #5).
"""

from __future__ import annotations

import functools
import importlib.util
import os
import platform
import sys
import sysconfig
import tempfile
from dataclasses import dataclass, field, fields
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final, Literal

from fireassay.errors import Problem, refuse_any
from fireassay.quality.sandbox.inside.kernel import DEVICES, NOBODY, may_become_nobody


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Limits of one run, the same for the process of the candidate and that of the test, except for processor time."""

    cpu_s: int = 4  # processor seconds of the candidate with everything that it starts
    test_cpu_s: int = 20  # of the test
    wall_s: float = 20.0  # on an idle machine; grows with the load
    memory_mib: int = 512  # address space of each process
    processes: int = 4  # and threads
    file_mib: int = 4  # all files together, in memory
    output_mib: int = 16  # of one answer; all together are bounded by processor time

    def __post_init__(self) -> None:
        wrong = tuple(
            Problem(field.name, repr(getattr(self, field.name)), "a number above 0")
            for field in fields(self)
            if not 0 < getattr(self, field.name) < 2**31
        )
        refuse_any(wrong, "the limits of the sandbox")

    @property
    def signature(self) -> str:
        """ "cpu:4|test_cpu:20|wall:20|...": everything here that moves a verdict."""
        return "|".join(f"{field.name.rpartition('_')[0] or field.name}:{getattr(self, field.name):g}" for field in fields(self))


Outcome = Literal[
    "passed",
    "failed",  # a wrong value, or an error
    "cpu_limit",  # it computed longer than it may
    "output_limit",  # its answers are larger than they may be
    "crash",  # its process ended, or broke the protocol
    "wall_limit",  # neither computed nor ended: the machine, or a sleep
    "no_verdict",  # it returned what cannot leave the sandbox, such as a match or a coroutine, so nothing can compare it
    "sandbox_error",  # the sandbox or the test itself failed
    "stopped",  # by the user
]
INVALID: Final[tuple[Outcome, ...]] = ("wall_limit", "no_verdict", "sandbox_error", "stopped")  # say nothing about the answer


@dataclass(frozen=True, kw_only=True)
class CodeResult:
    """The verdict on one program."""

    outcome: Outcome
    detail: str  # why, in words
    cpu_s: float | None  # processor time of the candidate with all that it started; None: it did not end by itself, and was not told
    wall_s: float
    calls: int  # of the function
    attempts: int = 1

    @property
    def score(self) -> float | None:
        """1 or 0; None: the item is invalid, and never wrong."""
        return None if self.outcome in INVALID else float(self.outcome == "passed")


Name = Literal["bubblewrap", "unshare"]
NAMES: Final[tuple[Name, ...]] = ("bubblewrap", "unshare")
SYSTEM: Final = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/etc/ld.so.cache")


@dataclass(frozen=True, kw_only=True)
class Tier:
    """A way of isolation that was examined."""

    name: Name
    version: str  # of bubblewrap, otherwise of the kernel's interface: ""
    seccomp: bytes = field(repr=False)  # the filter of system calls; empty: none

    @property
    def signature(self) -> str:
        """What a score says of its isolation: "sandbox:bubblewrap@0.8.0|seccomp:yes|python:3.11.7|numpy:2.1.0"."""
        made = f"{self.name}@{self.version}" if self.version else self.name
        return f"sandbox:{made}|seccomp:{'yes' if self.seccomp else 'no'}|python:{platform.python_version()}|numpy:{version('numpy')}"


def signature(tier: Tier, limits: Limits) -> str:
    """Everything of the surroundings that moves a verdict."""
    return f"{tier.signature}|{limits.signature}"


def plan(tier: Tier) -> dict[str, Any]:
    """What `launcher.main` must know of the tier."""
    binds, links = surroundings()
    return {
        "isolated": tier.name == "bubblewrap",
        "seccomp": tier.seccomp,
        "staging": tempfile.gettempdir(),
        "binds": binds,
        "links": links,
        "packages": os.path.dirname(_numpy()),
    }


def command(tier: Tier, python: list[str], limits: Limits) -> list[str]:
    """The command line of a sandbox that runs this Python."""
    whole = [os.path.realpath(sys.executable), "-s", "-S", "-P", *python]
    return [*_bubblewrap(*surroundings(), limits.file_mib), *whole] if tier.name == "bubblewrap" else whole


@functools.cache
def surroundings() -> tuple[tuple[str, ...], tuple[tuple[str, str], ...]]:
    """What the root holds: folders and files, and symbolic links with their targets."""
    links = tuple((path, os.readlink(path)) for path in SYSTEM if os.path.islink(path))
    real = [path for path in SYSTEM if os.path.exists(path) and not os.path.islink(path)]
    python = os.path.dirname(os.path.realpath(sys.executable))
    base = {"installed_base": sys.base_prefix, "installed_platbase": sys.base_exec_prefix, "platbase": sys.base_exec_prefix}
    library = [sysconfig.get_path(name, vars=base) for name in ("stdlib", "platstdlib")]  # not those of a virtual environment
    numpy = _numpy()
    shared = [f"{numpy}.libs"] if os.path.isdir(f"{numpy}.libs") else []
    for path in (sys.base_prefix, sys.base_exec_prefix, *library, python, numpy, *shared):
        whole = os.path.realpath(path)
        if not any(Path(whole).is_relative_to(known) for known in real):
            real.append(whole)
    return tuple(real), links


def _numpy() -> str:
    """The folder of the one library that tests such as those of HumanEval+ import besides Python's own."""
    found = importlib.util.find_spec("numpy")
    return os.path.dirname(os.path.realpath(str(found.origin))) if found is not None else ""


def _bubblewrap(binds: tuple[str, ...], links: tuple[tuple[str, str], ...], file_mib: int) -> list[str]:
    words = [
        "bwrap",
        "--unshare-pid",
        "--unshare-net",
        "--unshare-ipc",
        "--unshare-uts",
        "--unshare-cgroup-try",
        "--die-with-parent",
        "--as-pid-1",
    ]
    if may_become_nobody():  # inside: for root the kernel counts no processes
        for capability in ("setuid", "setgid", "setpcap"):
            words += ["--cap-add", f"cap_{capability}"]
    else:
        words += ["--unshare-user", "--uid", str(NOBODY), "--gid", str(NOBODY)]
    words += ["--perms", "1777", "--size", str(file_mib * 2**20), "--tmpfs", "/tmp"]  # first: it hides what lies below
    for path in binds:
        for parent in [str(one) for one in reversed(Path(path).parents)][1:]:
            words += ["--perms", "0755", "--dir", parent]  # otherwise nobody may pass a folder that bubblewrap makes
        words += ["--ro-bind", path, path]
    for path, target in links:
        words += ["--symlink", target, path]
    for name in DEVICES:
        words += ["--dev-bind-try", f"/dev/{name}", f"/dev/{name}"]
    return [*words, "--remount-ro", "/", "--chdir", "/tmp", "--"]
