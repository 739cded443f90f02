"""Where did every rank-second of a launch go?

A partition: the categories of a rank sum to the launch's wall time, by construction.

    launch begins                                                                                             launch ends
      | init | compile, steps ... | recompute | detect | restart | reload | compile, steps ... | unknown | idle |
                                  last step   fault    noticed   started  first step           last step  worker's end

Within a step: data_stall, exposed_communication, straggler_wait (its part that is waiting for a slower rank), checkpoint,
evaluation; the rest is productive. A step repeated later counts as recompute, whole. Unexplained time is `unknown`; no
rank's time is counted twice.

* A restart is identified by the workers' incarnation, not by a repeated step number: a job that loses no step, or whose engine
  heals it in place, still pays for detection, restart and reload.
* While a fault lasts (`fault` to `fault_end`, or the victim's end), step time beyond the rank's median step is idle on the victim and
  straggler_wait on the others, wherever the rank stood still; with a throttled network it is exposed communication of all.
* A process without steps (killed before its first one, or failing on every restart) is init the first time, reload later.
* If a job ends by its failure, the time until it was noticed is detect, and the rest idle. If a rank was stopped and never
  continued: idle on the victim, straggler_wait on the others, until they were ended.
* compile: time of an incarnation's first step beyond the rank's median step: building graphs, caches, first allocations.
* straggler_wait: a rank's time in its collectives beyond that of the rank with the least, overlapping calls counted once; only
  as part of exposed communication.

Source: the categories of ml-goodput-measurement (Google), which recognises a disruption only by a repeated step number.
Everything is unknown in a launch whose hosts' clocks cannot be compared (`fireassay.frames.clock_offsets`), or whose step after a
restart is unknown (`fireassay.frames.training.recovery`).
Steps with unwatched communication get the shares of the rank's median watched step.
Cannot tell: exposed communication that no instrument recorded (it is productive then), the cause of a slow step without a fault,
one long wait in an unwatched step.
"""

from __future__ import annotations

from typing import Final

import polars as pl

from fireassay.frames.clock_offsets import on_one_clock
from fireassay.frames.record_data import RecordData, portions
from fireassay.frames.training.communication.step_communication import waiting
from fireassay.frames.training.communication.watched_steps import unwatched
from fireassay.frames.training.recovery import process_began, strikes, unknown_progress

# category -> its meaning, in report order
CATEGORIES: Final = {
    "productive": "steps that counted, less everything below",
    "data_stall": "waiting for a batch inside a step",
    "exposed_communication": "communication not hidden by computing",
    "straggler_wait": "waiting for a slower rank",
    "checkpoint": "saving and loading checkpoints",
    "evaluation": "scoring held-out examples",
    "compile": "time of first steps beyond a usual one",
    "init": "from the launch's begin to a rank's first step",
    "detect": "from a failure until the engine acted, or a peer ended because of it",
    "restart": "from then until the rank's process ran again",
    "reload": "from then until its first step: joining, building the model, loading the checkpoint",
    "recompute": "steps, and parts of steps, that were lost",
    "idle": "stopped, slowed, or ended before the launch was over",
    "unknown": "unexplained time",
}
HELD_UP: Final = "held_up"  # no category: the fault's addition to idle, straggler_wait, exposed_communication and compile
NETWORK: Final = ("throttle",)  # faults that delay only the traffic, no process
_KEY = ("launch", "rank")
_LIFE = (*_KEY, "incarnation")
_JOB = ("launch", "incarnation")
_OF_STEP = ("straggler_wait", "exposed_communication", "productive", "data_stall")
_NS = pl.col("ns")


def partition(measured: RecordData, launches: pl.DataFrame) -> pl.DataFrame:
    """(launch, rank, wall_ns, held_up, one column of nanoseconds per category) for every rank of these launches.

    `launches`: rows of the table. The categories of a row sum to its wall_ns.
    """
    parts = [_partition(measured, portion) for portion in portions(measured, launches)]
    return pl.concat(parts).sort(_KEY) if parts else _partition(measured, launches)


