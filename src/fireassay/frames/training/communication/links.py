"""How fast are the links between the workers, and what does a training step send over them?

Both from the same record. A collective's transfer time is the shortest over its ranks: the last to arrive does not wait. A call
entered while an earlier one of its group was still under way counts from that one's end. With x = share S / rounds, ring
operations of all group sizes lie on one line, T / rounds = alpha + beta x (`fireassay.frames.links.network_probe`), fitted by relative
errors (`fireassay.stats.models.affine_fit`), to size sweeps outside of training if there are any, otherwise to the training's own
calls, block by block.
Cannot tell: which algorithm the engine used. Calls inside a training share processors and links with its computing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl

from fireassay.estimates.estimate import Absent
from fireassay.frames.links.network_probe import WHOLE, rounds, share
from fireassay.frames.record_data import RecordData
from fireassay.frames.training.communication.watched_steps import all_watched
from fireassay.stats.models.affine_fit import MIN_SIZES, Affine, affine_fit
from fireassay.units import MIB, NS_PER_S

RINGS: Final = ("all_reduce", *WHOLE)
BUCKET: Final = 25 * MIB  # DDP's default bucket size
PARAMETER_BYTES: Final = 4  # float32, unless recorded otherwise
COUNTED: Final = ("timed", "replay")  # phases of calls outside of training


@dataclass(frozen=True, kw_only=True)
class Links:
    """Alpha and beta of a ring's links: over all data, and per launch or block."""

    whole: Affine
    alone: dict[int, Affine]  # by launch of a sweep, or by block of the training
    swept: bool  # outside of training
    op: str  # the fitted operation; several: joined by a comma
    sizes: tuple[int, ...]  # of the groups
    calls: int

    @property
    def words(self) -> str:
        """The source of the links, for a method."""
        origin = "a sweep of sizes" if self.swept else "the training's own calls"
        groups = ", ".join(map(str, self.sizes))
        return f"{self.op} in {origin}, {self.calls:,} calls in groups of {groups}"


@dataclass(frozen=True, kw_only=True)
class Sent:
    """A step's traffic by one operation, per rank: number of calls and total bytes, as nccl-tests counts them."""

    op: str
    calls: float
    nbytes: float


@dataclass(frozen=True, kw_only=True)
class Demand:
    """A step's traffic, and its source."""

    sent: tuple[Sent, ...]
    source: str

    def seconds(self, link: Affine, workers: float) -> float:
        """c(p): all calls in sequence, by the model."""
        if workers <= 1:
            return 0.0
        n = workers
        return sum(
            traffic.calls * _rounds(traffic.op, n) * link.fixed + _share(traffic.op, n) * traffic.nbytes * link.per_unit
            for traffic in self.sent
        )


def _rounds(op: str, n: float) -> float:
    return rounds(op, int(n)) if op not in RINGS else (2.0 if op == "all_reduce" else 1.0) * (n - 1.0)


def _share(op: str, n: float) -> float:
    return share(op, int(n)) if op not in RINGS else (2.0 if op == "all_reduce" else 1.0) * (n - 1.0) / n


def transfers(measured: RecordData) -> pl.DataFrame:
    """One row per (launch, in a training?, op, group size, bytes): median transfer time in seconds, and number of calls."""
    launches = measured.table("launches").filter(pl.col("status") == "ok").select("launch", "block", "workers", "role")
    one_call = ("launch", "incarnation", "group", "call")
    calls = measured.table("collectives").lazy().filter((pl.col("size") > 1) & pl.col("op").is_in(RINGS) & (pl.col("phase") != "warm_up"))
    queue = ("launch", "incarnation", "rank", "group")
    before = pl.col("end_ns").cum_max().shift(1).over(queue)
    times = (
        calls.sort(*queue, "call")
        .with_columns(before.alias("_before"))
        .filter(pl.col("end_ns").is_not_null())
        .with_columns((pl.col("end_ns") - pl.max_horizontal("begin_ns", "_before")).alias("_own"))
        .group_by(one_call)
        .agg(
            pl.col("_own").min(),
            pl.len().alias("_ranks"),
            pl.col("op", "size", "bytes").first(),
            pl.col("step").first().is_not_null().alias("trained"),
            pl.col("phase").first(),
        )
        .filter((pl.col("_ranks") == pl.col("size")) & (pl.col("_own") > 0))
        .filter(pl.col("trained") | pl.col("phase").is_in(COUNTED))
        .group_by("launch", "trained", "op", "size", "bytes")
        .agg((pl.col("_own").median() / NS_PER_S).alias("seconds"), pl.len().alias("calls"))
        .sort("launch", "trained", "op", "size", "bytes")
        .collect()
    )
    return times.join(launches, on="launch")


