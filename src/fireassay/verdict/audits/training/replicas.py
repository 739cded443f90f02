"""Did all replicas hold the same parameters from step 0 on?

Different at step 0: a replica started from other parameters (another seed, no broadcast). Equal at first and different later:
`fireassay.verdict.evidence.divergence` finds the cause. Equal until a fault and different after the restart (fault launches only): not every
rank resumed from the same checkpoint. The first match names the fault. Gradients that differ between ranks in the first step are more
specific (`fireassay.verdict.evidence.training_faults`).

Checked after 0, 1, 2, 4, 8, ... steps and at the end. Cannot tell: the exact step of a later divergence, only the check that found it; nor
replicas that diverge and are made equal again between checks (periodic averaging).
"""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from fireassay.estimates.format import count
from fireassay.frames.record_data import RecordData
from fireassay.frames.training.correctness.hashed_state import hashes
from fireassay.frames.training.parallelism import why_not
from fireassay.metrics.metric import Results
from fireassay.verdict.audits.support.audit import Audit
from fireassay.verdict.evidence.divergence import cause
from fireassay.verdict.evidence.training_faults import diagnose
from fireassay.verdict.types import Finding

RULES = (
    "replica_seed_mismatch",
    "parameter_not_reduced",
    "gradients_not_synchronised",
    "learning_rate_differs_by_rank",
    "optimizer_settings_differ_by_rank",
    "optimizer_states_differ",
    "parameters_changed_on_one_rank",
)


def examine(measured: RecordData, _: Results) -> Iterator[Finding]:
    """One finding per configuration with differing replicas."""
    compared = pl.concat(hashes(measured, role=role) for role in ("timed", "fault")).filter(pl.col("workers") > 1)
    for name, named in diagnose(measured).items():
        apart = compared.filter((pl.col("configuration") == name) & ~pl.col("agree")).sort("incarnation", "launch", "step")
        if named is not None and named.fault in RULES:
            yield Finding(named.fault, named.severity, name, f"{named.evidence}{_launches(apart)}", named.remedy)
        elif apart.height and not why_not(measured, name, "replicas"):
            yield _finding(measured, name, apart)


def _launches(apart: pl.DataFrame) -> str:
    """Number of affected launches, if several."""
    launches = apart["launch"].n_unique()
    return f"; replicas differ in {count(launches, 'launches')}" if launches > 1 else ""


def _finding(measured: RecordData, configuration: str, apart: pl.DataFrame) -> Finding:
    """For replicas that differ in a fault launch, or although an earlier fault was named."""
    launch, step = int(apart["launch"][0]), int(apart["step"][0])
    where = f"launch {launch}, {count(apart['launch'].n_unique(), 'launches')} in all"
    if step == 0:
        evidence = f"parameter hashes differ between ranks before the first step ({where})"
        remedy = "give every rank the same initial parameters: the same seed, or let DDP broadcast them (init_sync=True)"
        return Finding("replica_seed_mismatch", "fail", configuration, evidence, remedy)
    if int(apart["incarnation"][0]) > 0:
        evidence = f"parameter hashes are equal until the fault and differ after the restart, at step {step} ({where})"
        remedy = "load the same checkpoint on every rank before the model is wrapped, or broadcast it after loading"
        return Finding("replicas_differ_after_restart", "fail", configuration, evidence, remedy)
    reason = cause(measured, launch, step)
    return Finding(reason.fault, "fail", configuration, f"{reason.evidence}{_launches(apart)}", reason.remedy)


AUDIT = Audit(name="replicas", title="diverged replicas", question="Did all replicas hold the same parameters?", examine=examine)
