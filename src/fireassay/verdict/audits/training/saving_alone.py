"""Do ranks wait for the one that saves checkpoints?

The saving rank is no straggler: its steps are as long as the others'. Waiting of at least a fiftieth of step time is attributed here, and
then not repeated as waiting of unknown cause (`bottleneck_communication`). Cannot tell: how long a sharded save on all ranks would take;
compare both with `assay compare`.
"""

from __future__ import annotations

from typing import Final

from fireassay.estimates.format import given, percent, reading
from fireassay.frames.record_data import RecordData
from fireassay.frames.training.saving_waits import SavingWait, saving_waits
from fireassay.metrics.metric import Results
from fireassay.units import SECONDS
from fireassay.verdict.audits.support.audit import Audit
from fireassay.verdict.evidence.possible_gain import LEAST_SHARE
from fireassay.verdict.types import Finding

WORTH_SAYING: Final = 0.02


def examine(measured: RecordData, _: Results) -> tuple[Finding, ...]:
    """One finding per configuration; a warning from a tenth of step time on."""
    return tuple(_finding(name, wait) for name, wait in saving_waits(measured).items() if wait.share >= WORTH_SAYING)


def _finding(name: str, wait: SavingWait) -> Finding:
    who = f"rank {wait.ranks[0]} alone saves" if len(wait.ranks) == 1 else f"ranks {', '.join(map(str, wait.ranks))} alone save"
    evidence = (
        f"{who} the checkpoints, {given(wait.saves, digits=3)} per launch of {reading(wait.save_s, SECONDS)} each, and the other ranks wait for "
        f"it: {percent(wait.share)} of their steps"
    )
    remedy = "save less often, asynchronously (torch.distributed.checkpoint.async_save), or a shard on every rank"
    return Finding("saving_alone", "warning" if wait.share >= LEAST_SHARE else "note", name, evidence, remedy)


AUDIT = Audit(
    name="saving_alone",
    title="waiting for a checkpoint",
    question="Do ranks wait for the one that saves checkpoints?",
    examine=examine,
    about=("training",),
)
