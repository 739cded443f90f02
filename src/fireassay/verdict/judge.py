"""What is the verdict on this record?

Order: metrics, audits, gates, recommendation, sentence. Pure: the same record always gives the same judgement. Status, by precedence:
INVALID (an audit found the record inadmissible) > FAIL (distribution gave a wrong result, a fault was not survived, or
what was required is not admissible) > INCONCLUSIVE (the evidence supports no recommendation) > PASS.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from fireassay import catalog
from fireassay.estimates.estimate import Value
from fireassay.frames.record_data import RecordData
from fireassay.metrics.metric import Metric, OfRecord, Results
from fireassay.metrics.needs import values
from fireassay.spec.kind import EVERY
from fireassay.verdict.audits.support.audit import Audit
from fireassay.verdict.gates.support.gate import Gate
from fireassay.verdict.imported import unexamined
from fireassay.verdict.judging import Evidence, Judging
from fireassay.verdict.types import Finding, GateResult, Verdict


@dataclass(frozen=True, kw_only=True)
class Judgement:
    """The full result of judging one record."""

    results: Results  # metric name -> configuration (or "all") -> value
    verdict: Verdict
    metrics: Mapping[str, Metric]  # definitions of the names in `results`


def judge(measured: RecordData, on_progress: Callable[[int, int], None] | None = None) -> Judgement:
    """Judge one record; `on_progress` is called with the metrics computed so far, and all."""
    metrics = about(measured)
    results = compute(measured, metrics, on_progress)
    evidence = Evidence(data=measured, results=results, findings=audit(measured, results), gates=check(measured, results))
    return Judgement(results=results, verdict=conclude(evidence), metrics=metrics)


def conclude(evidence: Evidence) -> Verdict:
    """The verdict that the record's kind draws from the evidence."""
    judging: Judging = catalog.part("kinds", evidence.data.kind.name, "judging", "JUDGING")
    vector = judging.dimensions(evidence)
    recommendations = judging.recommend(evidence, vector)
    verdict = Verdict(
        status=judging.status(evidence, recommendations),
        findings=evidence.findings,
        gates=evidence.gates,
        dimensions=vector,
        recommendations=recommendations,
        sentence="",
        layers=judging.layers(evidence),
    )
    return replace(verdict, sentence=judging.sentence(evidence, verdict))


def about(measured: RecordData) -> dict[str, Metric]:
    """The metrics defined for this record."""
    every: Mapping[str, Metric] = catalog.load_all("metrics")
    known = {name: metric for name, metric in every.items() if measured.kind.concerns(metric.about) and metric.asked(measured)}
    if measured.foreign is None and not measured.kind.samples_items:
        return known
    of_kinds: Mapping[str, OfRecord] = catalog.parts("kinds", "recorded", "OF_RECORD")
    of_record = of_kinds.get(measured.kind.name)
    return known if of_record is None else {**known, **of_record(measured)}


def compute(
    measured: RecordData, metrics: Mapping[str, Metric], on_progress: Callable[[int, int], None] | None = None
) -> dict[str, Mapping[str, Value]]:
    """All metrics, each after its dependencies."""
    results: dict[str, Mapping[str, Value]] = {}
    for name in in_order(metrics):
        results[name] = values(metrics[name], measured, results)
        if on_progress is not None:
            on_progress(len(results), len(metrics))
    return {name: results[name] for name in sorted(results)}


def in_order(metrics: Mapping[str, Metric]) -> list[str]:
    """Metric names in topological order of `after` (graphlib raises on a cycle)."""
    from graphlib import TopologicalSorter

    return list(TopologicalSorter({name: metric.after for name, metric in metrics.items()}).static_order())


def audit(measured: RecordData, results: Results) -> tuple[Finding, ...]:
    """The findings of all audits, most severe first."""
    audits: Mapping[str, Audit] = catalog.load_all("verdict.audits")
    senseless = unexamined(measured, audits)
    findings = [
        (registered, finding)
        for name, registered in sorted(audits.items())
        if measured.kind.concerns(registered.about) and name not in senseless
        for finding in _limited(measured, registered, registered.examine(measured, results))
    ]
    gravity = {"invalid": 0, "fail": 1, "warning": 2, "note": 3}
    ordered = sorted(findings, key=lambda pair: (gravity[pair[1].severity], not pair[0].first))
    return tuple(finding for _, finding in ordered)


def _limited(measured: RecordData, audit: Audit, findings: Iterable[Finding]) -> Iterable[Finding]:
    """Where the items are the sample, what makes a load inadmissible spoils its times; the answers remain what they are."""
    kind = measured.kind
    if not kind.samples_items or EVERY in audit.about or kind.name in audit.about:
        return findings
    return (replace(found, severity="warning", of_times=True) if found.severity == "invalid" else found for found in findings)


def check(measured: RecordData, results: Results) -> tuple[GateResult, ...]:
    """The results of all gates."""
    gates: Mapping[str, Gate] = catalog.load_all("verdict.gates")
    return tuple(
        result for _, gate in sorted(gates.items()) if measured.kind.concerns(gate.about) for result in gate.check(measured, results)
    )
