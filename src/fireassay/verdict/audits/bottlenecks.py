"""Where does the time go, and which setting gets it back?  Notes on what holds a training back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from statistics import fmean
from typing import Any, Final

import polars as pl

from fireassay.estimates.estimate import Estimate
from fireassay.estimates.format import bracketed, count, given, percent, reading, show
from fireassay.frames.record_data import RecordData
from fireassay.frames.training.lost_time import saving_waits, step_parts
from fireassay.frames.training.parallelism import DDP, Kind, Parallelism, parallelism
from fireassay.metrics.metric import Results
from fireassay.metrics.training.communication import COMM_EXPOSED, OVERLAP
from fireassay.metrics.training.communication_steps import COMM_TOTAL, COMM_WAIT
from fireassay.metrics.training.device import MEMORY_PEAK
from fireassay.metrics.training.faults import partition
from fireassay.metrics.training.lost_time import LOST_COMPUTING, LOST_TRANSFER
from fireassay.metrics.training.ranks import STRAGGLER_WAIT
from fireassay.stats.intervals.means import quotient
from fireassay.units import FRACTION, SECONDS
from fireassay.verdict.audits.audit import TRAINING, Audits
from fireassay.verdict.audits.every.record import is_simulated
from fireassay.verdict.audits.training.timing import slow_ranks
from fireassay.verdict.conditions.environment import usable
from fireassay.verdict.evidence.affected import MIN_SHARE, gain_words, share
from fireassay.verdict.types import Finding

AUDITS = Audits(about=TRAINING)


# ---- bottleneck communication ----

COMMUNICATION_WORTH_SAYING: Final = 0.01  # of the exposed communication
COMMUNICATION_FURTHER: Final = "more work per worker, or a faster network; `assay tune` tries them, `assay comm` measures the network"
COMMUNICATION_KNOBS: Final[Mapping[Kind | None, str]] = {
    "data": "DDP's bucket size (bucket_cap_mb), gradient accumulation with no_sync, gradient compression",
    "sharded": "larger FSDP units, prefetching the next unit, keeping parameters after the forward pass (reshard_after_forward=False, SHARD_GRAD_OP), "
    "sharding within a host and replication across hosts (hybrid)",
    "tensor": "tensor-parallel ranks on one host, sequence parallelism, a smaller tensor-parallel group",
    "pipeline": "more micro-batches, another schedule (1F1B, interleaved), balanced stages",
    "local_sgd": "a longer averaging interval",
}
BY_HAND: Final = "fewer and larger calls, issued during the backward pass (DistributedDataParallel does both), gradient accumulation"
COMMUNICATION_ANY: Final = "fewer and larger calls, overlapped with computation"
WAITING_KNOB: Final = (
    "batches of equal cost on all ranks (sort or pack by length), dedicated processors, garbage collection, saving and "
    "logging at the same step on every rank; a faster network does not help"
)


@AUDITS.add("bottleneck_communication", "Would better overlap or a faster network shorten the steps?", title="exposed communication")
def examine_communication(measured: RecordData, results: Results) -> tuple[Finding, ...]:
    """At most one note per worker count and kind.

    comm_exposed against the step, by whatever method measured it (stated with the number), divided into waiting for later ranks, which no
    faster network shortens, and the rest. Waiting is the larger of straggler_wait and the part of comm_wait that cannot have been hidden,
    comm_wait - (comm_total - comm_exposed). The rest is a note on communication from a tenth of the step on. Waiting of a tenth or more
    belongs to `stragglers` if one rank is consistently slow; otherwise it is named here. Cannot tell: the additional cost of contention for
    processors.
    """
    return tuple(finding for name in measured.configurations for finding in _communication_findings(measured, results, name))


def _communication_findings(measured: RecordData, results: Results, name: str) -> Iterator[Finding]:
    exposed = results.get(COMM_EXPOSED.name, {}).get(name)
    whole = share(results, COMM_EXPOSED.name, name)
    if not isinstance(exposed, Estimate) or whole is None or whole[0] < MIN_SHARE:
        return
    waiting, least, most = (min(bound, exposed.value) for bound in waiting_s(measured, results, name))
    rest = share(results, COMM_EXPOSED.name, name, less=waiting) or whole
    each, low, high = whole
    text, ends = bracketed(each, low, high, FRACTION) if low < high else (percent(each), "")
    sentence = (
        f"exposed communication{_hidden(results, name)} takes {reading(exposed.value, SECONDS)} of every step, {text} of it {ends}".rstrip()
    )
    if rest[0] >= MIN_SHARE:
        some = waiting >= COMMUNICATION_WORTH_SAYING * exposed.value
        parted = f", of which {reading(waiting, SECONDS)} is waiting for slower ranks" if some else ""
        it = "the rest" if some else "it"
        yield _note(name, "bottleneck_communication", f"{sentence}{parted}; {gain_words(rest, it)}", knob(parallelism(measured, name)))
    late = waiting / exposed.value * whole[0]
    saving = saving_waits(measured).get(name)
    if saving is not None and saving.share >= late / 2:  # `saving_alone` names it
        return
    if late >= MIN_SHARE and not slow_ranks(measured, name):
        evidence = (
            f"ranks wait {reading(waiting, SECONDS)} of every step for the latest of them, {percent(late)} of it, and no rank is consistently slow; "
            f"{gain_words((late, least / exposed.value * whole[0], most / exposed.value * whole[0]))}"
        )
        yield _note(name, "bottleneck_waiting", evidence, WAITING_KNOB)


def knob(found: Parallelism) -> str:
    """What to tune for that parallelism; buckets are DistributedDataParallel's."""
    by_hand = found.kind == "data" and found.by == "recognised" and not found.evidence.startswith(DDP)
    return f"{BY_HAND if by_hand else COMMUNICATION_KNOBS.get(found.kind, COMMUNICATION_ANY)}, {COMMUNICATION_FURTHER}"


