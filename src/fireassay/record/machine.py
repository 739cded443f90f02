"""Where are facts about the machine read, and how does a record mark one as unavailable?"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


class Unread(Exception):
    """A source could not be read; the message is the reason shown in the record."""


@dataclass(frozen=True, kw_only=True)
class Machine:
    """The source of the facts; tests replace it with a folder of fake files."""

    root: Path = Path("/")
    environ: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    folder: Path = Path(".")  # the workload's folder, for git

    def text(self, path: str) -> str:
        """The stripped text of a file below the root. Raises Unread."""
        try:
            text = (self.root / path.lstrip("/")).read_text(encoding="utf-8", errors="replace").strip("\0 \t\n")
        except OSError as error:
            raise Unread(f"{path}: {error.strerror or error}") from error
        if not text:
            raise Unread(f"{path} is empty")
        return text

    def names(self, pattern: str) -> list[str]:
        """The paths below the root that match a pattern, sorted."""
        return sorted(str(path.relative_to(self.root)) for path in self.root.glob(pattern))

    def number(self, path: str) -> int:
        """The integer that a file holds. Raises Unread."""
        text = self.text(path)
        try:
            return int(text)
        except ValueError as error:
            raise Unread(f"{path}: {text[:40]!r} is not an integer") from error


def absent(reason: str) -> dict[str, str]:
    """A record's marker for a value that was not measured."""
    return {"absent": reason}


def or_absent(read: Callable[[], Any]) -> Any:
    """The result of `read`, or why it failed. Catches everything: describing the environment must never cost a measurement."""
    try:
        value = read()
    except Unread as error:
        return absent(str(error))
    except Exception as error:  # an unforeseen state of a driver or a package
        return absent(f"{type(error).__name__}: {error}"[:200])
    return absent("nothing was reported") if value is None or value == "" else value


def tool_output(command: list[str], timeout_s: float, env: Mapping[str, str] | None = None) -> str:
    """A tool's standard output. Raises Unread with the tool's own message."""
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, errors="replace", timeout=timeout_s, check=False, env=env, stdin=subprocess.DEVNULL
        )
    except subprocess.TimeoutExpired as error:
        raise Unread(f"{Path(command[0]).name} did not answer within {timeout_s} s") from error
    except OSError as error:
        raise Unread(f"{Path(command[0]).name}: {error.strerror or error}") from error
    if done.returncode != 0:
        words = (done.stderr or done.stdout).strip().splitlines()
        raise Unread(f"{Path(command[0]).name}: {words[0][:200] if words else f'exit code {done.returncode}'}")
    return done.stdout.strip()
