"""What were the first gradients, and are they those that one worker computes from the same samples?

A launch's first gradients (table `gradients`) are compared with those of the launch of one worker in the same block.  They should be
equal but for rounding if both began with the same parameters (hash of step 0) and used the same samples in that step (their ids; in
strong scaling without ids the same number of items).  Where that does not hold nothing is compared, and the reason is said.
The precision is the coarser of both sides.  Source: house research, quality section 4, layer B.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl

from assay.metrics.estimate import Absent
from assay.metrics.measured import Measured
from assay.metrics.replicas_agree import hashes
from assay.stats.gradient_difference import Difference, Part, compare, tolerance

NO_GRADIENTS = "no gradients were kept; watch the model (probe.watch), or tell them (probe.gradients)"
NO_REFERENCE = (
    "no launch of one worker is in the record, with whose gradient it could be compared; add 1 to the worker counts"
)


@dataclass(frozen=True, kw_only=True)
class Gradient:
    """One parameter's on one rank; without a gradient there is no norm."""

    norm: float | None
    sums: tuple[float, ...]


@dataclass(frozen=True, kw_only=True)
class First:
    """The first gradients of a launch."""

    launch: int
    configuration: str
    workers: int
    block: int
    step: int
    precision: str
    of_rank: Mapping[int, Mapping[str, Gradient]]

    @property
    def own(self) -> Mapping[str, Gradient]:
        """Those of the first rank."""
        return self.of_rank[min(self.of_rank)]

    def apart(self) -> tuple[str, ...]:
        """The parameters whose gradients are not the same on all ranks, bit for bit; none where ranks have other parameters
        (each its stage of a pipeline) and so are no replicas."""
        ranks = list(self.of_rank.values())
        if any(one.keys() != ranks[0].keys() for one in ranks):
            return ()
        return tuple(name for name in sorted(ranks[0]) if not _all_equal([own[name] for own in ranks]))


@dataclass(frozen=True, kw_only=True)
class Compared:
    """A launch's first gradients beside those of one worker."""

    first: First
    reference: int | None  # launch
    difference: Difference | None
    reason: str  # why there is no difference; empty if there is one
    precision: str = ""
    accumulation: int | None = None  # batches in the step, where that is known


def firsts(measured: Measured) -> tuple[First, ...]:
    """The first gradients of all timed launches that kept them, by launch."""
    rows = measured.table("gradients").filter(pl.col("incarnation") == 0)
    rows = rows.filter(pl.col("step") == pl.col("step").min().over("launch"))
    joined = rows.join(measured.timed.select("launch", "configuration", "workers", "block"), on="launch")
    return tuple(_first(own) for own in joined.sort("launch", "rank", "parameter").partition_by("launch"))


def compared(measured: Measured) -> tuple[Compared, ...]:
    """Every launch of several workers, with its difference or the reason why there is none."""
    return measured.once("first_gradients", _every)


def _every(measured: Measured) -> tuple[Compared, ...]:
    every = firsts(measured)
    alone = {first.block: first for first in every if first.workers == 1}
    starts, batches = _starts(measured), _batches(measured)
    return tuple(
        _compared(measured, first, alone.get(first.block), starts, batches) for first in every if first.workers > 1
    )


def accumulations(measured: Measured, first: First) -> int | None:
    """Batches that went into the gradient on a rank: as told, or as often as samples were told in its step."""
    fingerprints = measured.table("fingerprints").filter(
        (pl.col("launch") == first.launch) & (pl.col("what") == "accumulation")
    )
    if fingerprints.height:
        return int(fingerprints["value"].max())  # type: ignore[arg-type]
    own = measured.table("samples").filter((pl.col("launch") == first.launch) & (pl.col("step") == first.step))
    return None if own.height == 0 else int(own.group_by("rank", "incarnation").len()["len"].max())  # type: ignore[arg-type]


def worst(measured: Measured, configuration: str) -> Compared | Absent:
    """The launch whose gradient differs most; why there is none."""
    own = [one for one in compared(measured) if one.first.configuration == configuration]
    known = [one for one in own if one.difference is not None]
    if known:
        return max(known, key=lambda one: one.difference.error if one.difference is not None else 0.0)
    if own:
        return Absent(reason="insufficient", detail=own[0].reason)
    return Absent(reason="not_measured", detail=NO_GRADIENTS)


# ---- one launch ------------------------------------------------------------------------------------------------------


