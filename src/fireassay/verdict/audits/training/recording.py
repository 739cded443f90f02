"""Did the instrument see what it should, at a cost that does not matter?"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Final

import polars as pl

from fireassay.estimates.estimate import Absent, Estimate
from fireassay.estimates.format import count, given, percent, reading
from fireassay.frames.record_data import RecordData
from fireassay.frames.training.flops import source
from fireassay.frames.training.lost_time import SavingWait, pausing_waits
from fireassay.metrics.metric import LAUNCHED, Results
from fireassay.units import SECONDS
from fireassay.verdict.audits.audit import TRAINING, Audits
from fireassay.verdict.evidence.affected import MIN_SHARE, by_configuration
from fireassay.verdict.types import Finding

AUDITS = Audits(about=TRAINING)


# ---- overhead ----

OVERHEAD_MAX_SHARE = 0.01  # of a step


@AUDITS.add("overhead", "Did the instrument disturb what it measured?", title="instrument overhead", about=LAUNCHED)
def examine_overhead(measured: RecordData, results: Results) -> Iterator[Finding]:
    """A warning per configuration with an overhead above one per cent of the step.

    Compares its self-measured cost per step with the step time, and gives the bound that pairs of runs with and without it support; none
    where it would be more than half of a step.
    """
    for name in measured.configurations:
        value = results["instrument_overhead"][name]
        if isinstance(value, Estimate) and value.value > OVERHEAD_MAX_SHARE:
            own = percent(value.value, beside=(OVERHEAD_MAX_SHARE,))
            more = (
                f"with its effects on caches at most {percent(value.high)}"
                if math.isfinite(value.high)
                else "which sees neither call frames nor caches; how much these add to steps this short is not known"
            )
            evidence = f"the probe costs {own} of a step by its own clock, {more}"
            remedy = "mark fewer phases, or make a step larger; steps below a millisecond are hard to measure from inside"
            yield Finding("instrument_overhead", "warning", name, evidence, remedy)


# ---- unseen steps ----


@AUDITS.add("unseen_steps", "Was torch imported, but no step recorded?", title="no recorded step", first=True)
def examine_unseen_steps(measured: RecordData, _: Results) -> Iterator[Finding]:
    """One warning per configuration with torch imported but no steps recorded.

    Then only wall time can be judged, and the report must say so first. Hooks observe torch optimizers in the process that the launcher
    started. They miss parameters updated by hand, training in processes that the script starts itself, and optimizers outside torch. Each
    worker reports the reason. Cannot tell: a worker that never imported torch itself.
    """
    notices = measured.table("events").filter(pl.col("kind") == "steps_unseen")
    seen = measured.stepped.select("launch").unique()
    why = pl.col("detail").str.json_path_match("$.why").alias("why")
    blind = measured.timed.join(notices.select("launch", "rank", why), on="launch").join(seen, on="launch", how="anti")
    for name, rows in by_configuration(measured, blind.sort("launch", "rank")):
        evidence = (
            f"torch was imported, but no training step was recorded in {count(rows['launch'].n_unique(), 'launches')}: {rows['why'][0]}; "
            "times are those of whole launches, start-up included"
        )
        remedy = "let the launcher start the workers (no mp.spawn), use an optimizer of torch.optim, or mark the steps: probe.steps(loader)"
        yield Finding("steps_unseen", "warning", name, evidence, remedy)


# ---- ranks reporting ----


@AUDITS.add("ranks_reporting", "Did every rank report its steps, and equally many?", title="missing ranks", about=LAUNCHED)
def examine_ranks_reporting(measured: RecordData, _: Results) -> Iterator[Finding]:
    """One warning per configuration in which ranks are missing from the steps.

    If only rank 0 uses the probe, or ranks lost their streams, the slowest recorded rank need not be the slowest, items cover one rank
    only, and goodput is too low. On several nodes a record holds this node's ranks. Ranks that report unequal numbers of steps (uneven
    shards, a skipped step) are named too: in a step that a rank lacks, its samples are missing from the average, or the others average
    without it.
    """
    seen = measured.stepped.group_by("launch").agg(pl.col("rank").n_unique().alias("ranks"))
    nodes = measured.experiment.launcher.nodes
    here = measured.timed.join(seen, on="launch").with_columns(expected=pl.col("workers") // nodes)
    short = here.filter(pl.col("ranks") < pl.col("expected"))
    for name, rows in by_configuration(measured, short.sort("launch")):
        launch, ranks, expected = rows.select("launch", "ranks", "expected").row(0)
        evidence = (
            f"{ranks} of {count(expected, 'ranks')} reported steps in launch {launch} ({count(rows.height, 'launches')} in all); "
            "items, the slowest rank and goodput are those of the reporting ranks"
        )
        remedy = "start the probe and mark the steps on every rank, not on rank 0 alone"
        yield Finding("ranks_missing", "warning", name, evidence, remedy)
    yield from _uneven(measured)


def _uneven(measured: RecordData) -> Iterator[Finding]:
    """One warning per configuration with unequal step counts between ranks."""
    slices = measured.effective_slices("launch", "rank", "step") if measured.restarted is not None else ()
    counted = [some.group_by("launch", "rank").agg(pl.col("step").n_unique().cast(pl.Int64)) for some in slices]
    steps = pl.concat(counted) if counted else measured.stepped.select("launch", "rank", step="steps")
    spread = steps.sort("step", "rank").group_by("launch", maintain_order=True)
    least = spread.agg(pl.col("rank").first(), pl.col("step").first().alias("least"), pl.col("step").last().alias("most"))
    uneven = measured.timed.join(least, on="launch").filter(pl.col("least") < pl.col("most"))
    for name, rows in by_configuration(measured, uneven.sort("launch")):
        launch, rank, fewest, most = rows.select("launch", "rank", "least", "most").row(0)
        evidence = (
            f"rank {rank} made {fewest} steps in launch {launch}, where another made {most} ({count(rows.height, 'launches')} in all)"
        )
        remedy = "give every rank equally many batches: a sampler that divides evenly, or that drops the rest (drop_last)"
        yield Finding("uneven_steps", "warning", name, evidence, remedy)


# ---- saving alone ----

SAVING_ALONE_WORTH_SAYING: Final = 0.02


@AUDITS.add("saving_alone", "Do ranks wait for the one that saves checkpoints, or evaluates?", title="waiting for a checkpoint")
def examine_saving_alone(measured: RecordData, _: Results) -> tuple[Finding, ...]:
    """One finding per configuration; a warning from a tenth of step time on.

    The saving rank is no straggler: its steps are as long as the others'. Waiting of at least a fiftieth of step time is attributed here,
    and then not repeated as waiting of unknown cause (`bottleneck_communication`). Cannot tell: how long a sharded save on all ranks would
    take; compare both with `assay compare`. The same for a rank that evaluates alone.
    """
    return tuple(
        _alone_finding(kind, name, wait)
        for kind in ALONE
        for name, wait in pausing_waits(measured, kind).items()
        if wait.share >= SAVING_ALONE_WORTH_SAYING
    )


ALONE: Final = {  # kind of event -> rule, what one and several ranks do, remedy
    "checkpoint_save": (
        "saving_alone",
        ("saves the checkpoints", "save the checkpoints"),
        "save less often, asynchronously (torch.distributed.checkpoint.async_save), or a shard on every rank",
    ),
    "evaluation": (
        "evaluating_alone",
        ("evaluates", "evaluate"),
        "evaluate a share of the held-out data on every rank and add up the results, or less often",
    ),
}


def _alone_finding(kind: str, name: str, wait: SavingWait) -> Finding:
    rule, (one, several), remedy = ALONE[kind]
    who = f"rank {wait.ranks[0]} alone {one}" if len(wait.ranks) == 1 else f"ranks {', '.join(map(str, wait.ranks))} alone {several}"
    evidence = (
        f"{who}, {given(wait.saves, digits=3)} per launch of {reading(wait.save_s, SECONDS)} each, and the other ranks wait for "
        f"it: {percent(wait.share)} of their steps"
    )
    return Finding(rule, "warning" if wait.share >= MIN_SHARE else "note", name, evidence, remedy)


# ---- fault moment ----


@AUDITS.add("fault_moment", "Did a fault strike before any checkpoint was recorded?", title="fault without a checkpoint")
def examine_fault_moment(measured: RecordData, _: Results) -> Iterator[Finding]:
    """One note per configuration.

    By default a fault strikes some steps after the first checkpoint. If no earlier launch saved one, it strikes halfway through the steps:
    the job survives by restarting from scratch, or not at all, and no checkpoint was tested.
    """
    planned = pl.col("detail").str.json_path_match("$.instead_of").alias("planned")
    struck = measured.table("events").filter(pl.col("kind") == "fault").select("launch", "step", planned)
    moved = struck.drop_nulls("planned").join(measured.table("launches"), on="launch").sort("launch")
    for name, rows in by_configuration(measured, moved):
        launch, step, planned_at = rows.select("launch", "step", "planned").row(0)
        evidence = f"no checkpoint was recorded, so the fault of launch {launch} struck after step {step} and not {planned_at}"
        remedy = (
            "save the state by torch.save, safetensors or torch.distributed.checkpoint, mark it (probe.checkpoint_save), or set a "
            "step: faults.at_step"
        )
        yield Finding("no_checkpoint_seen", "note", name, evidence, remedy)


# ---- above peak ----


@AUDITS.add("above_peak", "Is more work reported than the devices can do?", title="utilisation above the peak")
def examine_above_peak(measured: RecordData, results: Results) -> Iterator[Finding]:
    """One finding per configuration with a utilisation above 1.

    A utilisation above 1 has a cause: the peak of another device or precision, a sparse or a lower peak, all workers' operations counted
    for one device, recomputation counted as model FLOPs, or steps timed without synchronisation. Other tools print 152 % and 563 %
    (torchtitan#4779, Primus#772). INVALID: either the work or the time is wrong.
    """
    for name in measured.configurations:
        value = results.get("mfu", {}).get(name)
        if isinstance(value, Estimate) and value.value > 1.0:
            evidence = (
                f"the model would use {percent(value.value, beside=(1.0,))} of the devices' peak ({value.signature.partition('|agg')[0]})"
            )
            yield Finding("above_peak", "invalid", name, evidence, _likely(measured, value))


def _likely(measured: RecordData, value: Estimate) -> str:
    """Possible causes, the likeliest first."""
    flops, origin = measured.experiment.flops, source(measured)
    likely = []
    if origin == "given":
        likely.append("flops.peak_tflops is that of another device or precision, or of one device while a worker uses several")
    if origin == "measured":
        likely.append("the device was slower while its peak was measured than in the training: measure it on a quiet machine")
    if flops.precision is not None:
        likely.append(f"the products are not computed in {flops.precision}, as flops.precision declares")
    if flops.convention != "counter":
        likely.append("the formula's numbers are those of another model, or flops.tokens_per_step is not that of one step")
    likely.append("the steps were stamped before the device had finished them: synchronise, or read the loss in each step")
    return "; or ".join(likely)


@AUDITS.blind("above_peak")
def blind_above_peak(measured: RecordData, results: Results) -> str | None:
    """Blind without a utilisation."""
    values = results.get("mfu", {})
    if any(isinstance(value, Estimate) for value in values.values()):
        return None
    first = next((value for value in values.values() if isinstance(value, Absent)), None)
    return first.detail if first is not None else "utilisation was not computed"
