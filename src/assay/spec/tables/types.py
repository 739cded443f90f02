"""What is a row of a table of timings, and what may a user say beside the table?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Scaling = Literal["", "strong", "weak"]


@dataclass(frozen=True, kw_only=True)
class Timing:
    """One row: a number of workers and what was seen with it. None: not given."""

    row: int  # as a spreadsheet numbers it
    workers: int
    seconds: float  # 1 in a table of throughputs: what was done in one second
    usd: float | None = None  # of the whole row: all its workers for all its seconds
    quality: float | None = None
    work: float | None = None  # units of useful work done in these seconds
    steps: float | None = None  # training steps done in these seconds
    joules: float | None = None  # of all its workers in these seconds


@dataclass(frozen=True, kw_only=True)
class Timings:
    """A table and the words that its header used."""

    source: str
    rows: tuple[Timing, ...]  # by workers, smallest first
    worker_word: str  # "workers" or "nodes"
    rate: str = ""  # what is counted each second, where the table has no times
    percent: bool = False  # quality was given in percent; here it is a fraction
    quality_name: str = ""  # as the header has it
    scaling: Scaling = ""  # as the user says it, where the table does not
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What the user says beside the table."""

    work: float | None = None  # units of useful work of every row
    use: tuple[str, ...] = ()  # headings that are meant, where several mean the same
    where: tuple[tuple[str, str], ...] = ()  # heading and cell of the rows that are meant
    scaling: Scaling = ""
