"""Where does the time of a step go that a perfect split of the work would not need?

A mean step is that of the rank with the longest mean: the pace of the job. (The mean of each step's slowest rank is longer: where a rank is
late and the others wait in their next step, two steps look long.) It is a sum:

    data          waiting for a batch
    computing     forward, backward and optimizer, less the exposed communication in them
    transfer      exposed communication that moves data
    waiting       exposed communication that waits for slower ranks
    pauses        waiting for a rank that saves or evaluates, a pause of that rank alone
    between       time in no phase, less the exposed communication in it
    uneven        the slowest rank's mean step beyond that of the mean rank: nobody waits for it in a step

All but pauses (of the rank that waits most) and uneven are means over ranks and steady steps: a cost that few steps pay is in no median.
Exposed communication is that of the phases in which the ranks' threads waited (table waits), also in no phase or in the wait for a batch.
Transfer is taken for hidden before waiting, so waiting is at least what is shown if computing hides communication. Without phases, computing
contains the time between; without exposed communication it contains both kinds of it.

How long do ranks wait for the one that saves a checkpoint, or evaluates?

A rank that pauses alone is late at the next collective, and the others wait there. Their steps around a pause (the step before it
and the next, for they may wait in either) are compared with their median step without one; where nearly every step has one, with the steps
of the rank that pauses, which does not wait for itself. The excess counts up to the pause's length. Uses durations on one host only: no
clocks are compared.
Cannot tell: the waiting where every rank pauses for as long.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

import polars as pl

from fireassay.frames.record_data import RecordData
from fireassay.frames.record_tables import once_per_record
from fireassay.frames.training.communication.watched_steps import watched
from fireassay.units import NS_PER_S

PHASES: Final = ("data", "forward", "backward", "optimizer")


@dataclass(frozen=True, kw_only=True)
class StepParts:
    """The parts of a launch's step time, seconds; None: not known apart from computing."""

    step: float
    steps: int
    parts: Mapping[str, float | None]


@once_per_record
def step_parts(measured: RecordData) -> Mapping[int, StepParts]:
    """launch -> the parts of its step, for timed launches with steady steps. Memoised."""
    if not measured.steady_steps.height:
        return {}
    exposed, transfer = _exposed(measured), _transfer(measured)
    others = (_elsewhere(measured), _pauses(measured, measured.steady_steps.select("launch", "step")))
    frame = _ranks(measured)
    for other in others:
        frame = frame.join(other, on="launch", how="left")
    rows = frame.with_columns(pl.col("between_share", "data_share", "pauses_s", "paused_s").fill_null(0.0)).iter_rows(named=True)
    return {row["launch"]: _parts(row, exposed.get(row["launch"]), transfer.get(row["launch"])) for row in rows}


def _ranks(measured: RecordData) -> pl.DataFrame:
    """(launch, rank_s, data_s, forward_s, ..., mean_s, steps, ranks): means over ranks and steady steps, null for a phase that some step lacks;
    the mean of the slowest rank.
    """
    rows, known = pl.col("rows").sum(), []
    for phase in PHASES:
        whole = pl.col(f"{phase}_missing").sum() == 0
        known.append(pl.when(whole).then(pl.col(f"{phase}_ns").sum() / rows / NS_PER_S).alias(f"{phase}_s"))
    ranks = (
        _sums(measured).group_by("launch").agg((pl.col("own_ns").sum() / rows / NS_PER_S).alias("rank_s"), *known, pl.len().alias("ranks"))
    )
    counted = measured.steady_steps.group_by("launch").agg(pl.len().alias("steps"))
    return ranks.join(counted, on="launch").join(paces(measured), on="launch")


