"""What must a kind declare so that its records can be judged?

`kinds/<name>/judging.py` holds one JUDGING. Metrics, audits and gates run alike for every kind; kinds differ in the conclusions that
they draw from this evidence. Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from fireassay.frames.record_data import RecordData
from fireassay.metrics.metric import Results
from fireassay.verdict.types import DimensionResult, Finding, GateResult, LayerResult, Recommendation, Status, Verdict

Vector = Mapping[str, Mapping[str, DimensionResult]]  # configuration -> dimension -> result
Layers = Mapping[str, tuple[LayerResult, ...]]  # configuration -> its layers of correctness


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """A record's metrics, findings and gates, before any conclusion."""

    data: RecordData
    results: Results
    findings: tuple[Finding, ...]
    gates: tuple[GateResult, ...]


Answer = Literal["kept", "in part", "not kept", "not applicable"]
RuleAnswer = tuple[Answer, str, str]  # answer, evidence, remedy
NO_ENVIRONMENT: RuleAnswer = ("not kept", "the record holds no environment", "run with assay run, which captures it")


@dataclass(frozen=True, kw_only=True)
class Methods:
    """How a kind measures, where this differs from timing the steps of workers."""

    answers: Mapping[int, Callable[[RecordData, Results], RuleAnswer]] = field(default_factory=dict)  # rule of Hoefler and Belli -> answer
    launches: str = "fresh processes, in random order, with seeds shared within a block"  # source of variation
    seeded: bool = True  # launches.seed fixes seeds of the workload
    run_times: Literal["by workers", "per launch", "none"] = "by workers"  # in the artifact form


@dataclass(frozen=True, kw_only=True)
class Judging:
    """A kind's rules for drawing conclusions from the evidence."""

    dimensions: Callable[[Evidence], Vector]
    recommend: Callable[[Evidence, Vector], tuple[Recommendation, ...]]  # the recommended configuration first
    status: Callable[[Evidence, tuple[Recommendation, ...]], Status]
    sentence: Callable[[Evidence, Verdict], str]  # given the verdict without its sentence
    layers: Callable[[Evidence], Layers] = lambda _: {}
    methods: Methods = Methods()


def nothing_to_pick(why: str) -> Callable[[Evidence, Vector], tuple[Recommendation, ...]]:
    """For records that compare nothing: says why there is no recommendation."""
    return lambda evidence, vector: (Recommendation(goal="recommended", configuration=None, sentence=why),)
