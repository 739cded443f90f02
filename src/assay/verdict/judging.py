"""What must a kind say so that its records can be judged?

`kinds/<name>/judging.py` holds one JUDGING.  The judge computes the metrics and asks audits and gates for every kind alike; what differs
between kinds is what they make of that evidence.  Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from assay.frames.record_data import Measured
from assay.metrics.base import Results
from assay.verdict.types import DimensionResult, Finding, GateResult, LayerResult, Recommendation, Status, Verdict

Vector = Mapping[str, Mapping[str, DimensionResult]]  # configuration -> dimension -> how it stands
Layers = Mapping[str, tuple[LayerResult, ...]]  # configuration -> its layers of correctness


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """What a record shows, before anything is concluded."""

    data: Measured
    results: Results
    findings: tuple[Finding, ...]
    gates: tuple[GateResult, ...]


@dataclass(frozen=True, kw_only=True)
class Judging:
    """What a kind makes of the evidence."""

    dimensions: Callable[[Evidence], Vector]
    recommend: Callable[[Evidence, Vector], tuple[Recommendation, ...]]  # the recommended configuration first
    status: Callable[[Evidence, tuple[Recommendation, ...]], Status]
    sentence: Callable[[Evidence, Verdict], str]  # from the verdict that lacks its sentence
    layers: Callable[[Evidence], Layers] = lambda _: {}


def nothing_to_pick(why: str) -> Callable[[Evidence, Vector], tuple[Recommendation, ...]]:
    """For records that compare nothing: why there is nothing to recommend."""
    return lambda evidence, vector: (Recommendation(goal="recommended", configuration=None, sentence=why),)
