"""Are the gradients of later steps multiples of one worker's, unlike those of the first step?

A later step is compared only while both launches follow the same trajectory: the first gradients agree, all samples so far are the
same, and the losses of the step differ by at most 1 %. Rounding errors grow from step to step, so only a factor is judged, never
a small difference:

    scale    median over the parameters of |g| / |g*|, g as it was before torch clipped it
    spread   largest relative distance of a parameter's |g| / |g*| from it; parameters below 1 % of the largest |g*| left out
    turn     1 - cos of the recorded elements; undefined for sharded parameters, which record other elements

Cannot tell: a fault that diverted the training before the first checked step after it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl

from fireassay.estimates.format import given
from fireassay.frames.record_data import RecordData
from fireassay.frames.record_tables import once_per_record
from fireassay.frames.training.correctness.first_gradients import (
    Compared,
    First,
    compared,
    laters,
    other_samples,
    other_step,
    samples_until,
)
from fireassay.frames.training.parallel_evidence import evenly
from fireassay.frames.training.work import loss_curves
from fireassay.stats.groups.gradient_difference import direction, tolerance

SAME_LOSS: Final = 1e-2  # relative
SAME_CLIP: Final = 1e-3  # relative distance of equal norms
NEGLIGIBLE: Final = 1e-2  # of the largest norm of a parameter


@dataclass(frozen=True, kw_only=True)
class Clip:
    """Norms and limits of torch's clipping in a step, one per call."""

    norms: tuple[float, ...]
    limits: tuple[float, ...]

    @property
    def factor(self) -> float:
        """The factor applied to the gradient if it was called once; NaN if unknown."""
        if len(self.norms) != 1:
            return math.nan if self.norms else 1.0
        return min(1.0, self.limits[0] / (self.norms[0] + 1e-6))


NO_CLIP: Final = Clip(norms=(), limits=())


@dataclass(frozen=True, kw_only=True)
class Later:
    """A later step's gradients compared with those of one worker."""

    later: First
    reference: int  # launch
    scale: float  # as the optimizer got them
    unclipped: float  # before torch clipped them; NaN if unknown
    spread: float
    turn: float  # NaN for sharded ones


def compared_later(measured: RecordData) -> tuple[Later, ...]:
    """Every comparable later step of several workers, by launch and step."""
    return measured.once("later_gradients", lambda data: tuple(_every(data)))


@once_per_record
def clips(measured: RecordData) -> Mapping[tuple[int, int], Mapping[int, Clip]]:
    """(launch, step) -> rank -> clipping, of timed launches in their first incarnation."""
    rows = evenly(measured, measured.table("fingerprints")).filter(
        pl.col("what").is_in(["clip_norm", "clip_limit"]) & (pl.col("incarnation") == 0)
    )
    reported = rows.join(measured.timed.select("launch"), on="launch", how="semi")
    kept = reported.group_by("launch", "step", "rank", "what", maintain_order=True).agg("value")
    readings: dict[tuple[int, int], dict[int, dict[str, tuple[float, ...]]]] = {}
    for launch, step, rank, what, values in kept.iter_rows():
        readings.setdefault((launch, step), {}).setdefault(rank, {})[what] = tuple(values)
    return {
        key: {
            rank: Clip(norms=norms_and_limits.get("clip_norm", ()), limits=norms_and_limits.get("clip_limit", ()))
            for rank, norms_and_limits in reported.items()
        }
        for key, reported in readings.items()
    }


@dataclass(frozen=True, kw_only=True)
class ClippedApart:
    """A step in which ranks clipped gradients other than those they trained with."""

    launch: int
    step: int
    norms: str
    limit: float
    active: bool  # whether a norm exceeded the limit


def clipped_apart(measured: RecordData, hashed: pl.DataFrame, configuration: str) -> Iterator[ClippedApart]:
    """Steps in which torch's clipping computed different norms on different ranks, though all ranks had equal parameters at the next
    check; by launch and step, steps with active clipping first.

    Not for sharded parameters or pipeline stages, whose norms may differ.
    """
    workers = dict(measured.timed.filter(pl.col("configuration") == configuration).select("launch", "workers").iter_rows())
    steps = [
        _apart(key, of_rank)
        for key, of_rank in sorted(clips(measured).items())
        if len(of_rank) == workers.get(key[0]) and _norms_differ(of_rank) and _equal_after(hashed, *key)
    ]
    yield from sorted(steps, key=lambda step: not step.active)