def links(found: pl.DataFrame, levels: Sequence[int], wanted: str) -> Links | Absent:
    """Alpha and beta from `transfers`, of groups no larger than these levels: from a sweep, preferably of the operation `wanted`, otherwise
    from the training's launches."""
    sweep = found.filter(~pl.col("trained") & (pl.col("size") <= max(levels)))
    if wanted in sweep["op"].unique():
        sweep = sweep.filter(pl.col("op") == wanted)
    trained = found.filter(pl.col("trained") & (pl.col("role") == "timed") & pl.col("workers").is_in(levels))
    for rows, key in ((sweep, "launch"), (trained, "block")):
        whole = _fit(rows)
        if whole is not None:
            parts = {int(part[key][0]): _fit(part) for part in rows.partition_by(key, maintain_order=True)}
            return Links(
                whole=whole,
                alone={name: fit for name, fit in parts.items() if fit is not None},
                swept=key == "launch",
                op=", ".join(sorted(rows["op"].unique())),
                sizes=tuple(sorted(rows["size"].unique())),
                calls=int(rows["calls"].sum()),
            )
    why = (
        "no collective has a begin and an end on all its ranks"
        if found.height == 0
        else (f"the recorded collectives have too few different sizes to separate latency from bandwidth ({MIN_SIZES} are needed)")
    )
    return Absent("not_measured", f"{why}; set measure.communication = true, which sweeps their sizes in separate launches")


def _fit(rows: pl.DataFrame) -> Affine | None:
    """Alpha (`fixed`) and beta (`per_unit`) from rows of `transfers`; None if they cannot be separated."""
    turns = [rounds(op, n) for op, n in zip(rows["op"], rows["size"], strict=True)]
    x = [share(op, n) * nbytes / r for op, n, nbytes, r in zip(rows["op"], rows["size"], rows["bytes"], turns, strict=True)]
    t = [seconds / r for seconds, r in zip(rows["seconds"], turns, strict=True)]
    if len({round(size, 3) for size in x}) < MIN_SIZES:
        return None
    return affine_fit(x, t)


def demand(measured: RecordData, levels: Sequence[int]) -> Demand | Absent:
    """The traffic of a step at the largest of these levels."""
    timed = measured.timed.filter(pl.col("workers").is_in([level for level in levels if level > 1]))
    launches = timed.sort("workers", descending=True)
    for level in launches["workers"].unique(maintain_order=True):
        of_level = launches.filter(pl.col("workers") == level)["launch"].implode()
        traffic = _counted(measured, of_level) or _listed(measured, of_level) or _summed(measured, of_level, int(level))
        if traffic is not None:
            return traffic
    return _by_parameters(measured, timed["launch"].implode())


def _counted(measured: RecordData, launches: pl.Expr | pl.Series) -> Demand | None:
    calls = measured.table("collectives").filter(
        pl.col("launch").is_in(launches) & pl.col("step").is_not_null() & (pl.col("rank") == 0) & pl.col("op").is_in(RINGS)
    )
    calls = all_watched(calls, measured.table("communication"))
    steps = calls.select("launch", "step").unique().height
    if not steps:
        return None
    ops = calls.group_by("op").agg(pl.len().alias("calls"), pl.col("bytes").sum()).sort("op")
    sent = tuple(Sent(op=op, calls=n / steps, nbytes=total / steps) for op, n, total in ops.iter_rows())
    return Demand(sent=sent, source=f"the calls of {steps} steps")


def _listed(measured: RecordData, launches: pl.Expr | pl.Series) -> Demand | None:
    """From torch's own list, if the hooks recorded no call."""
    rows = measured.table("inventory").filter(
        pl.col("launch").is_in(launches) & (pl.col("rank") == 0) & pl.col("op").is_in(RINGS) & pl.col("bytes").is_not_null()
    )
    steps = rows.select("launch", "step").unique().height
    if not steps:
        return None
    ops = rows.group_by("op").agg(pl.col("calls", "bytes").sum()).sort("op")
    sent = tuple(Sent(op=op, calls=n / steps, nbytes=total / steps) for op, n, total in ops.iter_rows())
    return Demand(sent=sent, source=f"the calls that torch's flight recorder lists of {steps} steps")


def _summed(measured: RecordData, launches: pl.Expr | pl.Series, workers: int) -> Demand | None:
    rows = measured.table("communication").filter(
        pl.col("launch").is_in(launches) & pl.col("bytes").is_not_null() & (pl.col("bytes") > 0) & (pl.col("rank") == 0)
    )
    if not rows.height:
        return None
    return _all_reduced(float(np.median(rows["bytes"].to_numpy())), f"the bytes that steps of {workers} workers sent")


def _by_parameters(measured: RecordData, launches: pl.Expr | pl.Series) -> Demand | Absent:
    rows = measured.table("fingerprints").filter(
        pl.col("launch").is_in(launches) & (pl.col("what") == "parameters") & pl.col("value").is_not_null()
    )
    if not rows.height:
        detail = "neither the collectives of a step nor the number of parameters was recorded, so the traffic of a step is unknown"
        return Absent("not_measured", detail)
    many = float(np.median(rows["value"].to_numpy()))
    return _all_reduced(many * PARAMETER_BYTES, f"{many:,.0f} parameters, assumed float32")


def _all_reduced(nbytes: float, source: str) -> Demand:
    buckets = max(1.0, -(-nbytes // BUCKET))
    description = f"{source}; assumed to be summed in {buckets:.0f} buckets of at most 25 MiB, as DDP does"
    return Demand(sent=(Sent(op="all_reduce", calls=buckets, nbytes=nbytes),), source=description)
