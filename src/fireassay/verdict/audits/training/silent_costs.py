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
from fireassay.frames.training.lost_time import pause_excess, pauses
from fireassay.frames.training.parallelism import parallelism
from fireassay.metrics.metric import Results
from fireassay.units import BYTES, NS_PER_S, SECONDS
from fireassay.verdict.audits.audit import TRAINING, Audits
from fireassay.verdict.conditions.environment import usable
from fireassay.verdict.evidence.affected import MIN_SHARE, by_configuration
from fireassay.verdict.types import Finding

AUDITS = Audits(about=TRAINING)
WORTH_SAYING: Final = 0.05  # of a step


# ---- growing steps ----

STRETCHES: Final = 8
MIN_STEPS: Final = 5 * STRETCHES
GROWTH, GROWTH_S = 0.25, 0.001  # of the first stretch; the larger counts
ORDERED: Final = 0.8  # rank correlation of the stretches with their order; chance reaches it in one launch of 90


@AUDITS.add("growing_steps", "Does a step take longer the later it comes?", title="steps that grow")
def examine_growing_steps(measured: RecordData, _: Results) -> Iterator[Finding]:
    """A warning per configuration whose steps grow in most of its launches.

    The medians of eight stretches rise (Spearman's rho from 0.8 on), from the first to the last by a quarter and a millisecond, in more than
    half of the launches: what a step does then depends on how many came before. Not where the items of a step grow as well. Cannot tell: what grows.
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
        if 2 * len(found) > launches[name]:
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
    apart = np.argsort(np.argsort(medians, kind="stable"), kind="stable") - np.arange(STRETCHES)
    rho = 1.0 - 6.0 * float((apart**2).sum()) / (STRETCHES * (STRETCHES**2 - 1))
    return rho >= ORDERED and bool(medians[-1] - medians[0] >= max(GROWTH * medians[0], GROWTH_S))


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
    rows = rows.unique(["launch", "rank", "step"], keep="last", maintain_order=True)
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
CALLS_WORTH_SAYING: Final = 0.02  # of a step


@AUDITS.add("small_collectives", "Do ranks meet in every step for a few bytes?", title="a collective for few bytes")
def examine_small_collectives(measured: RecordData, _: Results) -> Iterator[Finding]:
    """A note per configuration whose steps nearly all hold blocking calls of at most 1 KiB, a barrier included, that take a fiftieth of a step; a
    warning from a tenth on.

    Counted is what a call takes on the rank that waits least: its latency, not the wait for a late rank. Not where these few calls are all that a
    step communicates, since they average its gradients then.
    """
    steady = watched(measured.steady_steps.select("launch", "step", "configuration", "step_s"), measured.table("communication"))
    calls = measured.table("collectives").filter(pl.col("phase").is_in(["", *PHASES])).join(steady, on=["launch", "step"])
    of_call = calls.group_by("configuration", "launch", "step", "group", "call").agg(
        pl.col("op").first(), pl.col("bytes").max(), pl.col("blocked_ns").min(), (pl.col("blocked_ns").null_count() == 0).alias("blocks")
    )
    small = (pl.col("bytes") <= SMALL_B) & pl.col("blocks")
    steps = of_call.group_by("configuration", "launch", "step").agg(
        pl.col("blocked_ns").filter(small).sum(),
        small.sum().alias("calls"),
        pl.col("op").filter(small).unique().sort().str.join(", "),
        pl.col("bytes").filter(small).max(),
        (~small).any().alias("others"),
    )
    several = measured.timed.filter(pl.col("workers") > 1).select("launch")
    for name, rows in by_configuration(measured, steps.filter(pl.col("calls") > 0).join(several, on="launch", how="semi")):
        whole = steady.filter(pl.col("configuration") == name)
        share = float(rows["blocked_ns"].sum()) / NS_PER_S / float(whole["step_s"].sum())
        beside = bool(rows["others"].any()) or rows["op"][0] == "barrier" or float(rows["calls"].to_numpy().mean()) >= MANY
        if rows.height >= IN_STEPS * whole.height and share >= CALLS_WORTH_SAYING and beside:
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
    evidence = f"every step makes {what} ({op}{size}), which take {reading(spent, SECONDS)}, {percent(share)} of a step, and make every rank wait there"
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
    evaluations = every.filter(pl.col("rank").n_unique().over("launch") == pl.col("workers"))
    spans = measured.stepped.group_by("launch").agg((pl.col("end_ns").max() - pl.col("begin_ns").min()).alias("span"))
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
                f"every rank evaluates for {reading(ns / NS_PER_S, SECONDS)} of a launch, about as long as {measured.base} does "
                f"({reading(base[0] / NS_PER_S, SECONDS)}): {percent(share)} of the time that no speedup of a step shortens"
            )
            yield Finding("evaluation_undivided", "note", name, evidence, "evaluate a share on each rank and add up the results")


# ---- late in few steps ----

LEAST_LATE_S, LATE_SHARE = 0.002, 0.5  # of the median step; the larger counts
MIN_LATE: Final = 5  # steps
OF_LONGEST, OF_ALL = 0.5, 0.7  # delays of one cause are alike: what those of half of the longest at least make up of all
FEW: Final = 0.25  # of the steps; a rank that is late in more is a straggler
LATE_WORTH_SAYING: Final = 0.02  # of the rank's time
ALONE: Final = 3.0  # times as late as any other rank


_RANK: Final = ("launch", "rank")


@AUDITS.add("late_in_few_steps", "Is one rank late in few steps, in which the others wait for it?", title="a rank late in few steps")
def examine_late_in_few_steps(measured: RecordData, _: Results) -> Iterator[Finding]:
    """A warning per configuration with the same such rank in more than half of its launches.

    In a late step a rank takes half a median step longer than usual and some other rank less than half of that longer, for it waits where it
    meets the late one: in the next step, or in an evaluation, which no step time holds. A step after such a one, or beside a longer pause of
    another rank, is that waiting. The rank is late in at least five steps and at most a
    quarter, by similar times, by a fiftieth of its time, three times as much as any other. Cannot tell: the cause; lateness that the others wait for in
    the same step (`stragglers`).
    """
    rank = ("configuration", *_RANK)
    usual, long = _usual_and_long(measured)
    ends = _extremes(measured, usual, long)
    after = long.lazy().join(ends.drop("earlier"), on=["launch", "step"])
    after = after.join(ends.select("launch", pl.col("step") + 1, "earlier"), on=["launch", "step"], how="left")
    alone = 2.0 * pl.max_horizontal("least", pl.col("earlier").fill_null(0.0)) < pl.col("more")
    delays = pl.col("more")
    large = delays.filter(delays >= OF_LONGEST * delays.quantile(0.9))
    late = after.filter(alone).group_by(rank).agg(large.sort().sum(), delays.sort().sum().alias("delays"), large.len().alias("n"))
    ranks = usual.lazy().join(late, on=rank, how="left").with_columns(pl.col("more", "delays", "n").fill_null(0)).collect()
    ranks = ranks.rename({"whole": "own"})
    second = pl.col("more").sort(descending=True).get(1, null_on_oob=True).fill_null(0.0).over("launch")  # one rank waits for none
    found = ranks.filter(
        (pl.col("more") > LATE_WORTH_SAYING * pl.col("own"))
        & (pl.col("more") >= ALONE * second)
        & pl.col("n").is_between(MIN_LATE, FEW * pl.col("steps"))
        & (pl.col("more") >= OF_ALL * pl.col("delays"))
    )
    launches = dict(measured.timed.group_by("configuration").len().iter_rows())
    usually = found.with_columns(times=pl.len().over("configuration", "rank")).sort("times", "more", descending=True)
    for name, rows in by_configuration(measured, usually):
        divided = parallelism(measured, name)
        if 2 * rows["times"][0] > launches[name] and not (divided.alone or divided.kind == "none"):
            number, lost, n, made, whole = rows.select("rank", "more", "n", "steps", "own").row(0)
            evidence = (
                f"rank {number} is late in {n} of {made} steps, by {reading(lost / n, SECONDS)} each, {percent(lost / whole)} of its time"
            )
            remedy = "look at what that rank alone does there, as before an evaluation: logging, saving, collecting garbage, sleeping"
            yield Finding("late_in_few_steps", "warning", name, f"{evidence}; the others wait for it", remedy)


def _usual_and_long(measured: RecordData) -> tuple[pl.DataFrame, pl.DataFrame]:
    """(configuration, launch, rank, usual, steps, whole) of every rank, and its rows that are long by themselves."""
    sums = (pl.col("own").median().alias("usual"), pl.len().alias("steps"), pl.col("own").sum().alias("whole"))
    usual, long = [], []
    for own in _own_seconds(measured):
        usual.append(own.group_by(_RANK).agg(sums))
        more = own.join(usual[-1], on=_RANK).with_columns(more=pl.col("own") - pl.col("usual"))
        late = pl.col("more") > pl.max_horizontal(pl.lit(LEAST_LATE_S), LATE_SHARE * pl.col("usual"))
        long.append(more.filter(late & ~pl.col("near")))
    named = measured.timed.select("launch", "configuration")
    return pl.concat(usual).join(named, on="launch"), pl.concat(long).join(named, on="launch")


def _extremes(measured: RecordData, usual: pl.DataFrame, long: pl.DataFrame) -> pl.LazyFrame:
    """(launch, step, least, earlier): by how much the ranks are longer than usual in these long steps and those before, at least and at most."""
    key, step = ["launch", "step"], long.select("launch", "step").unique()
    near = pl.concat([step, step.with_columns(pl.col("step") - 1)]).unique()
    ends = (pl.col("more").min().alias("least"), pl.col("more").max().alias("earlier"))
    slices = _own_seconds(measured) if near.height else ()
    more = (own.join(near, on=key, how="semi").join(usual, on=_RANK).with_columns(more=pl.col("own") - pl.col("usual")) for own in slices)
    found = [some.group_by(key).agg(ends) for some in more] or [step.with_columns(least=pl.lit(0.0), earlier=pl.lit(0.0))]
    return pl.concat(found).lazy().group_by(key).agg(pl.col("least").min(), pl.col("earlier").max())


def _own_seconds(measured: RecordData) -> Iterator[pl.DataFrame]:
    """(launch, rank, step, own, near) of the timed launches of several workers, some ranks at a time: see `pause_excess`."""
    if pauses(measured):
        slices = pause_excess(measured)
    else:
        launches = measured.timed.filter(pl.col("workers") > 1)["launch"].to_list()
        raw = measured.effective_slices(*_RANK, "step", "begin_ns", "end_ns", launches=launches)
        slices = (some.with_columns(own=pl.col("end_ns") - pl.col("begin_ns"), near=pl.lit(value=False)) for some in raw)
    yield from (some.select(*_RANK, "step", pl.col("own") / NS_PER_S, "near") for some in slices)


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
