"""Was quality held within the margin that was fixed beforehand?  One result for each configuration but the base."""

from __future__ import annotations

from typing import Final

from fireassay.estimates.estimate import Absent, Estimate
from fireassay.estimates.format import count, given, show
from fireassay.frames.record_data import RecordData
from fireassay.kinds.evaluation.held import Held, held
from fireassay.metrics.metric import Results
from fireassay.spec.experiment import Quality
from fireassay.stats.comparing.noninferiority import Decision
from fireassay.units import SCORE
from fireassay.verdict.gates.support.gate import Gate
from fireassay.verdict.types import GateResult, Status

WORSE: Final = {"HELD": " (worse, but within the margin)", "INCONCLUSIVE": " (worse; whether within the margin is open)", "DEGRADED": ""}


def check(measured: RecordData, _: Results) -> tuple[GateResult, ...]:
    """All tasks must hold; none without a margin."""
    quality = measured.experiment.quality
    if quality is None:
        return ()
    return tuple(_of(name, held(measured, name), quality) for name in measured.configurations if name != measured.base)


def _of(configuration: str, tasks: tuple[Held, ...], quality: Quality) -> GateResult:
    statuses = [status_of(task) for task in tasks]
    order: tuple[Status, ...] = ("FAIL", "INCONCLUSIVE", "NOT_MEASURED", "PASS")
    status: Status = next((status for status in order if status in statuses), "NOT_MEASURED")
    worst = next((task for task in tasks if status_of(task) == status), None)
    return GateResult(gate="held", configuration=configuration, status=status, sentence=words(worst, quality, len(tasks)))


def status_of(task: Held) -> Status:
    """HELD, DEGRADED and INCONCLUSIVE as statuses of a gate."""
    if isinstance(task.decision, Absent):
        return "INCONCLUSIVE" if task.decision.reason == "insufficient" else "NOT_MEASURED"
    statuses: dict[str, Status] = {"HELD": "PASS", "DEGRADED": "FAIL", "INCONCLUSIVE": "INCONCLUSIVE"}
    return statuses[task.decision.verdict]


def words(task: Held | None, quality: Quality, tasks: int) -> str:
    """The decision in a sentence, with what would decide it."""
    if task is None:
        return "no item was scored on both sides"
    where = f"{task.task}: " if tasks > 1 else ""
    if isinstance(task.decision, Absent):
        return f"{where}{task.title}: {task.decision.detail}"
    said, decision = {"HELD": "held", "DEGRADED": "degraded", "INCONCLUSIVE": "undecided"}, task.decision
    change = shown(decision)
    own = ", against the reference side's own answers" if task.own else ""
    flips = f"{count(task.worse, 'items')} worse and {task.better:,} better of {task.items:,}"
    worse = WORSE[decision.verdict] if decision.worse_within_margin else ""
    needed = _needed(decision)
    told = f"{task.title} {change}, one-sided bounds, margin {given(quality.margin)}{own}; {flips}{needed}"
    return f"{where}quality {said[decision.verdict]}{worse}: {told}{_missing(task)}"


def _needed(decision: Decision) -> str:
    """How many items would decide; fewer than there are would have, had nothing changed."""
    if decision.verdict != "INCONCLUSIVE" or not decision.items_needed:
        return ""
    wanted = f"about {count(decision.items_needed, 'items')}"
    if decision.items_needed > decision.items:
        return f"; {wanted} would decide"
    return f"; without a true change {wanted} would have decided, so it may lie near the margin"


def _missing(task: Held) -> str:
    """Why it does not count, and what the missing items can do to it."""
    why = f"; {task.overturned}" if task.overturned else ""
    if not task.missing:
        return why
    items = count(task.missing, "items")
    if task.opposed is None:
        return f"{why}; {items} missing"
    if isinstance(task.opposed, Absent):
        return f"{why}; {items} missing: {task.opposed.detail}"
    return f"{why}; with the {items} missing against it {shown(task.opposed)}"


def shown(decision: Decision) -> str:
    """A change with its sign and its one-sided bounds, rounded outwards."""
    value = Estimate(
        value=decision.estimate,
        low=decision.low,
        high=decision.high,
        unit=SCORE,
        confidence=0.95,  # is not shown
        n_launches=1,
        n_trials=decision.items,
        method=decision.method,
        signature="",
    )
    text = show(value).full
    return f"+{text}" if decision.estimate > 0.0 else text


GATE = Gate(name="held", question="Was quality held within the margin?", check=check, about=("evaluation",))