def _partition(measured: RecordData, launches: pl.DataFrame) -> pl.DataFrame:
    clock = on_one_clock(measured)  # a rank's times are compared with the launch's, which are the coordinator's
    measured = clock.measured
    spans = measured.table("launches").select("launch", "begin_ns", "end_ns")
    rank = pl.int_ranges(0, pl.col("workers"), dtype=pl.Int32).alias("rank")
    ranks = launches.select("launch", "status", rank).join(spans, on="launch").explode("rank")
    if not ranks.height:  # most records have no fault launches
        return _filled(ranks, pl.DataFrame(schema={"launch": pl.Int32, "rank": pl.Int32}))
    # all time of these launches is unknown
    blind = [*clock.troubles, *unknown_progress(measured)]
    known = launches.select("launch").filter(~pl.col("launch").is_in(blind))
    names = ("events", "collectives", "communication")
    tables = {name: _of_launches(measured.table(name), known["launch"]) for name in names}
    failures = _failures(tables["events"], strikes(measured).join(known, on="launch", how="semi"))
    lives = _lives(_of_launches(measured.stepped, known["launch"]), tables["events"], ranks, failures)
    if lives.height == 0:
        return _filled(ranks, pl.DataFrame(schema={"launch": pl.Int32, "rank": pl.Int32}))
    within_lives = _inside(_sums(measured, tables, failures, known["launch"].to_list()), lives, tables["events"])
    return _filled(ranks, pl.concat([*_gaps(lives), within_lives], how="diagonal"))


def _of_launches(table: pl.DataFrame, launches: pl.Series) -> pl.DataFrame:
    """The rows of these launches; not copied if they are all."""
    held = pl.col("launch").is_in(launches.implode())
    return table if table.select(held.all()).item() else table.filter(held)


def _filled(ranks: pl.DataFrame, parts: pl.DataFrame) -> pl.DataFrame:
    """Every rank with all categories; the rest of its wall time is unknown."""
    named = [name for name in CATEGORIES if name != "unknown"]
    every = [*named, HELD_UP]
    missing = [pl.lit(0, pl.Int64).alias(name) for name in every if name not in parts.columns]
    sums = parts.lazy().with_columns(missing).group_by(_KEY).agg(pl.col(name).fill_null(0).sum() for name in every)
    wall = (pl.col("end_ns") - pl.col("begin_ns")).alias("wall_ns")
    filled = ranks.lazy().select(*_KEY, wall).join(sums, on=_KEY, how="left").with_columns(pl.col(every).fill_null(0))
    # Host clocks are known only within a bound: overlaps of lives are subtracted from the steps, so that no time counts twice.
    over = (pl.sum_horizontal(named) - pl.col("wall_ns")).clip(lower_bound=0)
    cut = filled.with_columns(productive=pl.col("productive") - pl.min_horizontal(over, "productive"))
    sound = pl.sum_horizontal(named) <= pl.col("wall_ns")
    sane = cut.with_columns(pl.when(sound).then(pl.col(name)).otherwise(0).alias(name) for name in every)
    return sane.with_columns(unknown=pl.col("wall_ns") - pl.sum_horizontal(named)).sort(_KEY).collect()


# ---- a rank's lives ----------------------------------------------------------------------------------------------------


_FAILURES: Final = {
    "launch": pl.Int32,
    "incarnation": pl.Int32,
    "failed": pl.Int64,
    "noticed": pl.Int64,
    "victim": pl.Int32,
    "since": pl.Int64,
    "until": pl.Int64,
    "network": pl.Boolean,
    "hung": pl.Boolean,
}


