"""What does the tree of a report hold of an evaluation?  Scores, decisions, calibration, outcomes, steps; frozen rows, as in `reports.view`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import polars as pl

from fireassay.estimates.estimate import Estimate, Value
from fireassay.verdict.types import Status

if TYPE_CHECKING:
    from fireassay.frames.evaluation.flipped import Flip
    from fireassay.frames.evaluation.images import Answered, Candidates
    from fireassay.reports.sessions import SessionRow
    from fireassay.verdict.evidence.step_curve import ChoiceRow, KneeRow, StepRow


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
    held: tuple[HeldRow, ...] = ()  # of a subgroup, its decision at each other side; bounds hold for all subgroups and sides together


@dataclass(frozen=True, kw_only=True)
class HeldRow:
    """The decision on one task at one configuration; without a margin the change alone."""

    task: str
    column: str  # the configuration's label
    metric: str  # its title
    status: Status
    change: Value  # score minus that of the reference, better is positive; with a margin one-sided bounds
    worse: int
    better: int
    items: int
    sentence: str
    more: str = ""  # how many items would show what of an open decision
    why: str = ""  # why it is undecided although its bounds alone would decide
    worse_within: bool = False  # significantly worse, but not by more than the margin as far as is shown
    control: str = ""  # in how many draws a loss would have been seen
    flips: Value | None = None  # share of answers that score otherwise than the reference's
    itself: Value | None = None  # the same of the reference against itself; None: it was asked once
    independence: str = ""  # that the items were taken as independent, and which field speaks against it
    share: bool = False  # the score lies between 0 and 1, so that its changes are in points
    tested: str = ""  # p of the paired t-test and the relative drop, which decide nothing


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
class RatedRow:
    """How often each rating was given to a side."""

    column: str
    raters: int
    items: int
    ratings: tuple[tuple[float, int], ...]  # rating, how often
    missing: int


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
    rated: tuple[RatedRow, ...] = ()  # empty: the answers are no ratings
    people: str = ""  # who rated, and whether a winner may be named already
    judge: str = ""  # which model judged, and what that took
    extractor: str = ""  # how answers were found in texts; empty: no task has texts, or it is not known
    independence: str = ""  # that items are taken as independent, and which field groups them; empty: their clusters were named
    pooled: str = ""  # a field by which the pooled answers to an item differ, as models do
    unused: str = ""  # fields of the files that look like a grade or another answer, and what they say
    grouping: str = ""  # the field that groups items which were taken as independent
    steps: tuple[StepRow, ...] = ()  # by task and engine, ascending; empty: none were compared
    knees: tuple[KneeRow, ...] = ()
    choices: tuple[ChoiceRow, ...] = ()  # what other scores say of the best of k, k ascending
    worst: tuple[Answered, ...] = ()  # images with the largest losses, or of one side the lowest scores
    candidates: tuple[Candidates, ...] = ()  # images of which the best was chosen
    unscaled: str = ""  # fields whose scores have no declared scale
    sessions: tuple[SessionRow, ...] = ()
