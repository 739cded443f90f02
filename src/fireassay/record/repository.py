"""How is git run in an untrusted folder without executing commands from its configuration?

A received folder may hold a .git/config with `core.fsmonitor`, hooks or filters: commands that `git status` would run.
They are disabled; the user's own configuration (global, system) stays.  Without the repository's filters an unchanged file may
appear as changed.
Source: https://git-scm.com/docs/git-config, https://git-scm.com/docs/gitattributes (filter).
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Final

QUIET: Final = ("-c", "core.fsmonitor=false", "-c", f"core.hooksPath={os.devnull}")
LOCAL: Final = ("local", "worktree")  # configuration scopes inside the repository
FILTERS: Final = ("config", "--show-scope", "--null", "--name-only", "--get-regexp", r"^filter\..*\.(clean|process|required)$")


def command(folder: Path, *words: str, off: tuple[str, ...] = ()) -> list[str]:
    """The git command line; `off`: the result of `without_filters`."""
    return ["git", *QUIET, *off, "-C", str(folder), *words]


def without_filters(ask: Callable[..., str]) -> tuple[str, ...]:
    """The arguments that disable the repository's own filters; `ask` runs git with arguments and returns its output."""
    fields = ask(*FILTERS).split("\0")
    names = [name for scope, name in zip(fields[::2], fields[1::2], strict=False) if scope in LOCAL]
    return tuple(word for name in dict.fromkeys(names) for word in ("-c", f"{name}={'false' if name.endswith('.required') else ''}"))
