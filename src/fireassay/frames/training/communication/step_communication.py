"""How long did the collectives of each step take, and how much of that was exposed?

Tables -> one row per rank and step, and per method. For a rank and a step, from its collectives [begin, end]:

    total    = |union of the calls|                                the sum would count concurrent buckets twice, and could
                                                                   exceed the step. `sum_ns` keeps the sum; the two are
                                                                   equal for calls that do not overlap
    transfer = |union of the calls' last min-over-ranks parts|     a call's least duration over ranks: its time without
                                                                   waiting. Uses durations only, so clocks need not agree
    wait     = total - transfer                                    for ranks that came later
    exposed  = the part that lengthened the step                   by the methods of METHODS, best first

A step's number is the mean over its ranks, so that transfer + wait = total and exposed <= total hold for it too, and the number
times the ranks is in rank-seconds; a launch's is the median over its steady steps. Exposed time is part of the phases, not a
separate one.

By unsynchronised steps: in a launch of its own (role `communication`, never timed) blocks of steps in which DistributedDataParallel
does not average gradients alternate with blocks in which it does. Exposed time is the trimmed mean over those blocks of

    (median of the block before + median of the block after) / 2 - median of the block without

each without its first step, which pays for the change; mean over the ranks. This is the whole cost of communication, including
contention for processors and waiting for slower ranks. Only step time that communication can lengthen or shorten counts: the wait
for data (a prefetching loader gains by it), the backward pass, and every other phase in which the rank's thread issued or waited
for a collective. The rest is the same in both, and its noise would only blur the difference; if the host did not time the phases,
the whole step counts. A varying load shifts some of the differences; their interval (`fireassay.stats.intervals.means`, wider by
sqrt(4/3), since neighbours share a block) covers that. If its half-width exceeds each of 2 ms, a tenth of the value and a fiftieth
of the step, the value is absent, the next method is used, and the report says so. The bounds are the precision that the
benchmark `exposed_truth.py` promises.
Sources: the union of intervals of HolisticTraceAnalysis; the minimum over ranks of TraceLens.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Protocol

import polars as pl

from fireassay.frames.training.communication.watched_steps import watched
from fireassay.stats.intervals.means import trimmed_mean
from fireassay.units import NS_PER_S

# methods for exposed communication, the best first -> in words. Thread waits are known only if the processor computes; there they are
# better than a profile, which slows steps down and takes Python between two operators for waiting. If a GPU computes, the kernels
# show it, and without a profile DDP's log.
METHODS: Final = {
    "unsynchronised": "alternating steps with and without synchronising, in separate launches",
    "group": "the time after the last gradient and the time that the rank's own thread waited",
    "engine": "the time after the last gradient",
    "kineto": "kernels of profiled steps: communication without computing",
    "ddp_logging": "DistributedDataParallel's own log: the time after its last gradient, of a span from its first bucket to its last",
    "simulated": "computed by a simulator, not measured",
}
IN_TRAINING: Final = ("group", "engine", "ddp_logging", "simulated")
KERNEL: Final = "kernel"  # phase of a collective's kernel in a profiled step
APART: Final = ("replay", "warm_up", KERNEL)  # phases of rows that are no calls of a training, or the same calls recorded otherwise
_RANK_STEP: Final = ("launch", "rank", "step")
_TIMES: Final = ("begin_ns", "end_ns", "checkpoint_ns", "data_ns", "forward_ns", "backward_ns", "optimizer_ns")


class RowsOf(Protocol):
    """Reads columns of the steps that the rows of `wanted` (launch, ...) name: see `RecordTables.rows_of`."""

    def __call__(self, wanted: pl.DataFrame, *columns: str) -> pl.DataFrame: ...


@dataclass(frozen=True)
class Communicated:
    """The communication of a record's steps.

    calls: launch, rank, step, total_ns, sum_ns, transfer_ns, wait_ns (null: unknown), bytes, calls, unseen (calls without an end),
    for the steady steps of timed launches. ways: launch, configuration, block, method, exposed_s, mean_s (its mean over steps; all others
    are medians), total_s, compute_s, steps, cut (share of rank-steps whose exposed time was cut to their total), thread_s
    (unsynchronised: waiting of the rank's thread in the same launch's synchronised steps, as launches under different load must not be
    subtracted from one another), unsure_s and half_s (unsynchronised: the value if it is uncertain, and the half-width of its interval).
    """

    calls: pl.DataFrame
    ways: pl.DataFrame
    kernels: pl.DataFrame  # as `calls`, from the kernels of profiled steps

    def best(self, configuration: str) -> str | None:
        """The method for a configuration's exposed communication: the best that all its launches with that method know."""
        if not self.ways.height:  # most records
            return None
        ways = self.ways.filter((pl.col("configuration") == configuration) & pl.col("unsure_s").is_null())
        known = ways.group_by("method").agg(pl.col("exposed_s").is_not_null().all())
        sure = set(known.filter("exposed_s")["method"])
        partly_known = set(ways.filter(pl.col("exposed_s").is_not_null())["method"])
        return next((method for method in METHODS if method in sure), next((m for m in METHODS if m in partly_known), None))