@once_per_record
def _sums(measured: RecordData) -> pl.DataFrame:
    """(launch, rank, rows, own_ns, <phase>_ns, <phase>_missing) over the steady steps: whole nanoseconds, so that no order of adding counts."""
    own = (pl.col("end_ns") - pl.col("begin_ns") - pl.col("checkpoint_ns").fill_null(0)).sum().alias("own_ns")
    phases = [pl.col(f"{phase}_ns") for phase in PHASES]
    missing = [ns.null_count().alias(f"{phase}_missing") for phase, ns in zip(PHASES, phases, strict=True)]
    columns = ("begin_ns", "end_ns", "checkpoint_ns", *(f"{phase}_ns" for phase in PHASES))
    sums = (pl.len().cast(pl.Int64).alias("rows"), own, *(ns.sum() for ns in phases), *missing)
    return pl.concat(some.group_by("launch", "rank").agg(sums) for some in measured.steady_slices(*columns)).rechunk()


@once_per_record
def paces(measured: RecordData) -> pl.DataFrame:
    """(launch, configuration, block, mean_s, steps): the mean steady step of the rank with the longest one."""
    paced = _sums(measured).with_columns((pl.col("own_ns") / pl.col("rows") / NS_PER_S).alias("mean_s"), pl.col("rows").alias("n"))
    longest = paced.group_by("launch").agg(pl.col("mean_s", "n").max())
    launches = measured.timed.select("launch", "configuration", "block")
    return launches.join(longest, on="launch").sort("block", "launch")


def _exposed(measured: RecordData) -> Mapping[int, float]:
    """launch -> seconds; from its own steps if the method reads them, else the mean of the launches that it used."""
    values: dict[int, float] = {}
    for configuration, launches in measured.timed_by_block.items():
        method = measured.communicated.best(configuration)
        if method is None:
            continue
        ways = measured.communicated.ways.filter(
            (pl.col("configuration") == configuration) & (pl.col("method") == method) & pl.col("exposed_s").is_not_null()
        )
        own = dict(zip(ways["launch"], ways["mean_s"], strict=True))
        mean = sum(own.values()) / len(own) if own else None
        values |= {launch: value for launch, _ in launches if (value := own.get(launch, mean)) is not None}
    return values


def _transfer(measured: RecordData) -> Mapping[int, float]:
    """launch -> mean over steps and ranks, seconds."""
    per_step = measured.communicated.calls.group_by("launch", "step").agg(
        pl.when(pl.col("transfer_ns").null_count() == 0).then(pl.col("transfer_ns").mean()).alias("value")
    )
    folded = per_step.group_by("launch").agg((pl.col("value").sort().mean() / NS_PER_S).alias("value")).drop_nulls()
    return dict(zip(folded["launch"], folded["value"], strict=True))


def _elsewhere(measured: RecordData) -> pl.DataFrame:
    """(launch, between_share, data_share): of the time in which threads waited, what lies in no phase and in the wait for a batch."""
    seen = watched(measured.steady_steps.select("launch", "step"), measured.table("communication"))
    waits = measured.table("waits").join(seen, on=["launch", "step"], how="semi")
    ns = pl.col("waiting_ns").fill_null(0)
    shares = [(ns.filter(pl.col("phase") == phase).sum() / ns.sum()).fill_nan(0.0).alias(f"{phase}_share") for phase in ("between", "data")]
    return waits.group_by("launch").agg(shares)


def _parts(row: Mapping[str, float], exposed: float | None, transfer: float | None) -> StepParts:
    rank, data = row["rank_s"], row["data_s"] or 0.0
    alone = row["ranks"] == 1
    phases = [row[f"{phase}_s"] for phase in PHASES[1:]]
    communication = 0.0 if alone else exposed or 0.0
    with_phases = None not in phases
    inside = sum(phases) if with_phases else rank - data  # without phases, all but the wait for data
    in_data = communication * row["data_share"] if row["data_s"] is not None else 0.0
    in_between = communication * row["between_share"] if with_phases else 0.0
    computing = max(inside - (communication - in_data - in_between), 0.0)
    waiting = None if transfer is None else max(0.0, communication - transfer)
    of_pauses = min(waiting or 0.0, row["paused_s"])  # of the mean rank: waiting, or where that is not known computing
    if exposed is None:
        computing, of_pauses = max(computing - row["paused_s"], 0.0), 0.0
    parts = {
        "data": data - in_data if row["data_s"] is not None else None,
        "computing": computing,
        "waiting": 0.0 if alone else None if exposed is None or waiting is None else waiting - of_pauses,
        "transfer": 0.0 if alone else None if exposed is None else communication - (waiting or 0.0),
        "pauses": row["pauses_s"],
        "uneven": row["mean_s"] - rank - (row["pauses_s"] - row["paused_s"]),
    }
    known = sum(value for value in parts.values() if value is not None)
    return StepParts(step=row["mean_s"], steps=int(row["steps"]), parts={**parts, "between": row["mean_s"] - known})


