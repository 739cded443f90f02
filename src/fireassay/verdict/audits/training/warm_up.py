"""Was warm-up excluded, and did every launch reach a steady state?

Each launch's step times are classified as flat, warm-up, slow-down or no steady state (docs/methodology.md, "Steady state"; Barrett et al.,
OOPSLA 2017). Warm-up is excluded from steady-state numbers but stays in the record. For a launch without a steady state, the later half of
its steps is used: a stopgap that this audit reports. Claims: whether the number includes cold first repetitions.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from fireassay.estimates.format import count
from fireassay.frames.record_data import RecordData
from fireassay.metrics.metric import Results
from fireassay.verdict.audits.support.audit import Audit
from fireassay.verdict.evidence.claimed_numbers import found, speeds, unsaid
from fireassay.verdict.types import Finding

if TYPE_CHECKING:
    from fireassay.spec.claim import Claim

SHARE_WORTH_NAMING = 0.5  # of a configuration's launches


def examine(measured: RecordData, _: Results) -> tuple[Finding, ...]:
    """One finding per configuration and unwanted class; a note on how much warm-up was excluded."""
    kinds: dict[str, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    for launch, configuration in measured.timed.select("launch", "configuration").iter_rows():
        if launch in measured.steady:
            kinds[configuration][measured.steady[launch].kind].append(launch)
    unsteady = []
    for configuration, launches in kinds.items():
        total = sum(len(members) for members in launches.values())
        for kind in ("no steady state", "slow-down"):
            if len(launches[kind]) > SHARE_WORTH_NAMING * total:
                unsteady.append(_unsteady(measured, configuration, kind, launches[kind], total))
    return tuple(unsteady) + _warm(measured)


def _unsteady(measured: RecordData, configuration: str, kind: str, launches: list[int], total: int) -> Finding:
    detail = measured.steady[launches[0]].detail
    evidence = f"{len(launches)} of {count(total, 'launches')} show {kind} in their step times ({detail})"
    remedy = "run more steps per launch, and check the step times over the launch for what changes"
    return Finding(kind.replace(" ", "_").replace("-", "_"), "warning", configuration, evidence, remedy)


def _warm(measured: RecordData) -> tuple[Finding, ...]:
    warm = [measured.steady[launch].warmup for launch in measured.timed["launch"] if launch in measured.steady]
    if not any(warm):
        return ()
    evidence = f"up to {count(max(warm), 'steps')} at the beginning of a launch are warm-up, excluded from steady-state numbers"
    return (Finding("warm_up", "note", None, evidence, "nothing to do; they stay in the record"),)


def claim(said: Claim) -> tuple[Finding, ...]:
    """Numbers that include cold repetitions, and numbers that leave it unstated."""
    cold = [
        found(
            "cold_start",
            "warning",
            number,
            "it includes the first, cold repetitions: compilation, empty caches, first allocation",
            "exclude the warm-up, or claim the time of a whole run from its start and state that",
            "warm_up",
        )
        for number in speeds(said)
        if number.warm_up_excluded is False
    ]
    return (
        *cold,
        *unsaid(
            "warm_up_unsaid",
            [number for number in speeds(said) if number.warm_up_excluded is None],
            "whether the warm-up was excluded",
            "state warm_up_excluded",
            "warm_up",
        ),
    )


def blind(measured: RecordData, _: Results) -> str | None:
    """Blind without marked steps; trials declare their own warm-up."""
    return (
        None
        if measured.steady or measured.table("trials").height
        else "the script did not mark its steps, so warm-up cannot be distinguished from work"
    )


AUDIT = Audit(
    name="warm_up",
    title="cold start in the numbers",
    question="Was warm-up recognised, and was a steady state reached?",
    examine=examine,
    claim=claim,
    blind=blind,
)