def _failures(events: pl.DataFrame, struck: pl.DataFrame) -> pl.DataFrame:
    """(launch, incarnation, failed, noticed, victim, since, until, network, lasts): per incarnation, when its failure began and when
    the first peer was gone; and the interval of a lasting fault.

    The failure begins with the injected fault, unless that passed; otherwise with the first process that vanished.
    """
    gone = events.filter(pl.col("kind") == "worker_gone").sort("ns")
    if not gone.height and not struck.height:
        return pl.DataFrame(schema=_FAILURES)
    first_gone = gone.group_by(_JOB).agg(pl.col("ns").first().alias("gone"), pl.col("rank").first().alias("first_rank"))
    all_failures = first_gone.join(_struck(events, struck), on=_JOB, how="full", coalesce=True)
    passed = pl.col("lasts") & ~pl.col("at_end") & (pl.col("gone").is_null() | (pl.col("until") < pl.col("gone")))
    classified = all_failures.with_columns(passed=passed.fill_null(value=False)).with_columns(
        failed=pl.when("passed").then("gone").otherwise(pl.min_horizontal("since", "gone")),
        cause=pl.when("passed").then("first_rank").otherwise(pl.coalesce("victim", "first_rank")),
        hung=pl.col("lasts").fill_null(value=False) & ~pl.col("passed"),
    )
    peers = gone.join(classified.select(*_JOB, "cause", "failed"), on=_JOB).filter(
        (pl.col("rank") != pl.col("cause")) & (pl.col("ns") >= pl.col("failed"))
    )
    noticed = peers.group_by(_JOB).agg(pl.col("ns").min().alias("noticed"))
    ended = gone.select(*_JOB, "rank", pl.col("ns").alias("_own")).group_by(*_JOB, "rank").agg(pl.col("_own").min())
    with_end = classified.join(ended.rename({"rank": "victim"}), on=[*_JOB, "victim"], how="left")
    return with_end.join(noticed, on=_JOB, how="left").select(
        *_JOB, "failed", "noticed", "victim", "since", pl.min_horizontal("until", "_own").alias("until"), "network", "hung"
    )


def _struck(events: pl.DataFrame, struck: pl.DataFrame) -> pl.DataFrame:
    """(launch, incarnation, since, victim, network, until, at_end, lasts): per incarnation the first fault, and when it was undone."""
    ends = (
        events.filter(pl.col("kind") == "fault_end")
        .select("launch", pl.col("ns").alias("until"), at_end=_detail("at_end").eq("true").fill_null(value=False))
        .sort("until")
    )
    rows = struck.select(
        "launch",
        pl.col("incarnation").fill_null(0),
        pl.col("ns").alias("since"),
        pl.col("rank").alias("victim"),
        network=_detail("fault").is_in(NETWORK).fill_null(value=False),
    ).sort("since")
    timed = rows.join_asof(ends, left_on="since", right_on="until", by="launch", strategy="forward", coalesce=False, check_sortedness=False)
    return timed.group_by(_JOB, maintain_order=True).first().with_columns(lasts=pl.col("until").is_not_null())


def _detail(name: str) -> pl.Expr:
    return pl.col("detail").str.json_path_match(f"$.{name}")


def _lives(stepped: pl.DataFrame, events: pl.DataFrame, ranks: pl.DataFrame, failures: pl.DataFrame) -> pl.DataFrame:
    """One row per known process of a rank that made any steps, in order.

    trained: whether it made steps; first, last: from its first step to the end of its last, without steps the moment it was gone;
    start, over: its reported begin and end; and the details of its failure.
    """
    known = stepped.lazy().select(*_LIFE, pl.col("begin_ns").alias("first"), pl.col("end_ns").alias("last"))
    for kind, name, ns in (("worker_start", "start", process_began()), ("worker_end", "over", _NS), ("worker_gone", "gone", _NS)):
        reported = events.lazy().filter(pl.col("kind") == kind).group_by(_LIFE).agg(ns.max().alias(name))
        known = known.join(reported, on=_LIFE, how="full", coalesce=True)
    latest = known.group_by(_KEY).agg(pl.col("incarnation").max().alias("_latest"))
    silent = (
        failures.lazy()
        .filter(pl.col("failed").is_not_null())
        .select(_JOB)
        .join(latest, on="launch")
        .filter(pl.col("incarnation") < pl.col("_latest"))
    )  # an engine restarts all ranks: one that trained later had a process then, even if it died before reporting
    known = known.join(silent.select(_LIFE), on=_LIFE, how="full", coalesce=True)
    processes = known.join(ranks.lazy(), on=_KEY).join(failures.lazy(), on=_JOB, how="left").sort(_LIFE)
    processes = processes.filter(pl.col("incarnation").is_not_null() & pl.col("first").is_not_null().any().over(_KEY))
    dead = pl.max_horizontal(pl.coalesce("failed", "gone", "over", "start"), "start")
    placed = processes.with_columns(trained=pl.col("first").is_not_null(), first=pl.coalesce("first", dead), last=pl.coalesce("last", dead))
    before = pl.col("last").shift(1).cum_max().over(_KEY)
    ordered = placed.with_columns(first=pl.max_horizontal("first", before)).with_columns(last=pl.max_horizontal("last", "first"))
    is_last = pl.col("incarnation") == pl.col("incarnation").max().over(_KEY)
    stuck = pl.max_horizontal("since", "last")
    ended = (
        pl.when(pl.col("hung") & (pl.col("status") != "ok"))
        .then(stuck)
        .otherwise(pl.max_horizontal(pl.coalesce("over", "failed", "end_ns"), "last"))
    )
    last_of_rank = ordered.with_columns(is_last=is_last)
    return last_of_rank.with_columns(until=pl.when("is_last").then(ended).otherwise("last")).collect()


