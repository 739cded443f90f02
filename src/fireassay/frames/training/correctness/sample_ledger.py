"""Which samples were lost, and which were used more than once?

Exact integers, no tolerance. The ledger is every rank's sample ids per epoch, in the version of each step that finally counted
(a step repeated after a restart counts once). Lost: ids of the data set that no rank used in an epoch. Duplicated: uses beyond the
first. A run that stops within an epoch has not lost its rest: the last epoch of a launch is *cut short* if it
used less than the earlier ones (less than the data set, if it is the only one) and the base's launches end so too, or if the launch
was ended after a requested number of steps.
Samples that a loader drops because they fill no batch (drop_last) are not lost: fewer than a batch, with a base of one worker
that fills all its batches and drops as many in every whole epoch, so that training is the same on any number of workers.
They count as dropped.
Samples that a restart skipped or repeated in the interrupted epoch are reported but not judged: a script that saves within an
epoch may restart it or go on with the next one, and the last rows of a killed worker may be missing.
The data set is 0 .. size-1, declared by probe.dataset(size); otherwise the ids recorded in the base's launches.
Launches whose steps' samples are unknown (copies, whose order may differ) have no ledger.

What weight did every sample have on every rank?

Averaging the ranks' gradients gives each of rank r's samples the weight 1 / (W d_r), where d_r is the divisor of the rank's
sum of losses; the correct weight is 1/N, N all items of the step.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from itertools import chain, groupby, pairwise
from operator import itemgetter
from typing import Final

import polars as pl

from fireassay.estimates.estimate import Absent
from fireassay.frames.record_data import RecordData, by_launch, effective_steps
from fireassay.frames.record_tables import ended, once_per_record
from fireassay.frames.training.recovery import unknown_progress

NO_LEDGER = Absent("not_measured", "the script reported no sample ids; call probe.samples(ids) in every step")
NO_WHOLE_EPOCH = Absent("insufficient", "the run ended within its first epoch, so lost samples are unknown")
SHUFFLED: Final = 0.2  # of the ids are smaller than their predecessor
MIN_IDS: Final = 8  # ids of a rank, to recognise an order


@dataclass(frozen=True, kw_only=True)
class Epoch:
    """One epoch of one launch, summed over ranks."""

    launch: int
    configuration: str
    workers: int
    epoch: int
    lost: int
    duplicated: int
    used: int  # distinct ids
    expected: int
    cut_short: bool  # the run ended within this epoch: unused samples are not lost
    interrupted: bool = False  # by a restart
    dropped: int = 0  # left out by one worker too, because they fill no batch: not lost either


@once_per_record
def epochs(measured: RecordData, *, role: str = "timed") -> tuple[Epoch, ...]:
    """The epochs of all successful launches of a role."""
    samples = known_samples(measured)
    of_unknown_progress = list(unknown_progress(measured))  # which of their steps counted is unknown
    launches = measured.table("launches").filter((pl.col("status") == "ok") & ~pl.col("launch").is_in(of_unknown_progress))
    if samples.height == 0 or launches.height == 0:
        return ()
    every = measured.once(
        "uses of samples", lambda data: pl.concat(_uses(samples_of_launch) for samples_of_launch in by_launch(known_samples(data)))
    )
    uses = every.join(launches.select("launch", "configuration", "workers", "role"), on="launch")
    if uses.height == 0:
        return ()
    uses = uses.sort("launch", "epoch")
    size = _expected(measured, uses.filter(pl.col("role") == "timed"))
    stopped = _stopped_early(uses, size)
    base = uses.filter((pl.col("configuration") == measured.base) & (pl.col("role") == "timed"))
    usually_stops = set(base["launch"].to_list()) <= stopped.keys()
    ended_inside = _ended_inside(measured, uses)
    left_out = _left_out(base, size, stopped | ended_inside)
    cut = (stopped if usually_stops else {}) | ended_inside
    return tuple(
        _epoch(row, size, cut_short=cut.get(row["launch"]) == row["epoch"], left_out=left_out)
        for row in uses.filter(pl.col("role") == role).iter_rows(named=True)
    )


def known_samples(measured: RecordData) -> pl.DataFrame:
    """The samples of the launches whose steps' samples are known."""
    unknown, samples = _unknown(measured), measured.table("samples")
    if not unknown.height:
        return samples  # no copy: they are the largest table
    return measured.once("known samples", lambda _: samples.join(unknown, on="launch", how="anti"))


def _unknown(measured: RecordData) -> pl.DataFrame:
    """(launch, detail) of the launches whose steps' samples are unknown."""
    events = measured.table("events").filter(pl.col("kind") == "samples_unknown")
    return events.unique("launch", keep="first", maintain_order=True).select("launch", "detail")