def fold(tables: Mapping[str, pl.DataFrame], steps: RowsOf, steady: pl.DataFrame) -> Communicated:
    """See `RecordData.communicated`. `steps`: reads the last versions of some steps; `steady`: (launch, step) that count."""
    steady = watched(steady, tables["communication"])
    calls = _of_steps(tables, steps, steady)
    ways = (_in_training(tables, steps, steady, calls), _profiled(tables), _in_turn(tables, steps))
    traced = tables["launches"].filter((pl.col("role") == "profile") & (pl.col("status") == "ok")).select("launch")
    wanted = steps(traced, "launch", "step").unique()
    kernels = _of_steps(tables, steps, wanted, kernels=True).filter(pl.col("calls") > 0)  # other steps were not profiled
    return Communicated(calls=calls, ways=pl.concat(ways), kernels=kernels)


_CALLS: Final = {
    "launch": pl.Int32,
    "rank": pl.Int32,
    "step": pl.Int64,
    "total_ns": pl.Int64,
    "transfer_ns": pl.Int64,
    "sum_ns": pl.Int64,
    "bytes": pl.Int64,
    "calls": pl.UInt32,
    "unseen": pl.UInt32,
    "wait_ns": pl.Int64,
}
_OF_CALLS: Final = (*_RANK_STEP, "incarnation", "group", "call", "op", "size", "bytes", "phase", "begin_ns", "end_ns")


# ---- collectives -------------------------------------------------------------------------------------------------------


def _of_steps(tables: Mapping[str, pl.DataFrame], steps: RowsOf, wanted: pl.DataFrame, *, kernels: bool = False) -> pl.DataFrame:
    """`Communicated.calls` of the wanted steps (launch, step): every rank of them with any recorded communication."""
    table = tables["collectives"].select(_OF_CALLS).filter(pl.col("step").is_not_null())
    table = table.filter(pl.col("phase") == KERNEL if kernels else ~pl.col("phase").is_in(APART))
    if not table.height:  # most records
        return pl.DataFrame(schema=_CALLS)
    # a step without collectives, on a rank that has others, communicated for 0 s; a rank without any is left out
    ranks = table.select("launch", "rank").unique()
    counted = steps(wanted, *_RANK_STEP, "incarnation").join(ranks, on=["launch", "rank"], how="semi")
    calls = _with_transfer(table.join(counted, on=[*_RANK_STEP, "incarnation"], how="semi"))
    folded = (
        _union(calls, pl.col("begin_ns"), "total_ns")
        .join(_union(calls, pl.col("end_ns") - pl.col("_least"), "transfer_ns"), on=_RANK_STEP, how="left")
        .join(
            calls.group_by(_RANK_STEP).agg(
                pl.col("_own").sum().alias("sum_ns"),
                pl.col("bytes").sum(),
                pl.len().alias("calls"),
                pl.col("end_ns").null_count().alias("unseen"),
                pl.col("_least").null_count().alias("_unmatched"),
            ),
            on=_RANK_STEP,
            how="full",
            coalesce=True,
        )
        .with_columns(
            transfer_ns=pl.when(pl.col("_unmatched") == pl.col("unseen")).then("transfer_ns"),
            sum_ns=pl.when(pl.col("unseen") < pl.col("calls")).then("sum_ns"),
        )
        .drop("_unmatched")
    )
    every = counted.select(_RANK_STEP).join(folded, on=_RANK_STEP, how="left")
    none = pl.col("calls").is_null()
    filled = [
        pl.when(none).then(0).otherwise(pl.col(name)).alias(name)
        for name in ("total_ns", "sum_ns", "transfer_ns", "bytes", "calls", "unseen")
    ]
    return every.with_columns(filled).with_columns(wait_ns=pl.col("total_ns") - pl.col("transfer_ns")).sort(_RANK_STEP)


