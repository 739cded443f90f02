"""Do random states, optimizer states and buffers agree between ranks where they are to, and differ where they are to?

Random states: against what probe.watch(model, random=...) declares; undeclared, equal states of a model with dropout are a warning, since in
data parallelism every rank then drops the same units.  Optimizer states that differ while parameters agree will part the parameters
later.  Buffers may differ after a step (BatchNorm on each rank's own batch) but not before the first.
"""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from assay.metrics.base import Results
from assay.metrics.measured import Measured
from assay.metrics.replicas_agree import hashes
from assay.verdict.audits.base import Audit
from assay.verdict.diagnosis import diagnose
from assay.verdict.types import Finding

RULES = ("same_random_numbers", "random_numbers_differ")


def examine(measured: Measured, _: Results) -> tuple[Finding, ...]:
    """Findings per configuration."""
    random = tuple(
        Finding(rule=one.fault, severity=one.severity, configuration=name, evidence=one.evidence, remedy=one.remedy)
        for name, one in diagnose(measured).items()
        if one is not None and one.fault in RULES
    )
    return (*random, *_optimizers(measured), *_buffers(measured))


def _optimizers(measured: Measured) -> Iterator[Finding]:
    equal = hashes(measured).filter("agree").select("launch", "step")
    apart = hashes(measured, what="optimizer_hash").filter(~pl.col("agree")).join(equal, on=["launch", "step"])
    for name, row in _first(measured, apart):
        yield Finding(
            rule="optimizer_states_differ", severity="warning", configuration=name,
            evidence=f"the optimizer's state differs between ranks after {row['step']} steps of launch {row['launch']}, while the parameters are equal",
            remedy="load the optimizer's state on every rank, and give every rank the same gradients",
        )  # fmt: skip


def _buffers(measured: Measured) -> Iterator[Finding]:
    apart = hashes(measured, what="buffer_hash").filter(~pl.col("agree") & (pl.col("step") == 0))
    for name, row in _first(measured, apart):
        yield Finding(
            rule="buffers_differ_at_start", severity="warning", configuration=name,
            evidence=f"the model's buffers differ between ranks before the first step of launch {row['launch']}",
            remedy="give every rank the same initial buffers; DDP broadcasts them unless broadcast_buffers is off",
        )  # fmt: skip


def _first(measured: Measured, apart: pl.DataFrame) -> Iterator[tuple[str, dict[str, object]]]:
    several = apart.filter(pl.col("workers") > 1).sort("step", "launch")
    for name in measured.configurations:
        own = several.filter(pl.col("configuration") == name)
        if own.height:
            yield name, own.row(0, named=True)


AUDIT = Audit(
    name="training_state", title="random numbers and optimizer states", question="Do random and optimizer states agree where they are to?",
    examine=examine, about=("training",),
)  # fmt: skip
