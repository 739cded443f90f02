"""Is the declared strong or weak scaling confirmed by the recorded work?

Strong: items of all ranks per step are equal at every worker count. Weak: they grow in proportion to the workers. Fewer or more items per
step from lost or repeated samples are that fault (see `samples`), not another mode. Claims: the mode must be stated, and must fit the
global batches of both sides.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from fireassay.estimates.estimate import Estimate
from fireassay.estimates.format import count, given
from fireassay.frames.record_data import RecordData
from fireassay.frames.training.parallelism import parallelism, why_not
from fireassay.frames.training.scaling_mode import TOLERANCE, items_per_step
from fireassay.metrics.metric import Results
from fireassay.spec.plan import configuration_name
from fireassay.verdict.audits.support.audit import Audit
from fireassay.verdict.evidence.claimed_numbers import found as said_wrong
from fireassay.verdict.evidence.claimed_numbers import unsaid
from fireassay.verdict.stated.gains import base_workers
from fireassay.verdict.stated.kinds import is_cost, is_energy, is_quality, is_relative
from fireassay.verdict.types import Finding

if TYPE_CHECKING:
    from fireassay.spec.claim import Claim, Number


def examine(measured: RecordData, results: Results) -> tuple[Finding, ...]:
    """One finding if the recorded work contradicts the declared mode."""
    items = items_per_step(measured.steady_steps, measured.timed)
    base = items.get(measured.experiment.base_level)
    if base is None:
        return ()
    findings = []
    for level, per_step in items.items():
        if why_not(measured, configuration_name(level), "speedup"):  # not comparable as scaling
            continue
        expected = base if measured.mode == "strong" else base * level / measured.experiment.base_level
        if abs(per_step - expected) > TOLERANCE * expected and not _ledger_explains(results, level, per_step < expected):
            findings.append(_finding(measured, level, per_step, expected, base))
    return (*_taken(measured, items), *findings)


def _taken(measured: RecordData, items: Mapping[int, float]) -> list[Finding]:
    """A note if growth of the batch was not declared: all ranks may be reading the same samples."""
    if measured.mode != "weak" or measured.experiment.scaling.mode != "auto":
        return []
    if any(parallelism(measured, name).alone for name in measured.configurations):  # items are no evidence if workers train alone
        return []
    levels = ", ".join(f"{per_step:g} at {level}" for level, per_step in items.items())
    evidence = f"items per step grow with the workers ({levels}), so this is read as weak scaling"
    remedy = "declare it (--scaling weak), or keep the global batch fixed: ranks that all read the same samples look the same"
    return [Finding("scaling_mode_taken", "note", None, evidence, remedy)]


def _ledger_explains(results: Results, level: int, fewer: bool) -> bool:
    wrong = results["samples_lost" if fewer else "samples_duplicated"][configuration_name(level)]
    return isinstance(wrong, Estimate) and wrong.value > 0.0


def _finding(measured: RecordData, level: int, per_step: float, expected: float, base: float) -> Finding:
    workers = count(level, "workers")
    evidence = f"{measured.mode} scaling needs {expected:g} items per step at {workers}; recorded: {per_step:g}"
    if measured.experiment.scaling.mode == "auto":
        evidence = f"neither strong nor weak scaling: {base:g} items per step at the base, {per_step:g} at {workers}"
    remedy = "keep the global batch fixed for strong scaling, the batch per worker for weak scaling, or declare the other mode"
    return Finding("scaling_mode_mismatch", "invalid", configuration_name(level), evidence, remedy)


def claim(said: Claim) -> tuple[Finding, ...]:
    """Modes that contradict the batches, and unstated modes."""
    scaled = [n for n in said.number if _is_scaled(said, n)]
    wrong = [finding for number in scaled for finding in _contradicted(said, number)]
    return (
        *wrong,
        *unsaid(
            "scaling_mode_unsaid",
            [number for number in scaled if number.scaling is None],
            "whether the total work or the work per worker was fixed",
            'state scaling = "strong" or "weak", and global_batch of both sides',
            "work",
        ),
    )


def _is_scaled(said: Claim, number: Number) -> bool:
    """Whether the number compares worker counts: not scores, costs, or another system on equally many workers."""
    if not is_relative(number) or number.workers is None or is_quality(number) or is_cost(number) or is_energy(number):
        return False
    other = number.baseline is not None and number.baseline.kind == "other_system" and number.baseline.workers is None
    return not other and number.workers != base_workers(said, number)


def _batches(said: Claim, number: Number) -> tuple[float | None, float | None]:
    """The global batches of the baseline and of the number, wherever they were stated."""
    base = number.baseline.global_batch if number.baseline is not None else None
    sides = (said.conditions.baseline.get("global_batch"), said.conditions.candidate.get("global_batch"))
    written = [float(side) if isinstance(side, int | float) else None for side in sides]
    return base if base is not None else written[0], number.global_batch if number.global_batch is not None else written[1]


def _contradicted(said: Claim, number: Number) -> list[Finding]:
    base, batch = _batches(said, number)
    if base is None or batch is None or number.scaling is None or number.workers is None:
        return []
    expected = base if number.scaling == "strong" else base * number.workers / (base_workers(said, number) or 1)
    if abs(batch - expected) <= TOLERANCE * expected:
        return []
    evidence = (
        f"{number.scaling} scaling needs a global batch of {given(expected)} at {count(number.workers, 'workers')}; stated: {given(batch)}"
    )
    remedy = "keep the global batch fixed for strong scaling, the batch per worker for weak scaling, or claim the other mode"
    return [said_wrong("scaling_mode_contradicted", "invalid", number, evidence, remedy, "work")]


AUDIT = Audit(
    name="scaling_mode",
    title="strong and weak scaling confused",
    question="Does the work match strong or weak scaling?",
    examine=examine,
    claim=claim,
)
