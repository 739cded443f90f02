"""Where did every rank-second of a launch go?  A partition: the categories of a rank sum to the launch's wall time, by construction.

    launch begins                                                                                             launch ends
      | init | compile, steps ... | recompute | detect | restart | reload | compile, steps ... | unknown | idle |
                                  last step   fault    noticed   started  first step           last step  worker's end

Inside a step: data_stall, exposed_communication, straggler_wait (the part of it that is waiting for a slower rank), checkpoint,
evaluation, and what is left is productive.  A step that was done again later counts as recompute, whole.  What nothing explains is
`unknown`, and is said so; no rank's time is counted twice.

* A restart is seen by the incarnation of the workers, not by a step number that comes again: a job that loses no step, or whose
  engine heals it in place, still pays for the detection, the restart and the reload.
* While a fault lasts that stops or slows a process (`fault` to `fault_end`), what its steps take beyond the rank's median step
  is idle on the victim, and straggler_wait on the others.
* compile: what the first step of an incarnation takes beyond the rank's median step: building graphs, caches, first allocations.
* straggler_wait: how much longer a rank was in its collectives than the rank that was in them shortest; of exposed communication only.

Source: METRICS.md, `training_goodput`; the categories of ml-goodput-measurement, without its limits (house research 2.5).
Of a launch whose hosts' clocks are not known against each other (`assay.metrics.clock_offsets`) everything is unknown.
Cannot tell: exposed communication that no instrument saw (it is productive then), the reason of a slow step without a fault.
"""

from __future__ import annotations

from typing import Final

import polars as pl

from assay.metrics.clock_offsets import on_one_clock
from assay.metrics.measured import Measured, effective_steps, portions
from assay.metrics.recovery import process_began, strikes

# category -> what it is, in the order of reports
CATEGORIES: Final = {
    "productive": "steps that counted, less everything below",
    "data_stall": "waiting for a batch inside a step",
    "exposed_communication": "communication that no computing hid",
    "straggler_wait": "waiting for a slower rank",
    "checkpoint": "saving and loading checkpoints",
    "evaluation": "scoring held-out examples",
    "compile": "what first steps took beyond a usual one",
    "init": "from the launch's begin to a rank's first step",
    "detect": "from a failure until the engine acted",
    "restart": "from then until the rank's process was there again",
    "reload": "from then until its first step: joining, building the model, loading the checkpoint",
    "recompute": "steps, and parts of steps, that were lost and done again",
    "idle": "stopped, slowed, or ended before the launch was over",
    "unknown": "what nothing explains",
}
HELD_UP: Final = "held_up"  # no category: what a fault that lasts added to idle and straggler_wait
_KEY = ("launch", "rank")
_LIFE = (*_KEY, "incarnation")


def partition(measured: Measured, launches: pl.DataFrame) -> pl.DataFrame:
    """(launch, rank, wall_ns, held_up, one column of nanoseconds per category) for every rank of these launches.

    `launches`: rows of the table. The categories of a row sum to its wall_ns.
    """
    parts = [_partition(measured, some) for some in portions(measured, launches)]
    return pl.concat(parts).sort(_KEY) if parts else _partition(measured, launches)


def _partition(measured: Measured, launches: pl.DataFrame) -> pl.DataFrame:
    ranks = launches.select(
        "launch", "begin_ns", "end_ns", pl.int_ranges(0, pl.col("workers"), dtype=pl.Int32).alias("rank")
    ).explode("rank")
    clock = on_one_clock(measured)  # a rank's times are held against the launch's, which are the coordinator's
    measured = clock.measured
    mine = launches.select("launch").filter(
        ~pl.col("launch").is_in(list(clock.troubles))
    )  # of the others all is unknown
    tables = {
        name: measured.table(name).join(mine, on="launch", how="semi") for name in ("steps", "events", "collectives")
    }
    lives = _lives(tables["steps"], tables["events"])
    if lives.height == 0:
        return _filled(ranks, pl.DataFrame(schema={"launch": pl.Int32, "rank": pl.Int32}))
    lives = _until(lives.join(ranks, on=_KEY), _failures(measured, tables["events"]))
    inside = _inside(_parts(tables, strikes(measured)), lives, tables["events"])
    gaps = _gaps(lives)
    return _filled(ranks, pl.concat([gaps, inside], how="diagonal"))


