"""Which samples were lost, and which were used more than once?  Exact integers, no tolerance.

The ledger is every rank's sample ids per epoch, in the version of each step that finally counted (a step done again
after a restart counts once).  Lost: ids of the data set that no rank used in an epoch.  Duplicated: uses beyond the
first.  A run that stops inside an epoch has not lost the rest of it: the last epoch of a launch is *cut short* if it
used less than the earlier ones (less than the data set, if it is the only one) and the base's launches end so too, or if the launch
was ended after a number of steps, as asked.
Nor are samples lost that a loader leaves out because they fill no batch (drop_last): fewer than a batch, where one worker is the
base, fills all its batches and leaves out as many in every whole epoch: that is the same training on any number of workers.
They are counted as dropped.
What a restart left out of the epoch that it interrupted, or used again in it, is told and not judged: a script that saves inside of an
epoch may begin it again or go on with the next one, and the last rows of a killed worker may be missing.
The data set is 0 .. size-1 in number, declared by probe.dataset(size); else the ids seen in the base's launches.
Launches of which it could not be told what a step was trained on (copies, in an order that could be another one) have no ledger.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from itertools import chain, groupby, pairwise
from operator import itemgetter
from typing import Final

import polars as pl

from assay.estimates.estimate import Absent
from assay.frames.ended_launches import ended
from assay.frames.record_data import Measured, by_launch, effective_steps
from assay.frames.training.unknown_progress import unknown_progress

NO_LEDGER = Absent(reason="not_measured", detail="the script reported no sample ids; call probe.samples(ids) in every step")
NO_WHOLE_EPOCH = Absent(
    reason="insufficient", detail="the run ended inside its first epoch, so that nothing can be said about lost samples"
)

SHUFFLED: Final = 0.2  # of the ids are smaller than the one before
FEWEST: Final = 8  # ids of a rank, to tell an order


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
    cut_short: bool  # the run ended inside this epoch: what it did not use is not lost
    interrupted: bool = False  # by a restart
    dropped: int = 0  # left out by one worker too, because they fill no batch: not lost either


def epochs(measured: Measured, *, role: str = "timed") -> tuple[Epoch, ...]:
    """The epochs of all successful launches of a role."""
    return measured.once(f"epochs {role}", lambda one: _epochs(one, role))


def known_samples(measured: Measured) -> pl.DataFrame:
    """The samples of the launches of which it is known what their steps were trained on."""
    return measured.once("known samples", lambda one: one.table("samples").join(_unknown(one), on="launch", how="anti"))


def _unknown(measured: Measured) -> pl.DataFrame:
    """(launch, detail) of the others."""
    events = measured.table("events").filter(pl.col("kind") == "samples_unknown")
    return events.unique("launch", keep="first", maintain_order=True).select("launch", "detail")


def no_ledger(measured: Measured, configuration: str) -> Absent:
    """Why a configuration has none."""
    own = measured.timed.filter(pl.col("configuration") == configuration).join(_unknown(measured), on="launch")
    if own.height == 0:
        return NO_LEDGER
    reason = json.loads(own["detail"][0])["reason"]
    return Absent(
        reason="not_measured",
        detail=f"which samples its steps were trained on cannot be told: {reason}; call probe.samples(ids) in every step",
    )


def _epochs(measured: Measured, role: str) -> tuple[Epoch, ...]:
    samples = known_samples(measured)
    untold = list(unknown_progress(measured))  # which of their steps counted is not known
    launches = measured.table("launches").filter((pl.col("status") == "ok") & ~pl.col("launch").is_in(untold))
    if samples.height == 0 or launches.height == 0:
        return ()
    every = measured.once("uses of samples", lambda one: pl.concat(_uses(own) for own in by_launch(known_samples(one))))
    uses = every.join(launches.select("launch", "configuration", "workers", "role"), on="launch")
    if uses.height == 0:
        return ()
    uses = uses.sort("launch", "epoch")
    size = _expected(measured, uses.filter(pl.col("role") == "timed"))
    stopped = _stopped_early(uses, size)
    base = uses.filter((pl.col("configuration") == measured.base) & (pl.col("role") == "timed"))
    usual = set(base["launch"].to_list()) <= stopped.keys()
    asked = _ended_inside(measured, uses)
    left_out = _left_out(base, size, stopped | asked)
    cut = (stopped if usual else {}) | asked
    return tuple(
        _epoch(row, size, cut_short=cut.get(row["launch"]) == row["epoch"], left_out=left_out)
        for row in uses.filter(pl.col("role") == role).iter_rows(named=True)
    )


def _left_out(base: pl.DataFrame, size: int, stopped: dict[int, int]) -> int:
    """Samples that every whole epoch of one worker left out alike, fewer than fill a batch, while all its batches were full; else 0.

    A base of several workers may have lost what one would not, and then every configuration would excuse the others.
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
    """Whether two epochs of a launch had their samples in the same order on every rank, and that order is a shuffled one."""
    orders: dict[int, list[list[list[int]]]] = {}  # epoch -> rank -> step -> ids
    rows = samples.filter(pl.col("incarnation") == 0)
    for epoch in sorted(rows["epoch"].unique().to_list())[:2]:
        own = rows.filter(pl.col("epoch") == epoch).sort("rank", "step", maintain_order=True)
        own = own.filter(pl.col("ids").list.len() > 0)
        orders[epoch] = own.group_by("rank", maintain_order=True).agg("ids")["ids"].to_list()
    if len(orders) < 2:
        return False
    first, second = orders.values()
    ids = [[list(chain.from_iterable(batches)) for batches in order] for order in (first, second)]
    return ids[0] == ids[1] and bool(first) and _falls(first[0]) > SHUFFLED


