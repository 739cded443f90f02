"""Which faults show in hashes of parameters and random states, and in gradients that differ between ranks?"""

from __future__ import annotations

import polars as pl

from fireassay.estimates.format import count, given
from fireassay.frames.training.correctness.first_gradients import First, laters
from fireassay.frames.training.correctness.later_gradients import clipped_apart
from fireassay.verdict.evidence.divergence import SYNCHRONISE, Cause, cause, of_settings, settings_apart
from fireassay.verdict.evidence.fault_evidence import Diagnosis, Evidence, fingerprints_of
from fireassay.verdict.types import Severity

MANY = 3  # parameters named in a finding


def other_beginning(evidence: Evidence, name: str) -> Diagnosis | None:
    apart = _apart(evidence, name).filter(pl.col("step") == 0)
    if apart.height == 0:
        return None
    return Diagnosis(
        fault="replica_seed_mismatch",
        layer="hashes",
        severity="fail",
        evidence=f"parameter hashes differ between ranks before the first step (launch {apart['launch'][0]})",
        remedy="give every rank the same initial parameters: the same seed, or let DDP broadcast them (init_sync=True)",
    )


def _apart(evidence: Evidence, name: str) -> pl.DataFrame:
    rows = evidence.hashed.filter((pl.col("configuration") == name) & ~pl.col("agree"))
    return rows.filter((pl.col("workers") > 1) & (pl.col("incarnation") == 0)).sort("step", "launch")


def unsynchronised(evidence: Evidence, name: str) -> Diagnosis | None:
    apart = _apart(evidence, name)
    for step in (*evidence.first, *laters(evidence.measured)):
        names = step.apart() if step.configuration == name else ()
        if names and not averaged_later(evidence.hashed, step):
            return _unreduced(step, names)
    # sharded parameters are not compared across ranks; their optimizer settings are
    first = (int(apart["launch"][0]), int(apart["step"][0])) if apart.height else None
    reason = _settings(evidence, name) if first is None else cause(evidence.measured, *first)
    if reason is None:
        return None
    return Diagnosis(fault=reason.fault, layer="hashes", severity="fail", evidence=reason.evidence, remedy=reason.remedy)


def _settings(evidence: Evidence, name: str) -> Cause | None:
    launches = evidence.measured.timed.filter(pl.col("configuration") == name)["launch"].to_list()
    for launch, step, setting, values in settings_apart(evidence.measured):
        if launch in launches:
            return of_settings(launch, step, setting, values)
    return None


def clipped_before_reduction(evidence: Evidence, name: str) -> Diagnosis | None:
    for clip in clipped_apart(evidence.measured, evidence.hashed, name):
        return Diagnosis(
            fault="clipped_before_reduction",
            layer="gradient",
            severity="fail" if clip.active else "warning",
            evidence=f"in step {clip.step} of launch {clip.launch} clip_grad_norm_ found norms of {clip.norms} and was to clip to "
            f"{given(clip.limit, digits=4)}, and then all ranks stepped with the same gradient: each rank clipped its own before they were averaged"
            f"{'' if clip.active else ' (no norm was above the limit there)'}",
            remedy="clip after the gradients are averaged: outside of no_sync, after the last backward pass or after the all_reduce",
        )
    return None


def averaged_later(hashed: pl.DataFrame, first: First) -> bool:
    """Whether parameters agree on all ranks after the step: then the optimizer averaged the gradients itself."""
    after = hashed.filter((pl.col("launch") == first.launch) & (pl.col("step") > first.step))
    return after.height > 0 and bool(after.sort("step")["agree"][0])


def _unreduced(first: First, names: tuple[str, ...]) -> Diagnosis:
    some = [name for name, gradient in first.own.items() if gradient.norm != 0.0]
    if len(names) >= len(some):
        return Diagnosis(
            fault="gradients_not_synchronised",
            layer="gradient",
            severity="fail",
            evidence=f"no gradient is the same on all ranks in step {first.step} of launch {first.launch}",
            remedy=SYNCHRONISE,
        )
    more = f" and {len(names) - MANY} more" if len(names) > MANY else ""
    return Diagnosis(
        fault="parameter_not_reduced",
        layer="gradient",
        severity="fail",
        evidence=f"the gradient of {', '.join(names[:MANY])}{more} is not the same on all ranks in step {first.step} of launch {first.launch}, "
        f"those of {count(len(first.own) - len(names), 'parameters')} are",
        remedy="use every parameter in the last pass before the optimizer steps, or wrap the model with find_unused_parameters=True",
    )


def random_states(evidence: Evidence, name: str) -> Diagnosis | None:
    """Random states against their declaration; without one, dropout with equal states is suspicious."""
    measured = evidence.measured
    states = evidence.random.filter((pl.col("configuration") == name) & (pl.col("workers") > 1))
    states = states.with_columns(pl.col("text").n_unique().over("launch").alias("states"))
    declared = fingerprints_of(measured, name, "random_state")["text"].unique().to_list()
    host = evidence.host.filter((pl.col("configuration") == name) & (pl.col("workers") > 1))
    equal, differ = states.filter(pl.col("different") < pl.col("ranks")), states.filter(~pl.col("agree"))
    equal = equal if equal.height else host.filter(pl.col("different") < pl.col("ranks"))
    if "different" in declared and equal.height:
        return _same_numbers(equal, "fail", "declared different")
    if "equal" in declared and differ.height:
        row = differ.row(0, named=True)
        return Diagnosis(
            fault="random_numbers_differ",
            layer="hashes",
            severity="fail",
            evidence=f"random states are declared equal and differ between ranks at step {row['step']} of launch {row['launch']}",
            remedy="seed all ranks alike, and let them draw equally often",
        )
    layers = fingerprints_of(measured, name, "random_layers")["value"].max()
    begun = states.filter((pl.col("step") == 0) & pl.col("agree") & (pl.col("states") > 1))  # and numbers are drawn later
    if declared or not layers or not begun.height:
        return None
    return _same_numbers(begun, "warning", f"the model has {count(int(layers), 'layers')} that draw")  # type: ignore[arg-type]


def _same_numbers(rows: pl.DataFrame, severity: Severity, why: str) -> Diagnosis:
    row = rows.row(0, named=True)
    return Diagnosis(
        fault="same_random_numbers",
        layer="hashes",
        severity=severity,
        evidence=f"random states are equal on ranks at step {row['step']} of launch {row['launch']} ({row['different']} different ones on "
        f"{row['ranks']} ranks; {why}): every rank drops the same units",
        remedy="add the rank to the seed after the model is built, or declare probe.watch(model, random='equal') if it is intended",
    )
