"""Are losses, gradients and batch statistics those of one worker?"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from itertools import combinations
from typing import Final

import polars as pl

from fireassay.estimates.estimate import Absent, Estimate, Value
from fireassay.estimates.format import count, given, show
from fireassay.frames.record_data import RecordData, effective_steps
from fireassay.frames.training.correctness.first_gradients import other_contents, worst
from fireassay.frames.training.parallel_evidence import hashes
from fireassay.frames.training.parallelism import why_not
from fireassay.metrics.metric import LAUNCHED, Results
from fireassay.verdict.audits.audit import TRAINING, Audits
from fireassay.verdict.evidence.affected import by_configuration
from fireassay.verdict.evidence.gradient_faults import diagnose, legitimate
from fireassay.verdict.types import Finding

AUDITS = Audits(about=TRAINING)


# ---- losses ----

LOSSES_RULE = "loss_not_finite"


@AUDITS.add("losses", "Are the losses finite?", title="non-finite losses")
def examine_losses(measured: RecordData, _: Results) -> tuple[Finding, ...]:
    """At most one finding per configuration.

    A non-finite loss at the end of a launch means that training failed: its parameters are worthless. A loss that recovers is a warning: a
    step skipped by a gradient scaler, or a batch that overflowed. Gradients that overflow under a finite loss are routine for
    mixed-precision scalers and no finding. Cannot tell: a loss that was neither reported nor the start of a backward pass.
    """
    rows = measured.table("fingerprints").filter((pl.col("what") == "loss") & pl.col("value").is_not_null())
    losses = effective_steps(rows).join(measured.timed.select("launch", "configuration"), on="launch")
    losses = losses.with_columns(last=pl.col("step") == pl.col("step").max().over("launch", "rank"))
    broken = losses.filter(~pl.col("value").is_finite()).sort("last", "launch", "step", "rank", descending=[True, False, False, False])
    return tuple(_losses_finding(name, group, losses) for name, group in by_configuration(measured, broken))


def _losses_finding(name: str, rows: pl.DataFrame, losses: pl.DataFrame) -> Finding:
    launch, at_the_end = int(rows["launch"][0]), bool(rows["last"].any())
    here = rows.filter(pl.col("launch") == launch)
    step = int(here["step"].min())  # type: ignore[arg-type]
    first = here.filter(pl.col("step") == step).sort("rank").row(0, named=True)
    steps, of = here["step"].n_unique(), losses.filter(pl.col("launch") == launch)["step"].n_unique()
    evidence = (
        f"the loss is {first['value']} on rank {first['rank']} in step {step} of launch {launch}, and not finite in {steps} of "
        f"{count(of, 'steps')}{', including the last' if at_the_end else ''} ({count(rows['launch'].n_unique(), 'launches')} in all)"
    )
    remedy = (
        "find the first operation that overflows or divides by zero (torch.autograd.set_detect_anomaly); lower the learning rate, or clip"
        if at_the_end
        else "check the batch of that step; if a gradient scaler skipped it, nothing is wrong"
    )
    return Finding(LOSSES_RULE, "fail" if at_the_end else "warning", name, evidence, remedy)


# ---- same loss ----

TOLERANCE = 1e-3  # relative; rounding is about 1e-7 in float32, 4e-3 per term in bfloat16, less for a mean


@AUDITS.add("same_loss", "Does distribution compute the same first loss?", title="different first loss", about=LAUNCHED)
def examine_same_loss(measured: RecordData, results: Results) -> Iterator[Finding]:
    """A warning per configuration with a different first loss.

    With equal seed and global batch, first losses differ only by rounding. A larger difference means other initial parameters, another
    batch or another loss reduction. Not where layers draw random numbers or normalise by the rank's batch, or contents differ. Checked only if the
    ledger or declared strong scaling shows equal batches; later losses are advisory, since rounding grows.
    """
    if measured.mode != "strong":
        return
    for name in measured.configurations:
        if legitimate(measured, name) or _other_contents(measured, name):
            continue
        if (evidence := _same_loss_evidence(measured, results["loss_deviation"][name])) is not None:
            remedy = "give all worker counts the same seed, the same global batch and a loss averaged over the global batch"
            yield Finding("first_loss_differs", "warning", name, evidence, remedy)


def _other_contents(measured: RecordData, name: str) -> bool:
    """True if some launch's first batch has other contents than that of one worker's: another batch has another loss."""
    alone = {block: launch for launch, block in measured.timed_by_block.get(measured.base, ())}
    launches = measured.timed_by_block.get(name, ())
    return any(block in alone and other_contents(measured, launch, alone[block], 0) for launch, block in launches)


def _same_loss_evidence(measured: RecordData, value: Value) -> str | None:
    """The discrepancy of the first loss, or None; `losses` reports one that is not finite."""
    if isinstance(value, Estimate) and value.value > TOLERANCE:
        return f"the first loss differs by {show(value).text} from that of {measured.base} with the same seed"
    return None


# ---- gradients ----

GRADIENTS_RULES = (
    "gradient_scaled",
    "gradient_differs",
    "reduced_in_less_precision",
    "nondeterministic_within_rounding",
    "clipped_before_reduction",
    "cleared_on_some_ranks",
    "clipping_differs",
)


@AUDITS.add("gradients", "Are the gradients those of a single worker?", title="a wrong gradient")
def examine_gradients(measured: RecordData, _: Results) -> tuple[Finding, ...]:
    """At most one finding per configuration.

    Agreement between ranks is not enough: of eight faults injected into DDP, seven left all ranks' gradients bitwise equal, and equal loss
    curves hid a gradient with a 75 % error. Only a comparison with one worker shows them. Faults explained by an earlier layer (lost
    samples, another start) are not repeated; order: `fireassay.verdict.evidence.gradient_faults`. Shards of a model (FSDP2) are combined
    first. In sampled later steps only a wrong factor, and clipping before averaging, are detected.

    Cannot tell: faults that begin after the first step and turn the gradient; errors within rounding (in bfloat16, a mean of means over
    1001 samples); the flat parameters of FSDP1.
    """
    return tuple(
        diagnosis.finding(name)
        for name, diagnosis in diagnose(measured).items()
        if diagnosis is not None and diagnosis.fault in GRADIENTS_RULES
    )


@AUDITS.blind("gradients")
def blind_gradients(measured: RecordData, _: Results) -> str | None:
    """Blind without one worker's gradient of the same samples."""
    several = [name for name, level in zip(measured.configurations, measured.levels, strict=True) if level > 1]
    reasons = [diagnosis.detail for name in several if isinstance(diagnosis := worst(measured, name), Absent)]
    return reasons[0] if reasons and len(reasons) == len(several) else None


