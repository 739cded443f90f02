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

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import ClassVar, Final

from fireassay.exit_codes import EXIT_CODES as EXIT_CODES


class AssayError(Exception):
    """Base of every error that assay raises deliberately. `exit_code`: exit status of the command line."""

    exit_code: ClassVar[int] = 1


@dataclass(frozen=True, kw_only=True)
class Excerpt:
    """The line of the user's file that holds a problem, and which of its columns are wrong."""

    line: int  # from 1
    text: str
    begin: int  # first wrong column, from 0
    end: int
    exact: bool  # the line is the key's own, not that of an enclosing section or table


@dataclass(frozen=True)
class Problem:
    """One problem of an experiment: where, what was found, what is allowed, how to fix it."""

    where: str  # dotted key path, for example "launches.per_configuration"; or a flag, or a file
    found: str  # the value as the user wrote it
    allowed: str = ""  # what is allowed, in words; "": `fix` says it
    fix: str = ""  # the closest valid key, or the line or command that fixes it; on lines of its own if it begins with a line break
    wrong: str = field(default="", kw_only=True)  # for a key that does not exist: of what it is no key
    excerpt: Excerpt | None = field(default=None, kw_only=True)

    def __str__(self) -> str:
        stop = "" if self.fix.startswith("\n") else "."
        return self._after(f"{self.where}: found {self.found}", f"; allowed: {self.allowed}." if self.allowed else stop)

    def underlined(self) -> str:
        """The text behind the underline, which need not repeat what the line shows."""
        assert self.excerpt is not None
        if self.wrong:
            return self._after(f"{self.wrong}.", "" if self.fix else f" Its keys: {self.allowed}.")
        if not self.excerpt.exact:
            return str(self)
        seen = self.found.strip("'\"") in self.excerpt.text
        return self._after("" if seen else f"found {self.found}; ", f"allowed: {self.allowed}." if self.allowed else "")

    def _after(self, *parts: str) -> str:
        text = "".join(parts)
        return f"{text}{self.fix}" if self.fix.startswith("\n") else f"{text} {self.fix}" if self.fix else text


class SpecError(AssayError):
    """The experiment is invalid. Lists all problems at once, each below its line of the file where there is one."""

    exit_code: ClassVar[int] = 2

    def __init__(self, problems: Iterable[Problem], source: str = "") -> None:
        self.problems = tuple(problems)
        self.source = source
        super().__init__("\n".join(_message(self.problems, source)))


def refuse(where: str, found: str, allowed: str = "", fix: str = "", *, source: str = "") -> SpecError:
    """The error for a single problem, to be raised; `source` names what was read."""
    return SpecError((Problem(where, found, allowed, fix),), source)


def refuse_any(problems: Iterable[Problem], source: str = "") -> None:
    """Raise SpecError with all problems, if there are any."""
    if every := tuple(problems):
        raise SpecError(every, source)


MAX_CANDIDATES: Final = 2_000  # words compared with one: a hostile file has a hundred thousand columns


def closest(word: str, among: Iterable[str]) -> str | None:
    """The most similar word, or None if none is similar."""
    from difflib import get_close_matches  # deferred: most input is right

    folded = {candidate.lower(): candidate for candidate in islice(among, MAX_CANDIDATES)}
    matches = get_close_matches(word.lower(), folded, n=1, cutoff=0.6)
    return folded[matches[0]] if matches else None


def did_you_mean(word: str, among: Iterable[str]) -> str:
    """A sentence that names the closest word, or an empty string."""
    match = closest(word, among)
    return f"Did you mean {match}?" if match else ""


TYPED = ("the flags", "the command line")  # sources that need no name: the user has just typed them


def _message(problems: tuple[Problem, ...], source: str) -> Iterator[str]:
    head = "" if source in TYPED else f"{source}: " if source else ""
    if len(problems) == 1 and problems[0].excerpt is None:
        (problem,) = problems
        yield str(problem) if problem.where == source else f"{head}{problem}"
        return
    yield f"{head}{_count(problems)}"
    width = max((len(str(problem.excerpt.line)) for problem in problems if problem.excerpt is not None), default=0)
    shown = 0
    for problem in problems:
        if (excerpt := problem.excerpt) is None:
            yield f"  {problem}"
            continue
        if excerpt.line != shown:
            yield f"  {excerpt.line:>{width}} | {excerpt.text}"
        shown = excerpt.line
        mark = "^" * max(1, excerpt.end - excerpt.begin)
        yield f"  {'':>{width}} | {' ' * excerpt.begin}{mark} {problem.underlined()}"


def _count(problems: tuple[Problem, ...]) -> str:
    """ "2 keys are wrong"; "problems" where not all are keys, or not all are flags."""
    number = len(problems)
    for noun, fits in (("flag", _is_flag), ("key", _is_key)):
        if problems and all(map(fits, problems)):
            return f"{number} {noun} is wrong" if number == 1 else f"{number} {noun}s are wrong"
    return f"{number} problem{'s' if number != 1 else ''}"


def _is_flag(problem: Problem) -> bool:
    return problem.where.startswith("--")


def _is_key(problem: Problem) -> bool:
    return problem.excerpt is not None and not problem.where.startswith("line ")


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