def _apart(key: tuple[int, int], of_rank: Mapping[int, Clip]) -> ClippedApart:
    head = of_rank[min(of_rank)]
    index = next(i for i in range(len(head.norms)) if _far([clip.norms[i] for clip in of_rank.values()]))
    norms, limits = ([getattr(of_rank[rank], what)[index] for rank in sorted(of_rank)] for what in ("norms", "limits"))
    return ClippedApart(
        launch=key[0],
        step=key[1],
        norms=", ".join(given(norm, digits=4) for norm in norms),
        limit=limits[0],
        active=any(norm > limit for norm, limit in zip(norms, limits, strict=True)),
    )


def _norms_differ(of_rank: Mapping[int, Clip]) -> bool:
    """True if every rank made the same number of calls, and the norms of some call are finite and differ."""
    lists = [item.norms for item in of_rank.values()]
    return len({len(item) for item in lists}) == 1 and any(_far(norms) for norms in zip(*lists, strict=True))


def _far(norms: Sequence[float]) -> bool:
    return all(map(math.isfinite, norms)) and max(norms) - min(norms) > SAME_CLIP * max(norms)


def _equal_after(hashed: pl.DataFrame, launch: int, step: int) -> bool:
    after = hashed.filter((pl.col("launch") == launch) & (pl.col("step") > step)).sort("step")
    return after.height > 0 and bool(after["agree"][0])


def _every(measured: RecordData) -> Iterator[Later]:
    every = laters(measured)
    alone = {(item.block, item.step): item for item in every if item.workers == 1}
    sound = {item.first.launch for item in compared(measured) if _agrees(item)}
    clipped = clips(measured)
    losses = {(launch, step): loss for launch, step, loss in loss_curves(measured).select("launch", "step", "loss").iter_rows()}
    for later in every:
        right = alone.get((later.block, later.step))
        if later.workers == 1 or later.launch not in sound or right is None:
            continue
        if other_step(later, right):
            continue
        batches = {item.launch: ids for item in (later, right) if (ids := samples_until(measured, item.launch, item.step))}
        if other_samples(measured, later, right, batches):
            continue
        later_loss, reference_loss = (losses.get((item.launch, item.step), math.nan) for item in (later, right))
        if math.isfinite(later_loss) and abs(later_loss - reference_loss) <= SAME_LOSS * abs(reference_loss):
            comparison = _compare(later, right, clipped)
            if comparison is not None:
                yield comparison


def _agrees(comparison: Compared) -> bool:
    return comparison.difference is not None and comparison.difference.error <= tolerance(comparison.precision).error


def _compare(later: First, right: First, clipped: Mapping[tuple[int, int], Mapping[int, Clip]]) -> Later | None:
    norms = {name: (later.own[name].norm, gradient.norm) for name, gradient in right.own.items()}
    pairs = [(value, reference) for value, reference in norms.values() if value is not None and reference is not None]
    largest = max((reference for _, reference in pairs), default=0.0)
    ratios = np.array([value / reference for value, reference in pairs if reference > NEGLIGIBLE * largest], dtype=np.float64)
    if not len(ratios) or not np.isfinite(ratios).all():
        return None
    scale = float(np.median(ratios))
    value, reference = (_clip(clipped, gradient).factor for gradient in (later, right))
    return Later(
        later=later,
        reference=right.launch,
        scale=scale,
        unclipped=scale * reference / value if value else math.nan,
        spread=float(np.abs(ratios / scale - 1.0).max()) if scale else math.inf,
        turn=_turn(later, right),
    )


def _clip(clipped: Mapping[tuple[int, int], Mapping[int, Clip]], gradients: First) -> Clip:
    return clipped.get((gradients.launch, gradients.step), {}).get(min(gradients.of_rank), NO_CLIP)


def _turn(later: First, right: First) -> float:
    if later.sharded or right.sharded:
        return math.nan
    pairs = [(later.own[name].sums, gradient.sums) for name, gradient in right.own.items()]
    same = [(np.asarray(values), np.asarray(reference)) for values, reference in pairs if len(values) == len(reference) and values]
    if not same:
        return math.nan
    return direction(np.concatenate([values for values, _ in same]), np.concatenate([reference for _, reference in same]))[1]
