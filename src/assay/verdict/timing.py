"""What is the verdict on a record that only times a command or a function?

It claims a time and nothing else: quality, cost and reliability are naturally not measured, and their absence decides
nothing.  PASS: there is an interval over launches.  INCONCLUSIVE: fewer than 3 launches ended.  INVALID: as for every record.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from assay.estimates.estimate import Absent, Estimate, Value
from assay.estimates.format import count, percent, show
from assay.frames.record_data import Measured
from assay.frames.trials import is_timing as is_timing
from assay.metrics import calls
from assay.metrics.base import Results
from assay.verdict.gates.support.gate import FEWEST_LAUNCHES, too_few
from assay.verdict.status import forced
from assay.verdict.types import Finding, Status

METRICS: Final = tuple(metric.name for metric in calls.METRICS)  # what such a record is about; the rest says nothing of it


def own(results: Results) -> Results:
    """The results that say something about a call."""
    return {name: results[name] for name in METRICS if name in results}


def the_time(results: Results) -> Value:
    """The time of a call; a timing has one configuration."""
    return next(iter(results["trial_time"].values()))


def status(results: Results, findings: Sequence[Finding]) -> Status:
    """One status for a record that only times."""
    if forced(findings) == "INVALID":
        return "INVALID"
    value = the_time(results)
    if isinstance(value, Absent) or value.n_launches < FEWEST_LAUNCHES:
        return "INCONCLUSIVE"
    return "PASS"


def sentence(measured: Measured, results: Results, status: Status, findings: Sequence[Finding]) -> str:
    """The quotable sentence of a timing."""
    name, value = measured.experiment.name, the_time(results)
    if status == "INVALID":
        worst = next(finding for finding in findings if finding.severity == "invalid")
        return f"{name}: INVALID, no number of this record may be quoted: {worst.evidence}."
    if isinstance(value, Absent):
        return f"{name}: INCONCLUSIVE: {value.detail}."
    if status == "INCONCLUSIVE":
        return f"{name}: INCONCLUSIVE: {show(value).text}; {too_few(value.n_launches)}."
    return f"{name}: {claim(value)}. Only time was measured: no quality, cost or reliability."


def claim(value: Estimate) -> str:
    """The number, its interval and what it rests on."""
    return (
        f"{show(value).full} a call ({percent(value.confidence, 4)} over {count(value.n_launches, 'launches')}, "
        f"{count(value.n_trials, 'trials')} in all)"
    )
