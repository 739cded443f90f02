"""What does a verdict consist of?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from assay.spec.experiment import EVERY_DIMENSION

# invalid: the record or configuration is inadmissible. fail: the run is admissible and its result is wrong.
Severity = Literal["invalid", "fail", "warning", "note"]
Status = Literal["PASS", "FAIL", "INCONCLUSIVE", "INVALID", "NOT_MEASURED"]
QUALITY_AT_FLOOR = "quality_at_floor"  # the rule of the audit: a record's own reference cannot show a loss
DIMENSIONS: tuple[str, ...] = EVERY_DIMENSION


@dataclass(frozen=True, kw_only=True)
class Finding:
    """What an audit found: the rule, the evidence, the remedy."""

    rule: str  # stable name, for example "samples_lost"
    severity: Severity
    configuration: str | None  # None: the whole record
    evidence: str  # one sentence with numbers
    remedy: str  # one sentence: what to do
    needs: tuple[str, ...] = ()  # quantities that, measured in the same launches, would settle it


@dataclass(frozen=True, kw_only=True)
class GateResult:
    """One gate on one configuration."""

    gate: str
    configuration: str
    status: Status
    sentence: str  # "efficiency 0.87 [0.83, 0.91] is above 0.70"


@dataclass(frozen=True, kw_only=True)
class DimensionResult:
    """One of the four dimensions of one configuration."""

    status: Status
    sentence: str


LayerState = Literal["pass", "fail", "not run", "advice"]


@dataclass(frozen=True, kw_only=True)
class LayerResult:
    """One layer of the correctness of a distributed training, on one configuration."""

    layer: str  # ledger, gradient, hashes, trajectory
    title: str
    state: LayerState  # advice: what was seen decides nothing
    sentence: str


@dataclass(frozen=True, kw_only=True)
class Recommendation:
    """A configuration picked for a reason."""

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
    sentence: str  # the one that may be quoted
    layers: Mapping[str, tuple[LayerResult, ...]] = field(default_factory=dict)  # of a training on several workers
