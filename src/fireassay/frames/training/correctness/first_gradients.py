"""Do the first gradients match those that one worker computes from the same samples?

A launch's first gradients (table `gradients`) are compared with those of the one-worker launch in the same block. The parts of a
model sharded over the ranks (FSDP2) are added up. The gradients should be equal up to rounding if both sides began with the same
parameters (hashes of step 0) and used the same samples until then (their ids; in strong scaling without ids the same number
of items). Otherwise nothing is compared, and the reason is given. The precision is the coarser of both sides.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from fireassay.estimates.estimate import Absent
from fireassay.frames.record_data import RecordData
from fireassay.frames.record_tables import once_per_record
from fireassay.frames.training.correctness.contents import others, same_rows, words_of
from fireassay.frames.training.correctness.sample_ledger import known_samples
from fireassay.frames.training.parallel_evidence import evenly, hashes
from fireassay.frames.training.parallelism import absent
from fireassay.stats.groups.gradient_difference import Difference, Part, compare, tolerance

NO_GRADIENTS = (
    "no gradients were kept; watch the model (probe.watch), or report them (probe.gradients), as for FSDP1; those of fully_shard are kept"
)
SAME_NORM = 1e-4  # relative: threads sum in different orders
NO_SAMPLES = (np.empty(0, np.int64), np.empty(0, np.int64))
NO_REFERENCE = "the record has no launch of one worker to compare gradients with; add 1 to the worker counts"


@dataclass(frozen=True, kw_only=True)
class Gradient:
    """One parameter's gradient on one rank; without a gradient there is no norm."""

    norm: float | None
    sums: tuple[float, ...]
    part: int = 0
    parts: int = 1
    start: int | None = None  # hash of the parameter before the step


@dataclass(frozen=True, kw_only=True)
class First:
    """The gradients of a launch's first step, or of a later checked one."""

    launch: int
    configuration: str
    workers: int
    block: int
    step: int
    precision: str
    of_rank: Mapping[int, Mapping[str, Gradient]]

    @cached_property
    def own(self) -> Mapping[str, Gradient]:
        """The whole gradients: those of the first rank, or the sum of the parts."""
        first = self.of_rank[min(self.of_rank)]
        return {name: _whole(self._parts(name)) if gradient.parts > 1 else gradient for name, gradient in first.items()}

    @property
    def sharded(self) -> bool:
        """True if ranks hold parts of parameters."""
        return any(gradient.parts > 1 for gradients in self.of_rank.values() for gradient in gradients.values())

    def missing(self) -> tuple[str, ...]:
        """The parameters with missing parts."""
        first = self.of_rank[min(self.of_rank)]
        return tuple(name for name, gradient in first.items() if len(self._parts(name)) != gradient.parts)

    def apart(self) -> tuple[str, ...]:
        """The parameters whose gradients differ, bit for bit, between the ranks that hold them; empty if ranks hold different parameters
        (pipeline stages) and so are no replicas."""
        ranks = list(self.of_rank.values())
        if any(gradients.keys() != ranks[0].keys() for gradients in ranks):
            return ()
        return tuple(name for name in sorted(ranks[0]) if not all(map(_all_equal, self._holders(name).values())))

    def _holders(self, name: str) -> dict[int, list[Gradient]]:
        """part of a parameter -> the gradients its holders report, the first rank first."""
        holders: dict[int, list[Gradient]] = {}
        for rank in sorted(self.of_rank):
            if (gradient := self.of_rank[rank].get(name)) is not None:
                holders.setdefault(gradient.part, []).append(gradient)
        return holders

    def _parts(self, name: str) -> list[Gradient]:
        return [holders[0] for holders in self._holders(name).values()]


def _whole(parts: Sequence[Gradient]) -> Gradient:
    """The gradient of the whole parameter: squares and sums of the parts add up."""
    norms = [part.norm for part in parts if part.norm is not None]
    sums = [np.asarray(part.sums, dtype=np.float64) for part in parts if part.sums]
    if not norms or any(part.shape != sums[0].shape for part in sums):
        return Gradient(norm=None, sums=(), start=_added(parts))
    return Gradient(norm=math.hypot(*norms), sums=tuple(np.sum(sums, axis=0).tolist()) if sums else (), start=_added(parts))