_RANK = ("launch", "rank")


SHORT_NS: Final = 1_000_000  # pauses that differ by less between ranks are the same
USUAL: Final = 5  # steps without a pause that show a rank's usual step


@dataclass(frozen=True, kw_only=True)
class SavingWait:
    """The cost of saving on some ranks to the others, over the timed launches of a configuration."""

    ranks: tuple[int, ...]  # that save
    saves: float  # per launch, mean
    save_s: float  # per save, mean
    share: float  # of the others' steps


@once_per_record
def saving_waits(measured: RecordData) -> Mapping[str, SavingWait]:
    """By configuration, if some ranks save and others do not."""
    return pausing_waits(measured, "checkpoint_save")


def pausing_waits(measured: RecordData, kind: str) -> Mapping[str, SavingWait]:
    """The same for pauses of one kind of event."""
    beside = pl.col("detail").str.json_path_match("$.beside").is_not_null()
    reported = measured.table("events").filter((pl.col("kind") == kind) & ~beside)
    launches = measured.timed.filter(pl.col("workers") > 1).select("launch", "configuration", "workers")
    saves = (
        reported.join(launches, on="launch").group_by("launch", "configuration", "workers", "rank", "step").agg(pl.col("duration_ns").sum())
    )
    alone = saves.filter(pl.col("rank").n_unique().over("launch") < pl.col("workers"))
    if alone.height == 0:
        return {}
    savers, sums = alone.select("launch", "configuration").unique(), (pl.col("more").sum(), pl.col("own").sum())
    excess = (some.join(savers, on="launch").join(alone.select(_RANK).unique(), on=_RANK, how="anti") for some in pause_excess(measured))
    others = pl.concat(some.group_by("configuration").agg(sums) for some in excess).group_by("configuration").agg(sums)
    shares = dict(others.select("configuration", pl.col("more") / pl.col("own")).iter_rows())
    return {
        name: SavingWait(
            ranks=tuple(rows["rank"].unique().sort().to_list()),
            saves=rows.height / rows["launch"].n_unique(),
            save_s=float(rows["duration_ns"].mean()) / NS_PER_S,  # type: ignore[arg-type]
            share=shares[name],
        )
        for name in measured.configurations
        if (rows := alone.filter(pl.col("configuration") == name)).height and shares.get(name) is not None
    }


@once_per_record
def pauses(measured: RecordData) -> bool:
    """True if any step was paused."""
    if not measured.stepped["paused"].any():
        return False
    paused = (pl.col("checkpoint_ns").fill_null(0) != 0).any()
    return any(some.select(paused).item() for some in measured.effective_slices("checkpoint_ns"))


def pause_excess(measured: RecordData) -> Iterator[pl.DataFrame]:
    """(launch, rank, step, pause, own, missed, before, near, more), nanoseconds, of timed launches of several ranks, some ranks at a time: a
    rank's pauses and the rest of its step, how much longer another rank pauses in it and in the step before, whether it does, and by how much
    that lengthens the step.
    """
    own, apart = pl.col("own"), ~pl.col("near")
    enough = pl.when(apart.sum().over(_RANK) >= USUAL).then(own.filter(apart).median().over(_RANK))
    more = pl.when("near").then(pl.min_horizontal(own - pl.coalesce(enough, "_usual"), "reach")).otherwise(0)
    whole = pl.col("more").sum().over(_RANK)
    kept = whole.clip(0, pl.col("missed").sum().over(_RANK)) / whole
    usual = _usual_apart(measured)
    for some in _beside_pauses(measured):
        counted = some.join(usual, on="launch", how="left", maintain_order="left").with_columns(more=more).drop("_usual")
        yield counted.with_columns(more=pl.when(whole > 0).then(pl.col("more") * kept).otherwise(0.0))


