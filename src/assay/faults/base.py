"""When does a planned fault strike, and what does a kind of fault have to do?

The decision is pure and looks only at what the workers last said about themselves: a fault strikes `delay_steps` steps
after the job's `after_checkpoints`-th checkpoint, in the first incarnation, once.  What a kind does is its act alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from assay.record.progress import Progress
from assay.spec.plan import PlannedFault


@dataclass(frozen=True, kw_only=True)
class Fault:
    """A kind of fault."""

    name: str
    strike: Callable[[int, PlannedFault], None]  # (process id of the victim, fault); raises OSError if it cannot


def aim(progress: Mapping[int, Progress], fault: PlannedFault) -> int | None:
    """The step from which the fault may strike, as far as it can be told now; None while too few checkpoints are saved.

    The caller keeps the first answer: later checkpoints must not push the fault away.
    """
    if fault.after_checkpoints == 0:
        return fault.delay_steps
    saved = [rank.checkpoint_step for rank in progress.values() if rank.checkpoints >= fault.after_checkpoints]
    return max(saved) + fault.delay_steps if saved else None


def should_strike(progress: Mapping[int, Progress], fault: PlannedFault, aimed_at: int | None) -> bool:
    """Whether the victim is there, in its first incarnation, and has reached the step aimed at."""
    victim = progress.get(fault.rank)
    return aimed_at is not None and victim is not None and victim.incarnation == 0 and victim.steps >= aimed_at
