"""What may untrusted code use, how did its run end, and whose doing was it?

Processor time decides; the wall clock only catches what neither computes nor ends.  A limit of wall time would move scores with the load of the
machine: the share of solved problems of one set fell from 0.40 to 0.23 on a busy host (evalplus #5).
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Final, Literal

from fireassay.errors import Problem, refuse_any


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Limits of one run, the same for the process of the candidate and that of the test, except for processor time."""

    cpu_s: int = 4  # processor seconds of the candidate with everything that it starts
    test_cpu_s: int = 20  # of the test
    wall_s: float = 20.0  # on an idle machine; grows with the load
    memory_mib: int = 512  # address space of each process
    processes: int = 4  # and threads
    file_mib: int = 4  # all files together, in memory
    output_mib: int = 8  # answers that cross, all together

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
    "sandbox_error",  # the sandbox or the test itself failed
    "stopped",  # by the user
]
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
