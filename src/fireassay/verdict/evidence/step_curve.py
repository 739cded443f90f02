"""How good are answers with so many steps, what do these take, and how many are enough?  As a verdict and its page say it.

What does another score say of the candidates that the deciding one chooses?
"""

from __future__ import annotations

from dataclasses import dataclass

from fireassay.estimates.estimate import Value
from fireassay.verdict.types import Status


@dataclass(frozen=True, kw_only=True)
class StepRow:
    """A task at an engine with so many steps; values in score, seconds, tokens, fraction and US dollars, each of an item."""

    task: str
    engine: str
    steps: int
    sent: str  # "8", or the word that stands for it: "high"
    score: Value
    time: Value  # p50 over items
    time_p95: Value
    at_once: Value | None  # p50, were its samples sent together; None: steps are no samples
    tokens_in: Value
    tokens_out: Value
    reasoning: Value
    tools: Value
    usd: Value
    gain: Value  # score minus that of the best other level, paired; one-sided bounds, both at the confidence of the knee's
    enough: bool  # shown to be within the margin of every other level
    worse: bool  # shown to be worse than another by more than the margin


@dataclass(frozen=True, kw_only=True)
class KneeRow:
    """The smallest number of steps that is enough."""

    task: str
    engine: str
    title: str  # of the score
    share: bool  # the score is shown in per cent
    lower: bool  # lower is better
    what: str  # "samples", "turns", "reasoning_tokens"
    margin: float
    given: bool  # whether the margin was
    at: int | None  # None: no number of steps is shown to be enough
    status: Status
    sentence: str
    longer: str  # how much longer the best larger number takes, to go on with the sentence where times count
    more: str  # what would decide; empty: it is decided, or nothing would
    items: int
    confidence: float  # of each bound
    notes: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class ChoiceRow:
    """What another score says of the best of k candidates by the deciding score, at one configuration."""

    task: str
    column: str  # the configuration's label
    by: str  # title of the deciding score
    other: str
    share: bool  # the other score is shown in per cent
    k: int
    value: Value  # the other score of the chosen candidate
    random: Value  # of a random one
    own_best: Value  # of its own best of k
    gain: Value  # by the choice, better is positive
    optimism: Value  # the deciding score's gain less that
    items: int
    left: int  # items without a candidate that has both scores
