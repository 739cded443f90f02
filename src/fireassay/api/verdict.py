"""What can a program do with the verdict on a record?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from fireassay.printable import printable
from fireassay.reports import fragments as html

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
        """PASS, NO_GAIN, FAIL, INCONCLUSIVE or INVALID."""
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
        return html.paragraph(self.status, self.sentence) + html.table(("configuration", *names), rows)
