"""What must an audit's file declare?

A file holds a family, `AUDITS`, each declared above the function that examines, or one `AUDIT` named after it. An audit asks one question
about a pitfall: `examine` checks a record, reads the metrics that it needs, and reports what makes the numbers inadmissible or doubtful.
Pure. `fireassay.verdict.claims` audits what others published.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from fireassay.frames.record_data import RecordData
from fireassay.metrics.metric import LAUNCHED, Results
from fireassay.verdict.types import Finding

SERVING: tuple[str, ...] = ("serving",)
TRAINING: tuple[str, ...] = ("training",)
Examination = Callable[[RecordData, Results], Iterable[Finding]]
Blindness = Callable[[RecordData, Results], str | None]  # why a record cannot be checked; None if it can
E = TypeVar("E", bound=Examination)
B = TypeVar("B", bound=Blindness)


@dataclass(frozen=True)
class Audit:
    """An audit's name, question and check."""

    name: str
    question: str
    examine: Examination  # checks a record
    title: str = ""  # the pitfall's usual name: "weak baseline"; default: the name
    about: tuple[str, ...] = LAUNCHED  # kinds of record it applies to
    first: bool = False  # list its findings before others of equal severity: without them the rest is misread
    blind: Blindness | None = None

    @property
    def called(self) -> str:
        """The pitfall's display name."""
        return self.title or self.name.replace("_", " ")


class Audits(list[Audit]):
    """The audits of a file; `about` is that of those that declare none."""

    def __init__(self, about: tuple[str, ...] = LAUNCHED) -> None:
        super().__init__()
        self.about = about

    def add(self, name: str, question: str, **declared: Any) -> Callable[[E], E]:
        """Declare the audit that a function makes, by the fields of `Audit`."""

        def declare(examine: E) -> E:
            self.append(Audit(name, question, examine, **{"about": self.about, **declared}))
            return examine

        return declare

    def blind(self, name: str) -> Callable[[B], B]:
        """Declare the function that says why a record is not checked by an audit above."""

        def declare(blind: B) -> B:
            self[:] = [replace(audit, blind=blind) if audit.name == name else audit for audit in self]
            return blind

        return declare
