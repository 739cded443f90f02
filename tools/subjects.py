"""Does every new commit say in one short line what it does?

    python tools/subjects.py [BASE]

A commit after `BASE` with a subject of more than 72 characters is named, and the exit code is 1. Where the clone does not hold `BASE`, for
it is shallow, all that it holds counts as new; where there is no repository there is nothing to check.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

BASE = "bde286aa3a3abedcb756631f4c58807603d77355"  # older subjects stay as they are
MAX_CHARACTERS = 72


def git(root: Path, *words: str) -> str | None:
    """What git prints; None if it cannot."""
    done = subprocess.run(["git", "-C", str(root), *words], capture_output=True, text=True, check=False)
    return done.stdout if done.returncode == 0 else None


def too_long(root: Path, base: str) -> list[str]:
    """Commit, length and subject of every new subject that is too long, the newest first."""
    known = git(root, "cat-file", "-e", f"{base}^{{commit}}") is not None
    lines = (git(root, "log", "--format=%h %s", "HEAD", *([f"^{base}"] if known else [])) or "").splitlines()
    commits = (line.partition(" ") for line in lines)
    return [f"{commit}: {len(subject)} characters: {subject}" for commit, _, subject in commits if len(subject) > MAX_CHARACTERS]


def main(root: Path, base: str = BASE) -> int:
    """Name them; the exit code."""
    found = too_long(root, base)
    if found:
        print(
            f"subjects of at most {MAX_CHARACTERS} characters, please; git commit --amend or git rebase -i shortens them:",
            *found,
            sep="\n  ",
        )
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main(Path(__file__).resolve().parents[1], *sys.argv[1:]))
