"""Which samples were lost, and which were used more than once?  Exact integers, no tolerance.

The ledger is every rank's sample ids per epoch, in the version of each step that finally counted (a step done again
after a restart counts once).  Lost: ids of the data set that no rank used in an epoch.  Duplicated: uses beyond the
first.  A run that stops inside an epoch has not lost the rest of it: the last epoch of a launch is *cut short* if it
used less than the earlier ones (less than the data set, if it is the only one) and the base's launches end so too.
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
NO_WHOLE_EPOCH = Absent(
    reason="insufficient", detail="the run ended inside its first epoch, so that nothing can be said about lost samples"
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
    cut_short: bool  # the run ended inside this epoch: what it did not use is not lost


def epochs(measured: Measured, *, role: str = "timed") -> tuple[Epoch, ...]:
    """The epochs of all successful launches of a role."""
    return measured.once(f"epochs {role}", lambda one: _epochs(one, role))


def _epochs(measured: Measured, role: str) -> tuple[Epoch, ...]:
    samples = measured.table("samples")
    launches = measured.table("launches").filter(pl.col("status") == "ok")
    if samples.height == 0 or launches.height == 0:
        return ()
    uses = pl.concat(_uses(own) for own in by_launch(samples)).join(
        launches.select("launch", "configuration", "workers", "role"), on="launch"
    )
    if uses.height == 0:
        return ()
    uses = uses.sort("launch", "epoch")
    size = _expected(measured, uses.filter(pl.col("role") == "timed"))
    stopped = _stopped_early(uses, size)
    base = uses.filter((pl.col("configuration") == measured.base) & (pl.col("role") == "timed"))
    usual = set(base["launch"].to_list()) <= stopped.keys()
    return tuple(
        _epoch(row, size, cut_short=usual and stopped.get(row["launch"]) == row["epoch"])
        for row in uses.filter(pl.col("role") == role).iter_rows(named=True)
    )


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
    return int((base if base.height else uses)["used"].max() or 0)  # type: ignore[arg-type]


def _stopped_early(uses: pl.DataFrame, size: int) -> dict[int, int]:
    """launch -> its last epoch, of the launches whose last epoch used less than a whole one."""
    found: dict[int, int] = {}
    for own in uses.partition_by("launch", maintain_order=True):
        *earlier, last = own.select("launch", "epoch", "uses").iter_rows()
        if last[2] < min((row[2] for row in earlier), default=size):
            found[int(last[0])] = int(last[1])
    return found


def _epoch(row: dict[str, object], size: int, *, cut_short: bool) -> Epoch:
    used, uses = int(row["used"]), int(row["uses"])  # type: ignore[call-overload]
    return Epoch(
        launch=int(row["launch"]), configuration=str(row["configuration"]), workers=int(row["workers"]),  # type: ignore[call-overload]
        epoch=int(row["epoch"]), lost=max(0, size - used), duplicated=uses - used, used=used, expected=size,  # type: ignore[call-overload]
        cut_short=cut_short,
    )  # fmt: skip
