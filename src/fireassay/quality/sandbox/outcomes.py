"""How did a run of untrusted code end, and whose doing was it?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Literal

Outcome = Literal[
    "passed",
    "failed",  # a wrong value, or an error
    "cpu_limit",  # it computed longer than it may
    "output_limit",  # its answers are larger than they may be
    "crash",  # its process ended, or broke the protocol
    "wall_limit",  # neither computed nor ended: the machine, or a sleep
    "sandbox_error",  # the sandbox or the test itself failed
    "stopped",  # by the user
]
WRONG: Final[tuple[Outcome, ...]] = ("failed", "cpu_limit", "output_limit", "crash")
INVALID: Final[tuple[Outcome, ...]] = ("wall_limit", "sandbox_error", "stopped")  # say nothing about the answer


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


@dataclass(frozen=True, kw_only=True)
class Reply:
    """What a function did with one call: a value of exact builtin types, or an error as name and text."""

    value: Any = None
    error: tuple[str, str] | None = None


@dataclass(frozen=True, kw_only=True)
class Replies:
    """The replies in the order of the calls, as many as there were before it ended."""

    outcome: Outcome  # "passed": every call was answered
    detail: str
    replies: tuple[Reply, ...]
    cpu_s: float | None
    wall_s: float
