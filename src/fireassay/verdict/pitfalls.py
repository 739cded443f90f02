"""Which pitfalls did a record fall into, which not, and which could not be examined?

Each audit is one pitfall. fallen into: it found something of severity invalid, fail or warning. not examined: no such finding, and
the audit names the facts that it lacked. clear: the rest. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, Protocol

from fireassay import catalog
from fireassay.frames.record_data import RecordData
from fireassay.metrics.results import LazyResults
from fireassay.verdict.audits.audit import Audit
from fireassay.verdict.judge import examined
from fireassay.verdict.phrases import unexamined
from fireassay.verdict.types import Finding

State = Literal["fallen into", "not examined", "clear"]
STATES: tuple[State, ...] = ("fallen into", "not examined", "clear")
GRAVE = ("invalid", "fail", "warning")
# Pitfalls of a record that times one command or function: it has no steps, quality or base.
OF_TIMINGS = frozenset(
    {
        "cherry_picked",
        "contention",
        "contradictory_file",
        "instrument_errors",
        "launches",
        "looks",
        "missing_synchronisation",
        "overhead",
        "sealed",
        "copied_rows",
        "counter_readings",
        "order_of_times",
        "processor_time",
        "row_counts",
    }
)
UNSEEN = "_not_measured"  # suffix of the rule of a note: the audit had no data


@dataclass(frozen=True, kw_only=True)
class Pitfall:
    """One pitfall and its state for a record or claim."""

    name: str  # the audit's name
    title: str
    question: str
    state: State
    findings: tuple[Finding, ...]
    reason: str  # why it could not be examined; empty otherwise


class Named(Protocol):
    """What a pitfall takes from its audit."""

    @property
    def name(self) -> str: ...

    @property
    def question(self) -> str: ...

    @property
    def called(self) -> str: ...


def of_record(measured: RecordData) -> tuple[Pitfall, ...]:
    """Every pitfall of a record, fallen ones first."""
    audits: Mapping[str, Audit] = catalog.load_all("verdict.audits")
    unexaminable = unexamined(measured, audits)
    pitfalls = []
    for audit in audits.values():
        if measured.kind.concerns(audit.about) and (not measured.kind.times_calls or audit.name in OF_TIMINGS):
            if audit.name in unexaminable:
                pitfalls.append(pitfall(audit, (), unexaminable[audit.name]))
                continue
            findings = examined(measured, audit)
            unseen = audit.blind(measured, LazyResults(measured)) if audit.blind is not None else _unseen(findings)
            pitfalls.append(pitfall(audit, findings, unseen or ""))
    return ordered(pitfalls)


def ordered(pitfalls: list[Pitfall]) -> tuple[Pitfall, ...]:
    """Fallen into, most severe first; then not examined; then clear."""
    return tuple(sorted(pitfalls, key=lambda pitfall: (STATES.index(pitfall.state), _gravity(pitfall), pitfall.title)))


def pitfall(audit: Named, findings: tuple[Finding, ...], unseen: str) -> Pitfall:
    """A pitfall from what its audit found; `unseen`: what kept it from looking."""
    grave = any(finding.severity in GRAVE for finding in findings)
    state: State = "fallen into" if grave else "not examined" if unseen else "clear"
    return Pitfall(
        name=audit.name, title=audit.called, question=audit.question, state=state, findings=findings, reason="" if grave else unseen
    )


def _unseen(findings: tuple[Finding, ...]) -> str:
    return next((finding.evidence for finding in findings if finding.rule.endswith(UNSEEN)), "")


def _gravity(pitfall: Pitfall) -> int:
    levels = ("invalid", "fail", "warning", "note")
    return min((levels.index(finding.severity) for finding in pitfall.findings), default=len(levels))