def _note(name: str, rule: str, evidence: str, remedy: str) -> Finding:
    return Finding(rule, "note", name, evidence, remedy)


def waiting_s(measured: RecordData, results: Results, name: str) -> tuple[float, float, float]:
    """Lower bound on the seconds per step that a rank waits for later ones, with its interval; 0 if unknown."""
    waits, total, exposed, lost = (
        results.get(metric, {}).get(name) for metric in (COMM_WAIT.name, COMM_TOTAL.name, COMM_EXPOSED.name, STRAGGLER_WAIT.name)
    )
    candidates = [(0.0, 0.0, 0.0)]
    if isinstance(waits, Estimate) and isinstance(total, Estimate) and isinstance(exposed, Estimate):
        hidden = max(0.0, total.value - exposed.value)  # all of it may have been waiting
        candidates.append((waits.value - hidden, waits.low - hidden, waits.high - hidden))
    if isinstance(lost, Estimate):
        candidates.append((lost.value, lost.low, lost.high))
    value, low, high = max(candidates)
    return value, max(0.0, low), high


def _hidden(results: Results, name: str) -> str:
    overlap = results.get(OVERLAP.name, {}).get(name)
    return f" ({overlap.value:.0%} of all communication is hidden)" if isinstance(overlap, Estimate) else ""


# ---- bottleneck data ----

DATA_KNOB: Final = "more loader workers (num_workers), prefetching, data in memory or on a faster disk; `assay tune` tries them"
DATA_RARE: Final = 0.5  # waiting comes in bursts if the usual step waits less than this share of the mean