def _first(own: pl.DataFrame) -> First:
    of_rank: dict[int, dict[str, Gradient]] = {}
    for row in own.iter_rows(named=True):
        gradient = Gradient(norm=row["norm"], sums=tuple(row["sums"]))
        of_rank.setdefault(int(row["rank"]), {})[row["parameter"]] = gradient
    row = own.row(0, named=True)
    return First(
        launch=int(row["launch"]), configuration=row["configuration"], workers=int(row["workers"]), block=int(row["block"]),
        step=int(row["step"]), precision=coarsest(own["precision"].unique().to_list()), of_rank=of_rank,
    )  # fmt: skip


def coarsest(precisions: list[str]) -> str:
    """Of several precisions the one that rounds most; a parameter without a gradient has none."""
    named = sorted(one for one in precisions if one)
    return max(named, key=lambda one: tolerance(one).error, default="float32")


def _all_equal(gradients: list[Gradient]) -> bool:
    head, *rest = gradients
    return all(_equal(head, other) for other in rest)


def _equal(a: Gradient, b: Gradient) -> bool:
    return (a.norm is None) == (b.norm is None) and np.array_equal(a.sums, b.sums, equal_nan=True)


# ---- against one worker ----------------------------------------------------------------------------------------------


def _compared(
    measured: Measured, first: First, alone: First | None, starts: Mapping[int, str], batches: Mapping[int, object]
) -> Compared:
    reason = _incomparable(measured, first, alone, starts, batches)
    if alone is None or reason:
        return Compared(first=first, reference=None, difference=None, reason=reason)
    precision = coarsest([first.precision, alone.precision])
    difference = compare(list(_parts(first, alone)), precision)
    return Compared(
        first=first, reference=alone.launch, difference=difference, reason="", precision=precision,
        accumulation=accumulations(measured, first),
    )  # fmt: skip


def _incomparable(
    measured: Measured, first: First, alone: First | None, starts: Mapping[int, str], batches: Mapping[int, object]
) -> str:
    if alone is None:
        return NO_REFERENCE
    if len(first.of_rank) != first.workers:
        return f"only {len(first.of_rank)} of {first.workers} ranks kept their gradients"
    if first.step != alone.step or first.own.keys() != alone.own.keys():
        return "one worker's gradients are of another step, or of other parameters"
    if first.launch not in starts or alone.launch not in starts:
        return "the parameters at the start were not hashed, or are not the same on all ranks"
    if starts[first.launch] != starts[alone.launch]:
        return "one worker began with other parameters; give all worker counts the same seed"
    if first.launch in batches and alone.launch in batches:
        same = batches[first.launch] == batches[alone.launch]
        return "" if same else "one worker's first step used other samples"
    if measured.mode != "strong":
        return "whether one worker's first step used the same samples is not known; call probe.samples(ids)"
    return _other_amount(measured, first, alone)


def _other_amount(measured: Measured, first: First, alone: First) -> str:
    """Without ids: the same number of items is taken for the same samples, which strong scaling promises."""
    amounts = []
    for one in (first, alone):
        rows = measured.table("steps").filter((pl.col("launch") == one.launch) & (pl.col("step") == one.step))
        amounts.append(float(rows["items"].sum()))
    return "" if amounts[0] == amounts[1] else "one worker's first step used another number of items"


def _parts(first: First, alone: First) -> Iterator[Part]:
    for name, right in alone.own.items():
        found, zeros = first.own[name], (0.0,) * max(len(right.sums), len(first.own[name].sums))
        yield Part(
            name=name, found=found.sums or zeros, right=right.sums or zeros, right_norm=right.norm or 0.0,
        )  # fmt: skip


def _starts(measured: Measured) -> dict[int, str]:
    """launch -> hash of the parameters before the first step, where all ranks have the same."""
    begun = hashes(measured).filter((pl.col("step") == 0) & pl.col("agree"))
    return dict(zip(begun["launch"].to_list(), begun["text"].to_list(), strict=True))


def _batches(measured: Measured) -> dict[int, object]:
    """launch -> the sorted ids of the samples of its first step, over all ranks."""
    samples = measured.table("samples").filter(pl.col("incarnation") == 0)
    rows = samples.filter(pl.col("step") == pl.col("step").min().over("launch")).select("launch", "ids")
    ids = rows.explode("ids").drop_nulls("ids").sort("launch", "ids").group_by("launch", maintain_order=True).agg("ids")
    return dict(zip(ids["launch"].to_list(), ids["ids"].to_list(), strict=True))
