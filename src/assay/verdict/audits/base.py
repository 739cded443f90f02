"""What must an audit's file declare?  One file holds one `AUDIT`; its stem is the audit's name.

An audit looks at the record and the metrics and says what makes them inadmissible or doubtful.  It is pure.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from assay.metrics.base import Results
from assay.metrics.measured import Measured
from assay.verdict.types import Finding


@dataclass(frozen=True, kw_only=True)
class Audit:
    """An audit's name, question and examination."""

    name: str
    question: str
    examine: Callable[[Measured, Results], tuple[Finding, ...]]
