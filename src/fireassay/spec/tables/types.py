"""What is a row of a table of timings, and what may a user state beside the table?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Scaling = Literal["", "strong", "weak"]


@dataclass(frozen=True, kw_only=True)
class Timing:
    """One row: a number of workers and its measurements. None: not given."""

    row: int  # spreadsheet row number
    workers: int
    seconds: float  # 1 in a table of throughputs
    usd: float | None = None  # of the whole row: all workers, all seconds
    quality: float | None = None
    work: float | None = None  # units of useful work done in these seconds
    steps: float | None = None  # training steps done in these seconds
    joules: float | None = None  # of all its workers in these seconds


@dataclass(frozen=True, kw_only=True)
class Timings:
    """A table and the wording of its header."""

    source: str
    rows: tuple[Timing, ...]  # by workers, smallest first
    worker_word: str  # "workers" or "nodes"
    rate: str = ""  # unit counted per second, if the table has no times
    percent: bool = False  # quality was given in percent; stored as a fraction
    quality_name: str = ""  # as in the header
    scaling: Scaling = ""  # as stated by the user, if the table does not
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Stated:
    """What the user states beside the table."""

    work: float | None = None  # units of useful work of every row
    use: tuple[str, ...] = ()  # headings to use where several mean the same
    where: tuple[tuple[str, str], ...] = ()  # heading and cell of the selected rows
    scaling: Scaling = ""
