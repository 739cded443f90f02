"""What does the judgement of a table from elsewhere consist of?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Mode = Literal["strong", "assumed strong", "weak", "mixed", "throughput"]


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What is good enough."""

    tolerance: float = 0.005  # largest drift of quality, in its own unit; of percent a fraction
    efficiency: float = 0.70
    deadline_s: float | None = None
    budget_usd: float | None = None


@dataclass(frozen=True, kw_only=True)
class Row:
    """One row of the table with what follows from it. None: not given, or not defined."""

    workers: int
    seconds: float | None  # None: the table gives a throughput only
    per_second: float | None  # what was done each second; None where the work is not known
    speedup: float  # of weak scaling: how many times the base's work is done in the same time (scaled speedup)
    efficiency: float
    karp_flatt: float | None  # not defined for the base
    serial_share: float | None  # weak scaling: Gustafson's, of the time on these workers
    amdahl_speedup: float | None  # what the fit expects here
    usd: float | None
    usd_per_item: float | None
    items_per_usd: float | None
    usd_per_step: float | None
    usd_per_effective_work: float | None  # cost of a step, else of an item, divided by the efficiency
    joules: float | None  # energy to solution
    joules_per_item: float | None
    quality: float | None
    drift: float | None  # quality minus the base's
    refused: str  # why the row is left out; empty if it is not


@dataclass(frozen=True, kw_only=True)
class Fit:
    """Amdahl's law fitted to the rows that were not refused. Worker counts are absolute, not relative to the base."""

    serial_fraction: float
    ceiling: float | None  # largest speedup; None: the fit finds none
    half_efficiency_workers: float | None  # where the fit expects E = 0.5
    at_workers: int  # the largest row of the fit ...
    measured_there: float
    expected_there: float


@dataclass(frozen=True, kw_only=True)
class Gustafson:
    """Gustafson's law fitted to the rows of a weak scaling that were not refused: S = p - s (p - 1)."""

    serial_share: float  # of the time on p workers
    at_workers: int
    measured_there: float  # scaled speedup
    expected_there: float


@dataclass(frozen=True, kw_only=True)
class LawRow:
    """One fitted law of throughput; its parameters by name, gamma being the throughput of one worker."""

    law: str
    parameters: dict[str, float]
    on_bound: tuple[str, ...]  # the parameters that the data would have liked below 0
    aicc: float | None  # None: too few rows


@dataclass(frozen=True, kw_only=True)
class Scaling:
    """Which law the throughputs of the rows follow, and what it allows to be said. Worker counts are absolute."""

    per_second: str  # what is counted: "work", "steps", "runs"
    laws: tuple[LawRow, ...]
    chosen: str | None
    why: str
    peak: str  # where throughput is highest, or why no place is named
    held_out_error: float | None  # of predicting the largest row from the others
    held_out: str


@dataclass(frozen=True, kw_only=True)
class Predicted:
    """An answer to --predict; the numbers are None where it is refused, and `sentence` says why."""

    workers: float
    speedup: float | None
    throughput: float | None
    low: float | None  # prediction interval of the throughput, from the scatter of the rows round the curve
    high: float | None
    sentence: str


@dataclass(frozen=True, kw_only=True)
class Pick:
    """A row chosen for a reason; `workers` is None where no row qualifies."""

    goal: str
    workers: int | None
    sentence: str  # what was looked for


@dataclass(frozen=True, kw_only=True)
class Rubric:
    """Everything that follows from a table."""

    source: str
    worker_word: str
    mode: Mode
    rate: str  # what a table without times counts each second
    percent: bool  # quality was given in percent
    base_workers: int
    limits: Limits
    rows: tuple[Row, ...]
    superlinear: tuple[int, ...]  # worker counts with more than linear speedup
    fit: Fit | None
    gustafson: Gustafson | None
    scaling: Scaling | None
    predicted: Predicted | None  # None: not asked for
    largest_drift: float | None  # over all rows
    quality_held: bool | None  # None: no quality was given
    picks: tuple[Pick, ...]
    notes: tuple[str, ...]

    @property
    def recommended(self) -> int | None:
        """The largest worker count that meets everything."""
        return self.picks[0].workers
