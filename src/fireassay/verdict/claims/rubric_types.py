"""What are the parts of the judgement of an external table?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from fireassay.spec.tables.columns import OTHER_BASE

CHECKED: Final = 3  # worker counts; through two of them every law fits
Mode = Literal["strong", "assumed strong", "weak", "mixed", "throughput"]


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Acceptance limits."""

    tolerance: float = 0.005  # largest loss of a score without its own, in its unit; as a fraction for percent
    efficiency: float = 0.70
    deadline_s: float | None = None
    budget_usd: float | None = None
    joules: float | None = None


@dataclass(frozen=True, kw_only=True)
class RowScore:
    """A score in one row, against the base row's."""

    value: float | None
    drift: float | None  # value minus the base's
    lost: str  # why it is not held; empty if it is
    weight: float  # of what was lost in tolerances, the largest of a row decides; negative: it is better


@dataclass(frozen=True, kw_only=True)
class RubricRow:
    """One row of the table and the values derived from it. None: not given, or not defined."""

    workers: int
    seconds: float | None  # None: the table gives a throughput only
    per_second: float | None  # throughput; None if the work is unknown
    steps_per_second: float | None
    speedup: float  # weak scaling: multiple of the base's work done in the same time (scaled speedup)
    efficiency: float
    band: str  # the word for the efficiency: excellent, good, moderate, poor; empty for the base
    karp_flatt: float | None  # undefined for the base, and where the row is slower
    serial_share: float | None  # weak scaling: Gustafson's, of the time on these workers; undefined likewise
    amdahl_speedup: float | None  # predicted by the fit
    usd: float | None  # all of it
    usd_of: dict[str, float]  # by part: compute, storage, egress, lost; empty: not known apart
    usd_per_item: float | None
    items_per_usd: float | None
    usd_per_step: float | None
    usd_per_effective_work: float | None  # cost per step, else per item, divided by the efficiency
    joules: float | None  # energy to solution
    joules_per_item: float | None
    joules_per_step: float | None
    co2_g: float | None  # of the joules, by the grid that the user gives
    quality: float | None  # of the score that decides
    drift: float | None  # quality minus the base's
    decides: str  # the score that lost most of its tolerance
    scores: tuple[RowScore, ...]  # in the order of `Rubric.scores`
    refused: str  # why the row is left out; empty if it is kept

    @property
    def priced(self) -> bool:
        """True if some cost of the row is known."""
        return any(price is not None for price in (self.usd_per_item, self.usd_per_step, self.usd))


@dataclass(frozen=True, kw_only=True)
class Fit:
    """Amdahl's law fitted to the rows that were not refused. Worker counts are absolute, not relative to the base."""

    serial_fraction: float
    ceiling: float | None  # largest speedup; None: unbounded by the fit, or by two rows, which check no law
    half_efficiency_workers: float | None  # workers at which the fit predicts E = 0.5
    at_workers: int  # largest row of the fit, with its measured and predicted speedup
    measured_there: float
    expected_there: float


@dataclass(frozen=True, kw_only=True)
class Gustafson:
    """Gustafson's law, S = p - s (p - 1), fitted to the rows of weak scaling that were not refused."""

    serial_share: float  # of the time on p workers
    at_workers: int
    measured_there: float  # scaled speedup
    expected_there: float


@dataclass(frozen=True, kw_only=True)
class LawRow:
    """One fitted law of throughput with its parameters by name; gamma is the throughput of one worker."""

    law: str
    parameters: dict[str, float]
    on_bound: tuple[str, ...]  # parameters that an unconstrained fit would make negative
    aicc: float | None  # None: too few rows


@dataclass(frozen=True, kw_only=True)
class Scaling:
    """Which law the rows' throughputs follow, and its consequences. Worker counts are absolute."""

    per_second: str  # counted unit: "work", "steps", "runs"
    laws: tuple[LawRow, ...]
    chosen: str | None
    why: str
    peak: str  # where throughput peaks, or why no peak is named
    held_out_error: float | None  # error of predicting the largest row from the others
    held_out: str


@dataclass(frozen=True, kw_only=True)
class Predicted:
    """The answer to --predict; if refused, the numbers are None and `sentence` says why."""

    workers: float
    speedup: float | None
    throughput: float | None
    low: float | None  # prediction interval of the throughput, from the scatter of the rows around the curve
    high: float | None
    sentence: str


@dataclass(frozen=True, kw_only=True)
class Pick:
    """A row chosen for a goal; `workers` is None if no row qualifies."""

    goal: str
    workers: int | None
    sentence: str  # the goal in words


@dataclass(frozen=True, kw_only=True)
class JudgedScore:
    """A score over all rows."""

    name: str  # "quality", or the heading where there are several
    percent: bool  # given in percent, stored as a fraction
    lower: bool  # a lower one is better
    tolerance: float
    largest_drift: float | None  # over all rows, in either direction


@dataclass(frozen=True, kw_only=True)
class Rubric:
    """The full judgement of a table."""

    source: str
    worker_word: str
    mode: Mode
    rate: str  # counted unit per second, for a table without times
    base_workers: int
    limits: Limits
    repeated: bool  # some rows are medians of several
    rows: tuple[RubricRow, ...]
    superlinear: tuple[int, ...]  # worker counts with superlinear speedup
    fit: Fit | None
    gustafson: Gustafson | None
    scaling: Scaling | None
    predicted: Predicted | None  # None: not requested
    scores: tuple[JudgedScore, ...]
    quality_held: bool | None  # of every score in every row; None: no quality given
    picks: tuple[Pick, ...]
    priced: str  # the prices that the user gave, in words
    doubts: tuple[str, ...]  # of the notes, those that may weaken the verdict: shown on the first screen
    notes: tuple[str, ...]

    @property
    def other_base(self) -> str:
        """Why the speedups are no scaling: the base is another program or machine; "": it is not, as far as the table says."""
        return next((doubt for doubt in self.doubts if doubt.startswith(OTHER_BASE)), "")

    @property
    def recommended(self) -> int | None:
        """The largest worker count that meets all limits."""
        return self.picks[0].workers
