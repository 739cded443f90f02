"""What must an audit's file declare?

One file holds one `AUDIT`; its stem is the audit's name. An audit asks one question about a pitfall. `examine` checks a record and its
metrics, `claim` a published claim; both report what makes the numbers inadmissible or doubtful, and both are pure. Findings on a claim:
invalid, fail and warning mean that it fell into the pitfall; a note means that it lacks the information to decide.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fireassay.frames.record_data import RecordData
from fireassay.metrics.metric import LAUNCHED, Results
from fireassay.verdict.types import Finding

if TYPE_CHECKING:
    from fireassay.spec.claim import Claim

Examination = Callable[[RecordData, Results], Iterable[Finding]]


def claims_only(_: RecordData, __: Results) -> tuple[Finding, ...]:
    """`examine` of an audit that applies to claims only."""
    return ()


@dataclass(frozen=True, kw_only=True)
class Audit:
    """An audit's name, question and checks."""

    name: str
    question: str
    examine: Examination  # checks a record
    title: str = ""  # the pitfall's usual name: "weak baseline"; default: the name
    claim: Callable[[Claim], Iterable[Finding]] | None = None  # checks a claim
    about: tuple[str, ...] = LAUNCHED  # kinds of record it applies to
    first: bool = False  # list its findings before others of equal severity: without them the rest is misread
    blind: Callable[[RecordData, Results], str | None] | None = None  # why a record cannot be checked; None if it can

    @property
    def called(self) -> str:
        """The pitfall's display name."""
        return self.title or self.name.replace("_", " ")

    @property
    def of_records(self) -> bool:
        """Whether the audit applies to records."""
        return self.examine is not claims_only