def no_ledger(measured: RecordData, configuration: str) -> Absent:
    """Why a configuration has no ledger."""
    launches = measured.timed.filter(pl.col("configuration") == configuration).join(_unknown(measured), on="launch")
    if launches.height == 0:
        return NO_LEDGER
    reason = json.loads(launches["detail"][0])["reason"]
    return Absent("not_measured", f"the samples of its steps are unknown: {reason}; call probe.samples(ids) in every step")


def _left_out(base: pl.DataFrame, size: int, stopped: dict[int, int]) -> int:
    """Samples left out of every whole epoch of one worker alike, fewer than fill a batch, while all its batches were full; else 0.

    A base of several workers may have lost samples that one would not, and would then excuse every configuration.
    A loader's batch is a step's, or one of those that the step accumulates.
    """
    rows = [row for row in base.iter_rows(named=True) if stopped.get(row["launch"]) != row["epoch"]]
    left = {size - row["used"] for row in rows}
    if len(left) != 1 or any(row["workers"] != 1 for row in rows):
        return 0
    number = int(left.pop())
    full = any(all(number < row[of] and row["used"] % row[of] == 0 for row in rows) for of in ("batch", "part"))
    return number if number > 0 and full else 0


def shuffled_alike(samples: pl.DataFrame) -> bool:
    """True if two epochs of a launch had their samples in the same, shuffled order on every rank."""
    orders: dict[int, list[list[list[int]]]] = {}  # epoch -> rank -> step -> ids
    rows = samples.filter(pl.col("incarnation") == 0)
    for epoch in sorted(rows["epoch"].unique().to_list())[:2]:
        epoch_rows = rows.filter(pl.col("epoch") == epoch).sort("rank", "step", maintain_order=True)
        epoch_rows = epoch_rows.filter(pl.col("ids").list.len() > 0)
        orders[epoch] = epoch_rows.group_by("rank", maintain_order=True).agg("ids")["ids"].to_list()
    if len(orders) < 2:
        return False
    first, second = orders.values()
    ids = [[list(chain.from_iterable(batches)) for batches in order] for order in (first, second)]
    return ids[0] == ids[1] and bool(first) and _falls(first[0]) > SHUFFLED


def _falls(batches: list[list[int]]) -> float:
    """The share of ids smaller than their predecessor in the batch: none if ordered, half if shuffled. Across batches they also fall
    if ordered shards are read in turn, so these pairs count only if batches have one id."""
    ids = list(chain.from_iterable(batches))
    if len(ids) < MIN_IDS:
        return 0.0
    pairs = [pair for batch in batches for pair in pairwise(batch)] or list(pairwise(ids))
    return sum(later < earlier for earlier, later in pairs) / len(pairs)


def _uses(samples: pl.DataFrame) -> pl.DataFrame:
    """(launch, epoch, uses, used, batch, part, interrupted) of one launch: number of used ids, of distinct ids, the most in a
    step, the most reported at once by a rank, and whether a restart fell within the epoch."""
    counted = effective_steps(samples)
    batch = counted.group_by("step").agg(pl.col("ids").list.len().sum())["ids"].max()
    part = counted["ids"].list.len().max()
    ids = counted.lazy().select("launch", "epoch", "ids").explode("ids").drop_nulls("ids")
    uses = ids.group_by("launch", "epoch").agg(pl.len().alias("uses"), pl.col("ids").n_unique().alias("used"))
    sizes = (pl.lit(batch, dtype=pl.Int64).alias("batch"), pl.lit(part, dtype=pl.Int64).alias("part"))
    broken = pl.col("epoch").is_in(_interrupted(counted)).alias("interrupted")
    return uses.with_columns(*sizes, broken).collect()


def _interrupted(counted: pl.DataFrame) -> list[int]:
    """Epochs with counted steps of more than one incarnation, or with rows lost with a killed rank."""
    if counted["incarnation"].max() == counted["incarnation"].min():
        return []
    ranks = pl.col("rank").n_unique()
    of_steps = counted.group_by("epoch", "step").agg(ranks, pl.col("incarnation").max())
    of_epochs = of_steps.group_by("epoch").agg(
        pl.col("incarnation").n_unique().alias("lives"), pl.col("rank").min().alias("least"), pl.col("rank").max().alias("most")
    )
    return of_epochs.filter((pl.col("lives") > 1) | (pl.col("least") < pl.col("most")))["epoch"].to_list()


def _expected(measured: RecordData, uses: pl.DataFrame) -> int:
    """Size of the data set: as declared, otherwise the most distinct ids in any epoch of the base."""
    declared = measured.table("fingerprints").filter(pl.col("what") == "dataset_size")["value"].max()
    if declared is not None:
        return int(declared)  # type: ignore[arg-type]
    base = uses.filter(pl.col("configuration") == measured.base)
    return int((base if base.height else uses)["used"].max() or 0)  # type: ignore[arg-type]


