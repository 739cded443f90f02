"""Which samples were lost, and which were used more than once?  Exact integers, no tolerance.

The ledger is every rank's sample ids per epoch, in the version of each step that finally counted (a step done again
after a restart counts once).  Lost: ids of the data set that no rank used in an epoch.  Duplicated: uses beyond the
first.  Only epochs that every launch finished are judged: the last epoch of a step-limited run may be cut.
The data set is 0 .. size-1 in number, declared by probe.dataset(size); else the ids seen in the base's launches.
"""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from assay.metrics.estimate import Absent
from assay.metrics.measured import Measured, by_launch, effective_steps

NO_LEDGER = Absent(
    reason="not_measured", detail="the script reported no sample ids; call probe.samples(ids) in every step"
)


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


def epochs(measured: Measured, *, role: str = "timed") -> tuple[Epoch, ...]:
    """The complete epochs of all successful launches of a role."""
    samples = measured.table("samples")
    launches = measured.table("launches").filter((pl.col("role") == role) & (pl.col("status") == "ok"))
    if samples.height == 0 or launches.height == 0:
        return ()
    uses = pl.concat(_uses(own) for own in by_launch(samples)).join(
        launches.select("launch", "configuration", "workers"), on="launch"
    )
    if uses.height == 0:
        return ()
    uses = uses.sort("launch", "epoch")
    size = _expected(measured, uses)
    return tuple(_epoch(row, size) for row in uses.iter_rows(named=True) if not _cut_short(row, uses, size))


def _uses(samples: pl.DataFrame) -> pl.DataFrame:
    """(launch, epoch, uses, used) of one launch: how many ids were used, and how many different ones."""
    ids = effective_steps(samples).select("launch", "epoch", "ids").explode("ids").drop_nulls("ids")
    return ids.group_by("launch", "epoch").agg(pl.len().alias("uses"), pl.col("ids").n_unique().alias("used"))


def _expected(measured: Measured, uses: pl.DataFrame) -> int:
    """Size of the data set: as declared, else the most distinct ids that any epoch of the base used."""
    declared = measured.table("fingerprints").filter(pl.col("what") == "dataset_size")["value"].max()
    if declared is not None:
        return int(declared)  # type: ignore[arg-type]
    base = uses.filter(pl.col("configuration") == measured.base)
    return int((base if base.height else uses)["used"].max())  # type: ignore[arg-type]


def _cut_short(row: dict[str, object], uses: pl.DataFrame, size: int) -> bool:
    """The last epoch of a launch is not judged where it stopped early and earlier ones can be judged instead."""
    own = uses.filter(pl.col("launch") == row["launch"])
    last = own["epoch"].max()
    if row["epoch"] != last or own.height < 2:
        return False
    before = own.filter(pl.col("epoch") < last)["uses"].min()
    return bool(int(row["uses"]) < int(before))  # type: ignore[call-overload, arg-type]


def _epoch(row: dict[str, object], size: int) -> Epoch:
    used, uses = int(row["used"]), int(row["uses"])  # type: ignore[call-overload]
    return Epoch(
        launch=int(row["launch"]), configuration=str(row["configuration"]), workers=int(row["workers"]),  # type: ignore[call-overload]
        epoch=int(row["epoch"]), lost=max(0, size - used), duplicated=uses - used, used=used, expected=size,  # type: ignore[call-overload]
    )  # fmt: skip
