"""What is the verdict on this record?  Metrics, then audits, then gates, then the recommendation, then the sentence.

Pure: the same record gives the same judgement in ten years.  Order of precedence of the status:
INVALID (an audit found the record inadmissible) > FAIL (distribution gave a wrong result, a fault was not survived, or
what was required is not admissible) > INCONCLUSIVE (nothing can be recommended on this evidence) > PASS.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from assay import catalog
from assay.estimates.estimate import Value
from assay.frames.record_data import Measured
from assay.metrics.base import Metric, Results
from assay.metrics.needs import values
from assay.spec.plan import configuration_name
from assay.verdict import collectives, network, serving, timing
from assay.verdict.audits.support.audit import Audit
from assay.verdict.dimensions import dimensions
from assay.verdict.gates.support.gate import Gate
from assay.verdict.imported import unexamined
from assay.verdict.layers import layers
from assay.verdict.recommend import admissible, recommend, standing
from assay.verdict.sentence import sentence
from assay.verdict.status import forced
from assay.verdict.types import Finding, GateResult, Recommendation, Status, Verdict


@dataclass(frozen=True, kw_only=True)
class Judgement:
    """Everything that judging one record gives."""

    results: Results  # metric name -> configuration (or "all") -> value
    verdict: Verdict
    metrics: Mapping[str, Metric]  # what the names in `results` mean


def judge(measured: Measured) -> Judgement:
    """Judge one record."""
    metrics = about(measured)
    results = compute(measured, metrics)
    findings = audit(measured, results)
    gates = check(measured, results)
    if measured.subject == "serving":
        return Judgement(results=results, verdict=serving.verdict(measured, results, findings, gates), metrics=metrics)
    if measured.subject == "collectives":
        return Judgement(results=results, verdict=collectives.verdict(measured, results, findings, gates), metrics=metrics)
    if measured.subject == "network":
        return Judgement(results=results, verdict=network.verdict(measured, results, findings, gates), metrics=metrics)
    vector = dimensions(measured, results, findings, gates)
    recommendations = recommend(measured, results, findings, gates, vector)
    status = overall(measured, results, findings, gates, recommendations)
    verdict = Verdict(
        status=status,
        findings=findings,
        gates=gates,
        dimensions=vector,
        recommendations=recommendations,
        sentence=timing.sentence(measured, results, status, findings)
        if timing.is_timing(measured)
        else sentence(measured, results, status, findings, gates, recommendations, vector),
        layers=layers(measured, results, findings),
    )
    return Judgement(results=results, verdict=verdict, metrics=metrics)


def about(measured: Measured) -> dict[str, Metric]:
    """The metrics that have a meaning for this record."""
    every: Mapping[str, Metric] = catalog.load_all("metrics")
    return {name: metric for name, metric in every.items() if measured.subject in metric.about}


def compute(measured: Measured, metrics: Mapping[str, Metric]) -> dict[str, Mapping[str, Value]]:
    """All metrics, each after those that it builds on."""
    results: dict[str, Mapping[str, Value]] = {}
    for name in in_order(metrics):
        results[name] = values(metrics[name], measured, results)
    return {name: results[name] for name in sorted(results)}


def in_order(metrics: Mapping[str, Metric]) -> list[str]:
    """Names so that every metric comes after those it names in `after` (graphlib raises on a cycle)."""
    from graphlib import TopologicalSorter

    return list(TopologicalSorter({name: metric.after for name, metric in metrics.items()}).static_order())


def audit(measured: Measured, results: Results) -> tuple[Finding, ...]:
    """The findings of all audits, the gravest first."""
    audits: Mapping[str, Audit] = catalog.load_all("verdict.audits")
    senseless = unexamined(measured, audits)
    found = [
        (one, finding)
        for name, one in sorted(audits.items())
        if measured.subject in one.about and name not in senseless
        for finding in one.examine(measured, results)
    ]
    gravity = {"invalid": 0, "fail": 1, "warning": 2, "note": 3}
    ordered = sorted(found, key=lambda pair: (gravity[pair[1].severity], not pair[0].first))
    return tuple(finding for _, finding in ordered)


def check(measured: Measured, results: Results) -> tuple[GateResult, ...]:
    """The results of all gates."""
    gates: Mapping[str, Gate] = catalog.load_all("verdict.gates")
    return tuple(result for _, one in sorted(gates.items()) if measured.subject in one.about for result in one.check(measured, results))


def overall(
    measured: Measured,
    results: Results,
    findings: tuple[Finding, ...],
    gates: tuple[GateResult, ...],
    recommendations: tuple[Recommendation, ...],
) -> Status:
    """One status for the record."""
    if timing.is_timing(measured):
        return timing.status(results, findings)
    if (already := forced(findings, gates)) is not None:
        return already
    required = measured.experiment.gates.required_workers
    if required is not None:
        return standing(measured, configuration_name(required), findings, gates)
    if recommendations[0].configuration is not None:
        return "PASS"
    hopeless = all(admissible(name, findings, gates) == "FAIL" for name in measured.configurations)
    return "FAIL" if hopeless else "INCONCLUSIVE"