def _gaps(lives: pl.DataFrame) -> tuple[pl.DataFrame, ...]:
    """The gaps before a rank's first step, between its lives, and after its last process."""
    nth = lives.with_columns(**{f"next_{name}": pl.col(name).shift(-1).over(_KEY) for name in ("first", "start")})
    began = nth.group_by(_KEY, maintain_order=True).first()
    init = began.select(*_KEY, init=(pl.col("first") - pl.col("begin_ns")).clip(lower_bound=0))
    a, b = pl.col("last"), pl.col("next_first")
    failed = pl.col("failed").fill_null(a).clip(a, b)
    noticed = pl.max_horizontal(pl.col("noticed").fill_null(failed), failed).clip(a, b)
    started = pl.max_horizontal(pl.col("next_start").fill_null(noticed), noticed).clip(a, b)
    between = nth.filter(~pl.col("is_last")).select(
        *_KEY, recompute=failed - a, detect=noticed - failed, restart=started - noticed, reload=b - started
    )
    return init, between, _after(nth.filter("is_last"))


def _after(ended: pl.DataFrame) -> pl.DataFrame:
    """The time after a rank's last process, or after it failed for good."""
    until, end = pl.col("until"), pl.col("end_ns")
    broke = (pl.col("status") == "failed") & pl.col("over").is_null()
    stuck = pl.col("hung").fill_null(value=False) & (pl.col("status") != "ok")
    exit_ns = pl.when(stuck).then(pl.coalesce("gone", "end_ns")).when(broke).then(pl.coalesce("noticed", until)).otherwise(until)
    then = pl.max_horizontal(exit_ns, until).clip(upper_bound=end)
    spent = (then - until).clip(lower_bound=0)
    waits = stuck & (pl.col("rank") != pl.col("victim"))
    return ended.select(
        *_KEY,
        detect=pl.when(broke & ~stuck).then(spent).otherwise(0),
        straggler_wait=pl.when(waits).then(spent).otherwise(0),
        idle=(end - then).clip(lower_bound=0) + pl.when(stuck & ~waits).then(spent).otherwise(0),
    )


# ---- inside of a life --------------------------------------------------------------------------------------------------


def _sums(measured: RecordData, tables: dict[str, pl.DataFrame], failures: pl.DataFrame, launches: list[int]) -> pl.DataFrame:
    """The sums of a life's steps by category, its pauses and their whole length: some ranks at a time, to bound memory."""
    calls, communication = tables["collectives"], tables["communication"]
    if calls.height:
        counted = measured.rows_of(calls.select("launch").unique(), *_LIFE, "step")
        calls = calls.join(counted, on=[*_LIFE, "step"], how="semi")
    of_steps = [
        (waiting(calls), ["launch", "rank", "step"]),
        (_logged(communication), [*_LIFE, "step"]),
        (unwatched(communication).with_columns(_unwatched=pl.lit(value=True)), ["launch", "step"]),
    ]
    if measured.restarted is not None:
        of_steps.append((measured.restarted, ["launch", "step"]))
    names = ("productive", "data_stall", "exposed_communication", "straggler_wait", "compile", "recompute", "idle", HELD_UP)
    length = pl.col("end_ns") - pl.col("begin_ns")
    sums = (*(pl.col(name).sum() for name in names), (length - pl.col("_own")).sum().alias("_pauses"), length.sum().alias("_steps"))
    columns = (*_LIFE, "step", "begin_ns", "end_ns", "data_ns", "checkpoint_ns", "exposed_comm_ns")
    slices = measured.slices(*columns, launches=launches)
    return pl.concat([_parts(some, of_steps, failures).group_by(_LIFE).agg(*sums) for some in slices])


