"""What are the parts of a verdict?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from fireassay.spec.experiment import EVERY_DIMENSION

# invalid: the record or configuration is inadmissible. fail: the run is admissible, but its result is wrong.
Severity = Literal["invalid", "fail", "warning", "note"]
# PASS: what was asked was decided, and holds. GAIN, NO_GAIN: of trainings: do more workers pay? MEASURED: nothing was asked of the numbers.
Status = Literal["PASS", "GAIN", "NO_GAIN", "MEASURED", "FAIL", "INCONCLUSIVE", "INVALID", "NOT_MEASURED"]
# From the worst: the first that any part has is the status of the whole.
WORST_FIRST: tuple[Status, ...] = ("INVALID", "FAIL", "INCONCLUSIVE", "NO_GAIN", "GAIN", "PASS", "MEASURED", "NOT_MEASURED")
HOLDS: frozenset[Status] = frozenset(("PASS", "GAIN", "MEASURED"))  # there are numbers, and nothing that was asked speaks against them
QUALITY_AT_FLOOR = "quality_at_floor"  # rule of the audit: the record's own reference cannot show a loss
DIMENSIONS: tuple[str, ...] = EVERY_DIMENSION


@dataclass(frozen=True)
class Finding:
    """A finding of an audit: rule, evidence and remedy."""

    rule: str  # stable name, for example "samples_lost"
    severity: Severity
    configuration: str | None  # None: the whole record
    evidence: str  # one sentence with numbers
    remedy: str  # one sentence: what to do
    needs: tuple[str, ...] = ()  # quantities that would settle it if measured in the same launches
    of_times: bool = False  # it makes the times inadmissible, but not what was answered


RULE_WORDS: Final = {"foreign_load": "other programs", "slow_sentinel": "slow speed probe"}  # where the stable name is not the word for it


def rule_words(rule: str) -> str:
    """What people call a rule."""
    return RULE_WORDS.get(rule, rule.replace("_", " "))


@dataclass(frozen=True, kw_only=True)
class GateResult:
    """One gate on one configuration."""

    gate: str
    configuration: str
    status: Status
    sentence: str  # "efficiency 0.87 [0.83, 0.91] is above 0.70"
    launches_needed: int | None = None  # that would decide what is undecided, if the gate knows
    examples_needed: int | None = None  # likewise
    tested: str = ""  # p of the paired t-test and the relative drop, which decide nothing


@dataclass(frozen=True, kw_only=True)
class DimensionResult:
    """The result of one configuration in one of the four dimensions."""

    status: Status
    sentence: str


LayerState = Literal["pass", "fail", "not run", "advice"]


@dataclass(frozen=True, kw_only=True)
class LayerResult:
    """One layer of correctness of distributed training, for one configuration."""

    layer: str  # ledger, gradient, hashes, trajectory
    title: str
    state: LayerState  # advice: decides nothing
    sentence: str


@dataclass(frozen=True, kw_only=True)
class Recommendation:
    """A configuration recommended for a goal."""

    goal: str  # "recommended", "cheapest", "fastest", "under deadline", "under budget"
    configuration: str | None  # None: nothing qualifies
    sentence: str


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """The whole judgement of one record."""

    status: Status
    findings: tuple[Finding, ...]
    gates: tuple[GateResult, ...]
    dimensions: Mapping[str, Mapping[str, DimensionResult]]  # configuration -> dimension -> result
    recommendations: tuple[Recommendation, ...]
    sentence: str  # quotable
    layers: Mapping[str, tuple[LayerResult, ...]] = field(default_factory=dict)  # for training on several workers

    @property
    def recommended(self) -> str | None:
        """The recommended configuration."""
        return self.recommendations[0].configuration if self.recommendations else None