def _filled(ranks: pl.DataFrame, parts: pl.DataFrame) -> pl.DataFrame:
    """Every rank with all categories; what is left of its wall time is unknown."""
    named = [name for name in CATEGORIES if name != "unknown"]
    every = [*named, HELD_UP]
    missing = [pl.lit(0, pl.Int64).alias(name) for name in every if name not in parts.columns]
    sums = parts.with_columns(missing).group_by(_KEY).agg(pl.col(name).fill_null(0).sum() for name in every)
    wall = (pl.col("end_ns") - pl.col("begin_ns")).alias("wall_ns")
    whole = ranks.select(*_KEY, wall).join(sums, on=_KEY, how="left").with_columns(pl.col(every).fill_null(0))
    return whole.with_columns(unknown=pl.col("wall_ns") - pl.sum_horizontal(named)).sort(_KEY)


# ---- a rank's lives ----------------------------------------------------------------------------------------------------


def _lives(steps: pl.DataFrame, events: pl.DataFrame) -> pl.DataFrame:
    """(launch, rank, incarnation, first, last, start, over): one row for each process of a rank that made steps, by its begin.
    first, last: from its first step to the end of its last; start, over: when it said that it began and ended."""
    trained = steps.group_by(_LIFE).agg(pl.col("begin_ns").min().alias("first"), pl.col("end_ns").max().alias("last"))

    def when(kind: str, name: str, ns: pl.Expr) -> pl.DataFrame:
        return events.filter(pl.col("kind") == kind).group_by(_LIFE).agg(ns.max().alias(name))

    told = trained.join(when("worker_start", "start", process_began()), on=_LIFE, how="left").join(
        when("worker_end", "over", pl.col("ns")), on=_LIFE, how="left"
    )
    return told.sort(_LIFE)


def _failures(measured: Measured, events: pl.DataFrame) -> pl.DataFrame:
    """(launch, incarnation, failed, noticed): when an incarnation's trouble began, and when the engine stopped the first peer.
    A fault that was put in is the begin; otherwise the first process that vanished is."""
    struck = strikes(measured).group_by("launch", "incarnation").agg(
        pl.col("ns").min().alias("struck"), pl.col("rank").first().alias("victim")
    )  # fmt: skip
    gone = events.filter(pl.col("kind") == "worker_gone").sort("ns")
    first = gone.group_by("launch", "incarnation").agg(
        pl.col("ns").first().alias("gone"), pl.col("rank").first().alias("first_rank")
    )
    both = first.join(struck, on=["launch", "incarnation"], how="full", coalesce=True).with_columns(
        failed=pl.min_horizontal("struck", "gone"), victim=pl.coalesce("victim", "first_rank")
    )
    peers = gone.join(both.select("launch", "incarnation", "victim", "failed"), on=["launch", "incarnation"]).filter(
        (pl.col("rank") != pl.col("victim")) & (pl.col("ns") >= pl.col("failed"))
    )
    noticed = peers.group_by("launch", "incarnation").agg(pl.col("ns").min().alias("noticed"))
    return both.join(noticed, on=["launch", "incarnation"], how="left").select(
        "launch", "incarnation", "failed", "noticed"
    )


def _until(lives: pl.DataFrame, failures: pl.DataFrame) -> pl.DataFrame:
    """The lives with what is known of their failure, and with `until`: when a rank's last process was there no more."""
    known = lives.join(failures, on=["launch", "incarnation"], how="left").sort(_LIFE)
    ended = pl.max_horizontal(pl.coalesce("over", "failed", "end_ns"), "last")
    is_last = pl.col("incarnation") == pl.col("incarnation").max().over(_KEY)
    return known.with_columns(until=pl.when(is_last).then(ended).otherwise("last"))


