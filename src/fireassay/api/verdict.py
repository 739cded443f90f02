"""What can a program do with the verdict on a record?

Which pitfalls does a record, or a published claim, fall into?

How does a metric's value show itself to a program and in a notebook?
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fireassay.estimates import estimate
from fireassay.estimates.estimate import Value
from fireassay.estimates.format import show
from fireassay.frames.record_data import from_record
from fireassay.printable import one_line, printable
from fireassay.record.lookup import resolve
from fireassay.record.reader import judged_from, open_record
from fireassay.reports import fragments as html
from fireassay.reports.answering import TONES
from fireassay.reports.pages import pitfalls
from fireassay.reports.pages.pitfalls import Sheet
from fireassay.spec.claim import load_claim
from fireassay.verdict.claims.claim import audit_claim, facts_needed, smallest_set
from fireassay.verdict.judge import judge
from fireassay.verdict.pitfalls import of_record as pitfalls_of

if TYPE_CHECKING:
    from fireassay.verdict import types


@dataclass(frozen=True)
class Verdict:
    """The verdict on a record.

    >>> import fireassay
    >>> verdict = fireassay.open("digits").judge()
    >>> verdict.status
    'INCONCLUSIVE'
    >>> print(verdict.sentence)
    good: 1 worker is the largest admissible worker count (the base): ...
    >>> verdict.recommendation.configuration
    'workers=1'
    >>> verdict.dimensions["workers=2"]["performance"].status
    'INCONCLUSIVE'
    >>> [(gate.gate, gate.status) for gate in verdict.gates if gate.configuration == "workers=2"]
    [('efficiency', 'INCONCLUSIVE'), ('quality', 'PASS')]
    >>> sorted({finding.severity for finding in verdict.findings})
    ['note', 'warning']
    """

    name: str
    _judged: types.Verdict = field(repr=False)

    @property
    def status(self) -> types.Status:
        """PASS, GAIN, NO_GAIN, MEASURED, FAIL, INCONCLUSIVE or INVALID."""
        return self._judged.status

    @property
    def sentence(self) -> str:
        """The sentence that may be quoted."""
        return self._judged.sentence

    @property
    def dimensions(self) -> Mapping[str, Mapping[str, types.DimensionResult]]:
        """Configuration -> correctness, performance, cost and reliability, each with status and sentence."""
        return self._judged.dimensions

    @property
    def gates(self) -> tuple[types.GateResult, ...]:
        """Every gate at every configuration, with status and sentence."""
        return self._judged.gates

    @property
    def findings(self) -> tuple[types.Finding, ...]:
        """What the audits found: rule, severity, evidence and remedy, most severe first."""
        return self._judged.findings

    @property
    def recommendations(self) -> tuple[types.Recommendation, ...]:
        """One configuration per goal: recommended, cheapest, fastest."""
        return self._judged.recommendations

    @property
    def recommendation(self) -> types.Recommendation | None:
        """The recommended configuration and why; None for records that compare nothing."""
        return next((pick for pick in self.recommendations if pick.goal == "recommended"), None)

    def __repr__(self) -> str:
        return f"Verdict({self.name!r}: {self.status})"

    def __str__(self) -> str:
        return printable(f"{self.status}  {self.sentence}")

    def _repr_html_(self) -> str:
        rows = (
            (configuration, *(result.status.replace("_", " ").lower() for result in results.values()))
            for configuration, results in self.dimensions.items()
        )
        names = next(iter(self.dimensions.values()), {})
        return html.verdict(TONES[self.status], self.status, self.sentence) + html.table(("configuration", *names), rows)


def of_claim(path: Path) -> Sheet:
    """Those of the claim in a TOML file."""
    claim = load_claim(path)
    when = f", {claim.claim.as_of}" if claim.claim.as_of else ""
    return pitfalls.of_claim(claim.claim.text, f"{claim.claim.source}{when}", audit_claim(claim))


def of_record(name: str, root: Path) -> Sheet:
    """Those of a record."""
    path = resolve(name, root)
    with judged_from(path):
        measured = from_record(open_record(path))
        judgement = judge(measured)
        found = pitfalls_of(measured)
    verdict = judgement.verdict
    return Sheet(
        kind="record",
        subject=one_line(measured.experiment.name),
        source=one_line(path.name),
        status=verdict.status,
        sentence=verdict.sentence,
        pitfalls=found,
        quantities=smallest_set(facts_needed(verdict.findings)),
    )


class Estimate(estimate.Estimate):
    """A value with its interval: `value`, `low`, `high`, `unit`, `confidence`, `n_launches`, `n_trials`, `method`, `launch_values`.

    >>> import fireassay
    >>> speedup = fireassay.open("digits").metric("speedup", workers=2)
    >>> speedup
    Estimate(1.70 [1.00, 2.88] (one far out), unit='ratio', n_launches=3)
    >>> print(speedup.method)
    Student t on the log ratio of 3 rounds, step time, relative to workers=1
    """

    def __str__(self) -> str:
        return _written(self)

    def __repr__(self) -> str:
        return f"Estimate({self}, unit={self.unit!r}, n_launches={self.n_launches})"

    def _repr_html_(self) -> str:
        return f'<span title="{html.text(self.method)}">{html.text(self)}</span>'


class Absent(estimate.Absent):
    """A value that is not there: `reason` in one word, `detail` in one sentence. Never 0.

    >>> import fireassay
    >>> fireassay.open("digits").metric("mfu", workers=2)
    Absent(not measured (...))
    """

    def __str__(self) -> str:
        return _written(self)

    def __repr__(self) -> str:
        return f"Absent({self})"

    def _repr_html_(self) -> str:
        return f"<span>{html.text(self)}</span>"


def of(value: Value) -> Estimate | Absent:
    """The value of a metric for people."""
    fields: dict[str, Any] = vars(value)
    return Estimate(**fields) if isinstance(value, estimate.Estimate) else Absent(**fields)


def _written(value: Value) -> str:
    """As in reports: "12.3 ms [12.1, 12.5]", or the reason."""
    return printable(show(value).full)
