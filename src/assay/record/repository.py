"""How is git asked about a folder without running what the folder's own configuration names?

A folder that somebody sent may hold a .git/config with `core.fsmonitor`, hooks or filters: commands that `git status` would run.
They are switched off; what the user configured for himself (global, system) stays.  A filter of the repository's own that is switched off
may show a file as changed that is not.
Source: https://git-scm.com/docs/git-config, https://git-scm.com/docs/gitattributes (filter).
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Final

QUIET: Final = ("-c", "core.fsmonitor=false", "-c", f"core.hooksPath={os.devnull}")
LOCAL: Final = ("local", "worktree")  # scopes of the repository's own
FILTERS: Final = ("config", "--show-scope", "--null", "--name-only", "--get-regexp", r"^filter\..*\.(clean|process|required)$")


def command(folder: Path, *words: str, off: tuple[str, ...] = ()) -> list[str]:
    """The command line; `off`: what `without_filters` gave."""
    return ["git", *QUIET, *off, "-C", str(folder), *words]


def without_filters(ask: Callable[..., str]) -> tuple[str, ...]:
    """The words that switch the repository's own filters off; `ask` runs git with its words and gives what it printed."""
    fields = ask(*FILTERS).split("\0")
    own = [name for scope, name in zip(fields[::2], fields[1::2], strict=False) if scope in LOCAL]
    return tuple(word for name in dict.fromkeys(own) for word in ("-c", f"{name}={'false' if name.endswith('.required') else ''}"))