def _gaps(known: pl.DataFrame) -> pl.DataFrame:
    """What lies before a rank's first step, between its lives, and after its last process."""
    before = known.with_columns(
        **{f"was_{name}": pl.col(name).shift(1).over(_KEY) for name in ("last", "failed", "noticed")}
    )
    began = before.filter(pl.col("was_last").is_null()).select(*_KEY, init=pl.col("first") - pl.col("begin_ns"))
    again = before.filter(pl.col("was_last").is_not_null())
    a, b = pl.col("was_last"), pl.col("first")
    failed = pl.col("was_failed").fill_null(a).clip(a, b)
    noticed = pl.max_horizontal(pl.col("was_noticed").fill_null(failed), failed).clip(a, b)
    started = pl.max_horizontal(pl.col("start").fill_null(noticed), noticed).clip(a, b)
    between = again.select(
        *_KEY, recompute=failed - a, detect=noticed - failed, restart=started - noticed, reload=b - started
    )
    ended = known.group_by(_KEY, maintain_order=True).last()
    after = ended.select(*_KEY, idle=(pl.col("end_ns") - pl.col("until")).clip(lower_bound=0))
    return pl.concat([began, between, after], how="diagonal")


# ---- inside of a life --------------------------------------------------------------------------------------------------


def _parts(tables: dict[str, pl.DataFrame], struck: pl.DataFrame) -> pl.DataFrame:
    """One row per step of a rank: its pause, and the rest in categories."""
    steps = tables["steps"]
    counted = effective_steps(steps).select(*_LIFE, "step", "begin_ns", counted=pl.lit(value=True))
    own = (pl.col("end_ns") - pl.col("begin_ns") - pl.col("_pause")).clip(lower_bound=0)
    every = (
        steps.join(counted, on=[*_LIFE, "step", "begin_ns"], how="left")
        .join(_waited(tables["collectives"]), on=[*_LIFE, "step"], how="left")
        .with_columns(_pause=pl.col("checkpoint_ns").fill_null(0), counted=pl.col("counted").fill_null(value=False))
        .with_columns(_own=own)
        .with_columns(data_stall=pl.col("data_ns").fill_null(0).clip(0, pl.col("_own")))
    )
    room = pl.col("_own") - pl.col("data_stall")
    every = every.with_columns(_exposed=pl.col("exposed_comm_ns").fill_null(0).clip(0, room)).with_columns(
        straggler_wait=pl.min_horizontal(pl.col("_waited").fill_null(0), "_exposed"),
        productive=room - pl.col("_exposed"),
    )
    every = every.with_columns(exposed_communication=pl.col("_exposed") - pl.col("straggler_wait"))
    return _without_excess(_redone(every), tables["events"], struck)


def _redone(steps: pl.DataFrame) -> pl.DataFrame:
    """A step that does not count is recompute, whole."""
    parts = ("data_stall", "straggler_wait", "exposed_communication", "productive")
    return steps.with_columns(
        *(pl.when("counted").then(pl.col(name)).otherwise(0).alias(name) for name in parts),
        pl.when("counted").then(0).otherwise(pl.col("_own")).alias("recompute"),
    )


def _without_excess(steps: pl.DataFrame, events: pl.DataFrame, struck: pl.DataFrame) -> pl.DataFrame:
    """What first steps, and steps during a fault that lasts, take beyond the rank's median is not productive."""
    hit = ((pl.col("begin_ns") < pl.col("_until")) & (pl.col("end_ns") > pl.col("_since"))).fill_null(value=False)
    usual = (
        pl.col("productive").filter(pl.col("counted") & ~pl.col("_hit")).median().over(_KEY).fill_null(0).cast(pl.Int64)
    )
    broken = (
        steps.join(_windows(events, struck), on="launch", how="left")
        .with_columns(_first=pl.col("begin_ns") == pl.col("begin_ns").min().over(_LIFE), _hit=hit)
        .with_columns(_excess=(pl.col("productive") - usual).clip(lower_bound=0))
    )
    excess, victim = pl.col("_excess"), pl.col("rank") == pl.col("_victim")
    taken = broken.with_columns(
        idle=pl.when(pl.col("_hit") & victim).then(excess).otherwise(0),
        straggler_wait=pl.col("straggler_wait") + pl.when(pl.col("_hit") & ~victim).then(excess).otherwise(0),
        compile=pl.when(pl.col("_first") & ~pl.col("_hit")).then(excess).otherwise(0),
        **{HELD_UP: pl.when("_hit").then(excess).otherwise(0)},
    )
    return taken.with_columns(
        productive=pl.col("productive") - pl.when(pl.col("_hit") | pl.col("_first")).then(excess).otherwise(0)
    )