@AUDITS.add("bottleneck_data", "Would faster loading shorten the steps?", title="slow data loading")
def examine_data(measured: RecordData, _: Results) -> tuple[Finding, ...]:
    """A note per worker count with long waits for data.

    share = time that the slowest rank waits for batches / step time, both summed over the steady steps of a launch; ratio of sums over
    launches. Sums, not medians: a loader with several processes delivers batches in bursts, so the usual step does not wait at all. A note
    from a tenth on, with the growth of waiting relative to the base: waiting that does not fall with the work per worker means a loader
    that does not scale. `data_loading` judges whether step times are comparable; this audit estimates the gain. Cannot tell: which part of
    loading is slow.
    """
    steps = measured.steady_steps.filter(pl.col("data_s").is_not_null())
    launches = steps.group_by("configuration", "launch", maintain_order=True).agg(
        pl.col("data_s").sum(), pl.col("step_s").sum(), pl.len().alias("steps"), pl.col("data_s").median().alias("usual")
    )
    by = {str(name): rows for (name,), rows in launches.partition_by("configuration", as_dict=True).items()}
    return tuple(
        finding for name in measured.configurations if name in by for finding in _data_of(measured, name, by[name], by.get(measured.base))
    )


def _data_of(measured: RecordData, name: str, rows: pl.DataFrame, base: pl.DataFrame | None) -> tuple[Finding, ...]:
    if not rows["step_s"].sum() > 0.0:
        return ()
    share = quotient(rows["data_s"].to_list(), rows["step_s"].to_list(), measured.confidence)
    if not share.value >= MIN_SHARE:
        return ()
    each, low, high = (min(max(bound, 0.0), 1.0) for bound in (share.value, share.low, share.high))
    mean, usual = _data_mean(rows), float(rows["usual"].to_numpy().mean())
    remarks = [f"a typical step waits {reading(usual, SECONDS)}: waiting comes in bursts"] if usual < DATA_RARE * mean else []
    if name != measured.base and base is not None and _data_mean(base) > 0.0:
        remarks.append(f"{mean / _data_mean(base):.2g} times that of the base")
    remark = f" ({', '.join(remarks)})" if remarks else ""
    text, ends = bracketed(each, low, high, FRACTION) if low < high else (percent(each), "")
    evidence = (
        f"waiting for data{remark} takes {reading(mean, SECONDS)} of a step on average, {f'{text} of it {ends}'.rstrip()}; "
        f"{gain_words((each, low, high))}"
    )
    return (Finding("bottleneck_data", "note", name, evidence, DATA_KNOB),)


def _data_mean(launches: pl.DataFrame) -> float:
    """Seconds per step."""
    return float(launches["data_s"].to_numpy().sum() / launches["steps"].to_numpy().sum())


# ---- bottleneck launches ----

SHORT_S: Final = 20e-6  # mean kernel; a few times the cost of a launch
NOT_COMPUTING: Final = ("communication", "copy")  # they wait for other ranks or memory: their duration is unrelated to launching
LAUNCHES_KNOB: Final = (
    "fewer and larger kernels: torch.compile (mode reduce-overhead uses CUDA graphs), fused optimizers (fused=True), a larger batch per "
    "worker; no .item() or printing of tensors within steps"
)


@AUDITS.add(
    "bottleneck_launches", "Does the device idle because the processor cannot launch its kernels fast enough?", title="slow kernel launches"
)
def examine_launches(measured: RecordData, results: Results) -> tuple[Finding, ...]:
    """A note per configuration with idle time between short kernels.

    From traces of profiled launches, if any: the share of the profiled steps in which the device neither computes, communicates nor copies,
    minus waiting for data, if the kernels that dominate computing are short. A launch costs 5 to 10 us of processor time, so kernels below
    20 us on average cannot keep a device busy. gain as in `fireassay.verdict.evidence.affected`, with the range over the profiled
    steps. The profiler slows launching, so the share is an upper bound too.

    Silent without a profiled launch on a device. Cannot tell: other Python work that delays launches (reading a loss, printing).
    """
    names = dict(measured.table("launches").select("launch", "configuration").iter_rows())
    profiled: dict[str, list[Mapping[str, Any]]] = {}
    for profile in measured.profiles:
        profiled.setdefault(str(names.get(profile["launch"])), []).extend(_launches_on_device(profile))
    return tuple(finding for name in measured.configurations for finding in _launches_of(name, profiled.get(name, []), results))