# ---- batch statistics ----

BATCH_STATISTICS_RULE: Final = "batch_statistics_drift"
SMALL: Final = 1e-3  # standard deviations
ROUNDING: Final = 1e-5


@AUDITS.add("batch_statistics", "Do the running statistics of batch normalisation agree between ranks?", title="drifting batch statistics")
def examine_batch_statistics(measured: RecordData, _: Results) -> Iterator[Finding]:
    """One finding per configuration with differing statistics at the end.

    DistributedDataParallel broadcasts rank 0's statistics at each forward pass: between passes ranks differ by one step, which is no fault.
    Without a broadcast (`broadcast_buffers=False`, FSDP, gradients averaged by hand) each rank keeps its own shard's statistics: ranks
    evaluate different models, and a checkpoint holds one rank's. A warning only, since the parameters are correct and the evaluating rank
    is unknown; a script that equalises them before it ends passes. Below a thousandth of a standard deviation it is a note, within rounding
    nothing.

        drift = root mean square, over channels, of the difference between two ranks, in standard deviations
        (`instruments/recorder/batch_statistics.py`)

    Cannot tell: whether statistics are broadcast if the script watches the model inside its wrapper; then there is no finding.
    """
    prints = measured.table("fingerprints")
    broadcasts = prints.filter(pl.col("what") == "buffers_broadcast").group_by("launch").agg(pl.col("value").max().alias("sent"))
    rows = effective_steps(prints.filter(pl.col("what") == "batch_statistics"))
    last = rows.filter(pl.col("step") == pl.col("step").max().over("launch"))
    joined = last.join(measured.timed.filter(pl.col("workers") > 1).select("launch", "configuration", "workers"), on="launch")
    kept = joined.join(broadcasts, on="launch").filter((pl.col("sent") == 0.0) & (pl.col("step") > 0)).sort("launch", "rank")
    for name in measured.configurations:
        launches = kept.filter(pl.col("configuration") == name).partition_by("launch", maintain_order=True)
        drifts = [(_drift(group), group) for group in launches if group.height == group["workers"][0]]
        worst = max(drifts, key=lambda drift: drift[0], default=None)
        if worst is not None and worst[0] > ROUNDING and not why_not(measured, name, "replicas"):
            yield _batch_statistics_finding(measured, name, *worst)


def _drift(rows: pl.DataFrame) -> float:
    """The largest drift between two ranks, in standard deviations."""
    sketches = [json.loads(text) for text in rows["text"]]
    pairs = [math.dist(a, b) for a, b in combinations(sketches, 2) if len(a) == len(b)]
    numbers = float(rows["value"][0])
    return max(pairs, default=0.0) / math.sqrt(numbers) if numbers else 0.0


def _batch_statistics_finding(measured: RecordData, name: str, drift: float, rows: pl.DataFrame) -> Finding:
    launch, step = int(rows["launch"][0]), int(rows["step"][0])
    buffers = hashes(measured, what="buffer_hash").filter((pl.col("launch") == launch) & (pl.col("step") == step))
    of = f", {buffers['different'][0]} different ones on {buffers['ranks'][0]} ranks" if buffers.height else ""
    evidence = (
        f"the running statistics of batch normalisation differ between ranks by {given(drift, digits=2)} standard deviations after "
        f"{count(step, 'steps')} of launch {launch}{of}, and nothing equalises them: each rank evaluates, and saves, a different model"
    )
    remedy = "use SyncBatchNorm, leave broadcast_buffers on, or broadcast one rank's buffers before evaluating and saving"
    return Finding(BATCH_STATISTICS_RULE, "warning" if drift > SMALL else "note", name, evidence, remedy)