def _windows(events: pl.DataFrame, struck: pl.DataFrame) -> pl.DataFrame:
    """(launch, _victim, _since, _until) of faults that lasted and were undone; the first of a launch."""
    ends = events.filter(pl.col("kind") == "fault_end").group_by("launch").agg(pl.col("ns").max().alias("_until"))
    begun = struck.sort("ns").group_by("launch").agg(
        pl.col("rank").first().alias("_victim"), pl.col("ns").first().alias("_since")
    )  # fmt: skip
    return begun.join(ends, on="launch")


def _waited(collectives: pl.DataFrame) -> pl.DataFrame:
    """(launch, rank, incarnation, step, _waited): how much longer a rank was in its collectives than the one that was shortest.
    Durations are compared, not moments: hosts' clocks do not matter."""
    seen = collectives.filter(pl.col("end_ns").is_not_null() & pl.col("step").is_not_null())
    length = seen.with_columns(_length=pl.col("end_ns") - pl.col("begin_ns"))
    least = pl.col("_length").min().over("launch", "incarnation", "group", "call")
    return (
        length.with_columns(_more=pl.col("_length") - least)
        .group_by(*_LIFE, "step")
        .agg(pl.col("_more").sum().alias("_waited"))
    )


def _inside(parts: pl.DataFrame, lives: pl.DataFrame, events: pl.DataFrame) -> pl.DataFrame:
    """Sums of each life, its marked pauses told apart by kind: in steps, between them, and after the last."""
    names = (
        "productive",
        "data_stall",
        "exposed_communication",
        "straggler_wait",
        "compile",
        "recompute",
        "idle",
        HELD_UP,
    )
    sums = parts.group_by(_LIFE).agg(
        *(pl.col(name).sum() for name in names),
        (pl.col("end_ns") - pl.col("begin_ns") - pl.col("_own")).sum().alias("_pauses"),
        (pl.col("end_ns") - pl.col("begin_ns")).sum().alias("_steps"),
    )
    marked = sums.join(lives, on=_LIFE).join(_marked(lives, events), on=_LIFE, how="left")
    free = pl.col("_pauses") + pl.col("last") - pl.col("first") - pl.col("_steps")
    tail = pl.col("until") - pl.col("last")
    return marked.select(*_KEY, *names, *_allotted(free + tail))


def _allotted(room: pl.Expr) -> tuple[pl.Expr, pl.Expr]:
    """Checkpoints and evaluations, which can take no more than the time that no step's work takes."""
    saved, scored = pl.col("_saved").fill_null(0), pl.col("_scored").fill_null(0)
    checkpoint = pl.min_horizontal(saved, room.clip(lower_bound=0))
    evaluation = pl.min_horizontal(scored, (room - checkpoint).clip(lower_bound=0))
    return checkpoint.alias("checkpoint"), evaluation.alias("evaluation")


def _marked(lives: pl.DataFrame, events: pl.DataFrame) -> pl.DataFrame:
    """Nanoseconds of checkpoints and evaluations from a life's first step on; what comes before is part of init or reload."""
    kinds = {"checkpoint_save": "_saved", "checkpoint_load": "_saved", "evaluation": "_scored"}
    own = events.filter(pl.col("kind").is_in(list(kinds)) & pl.col("duration_ns").is_not_null()).join(lives, on=_LIFE)
    late = own.filter(pl.col("ns") >= pl.col("first"))

    def spent(name: str) -> pl.Expr:
        some = [kind for kind, called in kinds.items() if called == name]
        return pl.col("duration_ns").filter(pl.col("kind").is_in(some)).sum().alias(name)

    return late.group_by(_LIFE).agg(spent("_saved"), spent("_scored"))
