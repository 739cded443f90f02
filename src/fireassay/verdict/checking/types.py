"""What does a check find?

Rows, each with its state; the deciding rows give the overall state and its sentence. The worst counts: a regression, then a missing
value, then an inconclusive row; an improvement only if no deciding row is any of these. Nothing passes without a deciding row, or
with a gap.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from fireassay.estimates.estimate import Value
from fireassay.metrics.metric import Better
from fireassay.stats.comparing.comparison import Difference
from fireassay.verdict.checking.history import History
from fireassay.verdict.comparison.types import Mismatch

SURE: Final = "intervals have"  # start of the note on confidence, which weakens nothing
State = Literal["pass", "regression", "improvement", "inconclusive", "not_comparable", "nothing_measured"]
RowState = Literal["pass", "regression", "improvement", "inconclusive", "nothing_measured", "listed"]
Design = Literal["in turn", "alternating sittings", "two records", "two records and a history", "a history", "none"]
Confirmation = Literal["not needed", "unconfirmed", "confirmed", "refuted", "undecided"]

STATES: Final[Mapping[State, tuple[int, str]]] = {
    "pass": (0, "a regression larger than the margin is excluded"),
    "regression": (1, "worse than the baseline beyond chance, or quality is degraded"),
    "not_comparable": (3, "a condition that must be equal differs, or a record is inadmissible"),
    "inconclusive": (4, "neither a regression nor its absence is shown"),
    "nothing_measured": (5, "the metric that decides has no value"),
    "improvement": (8, "better than the baseline beyond chance: the baseline may be renewed"),
}


@dataclass(frozen=True, kw_only=True)
class CheckRow:
    """One metric of one configuration against the baseline."""

    metric: str
    title: str
    configuration: str
    state: RowState
    decides: bool
    primary: bool = False
    suspected: bool = False  # supported only by launches of one day, or by fewer than 3 records
    better: Better
    baseline: Value | None = None
    value: Value | None = None
    difference: Difference | None = None
    p_adjusted: float | None = None
    margin: float | None = None
    launches_needed: int | None = None
    sentence: str = ""

    @property
    def in_doubt(self) -> bool:
        """True if it is a deciding number that may be due to the day; quality and wrong results do not depend on the day."""
        return self.decides and (self.suspected or self.state == "regression") and self.value is not None


@dataclass(frozen=True, kw_only=True)
class Check:
    """The result reported to a pipeline."""

    state: State
    design: Design = "none"
    baseline: str = ""  # label
    record: str
    rows: tuple[CheckRow, ...] = ()  # deciding rows first
    confirmation: Confirmation = "not needed"
    mismatches: tuple[Mismatch, ...] = ()
    refused: tuple[Mismatch, ...] = ()
    gaps: tuple[str, ...] = ()  # why it cannot pass even if nothing got worse
    notes: tuple[str, ...] = ()
    exploratory: bool = False
    sentence: str = ""
    histories: tuple[History, ...] = ()
    suspects_from: str = ""  # label of the last record before the suspected change, if a history decides

    @property
    def wants_confirmation(self) -> bool:
        """True if interleaved launches could change the result: a suspicion, or a regression between days."""
        if self.design in ("in turn", "alternating sittings") or self.state in ("not_comparable", "nothing_measured"):
            return False
        return any(row.in_doubt for row in self.rows)


def concluded(found: Check) -> Check:
    """The check with state and sentence from the deciding rows."""
    rows = [row for row in found.rows if row.decides]
    states = [row.state for row in rows]
    worst: State
    if "regression" in states:
        worst = "regression"
    elif "nothing_measured" in states:
        worst = "nothing_measured"
    elif "inconclusive" in states or found.gaps or not rows:
        worst = "inconclusive"
    else:
        worst = "improvement" if "improvement" in states else "pass"
    return replace(found, state=worst, sentence=_sentence(found, worst, rows))


def _sentence(check: Check, state: State, rows: Sequence[CheckRow]) -> str:
    chosen = [row for row in rows if row.state == state] or list(rows)
    text = "; ".join(row.sentence for row in chosen[:3]) + (f"; and {len(chosen) - 3} more" if len(chosen) > 3 else "")
    word = state.replace("_", " ").upper()
    if state == "regression" and check.confirmation == "unconfirmed" and any(row.in_doubt for row in chosen):
        word += " (unconfirmed)"
    if check.exploratory:
        word = f"EXPLORATORY {word}"
    if state == "inconclusive" and not any(row.state == "inconclusive" for row in rows) and check.gaps:
        text = f"{'; '.join(check.gaps)}; a pass would hide this"
    basis = {"in turn": " Based on interleaved launches.", "none": ""}.get(check.design, f" Based on {check.design}{_again(check)}.")
    return f"{word}: {text}.{basis}"


def _again(check: Check) -> str:
    return "" if check.confirmation in ("not needed", "unconfirmed") else " and fresh interleaved launches"
