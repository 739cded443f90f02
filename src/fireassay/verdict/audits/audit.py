"""What must an audit's file declare?

A file holds a family, `AUDITS`, or one `AUDIT` named after it. An audit asks one question about a pitfall: `examine` checks a record, reads
the metrics that it needs, and reports what makes the numbers inadmissible or doubtful. Pure. `fireassay.verdict.claims` audits what others
published.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from fireassay.frames.record_data import RecordData
from fireassay.metrics.metric import LAUNCHED, Results
from fireassay.verdict.types import Finding

SERVING: tuple[str, ...] = ("serving",)
TRAINING: tuple[str, ...] = ("training",)
Examination = Callable[[RecordData, Results], Iterable[Finding]]


@dataclass(frozen=True)
class Audit:
    """An audit's name, question and check."""

    name: str
    question: str
    examine: Examination  # checks a record
    title: str = ""  # the pitfall's usual name: "weak baseline"; default: the name
    about: tuple[str, ...] = LAUNCHED  # kinds of record it applies to
    first: bool = False  # list its findings before others of equal severity: without them the rest is misread
    blind: Callable[[RecordData, Results], str | None] | None = None  # why a record cannot be checked; None if it can

    @property
    def called(self) -> str:
        """The pitfall's display name."""
        return self.title or self.name.replace("_", " ")
