"""Do RNG and optimizer states match where they must, and differ where they must?

Random states are compared with probe.watch(model, random=...); undeclared, equal states of a model with dropout are a warning: under data
parallelism every rank drops the same units. Optimizer states that differ while parameters agree will make the parameters diverge. Buffers
may differ after a step (BatchNorm on each rank's own batch), but not before the first. If the global batch is one worker's (strong scaling,
confirmed by the recorded items), so must be the learning rate: one scaled by the workers a second time shows in no gradient and no hash.

Checked after 0, 1, 2, 4, 8, ... steps and at the end. Cannot tell: changes between checks. Diverged parameters are found at the next check,
but RNGs that are equal in step 9 and differ in step 10 are missed. Nor the learning rates of parameter groups other than the first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

import polars as pl

from fireassay.estimates.format import count, given
from fireassay.frames.record_data import RecordData
from fireassay.frames.training.correctness.hashed_state import hashes
from fireassay.frames.training.parallelism import why_not
from fireassay.frames.training.scaling_mode import TOLERANCE, items_per_step
from fireassay.metrics.metric import Results
from fireassay.spec.plan import configuration_name
from fireassay.stats.groups.gradient_difference import ratio_name
from fireassay.verdict.audits.support.audit import Audit
from fireassay.verdict.evidence.affected import by_configuration
from fireassay.verdict.evidence.training_faults import diagnose
from fireassay.verdict.types import Finding

SAME_RATE: Final = 1e-6  # relative
OF_REPLICAS: Final = (
    "optimizer_states_differ",
    "learning_rate_differs_by_rank",
    "optimizer_settings_differ_by_rank",
    "gradients_not_synchronised",
    "parameters_changed_on_one_rank",
)
RULES = ("same_random_numbers", "random_numbers_differ")


def examine(measured: RecordData, _: Results) -> tuple[Finding, ...]:
    """Findings per configuration."""
    random = tuple(
        diagnosis.finding(name) for name, diagnosis in diagnose(measured).items() if diagnosis is not None and diagnosis.fault in RULES
    )
    return (*random, *_optimizers(measured), *_buffers(measured), *_learning_rates(measured))


def _optimizers(measured: RecordData) -> Iterator[Finding]:
    equal = hashes(measured).filter("agree").select("launch", "step")
    apart = hashes(measured, what="optimizer_hash").filter(~pl.col("agree")).join(equal, on=["launch", "step"])
    named = diagnose(measured)
    for name, row in _first(measured, apart):
        if why_not(measured, name, "replicas"):
            continue
        if (diagnosis := named[name]) is not None and diagnosis.fault in OF_REPLICAS:
            continue  # `replicas` names the cause
        evidence = f"the optimizer's state differs between ranks after {row['step']} steps of launch {row['launch']}, while the parameters are equal"
        remedy = "load the optimizer's state on every rank, and give every rank the same gradients"
        yield Finding("optimizer_states_differ", "warning", name, evidence, remedy)


def _buffers(measured: RecordData) -> Iterator[Finding]:
    apart = hashes(measured, what="buffer_hash").filter(~pl.col("agree") & (pl.col("step") == 0))
    for name, row in _first(measured, apart):
        if why_not(measured, name, "replicas"):
            continue
        evidence = f"the model's buffers differ between ranks before the first step of launch {row['launch']}"
        remedy = "give every rank the same initial buffers; DDP broadcasts them unless broadcast_buffers is off"
        yield Finding("buffers_differ_at_start", "warning", name, evidence, remedy)


def _learning_rates(measured: RecordData) -> Iterator[Finding]:
    """Compare with one worker's rate of the same block and step, if both have the same global batch."""
    if measured.mode != "strong" or measured.base != configuration_name(1):
        return
    reported = measured.table("fingerprints").filter((pl.col("what") == "learning_rate") & (pl.col("incarnation") == 0))
    rates = reported.group_by("launch", "step").agg(pl.col("value").sort_by("rank").first().alias("rate"))
    rates = rates.join(measured.timed.select("launch", "configuration", "workers", "block"), on="launch")
    rates = rates.with_columns(last=pl.col("step").max().over("launch"))  # schedules of different lengths are not comparable
    alone = rates.filter(pl.col("configuration") == measured.base).drop("launch", "configuration", "workers")
    alone = alone.rename({"rate": "right"})
    items = items_per_step(measured.steady_steps, measured.timed)
    off = (pl.col("rate") - pl.col("right")).abs() > SAME_RATE * pl.col("right").abs()
    for name, row in _first(measured, rates.join(alone, on=["block", "step", "last"]).filter(off)):
        workers = int(row["workers"])  # type: ignore[call-overload]
        if why_not(measured, name, "gradients") or name != configuration_name(workers) or _other_batch(items, workers):
            continue
        rate, right = float(row["rate"]), float(row["right"])  # type: ignore[arg-type]
        evidence = (
            f"the learning rate after {count(int(row['step']), 'steps')} of launch {row['launch']} is {given(rate, digits=4)}, "  # type: ignore[call-overload]
            f"where one worker's is {given(right, digits=4)}"
            f"{_ratio(rate, right, workers)}, with the same global batch"
        )
        remedy = "scale the learning rate with the global batch, not with the workers: here the batch is that of one worker"
        yield Finding("learning_rate_differs", "warning", name, evidence, remedy)


def _other_batch(items: Mapping[int, float], workers: int) -> bool:
    """Whether the global batch differs from one worker's: by recorded items, else as declared."""
    items_here, alone = items.get(workers), items.get(1)
    return items_here is not None and alone is not None and abs(items_here - alone) > TOLERANCE * alone


def _ratio(rate: float, right: float, workers: int) -> str:
    if not right:
        return ""
    factors = {"workers": float(workers), "1 / workers": 1.0 / workers, "the root of workers": workers**0.5}
    called = ratio_name(rate / right, factors, SAME_RATE)
    return f": {given(rate / right, digits=4)} times, which is {called}" if called else f": {given(rate / right, digits=4)} times"


def _first(measured: RecordData, apart: pl.DataFrame) -> Iterator[tuple[str, dict[str, object]]]:
    for name, rows in by_configuration(measured, apart.filter(pl.col("workers") > 1).sort("step", "launch")):
        yield name, rows.row(0, named=True)


AUDIT = Audit(
    name="training_state",
    title="random numbers and optimizer states",
    question="Do RNG and optimizer states match where they must?",
    examine=examine,
    about=("training",),
)
