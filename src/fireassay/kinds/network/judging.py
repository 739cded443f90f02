"""What is the verdict on a network probe?

FAIL: a requested host never answered.  INVALID: an audit found the record inadmissible.  INCONCLUSIVE: a requested number is missing,
or rests on fewer than 3 rounds.  MEASURED: every host answered and every number has its interval; warnings may still name problems of the
path.  Nothing is recommended.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from fireassay.estimates.estimate import Absent, Estimate, Value
from fireassay.estimates.format import count, show
from fireassay.frames.links.network_probe import BACK, hosts
from fireassay.frames.record_data import RecordData
from fireassay.metrics.metric import Results
from fireassay.verdict.gates.gate import MIN_LAUNCHES, too_few
from fireassay.verdict.judging import Evidence, Judging, forced, nothing_to_pick
from fireassay.verdict.phrases import launch_words, machine_words
from fireassay.verdict.types import DimensionResult, Finding, Recommendation, Status

NOTHING_TO_PICK: Final = "a network probe compares no configurations of a workload"


def overall(measured: RecordData, results: Results, findings: Sequence[Finding]) -> Status:
    """One status for the record."""
    return forced(findings) or ("INCONCLUSIVE" if gaps(measured, results) else "MEASURED")


def gaps(measured: RecordData, results: Results) -> list[str]:
    """Requested numbers that are missing or unreliable."""
    missing = []
    for host in hosts(measured):
        for metric, key, words in (
            ("round_trip", host, "the round trip"),
            ("link_rate", host, "the rate there"),
            ("link_rate", f"{host}{BACK}", "the rate back"),
        ):
            value = results.get(metric, {}).get(key)
            if isinstance(value, Estimate):
                missing += [f"{words} of {host}: {too_few(value.n_launches)}"] if value.n_launches < MIN_LAUNCHES else []
            else:
                missing.append(f"{words} of {host}: {value.detail if isinstance(value, Absent) else 'not measured'}")
    return list(dict.fromkeys(missing))


def _dimensions(measured: RecordData, results: Results, findings: Sequence[Finding]) -> Mapping[str, Mapping[str, DimensionResult]]:
    worst: Status = overall(measured, results, findings)
    missing, bad = gaps(measured, results), [finding for finding in findings if finding.severity in ("fail", "warning")]
    reasons = {
        "FAIL": next((finding.evidence for finding in findings if finding.severity == "fail"), ""),
        "INCONCLUSIVE": missing[0] if missing else "",
    }
    performance = DimensionResult(status=worst, sentence=reasons.get(worst) or _hosts_words(measured, results))
    lost = [value for host in hosts(measured) if isinstance(value := results.get("echoes_lost", {}).get(host), Estimate)]
    reliability = DimensionResult(
        status="NOT_MEASURED" if not lost else "FAIL" if worst == "FAIL" else "PASS",
        sentence="no host answered"
        if not lost
        else f"{count(sum(value.n_trials for value in lost), 'echoes')}, {count(len(bad), 'warnings')}",
    )
    nothing = DimensionResult(status="NOT_MEASURED", sentence="a network probe computes nothing")
    return {
        name: {
            "correctness": nothing,
            "performance": performance,
            "reliability": reliability,
            "cost": DimensionResult(status="NOT_MEASURED", sentence="no price was given"),
        }
        for name in measured.configurations
    }


def _sentence(measured: RecordData, results: Results, status: Status, findings: Sequence[Finding]) -> str:
    name = measured.experiment.name
    if status in ("INVALID", "FAIL"):
        worst = next(finding for finding in findings if finding.severity == status.lower())
        return f"{name}: {status}: {worst.evidence}."
    if status == "INCONCLUSIVE":
        missing = gaps(measured, results)
        more = f", and {count(len(missing) - 1, 'others')}" if len(missing) > 1 else ""
        return f"{name}: INCONCLUSIVE: {missing[0]}{more}."
    return f"{name}: {_hosts_words(measured, results)}. Conditions: one TCP connection, payload; {launch_words(measured)}{machine_words(measured.before)}."


def _hosts_words(measured: RecordData, results: Results) -> str:
    return "; ".join(_host_words(results, host) for host in hosts(measured))


def _host_words(results: Results, host: str) -> str:
    def text(value: Value | None) -> str:
        return show(value).full if isinstance(value, Estimate) else "not measured"

    rates = results.get("link_rate", {})
    return (
        f"{host}: round trip {text(results.get('round_trip', {}).get(host))}, there {text(rates.get(host))}, "
        f"back {text(rates.get(f'{host}{BACK}'))}"
    )


def status(evidence: Evidence, _: tuple[Recommendation, ...] = ()) -> Status:
    """One status for the record."""
    return overall(evidence.data, evidence.results, evidence.findings)


JUDGING = Judging(
    dimensions=lambda evidence: _dimensions(evidence.data, evidence.results, evidence.findings),
    recommend=nothing_to_pick(NOTHING_TO_PICK),
    status=status,
    sentence=lambda evidence, verdict: _sentence(evidence.data, evidence.results, verdict.status, evidence.findings),
)
