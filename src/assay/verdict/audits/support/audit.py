"""What must an audit's file declare?  One file holds one `AUDIT`; its stem is the audit's name.

An audit asks one question about a pitfall.  `examine` looks at a record and its metrics, `claim` at what somebody published;
both say what makes the numbers inadmissible or doubtful, and both are pure.  Findings on a claim: invalid, fail and warning
mean that it fell into the pitfall; a note means that it does not say what would be needed to tell.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from assay.frames.record_data import Measured
from assay.metrics.base import LAUNCHED, Results
from assay.spec.claim import Claim
from assay.verdict.types import Finding

Examination = Callable[[Measured, Results], tuple[Finding, ...]]


def claims_only(_: Measured, __: Results) -> tuple[Finding, ...]:
    """The examination of an audit that a record cannot fail: it concerns what people write, not what assay measures."""
    return ()


@dataclass(frozen=True, kw_only=True)
class Audit:
    """An audit's name, question and examinations."""

    name: str
    question: str
    examine: Examination  # of a record
    title: str = ""  # the pitfall as people call it: "weak baseline"; default: the name
    claim: Callable[[Claim], tuple[Finding, ...]] | None = None  # the same question about a claim
    about: tuple[str, ...] = LAUNCHED  # the records that it looks at
    first: bool = False  # its findings stand before others of their gravity: without them the rest is misread
    blind: Callable[[Measured, Results], str | None] | None = None  # why a record cannot be examined; None: it can

    @property
    def called(self) -> str:
        """The pitfall's name for people."""
        return self.title or self.name.replace("_", " ")

    @property
    def of_records(self) -> bool:
        """Whether a record can fall into this pitfall at all."""
        return self.examine is not claims_only
