"""What must an audit of published claims declare?

A file holds a family, `AUDITS`; each member asks one question about a pitfall. Its findings: invalid, fail and warning mean that the claim
fell into the pitfall; a note means that it lacks the information to decide. An audit of records by the same name gives title and question.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fireassay.verdict.types import Finding

if TYPE_CHECKING:
    from fireassay.spec.claim import Claim


@dataclass(frozen=True)
class ClaimAudit:
    """An audit of claims: its name, check and question."""

    name: str
    claim: Callable[[Claim], Iterable[Finding]]
    question: str = ""  # empty: as in the audit of records
    title: str = ""  # likewise

    @property
    def called(self) -> str:
        """The pitfall's display name."""
        return self.title or self.name.replace("_", " ")
