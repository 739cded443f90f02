"""What is the verdict on this record?

Judging asks: an audit, a gate or a sentence reads the metrics that it needs, and these are computed then. Pure: the same record always
gives the same judgement. Status, by precedence:
INVALID (an audit found the record inadmissible) > FAIL (distribution gave a wrong result, a fault was not survived, or
what was required is not admissible) > INCONCLUSIVE (the evidence supports no recommendation) > PASS.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from fireassay import catalog
from fireassay.frames.record_data import RecordData
from fireassay.metrics.metric import Metric, Results
from fireassay.metrics.results import LazyResults
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
    """Judge one record: ask for every metric of the requested dimensions, every audit and every gate.

    `on_progress` is called with the metrics computed so far, and all. Metrics of other dimensions are computed when something reads them.
    """
    results = LazyResults(measured)
    requested = [name for name in results if results.metrics[name].dimension in measured.experiment.verdict.wanted]
    for done, name in enumerate(requested, start=1):
        results[name]
        if on_progress is not None:
            on_progress(done, len(requested))
    evidence = Evidence(data=measured, results=results, findings=examine(measured), gates=check(measured))
    return Judgement(results=results, verdict=conclude(evidence), metrics=results.metrics)


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


def examine(measured: RecordData, *names: str) -> tuple[Finding, ...]:
    """The findings of these audits, or of all, most severe first; only the metrics that they read are computed.

    Raises:
        EnvironmentLacks: there is no audit of this name.
    """
    audits: Mapping[str, Audit] = _named("verdict.audits", names, measured)
    senseless = unexamined(measured, audits)
    findings = [
        (audit, finding)
        for name, audit in sorted(audits.items())
        if measured.kind.concerns(audit.about) and name not in senseless
        for finding in _limited(measured, audit, examined(measured, audit))
    ]
    gravity = {"invalid": 0, "fail": 1, "warning": 2, "note": 3}
    ordered = sorted(findings, key=lambda pair: (gravity[pair[1].severity], not pair[0].first))
    return tuple(finding for _, finding in ordered)


def examined(measured: RecordData, audit: Audit) -> tuple[Finding, ...]:
    """What an audit finds in a record, examined once per record."""
    return measured.once(f"audit {audit.name}", lambda data: tuple(audit.examine(data, LazyResults(data))))


def _limited(measured: RecordData, audit: Audit, findings: Iterable[Finding]) -> Iterable[Finding]:
    """Where the items are the sample, what makes a load inadmissible spoils its times; the answers remain what they are."""
    kind = measured.kind
    if kind.unit == "launch" or EVERY in audit.about or kind.name in audit.about:
        return findings
    return (replace(found, severity="warning", of_times=True) if found.severity == "invalid" else found for found in findings)


def check(measured: RecordData, *names: str) -> tuple[GateResult, ...]:
    """The results of these gates, or of all.

    Raises:
        EnvironmentLacks: there is no gate of this name.
    """
    gates: Mapping[str, Gate] = _named("verdict.gates", names, measured)
    return tuple(
        result
        for _, gate in sorted(gates.items())
        if measured.kind.concerns(gate.about)
        for result in gate.check(measured, LazyResults(measured))
    )


def _named(package: str, names: tuple[str, ...], measured: RecordData) -> Mapping[str, Any]:
    every: Mapping[str, Any] = catalog.load_all(package, measured.kind.unconcerned)
    return {name: every[name] if name in every else catalog.load(package, name) for name in names} if names else every