def _with_transfer(calls: pl.DataFrame) -> pl.DataFrame:
    """Every call with its duration and the minimum over its ranks; null unless all of them are recorded."""
    same = ["launch", "incarnation", "group", "call"]
    timed = calls.with_columns(_own=pl.col("end_ns") - pl.col("begin_ns"))
    per_call = timed.group_by(same).agg(
        pl.col("_own").min().alias("_least"),
        pl.col("_own").count().alias("_ends"),
        pl.col("op").min().alias("_op"),
        pl.col("op").max().alias("_other"),
        pl.col("size").max().alias("_size"),
    )
    complete = (pl.col("_ends") == pl.col("_size")) & (pl.col("_op") == pl.col("_other"))
    return timed.join(per_call.filter(complete).select(*same, "_least"), on=same, how="left")


def waiting(calls: pl.DataFrame) -> pl.DataFrame:
    """(launch, rank, step, wait_ns) from rows of the table: time of a step spent waiting for later ranks, overlapping calls counted once.

    A call not recorded on all of its ranks counts as no waiting. One version of each step only.
    """
    ended_calls = calls.select(_OF_CALLS).filter(
        pl.col("step").is_not_null() & pl.col("end_ns").is_not_null() & ~pl.col("phase").is_in(APART)
    )
    if not ended_calls.height:
        return pl.DataFrame(schema={name: _CALLS[name] for name in (*_RANK_STEP, "wait_ns")})
    timed = _with_transfer(ended_calls).with_columns(_least=pl.coalesce("_least", "_own"))
    total = _union(timed, pl.col("begin_ns"), "total_ns")
    joined = total.join(_union(timed, pl.col("end_ns") - pl.col("_least"), "transfer_ns"), on=_RANK_STEP)
    return joined.select(*_RANK_STEP, wait_ns=pl.col("total_ns") - pl.col("transfer_ns"))


_MAX_NS: Final = 2**62


def _union(calls: pl.DataFrame, begin: pl.Expr, name: str) -> pl.DataFrame:
    """(launch, rank, step, `name`): how long at least one call lasts, from `begin` on.

    The rank-steps are laid end to end on one time line, so that one running maximum serves all of them: ten thousand ranks
    have a million of them.
    """
    spans = calls.select(*_RANK_STEP, begin.alias("_begin"), pl.col("end_ns").alias("_end")).drop_nulls()
    ordered = spans.sort(*_RANK_STEP, "_begin")
    new = pl.any_horizontal(pl.col(key) != pl.col(key).shift(1) for key in _RANK_STEP).fill_null(value=True)
    placed = ordered.with_columns(_new=new).with_columns(
        _place=pl.col("_new").cum_sum().cast(pl.Int64), _zero=pl.when("_new").then("_begin").forward_fill()
    )
    placed = placed.with_columns(pl.col("_begin", "_end") - pl.col("_zero"))
    highest = placed["_end"].max()
    longest = 1 + (highest if isinstance(highest, int) and highest > 0 else 0)
    if placed.height and longest * (placed["_place"][-1] + 1) > _MAX_NS:  # implausible step times: one time line cannot hold them
        running = pl.col("_end").cum_max().shift(1).over(_RANK_STEP)
    else:
        placed = placed.with_columns(pl.col("_begin", "_end") + longest * pl.col("_place"))
        running = pl.col("_end").cum_max().shift(1)
    more = (pl.col("_end") - pl.max_horizontal("_begin", running)).clip(lower_bound=0)
    return placed.with_columns(more.alias(name)).group_by(_RANK_STEP, maintain_order=True).agg(pl.col(name).sum())


# ---- methods for exposed communication ------------------------------------------------------------------------------------