def _added(parts: Sequence[Gradient]) -> int | None:
    starts = [start.start for start in parts]
    return None if None in starts else (sum(start for start in starts if start is not None) + 2**63) % 2**64 - 2**63


@dataclass(frozen=True, kw_only=True)
class Compared:
    """A launch's first gradients compared with those of one worker."""

    first: First
    reference: int | None  # launch
    difference: Difference | None
    reason: str  # why there is no difference; empty if there is one
    precision: str = ""
    accumulation: int | None = None  # batches in the step, if known
    by: Literal["ids", "items"] = "items"  # evidence that both have the same samples; their number alone does not identify them


def firsts(measured: RecordData) -> tuple[First, ...]:
    """The first gradients of all timed launches that recorded them, by launch."""
    rows = measured.table("gradients").filter(pl.col("incarnation") == 0)
    rows = rows.filter(pl.col("step") == pl.col("step").min().over("launch"))
    joined = rows.join(measured.timed.select("launch", "configuration", "workers", "block"), on="launch")
    return tuple(_first(group) for group in joined.sort("launch", "rank", "parameter").partition_by("launch"))


@once_per_record
def laters(measured: RecordData) -> tuple[First, ...]:
    """The gradients of later steps checked on all ranks, by launch and step: norms, and some elements instead of the sums."""
    rows = evenly(measured, measured.table("gradients").filter(pl.col("incarnation") == 0))
    rows = rows.filter(pl.col("step") > pl.col("step").min().over("launch"))
    joined = rows.join(measured.timed.select("launch", "configuration", "workers", "block"), on="launch")
    parts = joined.sort("launch", "step", "rank", "parameter").partition_by("launch", "step", maintain_order=True)
    return tuple(gradients for gradients in map(_first, parts) if len(gradients.of_rank) == gradients.workers)


@once_per_record
def compared(measured: RecordData) -> tuple[Compared, ...]:
    """Every launch of several workers, with its difference or the reason for having none."""
    every = firsts(measured)
    alone = {first.block: first for first in every if first.workers == 1}
    starts, batches = _starts(measured), _batches(measured, every)
    return tuple(_compared(measured, first, alone.get(first.block), starts, batches) for first in every if first.workers > 1)


def accumulations(measured: RecordData, first: First) -> int | None:
    """Batches per gradient on a rank: as declared, or the number of times its step reported samples."""
    fingerprints = measured.table("fingerprints").filter((pl.col("launch") == first.launch) & (pl.col("what") == "accumulation"))
    if fingerprints.height:
        return int(fingerprints["value"].max())  # type: ignore[arg-type]
    samples = known_samples(measured).filter((pl.col("launch") == first.launch) & (pl.col("step") <= first.step))
    return None if samples.height == 0 else int(samples.group_by("rank", "incarnation").len()["len"].max())  # type: ignore[arg-type]


def worst(measured: RecordData, configuration: str) -> Compared | Absent:
    """The launch with the largest difference, or why there is none."""
    if (reason := absent(measured, configuration, "gradients")) is not None:
        return reason
    comparisons = [comparison for comparison in compared(measured) if comparison.first.configuration == configuration]
    known = [comparison for comparison in comparisons if comparison.difference is not None]
    if known:
        return max(known, key=lambda comparison: comparison.difference.error if comparison.difference is not None else 0.0)
    if comparisons:
        return Absent("insufficient", comparisons[0].reason)
    return Absent("not_measured", NO_GRADIENTS)


# ---- one launch ------------------------------------------------------------------------------------------------------