def _stopped_early(uses: pl.DataFrame, size: int) -> dict[int, int]:
    """launch -> its last epoch, if that used less than a whole one."""
    last_epochs: dict[int, int] = {}
    for _, epoch_rows in groupby(uses.select("launch", "epoch", "uses").iter_rows(), itemgetter(0)):
        *earlier, last = epoch_rows
        if last[2] < min((row[2] for row in earlier), default=size):
            last_epochs[int(last[0])] = int(last[1])
    return last_epochs


def _ended_inside(measured: RecordData, uses: pl.DataFrame) -> dict[int, int]:
    """launch -> its last epoch, for launches ended after a requested number of steps, unless that epoch is known to be whole."""
    last_epochs: dict[int, int] = {}
    declared = measured.table("fingerprints").filter(pl.col("what") == "dataset_size")["value"].max()
    limited = uses.filter(pl.col("launch").is_in(sorted(ended(measured))))
    for launch, epoch_rows in groupby(limited.select("launch", "epoch", "uses", "used").iter_rows(), itemgetter(0)):
        *earlier, last = epoch_rows
        complete = bool(earlier) and last[2] >= min(row[2] for row in earlier)
        if not complete and (declared is None or last[3] < declared):
            last_epochs[int(launch)] = int(last[1])
    return last_epochs


def _epoch(row: dict[str, object], size: int, *, cut_short: bool, left_out: int) -> Epoch:
    used, uses = int(row["used"]), int(row["uses"])  # type: ignore[call-overload]
    missing = max(0, size - used)
    interrupted = bool(row["interrupted"]) and (missing > 0 or uses > used)
    cut_short = cut_short or interrupted
    dropped = missing if missing == left_out and not cut_short else 0
    return Epoch(
        launch=int(row["launch"]),  # type: ignore[call-overload]
        configuration=str(row["configuration"]),
        workers=int(row["workers"]),  # type: ignore[call-overload]
        epoch=int(row["epoch"]),  # type: ignore[call-overload]
        lost=missing - dropped,
        duplicated=uses - used,
        used=used,
        expected=size,
        cut_short=cut_short,
        dropped=dropped,
        interrupted=interrupted,
    )


ROUNDING = 1e-15  # of all items / workers, which need not be a whole number
WEIGHTS: Final = {
    "launch": pl.Int32,
    "rank": pl.Int32,
    "step": pl.Int64,
    "denominator": pl.Float64,
    "total": pl.Float64,
    "configuration": pl.String,
    "workers": pl.Int32,
    "off": pl.Float64,
}


@once_per_record
def weights(measured: RecordData) -> pl.DataFrame:
    """(launch, configuration, workers, step, rank, total, denominator, off) of the reported denominators."""
    reported = measured.table("fingerprints").filter(pl.col("what") == "denominator")
    if not reported.height:
        return pl.DataFrame(schema=WEIGHTS)
    rows = effective_steps(reported).select("launch", "rank", "step", pl.col("value").alias("denominator"))
    totals = shares(measured, rows.select("launch").unique()).group_by("launch", "step").agg(pl.col("items").sum().alias("total"))
    joined = rows.join(totals, on=["launch", "step"]).join(measured.timed.select("launch", "configuration", "workers"), on="launch")
    right = pl.col("workers") * pl.col("denominator")
    return (
        joined.with_columns((pl.col("total") / right - 1.0).abs().alias("off"))
        .filter(pl.col("off").is_not_nan())
        .with_columns(pl.when(pl.col("off") < ROUNDING).then(0.0).otherwise(pl.col("off")).alias("off"))
        .sort("launch", "step", "rank")
    )


def shares(measured: RecordData, launches: pl.DataFrame | None = None) -> pl.DataFrame:
    """(launch, step, rank, items): the work of every rank in steps where all ranks' work is known; without items, its samples.
    `launches`: a frame (launch) or (launch, step) to restrict to; default: the timed launches."""
    wanted = measured.timed.select("launch") if launches is None else launches
    steps = measured.rows_of(wanted, "launch", "step", "rank", "items").lazy()
    samples = measured.table("samples").join(wanted, on=wanted.columns, how="semi")
    ids = effective_steps(samples).lazy().select("launch", "step", "rank", pl.col("ids").list.len().cast(pl.Float64).alias("ids"))
    counted = ids.group_by("launch", "step", "rank").agg(pl.col("ids").sum())
    joined = steps.unique(["launch", "step", "rank"]).join(counted, on=["launch", "step", "rank"], how="full", coalesce=True)
    known = joined.with_columns(pl.coalesce("items", "ids").alias("items")).filter(pl.col("items").is_not_null())
    timed = known.join(measured.timed.lazy().select("launch", "workers"), on="launch")
    complete = timed.filter(pl.len().over("launch", "step") == pl.col("workers"))
    return complete.select("launch", "step", "rank", "items").sort("launch", "step", "rank").collect()