_WAYS: Final = {
    "launch": pl.Int32,
    "configuration": pl.String,
    "block": pl.Int32,
    "method": pl.String,
    "exposed_s": pl.Float64,
    "mean_s": pl.Float64,
    "total_s": pl.Float64,
    "compute_s": pl.Float64,
    "steps": pl.Int64,
    "cut": pl.Float64,
    "thread_s": pl.Float64,
    "unsure_s": pl.Float64,
    "half_s": pl.Float64,
}
SURE: Final = 0.95  # confidence of the interval of alternating steps
MIN_BLOCKS: Final = 3  # blocks without synchronisation
SHARED: Final = math.sqrt(4 / 3)  # neighbouring differences have a block in common
ENOUGH_S, OF_VALUE, OF_STEP = 0.002, 0.1, 0.02  # the largest of these is the widest acceptable half-width


def _in_training(tables: Mapping[str, pl.DataFrame], steps: RowsOf, steady: pl.DataFrame, calls: pl.DataFrame) -> pl.DataFrame:
    """Values from the hooks for the steady steps of timed launches. Exposed time is cut to the total if that is known."""
    rows = tables["communication"].filter(pl.col("method").is_in(IN_TRAINING))
    rows = rows.join(steady, on=["launch", "step"], how="semi").sort("incarnation").unique([*_RANK_STEP, "method"], keep="last")
    waits = rows.select(*_RANK_STEP, "method", pl.col("exposed_ns").clip(lower_bound=0), pl.col("total_ns").alias("_certain_or_not")).join(
        calls.select(*_RANK_STEP, "total_ns"), on=_RANK_STEP, how="left"
    )
    waits = waits.with_columns(total_ns=pl.coalesce("total_ns", "_certain_or_not"))  # if the ends of calls were not recorded
    work = _work(steps(rows.select(_RANK_STEP).unique(), *_RANK_STEP, "begin_ns", "end_ns", "checkpoint_ns", "data_ns"))
    kept = pl.when(pl.col("exposed_ns").is_not_null()).then(pl.min_horizontal("exposed_ns", "total_ns"))
    joined = waits.join(work, on=_RANK_STEP, how="left").with_columns(_cut=pl.col("exposed_ns") > pl.col("total_ns"), exposed_ns=kept)
    return _launches(tables, joined.with_columns(compute_ns=pl.col("_work_ns") - pl.col("exposed_ns")))


def _work(steps: pl.DataFrame) -> pl.DataFrame:
    """(launch, rank, step, _work_ns): a rank's step without its pauses and its wait for data."""
    pauses = pl.col("checkpoint_ns").fill_null(0) + pl.col("data_ns").fill_null(0)
    return steps.select(*_RANK_STEP, (pl.col("end_ns") - pl.col("begin_ns") - pauses).alias("_work_ns"))


def _launches(tables: Mapping[str, pl.DataFrame], rows: pl.DataFrame) -> pl.DataFrame:
    """(launch, rank, step, method, exposed_ns, total_ns, compute_ns, _cut) -> `Communicated.ways`."""
    numbers = ("exposed", "total", "compute")
    per_step = rows.group_by("launch", "step", "method").agg(
        *((pl.col(f"{name}_ns").mean() / NS_PER_S).alias(f"{name}_s") for name in numbers), pl.col("_cut").mean()
    )
    per_launch = per_step.group_by("launch", "method").agg(
        pl.col("exposed_s").sort().mean().alias("mean_s"),
        *(pl.col(f"{name}_s").median() for name in numbers),
        pl.len().cast(pl.Int64).alias("steps"),
        pl.col("_cut").mean().alias("cut"),
        **{name: pl.lit(None, pl.Float64) for name in ("thread_s", "unsure_s", "half_s")},
    )
    launches = tables["launches"].select("launch", "configuration", "block")
    return per_launch.join(launches, on="launch").select(pl.col(name).cast(kind) for name, kind in _WAYS.items()).sort("launch", "method")


