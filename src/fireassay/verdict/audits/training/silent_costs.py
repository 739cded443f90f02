"""Which costs of time and memory does no row of the decomposition name: what grows, repeats itself or is oversubscribed?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from fireassay.estimates.format import count, given, percent, reading
from fireassay.frames.record_data import RecordData
from fireassay.frames.training.communication.watched_steps import watched
from fireassay.metrics.metric import Results
from fireassay.units import BYTES, NS_PER_S, SECONDS
from fireassay.verdict.audits.audit import TRAINING, Audits
from fireassay.verdict.conditions.environment import usable
from fireassay.verdict.evidence.affected import MIN_SHARE, by_configuration, most
from fireassay.verdict.types import Finding

AUDITS = Audits(about=TRAINING)
WORTH_SAYING: Final = 0.05  # of a step


# ---- growing steps ----

STRETCHES: Final = 8
MIN_STEPS: Final = 5 * STRETCHES
GROWTH, GROWTH_S = 0.25, 0.001  # of the first stretch; the larger counts
ORDERED: Final = 2  # places by which a stretch may be out of order, summed up: 1 in 360 series of chance has at most one swap


@AUDITS.add("growing_steps", "Does a step take longer the later it comes?", title="steps that grow")
def examine_growing_steps(measured: RecordData, _: Results) -> Iterator[Finding]:
    """A warning per configuration whose steps grow in most of its launches.

    The medians of eight stretches of a launch rise, with at most two neighbours out of order, by a quarter of the first and a millisecond:
    what a step does then depends on how many came before. Not where the items of a step grow as well. Cannot tell: what grows.
    """
    steps = measured.timed_steps.sort("launch", "step")
    launches = {str(name): 0 for name in measured.configurations}
    grown: dict[str, list[tuple[float, float, int]]] = {}
    for (name, _launch), rows in steps.partition_by("configuration", "launch", as_dict=True, maintain_order=True).items():
        launches[str(name)] = launches.get(str(name), 0) + 1
        times = _stretches(rows["step_s"].to_numpy())
        items = _stretches(rows["items"].to_numpy()) if rows["items"].null_count() == 0 else None
        if times is not None and _grows(times) and not (items is not None and items[-1] > items[0]):
            grown.setdefault(str(name), []).append((float(times[0]), float(times[-1]), rows.height))
    for name, found in grown.items():
        if most(len(found), launches[name]):
            first, last, n = found[0]
            evidence = (
                f"a step grows from {reading(first, SECONDS)} to {reading(last, SECONDS)} within a launch, "
                f"{reading((last - first) / n, SECONDS)} with each of {n} steps ({len(found)} of {count(launches[name], 'launches')})"
            )
            remedy = (
                "look for what is kept from step to step: losses with their graphs (detach them), lists, logs or files that are rewritten"
            )
            yield Finding("growing_steps", "warning", name, evidence, remedy)


def _stretches(values: NDArray[np.float64]) -> NDArray[np.float64] | None:
    """Medians of the stretches; None for too few steps."""
    return None if len(values) < MIN_STEPS else np.array([np.median(part) for part in np.array_split(values, STRETCHES)])


def _grows(medians: NDArray[np.float64]) -> bool:
    out_of_order = int(np.abs(np.argsort(np.argsort(medians, kind="stable"), kind="stable") - np.arange(STRETCHES)).sum())
    return out_of_order <= ORDERED and bool(medians[-1] - medians[0] >= max(GROWTH * medians[0], GROWTH_S))


# ---- growing memory ----

MEMORY: Final = "memory"  # the event: resident memory of a rank, without files
MIN_RATES: Final = 2
GROWN_B: Final = 32 * 2**20
EVEN: Final = 0.5  # the slowest growth to the fastest: caches and allocators slow down


@AUDITS.add("growing_memory", "Does a rank keep memory with every step?", title="memory that grows")
def examine_growing_memory(measured: RecordData, _: Results) -> Iterator[Finding]:
    """A warning per configuration with a rank whose memory grows evenly.

    Resident memory without that of files, read after 16, 32, 64, ... steps and at the end: between each two it grows at rates within a factor
    of two, and by 32 MiB in all. Blind with fewer than 64 steps. Cannot tell: a cache that will be full later; memory of helper processes.
    """
    events = measured.table("events").filter((pl.col("kind") == MEMORY) & pl.col("value").is_not_null())
    rows = events.join(measured.timed.select("launch", "configuration"), on="launch").sort("launch", "rank", "step")
    worst: dict[str, tuple[float, int, float, float]] = {}
    for (name, _launch, rank), seen in rows.partition_by("configuration", "launch", "rank", as_dict=True, maintain_order=True).items():
        steps, sizes = seen["step"].to_numpy().astype(np.float64), seen["value"].to_numpy()
        rates = np.diff(sizes) / np.maximum(np.diff(steps), 1.0)
        if len(rates) >= MIN_RATES and rates.min() >= EVEN * rates.max() > 0.0 and sizes[-1] - sizes[0] >= GROWN_B:
            found = (float((sizes[-1] - sizes[0]) / (steps[-1] - steps[0])), int(rank), float(sizes[0]), float(sizes[-1]))
            worst[str(name)] = max(found, worst.get(str(name), found))
    for name, (rate, rank, first, last) in worst.items():
        evidence = f"rank {rank} keeps {reading(rate, BYTES)} more with every step: {reading(first, BYTES)} become {reading(last, BYTES)}"
        remedy = "keep numbers instead of tensors (loss.item(), detach()), bound caches and lists; longer jobs end without memory"
        yield Finding("growing_memory", "warning", name, evidence, remedy)


# ---- threads ----


@AUDITS.add("threads", "Do the ranks compute with more threads than there are processors?", title="more threads than processors")
def examine_threads(measured: RecordData, results: Results) -> Iterator[Finding]:
    """A warning per configuration whose script set more threads than assay gave it, beyond the processors.

    The threads that torch has at a rank's end, added up over the ranks of a host, against the processors that the workers may use. Threads
    that take turns wait for each other at the end of every operation. Cannot tell: threads of other libraries.
    """
    processors, allowed = usable(measured, results), measured.experiment.launcher.threads_per_worker
    readings = measured.table("telemetry").filter(pl.col("counter") == "threads").join(measured.timed, on="launch")
    if not isinstance(processors, int) or not readings.height:
        return
    hosts = readings.group_by("configuration", "launch", "host").agg(
        pl.col("value").sum().alias("all"), pl.col("value").max().alias("most")
    )
    for name, rows in by_configuration(measured, hosts.filter((pl.col("most") > allowed) & (pl.col("all") > processors)).sort("launch")):
        most_threads, every = int(rows["most"][0]), int(rows["all"][0])
        evidence = f"a rank computes with {most_threads} threads, all ranks with {every}, on {count(processors, 'usable processors')}"
        remedy = f"leave torch.set_num_threads out of the script and give --threads, at most {max(1, processors * most_threads // every)}"
        yield Finding("too_many_threads", "warning", name, evidence, remedy)


# ---- small collectives ----

SMALL_B: Final = 1024
MANY: Final = 8  # a step
IN_STEPS: Final = 0.9  # of the steps


@AUDITS.add("small_collectives", "Do ranks meet in every step for a few bytes?", title="a collective for few bytes")
def examine_small_collectives(measured: RecordData, _: Results) -> Iterator[Finding]:
    """A note per configuration whose steps nearly all hold blocking calls of at most 1 KiB, a barrier included, that take a twentieth of a step.

    A blocking call costs its latency and makes every rank wait for the slowest there. What it waits would in part be waited later.
    """
    steady = watched(measured.steady_steps.select("launch", "step", "configuration", "step_s"), measured.table("communication"))
    calls = measured.table("collectives").filter(
        (pl.col("bytes") <= SMALL_B) & pl.col("blocked_ns").is_not_null() & pl.col("phase").is_in(["", *PHASES])
    )
    per_rank = calls.join(steady, on=["launch", "step"]).group_by("configuration", "launch", "step", "rank")
    steps = per_rank.agg(pl.col("blocked_ns").sum(), pl.len().alias("calls"), pl.col("op").first(), pl.col("bytes").max())
    for name, rows in by_configuration(measured, steps):
        whole = steady.filter(pl.col("configuration") == name)
        ranks = rows["rank"].n_unique()
        share = float(rows["blocked_ns"].sum()) / NS_PER_S / ranks / float(whole["step_s"].sum())
        in_steps = rows.select("launch", "step").n_unique() / whole.height
        if in_steps >= IN_STEPS and share >= WORTH_SAYING:
            yield _small(name, rows, share)


PHASES: Final = ("data", "forward", "backward", "optimizer", "between")


def _small(name: str, rows: pl.DataFrame, share: float) -> Finding:
    each, op = float(rows["calls"].to_numpy().mean()), str(rows["op"].mode().sort()[0])
    size = f" of at most {reading(float(rows['bytes'].to_numpy().max()), BYTES)}" if op != "barrier" else ""
    what = (
        f"{given(each, 2)} blocking calls"
        if each >= MANY
        else "a blocking call"
        if round(each) == 1
        else f"{given(each, 2)} blocking calls"
    )
    spent = float(rows["blocked_ns"].to_numpy().mean()) / NS_PER_S
    evidence = (
        f"every step makes {what} ({op}{size}) in which ranks wait for each other: {reading(spent, SECONDS)}, {percent(share)} of a step"
    )
    remedy = (
        "reduce one flat buffer instead of each tensor, or use DistributedDataParallel"
        if each >= MANY
        else "leave the barrier out: collectives synchronise"
        if op == "barrier"
        else "add up what is logged on the rank and reduce it every 50 steps or once an epoch"
    )
    return Finding("small_collectives", "warning" if share >= MIN_SHARE else "note", name, evidence, remedy)


# ---- evaluations ----

NOT_SHRUNK: Final = 0.8  # of the base's time
MIN_EVALUATIONS: Final = 3
LATE_S: Final = 0.002


@AUDITS.add(
    "evaluations", "Is the evaluation divided over the ranks, and do they begin it together?", title="undivided or late evaluations"
)
def examine_evaluations(measured: RecordData, _: Results) -> Iterator[Finding]:
    """At most one finding per configuration and rule.

    Evaluations are in no step time. A note where every rank evaluates as long as the base does and that takes a tenth of the time from the
    first to the last step. A warning where one rank begins them late: in the steps before, it takes longer than it usually does, and
    its evaluations are shorter by that than the longest, since the others wait inside for it.
    """
    events = measured.table("events").filter((pl.col("kind") == "evaluation") & pl.col("duration_ns").is_not_null())
    timed = measured.timed.select("launch", "configuration", "workers")
    every = events.join(timed, on="launch").group_by("launch", "configuration", "workers", "rank", "step").agg(pl.col("duration_ns").sum())
    several = every.filter(pl.col("rank").n_unique().over("launch") == pl.col("workers"))
    yield from _undivided(measured, several)
    yield from _late(measured, several.filter(pl.col("workers") > 1))


def _undivided(measured: RecordData, evaluations: pl.DataFrame) -> Iterator[Finding]:
    spans = measured.table("steps").group_by("launch").agg((pl.col("end_ns").max() - pl.col("begin_ns").min()).alias("span"))
    per_rank = evaluations.group_by("configuration", "launch", "rank").agg(pl.col("duration_ns").sum().alias("ns"))
    shares = (
        per_rank.join(spans, on="launch")
        .group_by("configuration")
        .agg(pl.col("ns").mean(), (pl.col("ns") / pl.col("span")).mean().alias("share"))
    )
    found = {str(name): (float(ns), float(share)) for name, ns, share in shares.iter_rows()}
    for name, (ns, share) in found.items():
        base = found.get(measured.base)
        if name != measured.base and base is not None and share >= MIN_SHARE and ns >= NOT_SHRUNK * base[0]:
            evidence = (
                f"every rank evaluates for {reading(ns / NS_PER_S, SECONDS)} of a launch, as long as {measured.base} does "
                f"({reading(base[0] / NS_PER_S, SECONDS)}): {percent(share)} of the time that no speedup of a step shortens"
            )
            yield Finding("evaluation_undivided", "note", name, evidence, "evaluate a share on each rank and add up the results")


def _late(measured: RecordData, evaluations: pl.DataFrame) -> Iterator[Finding]:
    pause = pl.col("checkpoint_ns").fill_null(0)
    steps = measured.effective_steps.select("launch", "rank", "step", own=pl.col("end_ns") - pl.col("begin_ns") - pause)
    usual = steps.with_columns(excess=pl.col("own") - pl.col("own").median().over("launch", "rank"))
    longest = pl.col("duration_ns").max().over("launch", "step")
    spared = evaluations.join(usual, on=["launch", "rank", "step"]).with_columns(spared=longest - pl.col("duration_ns"))
    late = spared.group_by("configuration", "launch", "rank").agg(pl.col("spared").median(), pl.col("excess").median(), pl.len().alias("n"))
    enough = late.filter((pl.col("n") >= MIN_EVALUATIONS) & (pl.min_horizontal("spared", "excess") > LATE_S * NS_PER_S))
    alike = enough.filter((pl.col("spared") / pl.col("excess")).is_between(0.5, 2.0)).sort("spared", descending=True)
    launches = dict(measured.timed.group_by("configuration").len().iter_rows())
    for name, rows in by_configuration(measured, alike):
        if most(rows["launch"].n_unique(), launches[name]):
            rank, spared_ns, n = rows.select("rank", "spared", "n").row(0)
            evidence = (
                f"rank {rank} begins each of {n} evaluations {reading(spared_ns / NS_PER_S, SECONDS)} after the others, which wait for it inside "
                "theirs: no step shows it"
            )
            remedy = "look at what that rank alone does before an evaluation: logging, saving, collecting garbage, sleeping"
            yield Finding("late_for_evaluation", "warning", name, evidence, remedy)


# ---- epochs ----

MIN_EPOCHS: Final = 3


@AUDITS.add("epoch_starts", "Does each epoch begin with a long wait for its first batch?", title="slow starts of epochs")
def examine_epoch_starts(measured: RecordData, _: Results) -> Iterator[Finding]:
    """A note per configuration whose first batches of epochs take a twentieth of the time of all steps beyond a usual batch.

    Epochs by the ledger of samples; the first one of a launch is start-up. Loaders start their helper processes anew in each epoch unless told
    otherwise. Blind without sample ids.
    """
    samples = measured.table("samples").filter(pl.col("rank") == 0)
    first = samples.group_by("launch", "epoch").agg(pl.col("step").min()).filter(pl.col("epoch") > 0).with_columns(first=pl.lit(value=True))
    steps = measured.timed_steps.filter(pl.col("data_s").is_not_null()).join(first, on=["launch", "step"], how="left")
    for name, rows in by_configuration(measured, steps):
        starts = rows.filter(pl.col("first").is_not_null())
        usual, most_s = rows.filter(pl.col("first").is_null())["data_s"].median(), starts["data_s"].median()
        if starts.height < MIN_EPOCHS or not isinstance(usual, float) or not isinstance(most_s, float):
            continue
        share = starts.height * (most_s - usual) / float(rows["step_s"].sum())
        if share >= WORTH_SAYING:
            evidence = f"the first batch of an epoch takes {reading(most_s, SECONDS)}, others {reading(usual, SECONDS)}: {percent(share)} of all step time"
            yield Finding("slow_epoch_starts", "note", name, evidence, "keep the loader's helper processes: persistent_workers=True")