def _first(rows: pl.DataFrame) -> First:
    of_rank: dict[int, dict[str, Gradient]] = {}
    for row in rows.iter_rows(named=True):
        gradient = Gradient(norm=row["norm"], sums=tuple(row["sums"]), part=int(row["part"]), parts=int(row["parts"]), start=row["start"])
        of_rank.setdefault(int(row["rank"]), {})[row["parameter"]] = gradient
    row = rows.row(0, named=True)
    return First(
        launch=int(row["launch"]),
        configuration=row["configuration"],
        workers=int(row["workers"]),
        block=int(row["block"]),
        step=int(row["step"]),
        precision=coarsest(rows["precision"].unique().to_list()),
        of_rank=of_rank,
    )


def coarsest(precisions: list[str]) -> str:
    """The coarsest of several precisions; a parameter without a gradient has none."""
    named = sorted(precision for precision in precisions if precision)
    return max(named, key=lambda precision: tolerance(precision).error, default="float32")


def _all_equal(gradients: list[Gradient]) -> bool:
    head, *rest = gradients
    return all(_equal(head, other) for other in rest)


def _equal(a: Gradient, b: Gradient) -> bool:
    if a.norm is None or b.norm is None:
        return a.norm is b.norm
    near = math.isclose(a.norm, b.norm, rel_tol=SAME_NORM) or (math.isnan(a.norm) and math.isnan(b.norm))
    return near and np.array_equal(a.sums, b.sums, equal_nan=True)


# ---- against one worker ----------------------------------------------------------------------------------------------


def _compared(
    measured: RecordData, first: First, alone: First | None, starts: Mapping[int, str], batches: Mapping[int, object]
) -> Compared:
    reason = _incomparable(measured, first, alone, starts, batches)
    if alone is None or reason:
        return Compared(first=first, reference=None, difference=None, reason=reason)
    precision = coarsest([first.precision, alone.precision])
    difference = compare(list(_parts(first, alone)), precision)
    return Compared(
        first=first,
        reference=alone.launch,
        difference=difference,
        reason="",
        precision=precision,
        accumulation=accumulations(measured, first),
        by="ids" if _known_samples(first, alone, batches) else "items",
    )


def _incomparable(measured: RecordData, first: First, alone: First | None, starts: Mapping[int, str], batches: Mapping[int, object]) -> str:
    if alone is None:
        return NO_REFERENCE
    if reason := other_step(first, alone) or _other_start(first, alone, starts):
        return reason
    return other_samples(measured, first, alone, batches)


def other_step(first: First, alone: First) -> str:
    """Why step or parameters differ from one worker's; empty if they match."""
    if len(first.of_rank) != first.workers:
        return f"only {len(first.of_rank)} of {first.workers} ranks kept their gradients"
    if missing := first.missing():
        return f"not all parts of {missing[0]} were kept"
    if first.step != alone.step or first.own.keys() != alone.own.keys():
        return "one worker's gradients belong to another step or other parameters"
    return ""


def other_samples(measured: RecordData, first: First, alone: First, batches: Mapping[int, object]) -> str:
    """Why the samples differ from one worker's; empty if they match."""
    if _known_samples(first, alone, batches):
        if batches[first.launch] != batches[alone.launch]:
            return "one worker's first step used other samples"
        return other_contents(measured, first.launch, alone.launch, first.step)
    if measured.mode != "strong":
        return "whether one worker's first step used the same samples is unknown; call probe.samples(ids)"
    return _other_amount(measured, first, alone)


def other_contents(measured: RecordData, launch: int, alone: int, step: int) -> str:
    """Why equal ids are not the same batch, in the steps up to this one; empty if their contents are equal or unknown."""
    for other in () if same_rows(measured, launch, alone, step) else others(measured, launch, alone, until=step):
        changed, compared = sum(other.different.values()), sum(other.compared.values())
        return (
            f"{changed} of {compared} samples have other contents than with one worker ({words_of(other.part)}), as random augmentation gives "
            "them: this is another batch"
        )
    return ""


def _known_samples(first: First, alone: First, batches: Mapping[int, object]) -> bool:
    """True if the ids of both sides' samples are known."""
    return first.launch in batches and alone.launch in batches