def _parts(steps: pl.DataFrame, of_steps: list[tuple[pl.DataFrame, list[str]]], failures: pl.DataFrame) -> pl.DataFrame:
    """One row per step of a rank: its pause, and the rest by category."""
    unpaused = (pl.col("end_ns") - pl.col("begin_ns") - pl.col("_pause")).clip(lower_bound=0)
    every = steps
    for more, key in of_steps:
        missing = [pl.lit(None, kind).alias(name) for name, kind in more.schema.items() if name not in key]
        every = every.join(more, on=key, how="left") if more.height else every.with_columns(missing)
    counted = pl.col("incarnation") == pl.col("_last") if "_last" in every.columns else pl.lit(value=True)
    every = (
        every.with_columns(_pause=pl.col("checkpoint_ns").fill_null(0), counted=counted)
        .with_columns(_own=unpaused)
        .with_columns(data_stall=pl.col("data_ns").fill_null(0).clip(0, pl.col("_own")))
    )
    room = pl.col("_own") - pl.col("data_stall")
    exposed = pl.coalesce("exposed_comm_ns", "_logged").fill_null(0)
    every = every.with_columns(_room=room, _exposed=exposed.clip(0, room)).with_columns(
        straggler_wait=pl.min_horizontal(pl.col("wait_ns").fill_null(0), "_exposed")
    )
    every = _as_watched(every).with_columns(productive=pl.col("_room") - pl.col("_exposed"))
    every = every.with_columns(exposed_communication=pl.col("_exposed") - pl.col("straggler_wait"))
    return _without_excess(_redone(every), failures)


def _as_watched(steps: pl.DataFrame) -> pl.DataFrame:
    """Give steps with unwatched communication (`fireassay.frames.training.communication.watched_steps`) the shares of the rank's median watched step
    since the first unwatched one. A median, so that one long wait among few watched steps is not extrapolated."""
    if steps["_unwatched"].null_count() == steps.height:
        return steps
    missed = pl.col("_unwatched").fill_null(value=False)
    first = pl.col("step").filter(missed).min().over(_LIFE)
    watched_steps = ~missed & (pl.col("_room") > 0) & pl.col("counted")
    since = watched_steps & (pl.col("step") >= first)

    def like(name: str) -> pl.Expr:
        share = pl.col(name) / pl.col("_room")
        usual_share = pl.coalesce(share.filter(since).median().over(_LIFE), share.filter(watched_steps).median().over(_LIFE))
        return (pl.col("_room") * usual_share).fill_null(0).cast(pl.Int64)

    names = ("_exposed", "straggler_wait")
    return steps.with_columns(pl.when(missed).then(like(name)).otherwise(pl.col(name)).alias(name) for name in names)


def _logged(communication: pl.DataFrame) -> pl.DataFrame:
    """(launch, rank, incarnation, step, _logged): exposed communication from DDP's own log, which a GPU fills steps later."""
    rows = communication.filter((pl.col("method") == "ddp_logging") & pl.col("exposed_ns").is_not_null())
    return rows.group_by(*_LIFE, "step").agg(pl.col("exposed_ns").last().alias("_logged"))


def _redone(steps: pl.DataFrame) -> pl.DataFrame:
    """Count a superseded step as recompute, whole."""
    return steps.with_columns(
        *(pl.when("counted").then(pl.col(name)).otherwise(0).alias(name) for name in _OF_STEP),
        pl.when("counted").then(0).otherwise(pl.col("_own")).alias("recompute"),
    )


