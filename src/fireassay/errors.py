"""Which errors does assay raise, and with which exit code does the command line report each?

    AssayError
     +-- SpecError          the request is invalid; carries every problem at once               exit 2
     +-- WorkloadError      the user's script could not be run, or no launch of it succeeded    exit 5
     +-- RecordError        the record folder is missing, foreign, damaged, newer or unwritable exit 6
     +-- EnvironmentLacks   a required package, tool or permission is missing                   exit 7
     +-- Interrupted        Ctrl-C or a termination signal; measured data are kept              exit 130

Only `fireassay.cli` exits the process.  Exit codes 0, 1, 3 and 4 are verdicts: see `fireassay.exit_codes`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from fireassay.exit_codes import EXIT_CODES as EXIT_CODES


class AssayError(Exception):
    """Base of every error that assay raises deliberately. `exit_code`: exit status of the command line."""

    exit_code: ClassVar[int] = 1


@dataclass(frozen=True, kw_only=True)
class Problem:
    """One problem of an experiment: where, what was found, what is allowed, how to fix it."""

    where: str  # dotted key path, for example "launches.per_configuration"; or a flag, or a file
    found: str  # the value as the user wrote it
    allowed: str  # what is allowed, in words
    fix: str = ""  # the closest valid key, or the line or command that fixes it

    def __str__(self) -> str:
        text = f"{self.where}: found {self.found}; allowed: {self.allowed}."
        return f"{text} {self.fix}" if self.fix else text


class SpecError(AssayError):
    """The experiment is invalid. Lists all problems at once."""

    exit_code: ClassVar[int] = 2

    def __init__(self, problems: tuple[Problem, ...], source: str = "") -> None:
        self.problems = problems
        self.source = source
        head = f"{len(problems)} problem{'s' if len(problems) != 1 else ''} in {source or 'the experiment'}:"
        super().__init__("\n".join([head, *(f"  - {problem}" for problem in problems)]))


class WorkloadError(AssayError):
    """The user's script could not be run, or no launch of it succeeded."""

    exit_code: ClassVar[int] = 5


class RecordError(AssayError):
    """The record folder is missing, foreign, damaged, of a newer format, or cannot be written."""

    exit_code: ClassVar[int] = 6


class EnvironmentLacks(AssayError):
    """A package, tool or permission that is required on this machine is missing."""

    exit_code: ClassVar[int] = 7


class Interrupted(AssayError):
    """Stopped by the user or by a termination signal. Measured data are kept."""

    exit_code: ClassVar[int] = 130