def _falls(batches: list[list[int]]) -> float:
    """The share of ids that are smaller than the one before in their batch: none in order, half in a shuffled one.  From one batch to the
    next they fall also where shards are read in turn, each in its order; they are looked at only where batches are of one id."""
    ids = list(chain.from_iterable(batches))
    if len(ids) < FEWEST:
        return 0.0
    pairs = [pair for batch in batches for pair in pairwise(batch)] or list(pairwise(ids))
    return sum(later < earlier for earlier, later in pairs) / len(pairs)


def _uses(samples: pl.DataFrame) -> pl.DataFrame:
    """(launch, epoch, uses, used, batch, part, interrupted) of one launch: how many ids were used, how many different ones, how many in a
    step at most, how many a rank told at once at most, and whether a restart fell into the epoch."""
    counted = effective_steps(samples)
    batch = counted.group_by("step").agg(pl.col("ids").list.len().sum())["ids"].max()
    part = counted["ids"].list.len().max()
    ids = counted.lazy().select("launch", "epoch", "ids").explode("ids").drop_nulls("ids")
    found = ids.group_by("launch", "epoch").agg(pl.len().alias("uses"), pl.col("ids").n_unique().alias("used"))
    sizes = (pl.lit(batch, dtype=pl.Int64).alias("batch"), pl.lit(part, dtype=pl.Int64).alias("part"))
    broken = pl.col("epoch").is_in(_interrupted(counted)).alias("interrupted")
    return found.with_columns(*sizes, broken).collect()


def _interrupted(counted: pl.DataFrame) -> list[int]:
    """Epochs of which more than one incarnation has steps that count, or of which a rank lacks rows that died with it."""
    if counted["incarnation"].max() == counted["incarnation"].min():
        return []
    ranks = pl.col("rank").n_unique()
    of_steps = counted.group_by("epoch", "step").agg(ranks, pl.col("incarnation").max())
    of_epochs = of_steps.group_by("epoch").agg(
        pl.col("incarnation").n_unique().alias("lives"), pl.col("rank").min().alias("least"), pl.col("rank").max().alias("most")
    )
    return of_epochs.filter((pl.col("lives") > 1) | (pl.col("least") < pl.col("most")))["epoch"].to_list()


def _expected(measured: Measured, uses: pl.DataFrame) -> int:
    """Size of the data set: as declared, else the most distinct ids that any epoch of the base used."""
    declared = measured.table("fingerprints").filter(pl.col("what") == "dataset_size")["value"].max()
    if declared is not None:
        return int(declared)  # type: ignore[arg-type]
    base = uses.filter(pl.col("configuration") == measured.base)
    return int((base if base.height else uses)["used"].max() or 0)  # type: ignore[arg-type]


def _stopped_early(uses: pl.DataFrame, size: int) -> dict[int, int]:
    """launch -> its last epoch, of the launches whose last epoch used less than a whole one."""
    found: dict[int, int] = {}
    for _, own in groupby(uses.select("launch", "epoch", "uses").iter_rows(), itemgetter(0)):
        *earlier, last = own
        if last[2] < min((row[2] for row in earlier), default=size):
            found[int(last[0])] = int(last[1])
    return found


def _ended_inside(measured: Measured, uses: pl.DataFrame) -> dict[int, int]:
    """launch -> its last epoch, of launches that were ended after their steps, unless that epoch is known to be whole."""
    found: dict[int, int] = {}
    declared = measured.table("fingerprints").filter(pl.col("what") == "dataset_size")["value"].max()
    asked = uses.filter(pl.col("launch").is_in(sorted(ended(measured))))
    for launch, own in groupby(asked.select("launch", "epoch", "uses", "used").iter_rows(), itemgetter(0)):
        *earlier, last = own
        whole = bool(earlier) and last[2] >= min(row[2] for row in earlier)
        if not whole and (declared is None or last[3] < declared):
            found[int(launch)] = int(last[1])
    return found


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