def _launches_on_device(profile: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for rank in profile.get("ranks") or ():
        if rank.get("on_device") and rank.get("steps") and any(kernel["calls"] for kernel in rank.get("kernels") or ()):
            yield rank


def _launches_of(name: str, ranks: list[Mapping[str, Any]], results: Results) -> Iterator[Finding]:
    data = results.get("data_time", {}).get(name)
    waited = data.value * 1e9 if isinstance(data, Estimate) else 0.0
    idle = [max(0.0, step["idle_ns"] - waited) / step["window_ns"] for rank in ranks for step in rank["steps"] if step["window_ns"] > 0]
    kernels = [kernel for rank in ranks for kernel in rank["kernels"] if kernel["class"] not in NOT_COMPUTING]
    if not kernels or not idle or fmean(idle) < MIN_SHARE:
        return
    mean_s = sum(kernel["ns"] for kernel in kernels) / sum(kernel["calls"] for kernel in kernels) / 1e9
    if mean_s < SHORT_S:
        evidence = (
            f"the device idles {fmean(idle):.0%} of the profiled steps ({min(idle):.0%} to {max(idle):.0%} of each) when not waiting for "
            f"data, and the dominant compute kernels take {reading(mean_s, SECONDS)} on average, about what launching them costs; "
            f"{gain_words((fmean(idle), min(idle), max(idle)))}"
        )
        yield Finding("bottleneck_launches", "note", name, evidence, LAUNCHES_KNOB)


# ---- bottleneck memory ----

FULL, EMPTY = 0.90, 0.50  # of the available memory
FULL_KNOB = "a smaller batch with accumulation, activation checkpointing, lower precision, or sharding (FSDP)"
EMPTY_KNOB = "a larger batch per worker, if training tolerates it; `assay tune` tries it with quality held"


@AUDITS.add("bottleneck_memory", "Does memory limit the training, or is it unused?", title="limiting or unused memory")
def examine_memory(measured: RecordData, results: Results) -> Iterator[Finding]:
    """A warning if memory is nearly exhausted, a note if more than half of a device's is unused.

    memory_peak against the memory of the smallest device; host_memory_peak x the most ranks on a host, against the machine's memory. Above
    nine tenths, a larger batch or one long sequence may fail to allocate; below half of a device, a larger batch fits. Allocated memory is
    torch's own; the driver and other libraries add to it. Cannot tell if hosts differ in their memory.
    """
    device, host = _smallest_device(measured.before), _host(measured.before)
    together = _ranks_of_a_host(measured)
    for configuration in measured.varied:
        name, workers = configuration.name, together.get(configuration.name, configuration.workers)
        yield from _memory_one(name, results.get("memory_peak", {}).get(name), device, 1, "a device's memory", empty=True)
        yield from _memory_one(name, results.get("host_memory_peak", {}).get(name), host, workers, "the machine's memory", empty=False)


def _memory_one(name: str, value: object, capacity: float | None, times: int, what: str, *, empty: bool) -> list[Finding]:
    if not isinstance(value, Estimate) or not capacity:
        return []
    share = value.value * times / capacity
    each = f"{show(value).text} on the largest rank{f' x {times} ranks per host' if times > 1 else ''}"
    evidence = f"{each} is {share:.0%} of {what}"
    if share > FULL:
        return [Finding("bottleneck_memory", "warning", name, evidence, FULL_KNOB)]
    if empty and share < EMPTY:
        return [Finding("memory_unused", "note", name, evidence, EMPTY_KNOB)]
    return []


def _ranks_of_a_host(measured: RecordData) -> dict[str, int]:
    """configuration -> most ranks on one host in a launch, as the ranks reported."""
    first_steps = measured.table("events").filter(pl.col("kind") == "first_step")
    ranks = first_steps.join(measured.timed.select("launch", "configuration"), on="launch")
    each = ranks.group_by("configuration", "launch", "host").agg(pl.col("rank").n_unique().alias("ranks"))
    return {str(name): int(most) for name, most in each.group_by("configuration").agg(pl.col("ranks").max()).iter_rows()}


def _smallest_device(before: Mapping[str, Any]) -> float | None:
    devices = _within(before, "gpu", "nvidia").get("devices")
    sizes = [entry.get("memory_bytes") for entry in devices or () if isinstance(entry, Mapping)]
    return min((float(entry) for entry in sizes if isinstance(entry, int | float)), default=None)


def _host(before: Mapping[str, Any]) -> float | None:
    """Memory available to the workers: the cgroup limit if below the machine's memory."""
    limits = (_within(before, "memory").get("total_bytes"), _within(before, "cgroup", "memory_limit").get("bytes"))
    return min((float(limit) for limit in limits if isinstance(limit, int | float) and limit > 0), default=None)


def _within(before: Mapping[str, Any], *path: str) -> Mapping[str, Any]:
    value: Any = before
    for name in path:
        value = value.get(name) if isinstance(value, Mapping) else None
    return value if isinstance(value, Mapping) else {}


# ---- bottleneck processors ----

PROCESSORS_WORTH_SAYING = 0.1  # of the lost computing


@AUDITS.add(
    "bottleneck_processors",
    "Do the workers share processors, so that computing cannot shrink any further?",
    title="fewer processors than workers",
)
def examine_processors(measured: RecordData, results: Results) -> Iterator[Finding]:
    """A note per worker count with fewer processors than threads.

    Workers x threads against the processors that this process may use. With fewer, the computing of a step takes at least computing(base)
    base / processors, however good the program: that floor beyond a perfect split is compared with `lost_computing`. Nothing is said of
    launches that compute on a device, that ran on several hosts, or that were simulated: this machine computed none of their steps.
    """
    processors, computing = usable(measured, results), _computing(measured)
    elsewhere = measured.experiment.launcher.nodes > 1 or is_simulated(measured)
    if not isinstance(processors, int) or computing is None or elsewhere:
        return
    threads = measured.experiment.launcher.threads_per_worker
    for level, name in zip(measured.levels, measured.configurations, strict=True):
        lost = results.get(LOST_COMPUTING.name, {}).get(name)
        if level * threads <= processors or not isinstance(lost, Estimate) or _processors_on_device(results, name):
            continue
        floor = computing * measured.experiment.base_level * max(0.0, threads / processors - 1.0 / level)
        if measured.mode == "strong" and floor >= PROCESSORS_WORTH_SAYING * lost.value:
            yield Finding(
                "bottleneck_processors",
                "note",
                name,
                _processors_evidence(level, threads, processors, floor, lost, _processors_what(results, name)),
                _processors_remedy(level * threads),
            )


def _computing(measured: RecordData) -> float | None:
    """Seconds of computing in a step of the base: the mean over its launches."""
    parts = step_parts(measured)
    launches = measured.timed_by_block.get(measured.base, ())
    known = [value for launch, _ in launches if launch in parts and (value := parts[launch].parts["computing"]) is not None]
    return sum(known) / len(known) if known else None


def _processors_on_device(results: Results, name: str) -> bool:
    return isinstance(results.get(MEMORY_PEAK.name, {}).get(name), Estimate)


def _processors_what(results: Results, name: str) -> str:
    """What `lost_computing` holds: communication too where that was not measured."""
    return "computing" if isinstance(results.get(LOST_TRANSFER.name, {}).get(name), Estimate) else "computing and communication"


def _processors_evidence(level: int, threads: int, processors: int, floor: float, lost: Estimate, what: str) -> str:
    each = f" with {count(threads, 'threads')} each" if threads > 1 else ""
    covered = "all" if floor >= lost.value else reading(floor, SECONDS)
    return (
        f"{count(level, 'workers')}{each} share {count(processors, 'usable processors')}, which explains {covered} of the {show(lost).full} of "
        f"{what} that did not shrink"
    )


def _processors_remedy(needed: int) -> str:
    return f"no more workers than processors, or a machine with {count(needed, 'processors')}; a faster network does not help"


# ---- bottleneck start ----

START_LEAST_SHARE, TO_FORGET = 0.20, 0.02  # of the paid time; the share that is negligible
START_KNOB = "longer jobs, a cache for compiled graphs and kernels, fewer imports, local data"


@AUDITS.add("bottleneck_start", "How much of a launch passes before it trains?", title="slow start-up")
def examine_start(measured: RecordData, _: Results) -> tuple[Finding, ...]:
    """A note per worker count with a long start.

    init and compile of `fireassay.frames.training.rank_time`: imports, rendezvous, building the model, and the excess of first steps over a
    usual one. A note if that is at least a fifth of the paid time of the timed launches. Experiments launch briefly on purpose, so the note
    gives the job length at which it becomes negligible.
    """
    if measured.stepped.height == 0:
        return ()
    parts = partition(measured, "timed").with_columns(whole=pl.col("workers") * pl.col("wall_s"))
    sums = parts.group_by("configuration").agg(pl.col("init", "compile", "whole").sum(), pl.len())
    by_configuration = {row["configuration"]: row for row in sums.iter_rows(named=True)}
    return tuple(
        finding for name in measured.configurations if name in by_configuration for finding in _start_one(name, by_configuration[name])
    )


def _start_one(name: str, row: dict[str, float]) -> tuple[Finding, ...]:
    begun = row["init"] + row["compile"]
    if row["whole"] <= 0.0 or begun / row["whole"] < START_LEAST_SHARE:
        return ()
    each = row["whole"] / row["len"]
    enough = each * (begun / row["whole"]) / TO_FORGET
    evidence = (
        f"{begun / row['whole']:.0%} of the paid time passes before a launch trains at its usual speed "
        f"(start {row['init'] / row['whole']:.0%}, first steps {row['compile'] / row['whole']:.0%}); the share falls below "
        f"{TO_FORGET:.0%} once a job takes {enough:,.0f} rank-seconds instead of {each:,.0f}"
    )
    return (Finding("bottleneck_start", "note", name, evidence, START_KNOB),)


# ---- bottleneck utilisation ----

UTILISATION_LOW = 0.20
UTILISATION_KNOB = "a larger batch, lower precision, torch.compile or fused kernels; `assay profile` shows which operators take the time"


@AUDITS.add("bottleneck_utilisation", "Do the devices reach a reasonable share of their peak?", title="low device utilisation")
def examine_utilisation(measured: RecordData, results: Results) -> Iterator[Finding]:
    """A note per worker count with low utilisation.

    mfu below a fifth with its whole interval: the model's own arithmetic uses little of the peak. Other bottleneck audits name further
    causes; if none does, the cause is small kernels, memory traffic or a small batch, which a profile distinguishes. Absent without a known
    peak: another device's is never substituted.
    """
    for name in measured.configurations:
        value = results.get("mfu", {}).get(name)
        if isinstance(value, Estimate) and value.high < UTILISATION_LOW:
            evidence = (
                f"the model's own arithmetic uses {show(value).full} of the devices' peak; "
                f"at the peak a step would be {_gain(value)}, which is out of reach: 0.3 to 0.5 is good"
            )
            yield Finding("bottleneck_utilisation", "note", name, evidence, UTILISATION_KNOB)


def _gain(value: Estimate) -> str:
    if value.low == value.high or value.low <= 0.0:
        return f"{given(1.0 / value.value, 3)} times as fast"
    text, ends = bracketed(1.0 / value.value, 1.0 / value.high, 1.0 / value.low)
    return f"{text} times as fast {ends}"