def _without_excess(steps: pl.DataFrame, failures: pl.DataFrame) -> pl.DataFrame:
    """Separate the time beyond the rank's median in first steps and in steps during a lasting fault."""
    during_fault = ((pl.col("begin_ns") < pl.col("until")) & (pl.col("end_ns") > pl.col("since"))).fill_null(value=False)
    lasting = failures.filter(pl.col("until").is_not_null()).select(*_JOB, "victim", "network", "since", "until")
    began = steps.with_columns(
        _first=pl.col("begin_ns") == pl.col("begin_ns").min().over(_LIFE),
        _again=pl.col("incarnation") > pl.col("incarnation").min().over(_KEY),
    )
    if not lasting.height:
        untouched = began.with_columns(_hit=pl.lit(value=False), idle=pl.lit(0, pl.Int64), **{HELD_UP: pl.lit(0, pl.Int64)})
        return _without_compiling(untouched.with_columns(_usual("productive")))
    broken = began.join(lasting, on=_JOB, how="left").with_columns(_hit=during_fault & pl.col("counted"))
    broken = broken.with_columns(_usual(name) for name in ("_own", *_OF_STEP))
    left = (pl.col("_own") - pl.col("_own_usual")).clip(lower_bound=0)
    left = pl.when("_hit").then(left).otherwise(0)
    whole, rest = pl.lit(0, pl.Int64), {}
    for name in _OF_STEP:  # the fault's addition, wherever the rank stood still
        taken = pl.min_horizontal(left - whole, (pl.col(name) - pl.col(f"{name}_usual")).clip(lower_bound=0))
        whole, rest[name] = whole + taken, pl.col(name) - taken
    victim, network = pl.col("rank") == pl.col("victim"), pl.col("network")
    split = broken.with_columns(**rest, _whole=whole)
    more = {
        "exposed_communication": pl.when(network).then("_whole").otherwise(0),
        "straggler_wait": pl.when(~network & ~victim).then("_whole").otherwise(0),
    }
    divided = split.with_columns(
        *((pl.col(name) + added.fill_null(0)).alias(name) for name, added in more.items()),
        idle=pl.when(~network & victim).then("_whole").otherwise(0).fill_null(0),
        **{HELD_UP: pl.col("_whole")},
    )
    return _without_compiling(divided)


def _without_compiling(steps: pl.DataFrame) -> pl.DataFrame:
    """Separate the first steps' time beyond the rank's usual productive time."""
    compile_ns = (
        pl.when(pl.col("_first") & ~pl.col("_hit") & pl.col("counted"))
        .then((pl.col("productive") - pl.col("productive_usual")).clip(lower_bound=0))
        .otherwise(0)
    )
    again = pl.when("_again").then("compile").otherwise(0)
    separated = steps.with_columns(compile=compile_ns)
    return separated.with_columns(productive=pl.col("productive") - pl.col("compile"), **{HELD_UP: pl.col(HELD_UP) + again})


def _usual(name: str) -> pl.Expr:
    """The rank's median over steps without a fault; the minimum if a fault affected every step."""
    quiet = pl.col(name).filter(pl.col("counted") & ~pl.col("_hit")).median().over(_KEY)
    least = pl.col(name).filter("counted").min().over(_KEY)
    return pl.coalesce(quiet, least).fill_null(0).cast(pl.Int64).alias(f"{name}_usual")


def _inside(sums: pl.DataFrame, lives: pl.DataFrame, events: pl.DataFrame) -> pl.DataFrame:
    """The sums per life with its marked pauses by kind: in steps, between them, and after the last."""
    marked = sums.join(lives, on=_LIFE).join(_marked(lives, events), on=_LIFE, how="left")
    free = pl.col("_pauses") + pl.col("last") - pl.col("first") - pl.col("_steps")
    tail = pl.col("until") - pl.col("last")
    return marked.select(*_KEY, *(name for name in (*CATEGORIES, HELD_UP) if name in sums.columns), *_allotted(free + tail))


def _allotted(room: pl.Expr) -> tuple[pl.Expr, pl.Expr]:
    """Checkpoints and evaluations, limited to the time outside of the steps' work."""
    saved, scored = pl.col("_saved").fill_null(0), pl.col("_scored").fill_null(0)
    checkpoint = pl.min_horizontal(saved, room.clip(lower_bound=0))
    evaluation = pl.min_horizontal(scored, (room - checkpoint).clip(lower_bound=0))
    return checkpoint.alias("checkpoint"), evaluation.alias("evaluation")


def _marked(lives: pl.DataFrame, events: pl.DataFrame) -> pl.DataFrame:
    """Nanoseconds of checkpoints and evaluations from a life's first step on; earlier ones are part of init or reload."""
    kinds = {"checkpoint_save": "_saved", "checkpoint_load": "_saved", "evaluation": "_scored"}
    marked = events.filter(pl.col("kind").is_in(list(kinds)) & pl.col("duration_ns").is_not_null()).join(lives, on=_LIFE)
    after_first = marked.filter(pl.col("ns") >= pl.col("first"))

    def spent(name: str) -> pl.Expr:
        names = [kind for kind, called in kinds.items() if called == name]
        return pl.col("duration_ns").filter(pl.col("kind").is_in(names)).sum().alias(name)

    return after_first.group_by(_LIFE).agg(spent("_saved"), spent("_scored"))
