"""What do reports show of an evaluation?  Scores by task and by subgroup, decisions, and the items that changed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from fireassay.estimates.estimate import Estimate, Value
from fireassay.frames.evaluation.flipped import Flip
from fireassay.verdict.types import Status

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, kw_only=True)
class ScoreRow:
    """One score of one task, or of one of its subgroups, at every configuration."""

    task: str
    metric: str
    title: str
    values: Mapping[str, Value]  # configuration -> value
    items: int
    group: str = ""  # "language"; empty: all items
    label: str = ""  # "de"


@dataclass(frozen=True, kw_only=True)
class HeldRow:
    """The decision on one task at one configuration."""

    task: str
    column: str  # the configuration's label
    metric: str  # its title
    status: Status
    change: Value  # score minus that of the reference, better is positive; one-sided bounds
    worse: int
    better: int
    items: int
    sentence: str
    needed: int | None = None  # items that would decide; None: it is decided, or more items would not help
    why: str = ""  # why it is undecided although its bounds alone would decide
    worse_within: bool = False  # significantly worse, but not by more than the margin as far as is shown
    control: str = ""  # in how many draws a loss would have been seen
    flips: Value | None = None  # share of answers that score otherwise than the reference's
    itself: Value | None = None  # the same of the reference against itself; None: it was asked once


@dataclass(frozen=True, kw_only=True)
class PowerRow:
    """Which margin so many items of a task can show at 80 % power, if as many change as were seen to."""

    task: str
    column: str
    items: int
    flips: float  # share of items that scored otherwise
    supported: float  # by `items`
    curve: tuple[tuple[float, float], ...]  # items, margin


@dataclass(frozen=True, kw_only=True)
class CalibrationBin:
    """Items of which the model was about as sure."""

    items: int
    confidence: float  # mean
    right: Estimate  # share


@dataclass(frozen=True, kw_only=True)
class CalibrationRow:
    """How sure a configuration was of its choices, and how often it was right."""

    column: str
    whole: CalibrationBin | None  # of all items; None if none was answered
    bins: tuple[CalibrationBin, ...]  # as many items in each
    sentence: str
    error: Value  # expected calibration error, as in the table of scores


@dataclass(frozen=True, kw_only=True)
class OutcomeRow:
    """How many items of a task ended in one way at a configuration."""

    task: str
    column: str
    outcome: str  # "ok", "NO_ANSWER", "empty", "5xx" ...
    items: int


@dataclass(frozen=True, kw_only=True)
class DivergenceRow:
    """How far one engine, or one replica of it, is from the reference, over the tokens of given texts."""

    column: str  # "b", "b, replica 1"; of the floor: "a, against itself"
    words: str  # what it looks like
    status: Status  # the tone of these words
    tokens: int
    mean: float  # KL divergence, nats
    p999: float
    local: float  # p99.9 / median, which tells a wrong weight from rounding; infinite: the median is 0; NaN: no KL
    agreement: float
    nll_change: float
    bound: bool  # the KLs are lower bounds


@dataclass(frozen=True, kw_only=True)
class EvaluationRows:
    """Everything that only an evaluation has."""

    scores: tuple[ScoreRow, ...]
    groups: tuple[ScoreRow, ...]
    held: tuple[HeldRow, ...]
    margin: float | None
    flips: tuple[Flip, ...]  # of every side in turn, most changed first
    outcomes: tuple[OutcomeRow, ...]
    divergence: tuple[DivergenceRow, ...] = ()
    calibration: tuple[CalibrationRow, ...] = ()  # empty: no task was answered by log probabilities of choices
    power: tuple[PowerRow, ...] = ()  # of tasks whose items are right or wrong, each a unit of its own
    items: pl.DataFrame | None = None  # every answer with its texts and scores, for a workbook
    chances: Mapping[str, float] = field(default_factory=dict)  # task -> score of guessing, where it is known
