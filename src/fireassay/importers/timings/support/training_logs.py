"""Which step times does the log of a training framework hold?  Lines about steps, among any other text.

A line is a mean over the steps since the line before, so it is a trial of that many calls: no single step is known.  A job that starts again in
the same file is another process, and so another launch.  Of several ranks that print, the first is read.
Prefixes of torchrun (`[rank0]:`, `[default0]:`), `srun --label` (`0: `) and terminal colours are removed.
Cannot tell: a restart that leaves no mark and repeats no step.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import median
from typing import Final

from fireassay.importers.support.base import clean
from fireassay.importers.support.documents import Place, Words, opened
from fireassay.importers.timings.support.base import Benchmark, Figure, Timings, Trial

MAX_LINE: Final = 1 << 16  # characters of a line that are looked at
MAX_LINES: Final = 20_000_000
MAX_STEP: Final = 10**12
COLOUR: Final = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
RANK: Final = re.compile(r"^\s*(?:\[(?:rank|default|1,)?(\d{1,7})\](?:<\w+>)?:?|(\d{1,7}):)\s?")
STEP: Final = "training step"
MEANINGS: Final = {
    "launch": "a start of the job: one log, or the part after a restart",
    "trial": "a line of the log: the mean over the steps since the line before, which are its calls",
    "call": "a step",
    "warm_up": "the first lines of each start, which contain its first step",
}
MISSING: Final = (
    "the time of single steps: percentiles, stragglers and phases cannot be known",
    "the machine and its state",
    "losses and other values of its lines: only times are read",
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Logged:
    """A line about steps."""

    step: int
    seconds: float | None = None  # mean of a step, by the framework
    clock_s: float | None = None  # time of day
    figures: tuple[Figure, ...] = ()  # other numbers of the line
    batch: int | None = None  # samples of a step
    skipped: int = 0  # steps without an update
    pause: bool = False  # no step: time is counted anew from here
    paused: Logged | None = None  # the pause after it

    @property
    def after(self) -> Logged:
        """Where the next line's steps begin."""
        return self.paused or self


@dataclass(kw_only=True)
class Log:
    """What a file holds, by starts of the job."""

    starts: list[list[Logged]] = field(default_factory=lambda: [[]])
    settings: dict[str, str] = field(default_factory=dict)
    unread: list[int] = field(default_factory=list)  # lines that begin like one about steps, and cannot be read
    ranks: set[str] = field(default_factory=set)


@dataclass(frozen=True, kw_only=True)
class Grammar:
    """How a framework writes its lines."""

    begins: re.Pattern[str]  # the beginning of a line about steps
    read: Callable[[str], Logged | None]
    started: re.Pattern[str]  # a line at the start of a job's steps
    settings: Callable[[str], Iterator[tuple[str, str]]]


def read_log(path: Path, grammar: Grammar) -> Log:
    """The lines about steps in a file. Raises SpecError: it cannot be read, or is too long."""
    log = Log()
    chosen: str | None = None
    with opened(path) as file:
        file.reconfigure(errors="replace")  # type: ignore[attr-defined]  # what others print may be in any encoding
        for number in range(1, MAX_LINES + 2):
            line = file.readline(MAX_LINE)
            if not line:
                return log
            rank, text = _bare(line)
            log.settings.update((name, value) for name, value in grammar.settings(text) if name not in log.settings)
            if grammar.started.search(text):
                log.starts.append([])
            if not grammar.begins.search(text):
                continue
            log.ranks.add(rank)
            chosen = rank if chosen is None else chosen
            if rank == chosen:
                _put(log, grammar.read(text) if line.endswith("\n") else None, number)
    raise Place(path.name).wrong(Words("more lines"), f"at most {MAX_LINES:,}", "Keep the lines about steps.")


def _bare(line: str) -> tuple[str, str]:
    """Rank and text of a line."""
    text = COLOUR.sub("", line)
    match = RANK.match(text)
    return ((match[1] or match[2]), text[match.end() :]) if match else ("", text)


def _put(log: Log, logged: Logged | None, number: int) -> None:
    start = log.starts[-1]
    last = start[-1].after if start else None
    if logged is None or not 0 < logged.step < MAX_STEP:
        log.unread.append(number)
    elif logged.pause:
        start[-1:] = [replace(line, paused=logged) for line in start[-1:] if logged.step >= line.step]
    elif last is not None and logged.step <= last.step:  # steps that are made again: the job was resumed
        log.starts.append([logged])
    elif (
        last is not None and last.clock_s is not None and logged.clock_s is not None and logged.clock_s <= last.clock_s
    ):  # the clock was set
        log.unread.append(number)
    else:
        start.append(logged)


def timings(path: Path, log: Log, trials: Callable[[Sequence[Logged]], tuple[Trial, ...]], fix: str) -> Timings:
    """The step times of a log; `trials`: of the lines of one start. Raises SpecError: there are none after the first steps."""
    starts = [start for start in log.starts if start]
    pairs = [(start, trials(start)) for start in starts]
    kept = [(start, made) for start, made in pairs if any(not trial.warm_up for trial in made)]
    if not kept:
        found = f"{sum(map(len, starts))} lines about steps in {len(starts)} starts, and no step time after the first of each"
        raise Place(path.name).wrong(Words(found), "more lines about steps of one start", fix)
    lines = [line for start, _ in kept for line in start[1:]]
    names = dict.fromkeys((figure.name, figure.unit) for line in lines for figure in line.figures)
    each = {name: [figure.value for line in lines for figure in line.figures if (figure.name, figure.unit) == name] for name in names}
    return Timings(
        benchmarks=(
            Benchmark(
                name=STEP,
                processes=tuple(made for _, made in kept),
                figures=tuple(Figure(name=f"median {name}", unit=unit, value=median(values)) for (name, unit), values in each.items()),
            ),
        ),
        conditions={name: clean(value, 80) for name, value in log.settings.items()},
        missing=tuple(_missing(log, len(starts) - len(kept))),
        doubts=tuple(_doubts(log, starts)),
    )


def _missing(log: Log, short: int) -> Iterator[str]:
    if len(log.ranks) > 1:
        yield f"the lines of {len(log.ranks) - 1} other ranks: those of the first that prints are read"
    if short:
        yield f"step times of {short} more starts, which ended before their second line"


def _doubts(log: Log, starts: Sequence[Sequence[Logged]]) -> Iterator[str]:
    if log.unread:
        several = f"{len(log.unread)} lines about steps" if len(log.unread) > 1 else "a line about steps"
        yield f"{several} cannot be read, the first is line {log.unread[0]}"
    batches = dict.fromkeys(line.batch for start in starts for line in start if line.batch is not None)
    if len(batches) > 1:
        yield f"the global batch size changed from {min(batches):,} to {max(batches):,}: its steps differ in work"
    if skipped := sum(line.skipped for start in starts for line in start):
        yield f"{skipped:,} steps made no update (a loss scale, or NaN), and their time is in the mean"


def calls_of_lines(lines: Sequence[Logged]) -> list[int]:
    """Steps that each line but the first is a mean over."""
    return [later.step - former.after.step for former, later in itertools.pairwise(lines)]


def warm(trials: Sequence[Trial], count: int) -> tuple[Trial, ...]:
    """The trials, the first `count` of them marked as warm-up."""
    return tuple(replace(trial, warm_up=index < count) for index, trial in enumerate(trials))