def _beside_pauses(measured: RecordData) -> Iterator[pl.DataFrame]:
    """The same without `more`, and with `reach`, the larger one of missed and before."""
    several = measured.timed.filter(pl.col("workers") > 1)["launch"].to_list()
    pause, longest = pl.col("checkpoint_ns").fill_null(0), _longest_pauses(measured)
    for some in measured.effective_slices(*_RANK, "step", "begin_ns", "end_ns", "checkpoint_ns", launches=several):
        of_others = some.join(longest, on=["launch", "step"], how="left", maintain_order="left")
        steps = of_others.select(
            *_RANK, "step", pause=pause, own=pl.col("end_ns") - pl.col("begin_ns") - pause, missed=pl.col("_longest").fill_null(0) - pause
        )
        ordered = steps.sort(*_RANK, "step").with_columns(before=pl.col("missed").shift(1, fill_value=0).over(_RANK))
        near = ordered.with_columns(reach=pl.max_horizontal("missed", "before"))
        yield near.with_columns(near=pl.col("reach") > SHORT_NS)


@once_per_record
def _longest_pauses(measured: RecordData) -> pl.DataFrame:
    """(launch, step, _longest) of the steps in which any rank paused."""
    pause, key = pl.col("checkpoint_ns").fill_null(0), ["launch", "step"]
    slices = (some.filter(pause > 0).group_by(key).agg(_longest=pause.max()) for some in measured.effective_slices(*key, "checkpoint_ns"))
    return pl.concat(slices).group_by(key).agg(pl.col("_longest").max())


@once_per_record
def _usual_apart(measured: RecordData) -> pl.DataFrame:
    """(launch, _usual): a step without a pause of any rank of the launch, for ranks that have too few; without any, those of the rank that pauses."""
    own, apart = pl.col("own"), ~pl.col("near")
    sums = (own.filter(apart).sum().alias("sum"), apart.sum().cast(pl.Int64).alias("n"))
    ranks = pl.concat(some.group_by(_RANK).agg(sums) for some in _beside_pauses(measured))
    launches = ranks.group_by("launch").agg(pl.col("sum", "n").sum())
    never = launches.filter(pl.col("n") == 0)["launch"].implode()
    alone = pl.col("launch").is_in(never) & (pl.col("missed") <= SHORT_NS)
    between = pl.concat(some.filter(alone).select("launch", "own") for some in _beside_pauses(measured)) if len(never[0]) else None
    usual = launches.select("launch", _usual=pl.when(pl.col("n") > 0).then(pl.col("sum") / pl.col("n")))
    if between is None:
        return usual
    medians = between.group_by("launch").agg(pl.col("own").median().alias("_between"))
    return usual.join(medians, on="launch", how="left").select("launch", pl.coalesce("_usual", "_between").alias("_usual"))


def _pauses(measured: RecordData, counted: pl.DataFrame) -> pl.DataFrame:
    """(launch, pauses_s, paused_s): waiting for ranks that pause, of the rank that waits most and of the mean rank; means over these steps."""
    if not pauses(measured):
        return pl.DataFrame(schema={"launch": pl.Int32, "pauses_s": pl.Float64, "paused_s": pl.Float64})
    slices = (some.join(counted, on=["launch", "step"], how="semi") for some in pause_excess(measured))
    means = (some.group_by("launch", "rank").agg(pl.col("more").sort().mean()) for some in slices)
    ranks = pl.concat(means).rechunk().with_columns(pl.col("more") / NS_PER_S)
    return ranks.group_by("launch").agg(pl.col("more").max().alias("pauses_s"), pl.col("more").sort().mean().alias("paused_s"))