def _ok(tables: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    return tables["launches"].filter(pl.col("status") == "ok").select("launch")


def _profiled(tables: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    """Kernels of profiled steps, in any launch."""
    rows = tables["communication"].filter(pl.col("method") == "kineto").join(_ok(tables), on="launch", how="semi")
    return _launches(tables, rows.select(*_RANK_STEP, "method", "exposed_ns", "total_ns", "compute_ns", _cut=pl.lit(value=False)))


def _in_turn(tables: Mapping[str, pl.DataFrame], steps: RowsOf) -> pl.DataFrame:
    """Steps with and without synchronisation; see the module's docstring."""
    marked = tables["communication"].filter(pl.col("method") == "unsynchronised").join(_ok(tables), on="launch", how="semi")
    if marked.height == 0:
        return pl.DataFrame(schema=_WAYS)
    alternating = steps(marked.select("launch").unique(), *_RANK_STEP, "incarnation", *_TIMES, "method")
    runs = _runs(_acting(tables, alternating, marked), marked.select(*_RANK_STEP, "incarnation", _free=pl.lit(value=True)))
    differences = _differences(runs)
    totals = _of_steps(tables, steps, runs.filter(~pl.col("_free") & pl.col("_near")).select("launch", "step").unique())
    total = (
        totals.group_by("launch", "step")
        .agg(pl.col("total_ns").mean())
        .group_by("launch")
        .agg((pl.col("total_ns").median() / NS_PER_S).alias("total_s"))
    )
    launches = tables["launches"].select("launch", "configuration", "block")
    near = runs.filter(~pl.col("_free") & pl.col("_near")).select(_RANK_STEP)
    waited = tables["communication"].filter(pl.col("method") == "group").join(near, on=_RANK_STEP, how="semi")
    thread = (
        waited.group_by("launch", "step")
        .agg(pl.col("exposed_ns").mean())
        .group_by("launch")
        .agg((pl.col("exposed_ns").median() / NS_PER_S).alias("thread_s"))
    )
    joined = differences.join(total, on="launch", how="left").join(thread, on="launch", how="left").join(launches, on="launch")
    joined = joined.with_columns(method=pl.lit("unsynchronised"), cut=(pl.col("exposed_s") < 0).cast(pl.Float64))
    joined = joined.with_columns(pl.col("exposed_s").clip(lower_bound=0.0)).with_columns(mean_s="exposed_s")
    return joined.select(pl.col(name).cast(kind) for name, kind in _WAYS.items()).sort("launch")


def _acting(tables: Mapping[str, pl.DataFrame], steps: pl.DataFrame, marked: pl.DataFrame) -> pl.DataFrame:
    """The steps with `_whole_s`, their time without pauses, and `_s`, the part that communication can lengthen or shorten."""
    first = marked.group_by("launch").agg(pl.col("step").min().alias("_first"))  # before it buckets are rebuilt
    waits = tables["waits"].join(first, on="launch").filter(pl.col("step") > pl.col("_first"))
    waits = waits.join(marked, on=_RANK_STEP, how="anti")
    asking = pl.col("asking_ns") + pl.col("waiting_ns").fill_null(0) > 0
    phases_waited = waits.filter(asking).group_by("launch").agg(pl.col("phase").unique())
    joined = steps.join(phases_waited, on="launch", how="left")
    phases = [pl.col(f"{phase}_ns").fill_null(0) for phase in ("data", "forward", "backward", "optimizer")]
    whole = pl.col("end_ns") - pl.col("begin_ns") - pl.col("checkpoint_ns").fill_null(0)
    others = {"forward": phases[1], "optimizer": phases[3], "between": whole - sum(phases)}
    same = sum(pl.when(pl.col("phase").list.contains(name)).then(0).otherwise(ns) for name, ns in others.items())
    known = pl.col("backward_ns").is_not_null() & pl.col("phase").is_not_null() & (pl.col("method") != "cuda_event")
    return joined.with_columns(
        _whole_s=whole / NS_PER_S, _s=(whole - pl.when(known.all().over("launch")).then(same).otherwise(0)) / NS_PER_S
    ).drop("phase")


def _runs(steps: pl.DataFrame, free: pl.DataFrame) -> pl.DataFrame:
    """The steps of each rank with `_free` (not synchronised), `_run` (number of the block), `_at` and `_back` (index from a block's begin
    and from its end) and `_near` (beside a free block)."""
    life = ["launch", "rank", "incarnation"]
    ordered = steps.join(free, on=[*_RANK_STEP, "incarnation"], how="left").sort(*life, "step")
    marked = ordered.with_columns(_free=pl.col("_free").fill_null(value=False), _data_s=pl.col("data_ns").fill_null(0) / NS_PER_S)
    marked = marked.with_columns(_run=pl.col("_free").rle_id().over(life))
    block = [*life, "_run"]
    placed = marked.with_columns(
        _at=pl.int_range(pl.len()).over(block), _back=pl.int_range(pl.len(), 0, -1).over(block) - 1, _length=pl.len().over(block)
    )
    longest = placed.filter("_free").group_by("launch").agg(pl.col("_length").max().alias("_longest"))
    near = (pl.col("_at") >= 1) & ((pl.col("_at") < pl.col("_longest")) | (pl.col("_back") < pl.col("_longest") - 1))
    return placed.join(longest, on="launch").with_columns(_near=near)


def _differences(runs: pl.DataFrame) -> pl.DataFrame:
    """(launch, exposed_s, compute_s, steps, unsure_s, half_s) from the blocks of `_runs`."""
    life = ["launch", "rank", "incarnation"]
    inner = pl.col("_at") >= 1
    blocks = (
        runs.group_by(*life, "_run", "_free")
        .agg(
            pl.col("_s").filter(inner & (pl.col("_at") < pl.col("_longest"))).median().alias("_head"),
            pl.col("_s").filter(inner & (pl.col("_back") < pl.col("_longest") - 1)).median().alias("_tail"),
            (pl.col("_whole_s") - pl.col("_data_s")).filter(inner).median().alias("_compute"),
            pl.col("_whole_s").median().alias("_step"),
            inner.sum().alias("steps"),
        )
        .sort(*life, "_run")
    )
    before, after = pl.col("_tail").shift(1).over(life), pl.col("_head").shift(-1).over(life)
    beside = pl.mean_horizontal(before, after)  # of those that exist
    free = blocks.with_columns(_more=beside - pl.col("_head")).filter("_free")
    together = free.group_by("launch", "incarnation", "_run").agg(pl.col("_more", "_step", "_compute").mean(), pl.col("steps").max())
    rows = [
        (
            launch,
            *_certain_or_not(group["_more"].drop_nulls().to_list(), group["_step"].median()),
            group["_compute"].median(),
            int(group["steps"].sum()),
        )
        for (launch,), group in sorted(together.partition_by("launch", as_dict=True).items())
    ]
    names = ("launch", "exposed_s", "unsure_s", "half_s", "compute_s", "steps")
    types = {
        "launch": pl.Int32,
        "exposed_s": pl.Float64,
        "unsure_s": pl.Float64,
        "half_s": pl.Float64,
        "compute_s": pl.Float64,
        "steps": pl.Int64,
    }
    return pl.DataFrame(rows, schema={name: types[name] for name in names}, orient="row")


def _certain_or_not(differences: list[float], step_s: object) -> tuple[float | None, float | None, float | None]:
    """(exposed_s, unsure_s, half_s) from the differences of a launch's blocks: the first if it is certain, otherwise the second."""
    if not differences:
        return None, None, None
    mean = trimmed_mean(differences, SURE)
    half = SHARED * (mean.high - mean.value)
    enough = max(ENOUGH_S, OF_VALUE * abs(mean.value), OF_STEP * (step_s if isinstance(step_s, float) else 0.0))
    if len(differences) < MIN_BLOCKS or half > enough:
        return None, mean.value, half if math.isfinite(half) else None
    return mean.value, None, half


def replayed(tables: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    """(launch, configuration, alone_s, replays): time of a step's collectives with nothing else running; mean over ranks, median over
    replays.
    """
    rows = tables["communication"].filter(pl.col("method") == "replay").join(_ok(tables), on="launch", how="semi")
    per_step = rows.group_by("launch", "step").agg((pl.col("total_ns").mean() / NS_PER_S).alias("alone_s"))
    launches = tables["launches"].select("launch", "configuration")
    medians = per_step.group_by("launch").agg(pl.col("alone_s").median(), pl.col("alone_s").count().alias("replays"))
    return medians.join(launches, on="launch").sort("launch")