def _other_start(first: First, alone: First, starts: Mapping[int, str]) -> str:
    """Why the initial parameters differ: by their hashes, or for sharded ranks by the sums of the parts' hashes; empty if equal."""
    other = "one worker began with other parameters; use the same seed for all worker counts"
    # a sharded rank knows only its part's hash, and without a gradient cannot tell that it is a part: such parameters are skipped
    known = [(first.own[name], right) for name, right in alone.own.items() if first.own[name].norm is not None]
    pairs = [(left.start, right.start) for left, right in known if right.norm is not None]
    if pairs and all(start is not None and right is not None for start, right in pairs):
        return "" if all(start == right for start, right in pairs) else other
    if first.launch not in starts or alone.launch not in starts:
        return "the initial parameters were not hashed, or differ between ranks"
    return "" if starts[first.launch] == starts[alone.launch] else other


def _other_amount(measured: RecordData, first: First, alone: First) -> str:
    """Without ids, equal numbers of items count as the same samples, as strong scaling implies."""
    amounts = []
    for side in (first, alone):
        slices = measured.slices("step", "items", launches=[side.launch])
        rows = pl.concat(some.filter(pl.col("step") <= side.step) for some in slices)
        amounts.append(float(rows["items"].sum()))
    return "" if amounts[0] == amounts[1] else "one worker's first step used another number of items"


def _parts(first: First, alone: First) -> Iterator[Part]:
    for name, right in alone.own.items():
        gradient, zeros = first.own[name], (0.0,) * max(len(right.sums), len(first.own[name].sums))
        yield Part(name=name, found=gradient.sums or zeros, right=right.sums or zeros, right_norm=right.norm or 0.0)


def _starts(measured: RecordData) -> dict[int, str]:
    """launch -> hash of the parameters before the first step, if all ranks have the same."""
    begun = hashes(measured).filter((pl.col("step") == 0) & pl.col("agree"))
    return dict(zip(begun["launch"].to_list(), begun["text"].to_list(), strict=True))


def _batches(measured: RecordData, every: Sequence[First]) -> dict[int, object]:
    """launch -> the sorted ids of the samples behind its first gradient, over all ranks."""
    ids = samples_of(measured, every).group_by("launch", maintain_order=True).agg("ids")
    return dict(zip(ids["launch"].to_list(), ids["ids"].to_list(), strict=True))


def samples_until(measured: RecordData, launch: int, step: int) -> bytes:
    """The sorted ids of a launch's samples up to a step, for comparison; empty if unknown. For many steps of a launch faster than `samples_of`."""
    steps, ids = measured.once("samples_by_launch", _by_launch).get(launch, NO_SAMPLES)
    return np.sort(ids[: np.searchsorted(steps, step, side="right")]).tobytes()


def _by_launch(measured: RecordData) -> dict[int, tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """launch -> step and id of each of its samples, by step."""
    rows = known_samples(measured).filter(pl.col("incarnation") == 0).select("launch", "step", "ids")
    flat = rows.explode("ids").drop_nulls("ids").sort("launch", "step").partition_by("launch", as_dict=True)
    return {int(launch): (rows["step"].to_numpy(), rows["ids"].to_numpy()) for (launch,), rows in flat.items()}


def samples_of(measured: RecordData, every: Sequence[First]) -> pl.DataFrame:
    """(launch, ids), sorted: the samples of all steps up to the optimizer's first. A script whose steps are the passes of an accumulation
    makes several steps per gradient."""
    until = pl.DataFrame(
        {"launch": [first.launch for first in every], "until": [first.step for first in every]},
        schema={"launch": pl.Int32, "until": pl.Int64},
    )
    rows = known_samples(measured).filter(pl.col("incarnation") == 0).join(until, on="launch")
    rows = rows.filter(pl.col("step") <= pl.col("until")).select("launch", "ids")
    return rows.explode("ids").drop_nulls("ids").sort("launch", "ids")
