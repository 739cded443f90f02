"""Which numbers of a record enter the communication model, and where does the model apply?

The model is `fireassay.stats.models.communication_wall`. Times: median steady step time per launch, in blocks with every worker
count. c(p): the traffic of a step (`links.demand`) over links with the record's own alpha and beta (`links.links`). Hideable
communication: the largest recorded hidden time (table `communication`) times the workers, or none if not recorded. Slowdown
of the slowest worker over the mean: the ranks' mean wait beyond that of the last to arrive.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final

import numpy as np
import polars as pl

from fireassay.estimates.estimate import Absent, Estimate
from fireassay.estimates.format import reading
from fireassay.frames.per_launch import in_blocks
from fireassay.frames.record_data import RecordData
from fireassay.frames.record_tables import once_per_record
from fireassay.frames.training.communication.links import Demand, Links, demand, links, transfers
from fireassay.frames.training.communication.watched_steps import watched
from fireassay.frames.training.work import time_basis
from fireassay.stats.groups.stragglers import spread_of
from fireassay.stats.intervals.intervals import Interval
from fireassay.stats.models.affine_fit import Affine
from fireassay.stats.models.communication_wall import MIN_POINTS, Fitted, fit
from fireassay.stats.models.scaling_predictions import WORST_MISS
from fireassay.units import NS_PER_S, SECONDS

METHODS: Final = ("simulated", "group", "ddp_logging", "engine")  # in timed launches; the most direct first
SAME_WORK: Final = 0.01  # largest relative difference of a step's work between worker counts
POINTS: Final = 4  # with fewer worker counts a prediction is flagged
FARTHEST: Final = 2.0  # times the largest measured worker count; predictions beyond are flagged
NEXT: Final = 2  # times the largest measured worker count: where predictions are made


@dataclass(frozen=True, kw_only=True)
class Seen:
    """Waiting of the ranks at one worker count, medians over its launches, in seconds; with the method of `communication`."""

    hidden_s: float
    slowest: float  # computing time of the slowest worker beyond the mean
    method: str


@dataclass(frozen=True, kw_only=True)
class Wall:
    """The model fitted to a record, with as much hidden communication as recorded."""

    levels: tuple[int, ...]
    fitted: Fitted = field(repr=False)
    others: tuple[Fitted, ...] = field(repr=False)
    links: Links
    demand: Demand
    seen: dict[int, Seen]
    blocks: tuple[int, ...]
    steps: tuple[tuple[float, ...], ...]  # seconds, [blocks][levels]

    @property
    def largest(self) -> int:
        """The largest measured worker count."""
        return self.levels[-1]

    @property
    def next(self) -> int:
        """The predicted worker count."""
        return NEXT * self.largest

    @property
    def all_exposed(self) -> Fitted:
        """The same curves with nothing hidden: the worst case for the links."""
        return replace(self.fitted, curves=tuple(replace(curve, hideable_s=0.0) for curve in self.fitted.curves))

    @property
    def hides(self) -> bool:
        """True if the record shows communication hidden under computing."""
        return self.fitted.curves[0].hideable_s > 0.0

    def flags(self, workers: float) -> tuple[str, ...]:
        """Why a number at this worker count rests on the model more than on measurements."""
        reasons = []
        if len(self.levels) < POINTS:
            reasons.append(f"it rests on {len(self.levels)} worker counts, fewer than {POINTS}")
        if workers > FARTHEST * self.largest:
            reasons.append(f"it lies {workers / self.largest:.3g} times beyond the largest measured worker count, {self.largest}")
        return tuple(reasons)

    @property
    def words(self) -> str:
        """The basis of the model, in words, for a method."""
        link = self.links.whole
        hidden = (
            f"up to {reading(self.fitted.curves[0].hideable_s, SECONDS)} of a worker's computing hide it, as recorded"
            if self.hides
            else "all of it assumed exposed"
        )
        spread = self.fitted.curves[0].spread
        uneven = f"; workers scatter by {spread:.1%}" if spread else ""
        return (
            f"T1 (s + (1 - s)/p) + c(p) in {self.fitted.blocks} rounds; alpha {reading(link.fixed, SECONDS)}, "
            f"beta {reading(link.per_unit, SECONDS)} per byte ({self.links.words}); {self.demand.source}; {hidden}{uneven}"
        )


def model(measured: RecordData) -> Wall | Absent:
    """The model of a record's worker counts. Memoised."""
    return measured.once("wall", wall)


def wall(measured: RecordData, levels: Sequence[int] | None = None) -> Wall | Absent:
    """The model of all of a record's worker counts, or of some of them."""
    chosen = tuple(sorted(measured.levels if levels is None else levels))
    if (refused := _refusal(measured, chosen)) is not None:
        return refused
    sent = demand(measured, chosen)
    if isinstance(sent, Absent):
        return sent
    largest = max(sent.sent, key=lambda item: item.nbytes)
    link = links(measured.once("transfers", transfers), chosen, largest.op)
    if isinstance(link, Absent):
        return link
    blocks, times = _times(measured, chosen)
    if not blocks:
        return Absent("insufficient", "no round holds a launch of every configuration")
    seen = _seen(measured, chosen)
    weak = measured.mode == "weak"
    hidden = max((item.hidden_s * (1 if weak else level) for level, item in seen.items()), default=0.0)
    hidden = min(hidden, float(times[:, 0].mean()) * (1 if weak else chosen[0]))  # no more can hide than is computed
    slowest = [seen[level].slowest if level in seen else 1.0 for level in chosen]
    spreads = [spread_of(level, item.slowest) for level, item in seen.items()]
    swept_links = link.alone if not link.swept else {}
    fits = [swept_links.get(block, link.whole) for block in blocks]

    def made(each: Sequence[Affine]) -> Fitted:
        totals = [partial(sent.seconds, item) for item in each]
        return fit(
            chosen, times, totals, hideable_s=hidden, slowest=slowest, spread=float(np.median(spreads)) if spreads else 0.0, weak=weak
        )

    return Wall(
        levels=chosen,
        links=link,
        demand=sent,
        seen=seen,
        fitted=made(fits),
        others=tuple(made([item] * len(blocks)) for item in link.alone.values()) if link.swept else (),
        blocks=tuple(blocks),
        steps=tuple(tuple(row) for row in times.tolist()),
    )


@dataclass(frozen=True, kw_only=True)
class HeldOut:
    """The largest worker count, predicted by the model of the others: `predicted_s` and `errors` per block."""

    workers: int
    rest: Wall
    predicted_s: tuple[float, ...]
    measured_s: tuple[float, ...]
    errors: tuple[float, ...]  # predicted / measured - 1

    @property
    def speedup(self) -> float:
        """The predicted speedup there, by the curve of the others."""
        return self.rest.fitted.middle.speedup(self.workers)


@once_per_record
def held_out(measured: RecordData) -> HeldOut | Absent:
    """Fit without the largest worker count, and predict it. Memoised."""
    full = model(measured)
    if isinstance(full, Absent):
        return full
    levels = full.levels[:-1]
    if len(levels) < MIN_POINTS:
        return Absent("insufficient", f"predicting the largest worker count needs at least {MIN_POINTS} smaller ones, not {len(levels)}")
    rest = wall(measured, levels)
    if isinstance(rest, Absent):
        return rest
    by_block = dict(zip(rest.blocks, rest.fitted.curves, strict=True))
    pairs = [(by_block[block].at(full.largest), row[-1]) for block, row in zip(full.blocks, full.steps, strict=True)]
    return HeldOut(
        workers=full.largest,
        rest=rest,
        predicted_s=tuple(model for model, _ in pairs),
        measured_s=tuple(measured_s for _, measured_s in pairs),
        errors=tuple(model / measured_s - 1.0 for model, measured_s in pairs),
    )


def refusal(measured: RecordData) -> Absent | None:
    """Why a fitted model predicts nothing: it fails on the held-out largest worker count."""
    held = held_out(measured)
    if isinstance(held, Absent):
        return None
    miss = float(np.mean(held.errors))
    if abs(miss) <= WORST_MISS:
        return None
    return Absent(
        "refused",
        f"fitted without {held.workers} workers, the model of communication misses them by {abs(miss):.0%}, more than {WORST_MISS:.0%}",
    )


def of_model(
    measured: RecordData,
    found: Wall,
    interval: Interval,
    *,
    unit: str,
    name: str,
    how: str,
    values: tuple[float, ...] = (),
    at: float | None = None,
) -> Estimate:
    """A number of the model as an estimate; `at`: its worker count, which may be out of reach."""
    flags = found.flags(at) if at is not None else ()
    flagged = f"FLAGGED, for {' and '.join(flags)}: " if flags else ""
    blocks = found.fitted.blocks
    return Estimate.of(
        interval,
        unit=unit,
        confidence=measured.confidence,
        n_launches=blocks,
        n_trials=blocks * len(found.levels),
        method=f"{flagged}{how} {found.words}",
        signature=f"{name}|model:wall|links:{'sweep' if found.links.swept else 'training'}|hidden:{'seen' if found.hides else 'none'}"
        f"|p:{','.join(map(str, found.levels))}|ci:t|k:{blocks}|conf:{measured.confidence:g}|v:1",
        launch_values=values,
    )


def _refusal(measured: RecordData, levels: Sequence[int]) -> Absent | None:
    if measured.table("collectives").height == 0:
        return Absent(
            "not_measured",
            "no collective was timed, so communication looks like serial work; let assay record the script's collectives "
            "(workload.attach), and set measure.communication = true",
        )
    if len(levels) < MIN_POINTS:
        return Absent("insufficient", f"serial work and communication need at least {MIN_POINTS} worker counts")
    if time_basis(measured) != "step":
        return Absent("not_applicable", "the model needs step times, but no steps were recorded (or scaling.time is wall)")
    return _mixed(measured, levels)


def _mixed(measured: RecordData, levels: Sequence[int]) -> Absent | None:
    """The model applies only if the work of a step (strong scaling) or of a worker (weak scaling) is constant."""
    rows = measured.steady_steps.join(measured.timed.select("launch", "workers"), on="launch")
    rows = rows.filter(pl.col("workers").is_in(levels))
    weak = measured.mode == "weak"
    if rows["items"].null_count() or (weak and measured.manifest.get("simulated") is not None):  # whose serial work does not grow, as here
        return None
    work = rows.group_by("workers").agg((pl.col("items") / (pl.col("workers") if weak else 1)).median().alias("work"))["work"]
    low, high = float(work.min() or 0.0), float(work.max() or 0.0)  # type: ignore[arg-type]
    if high - low <= SAME_WORK * high:
        return None
    unit = "a worker" if weak else "a step"
    return Absent("refused", f"the work of {unit} differs between worker counts ({low:g} to {high:g} items): no one curve describes them")


def _times(measured: RecordData, levels: Sequence[int]) -> tuple[list[int], np.typing.NDArray[np.float64]]:
    """The blocks with every level, and a step's seconds in each, of shape [blocks, levels]."""
    values = measured.steady_steps.group_by("launch").agg(pl.col("step_s").median().alias("value"))
    names = dict(zip(measured.levels, measured.configurations, strict=True))
    times = [in_blocks(measured, values, names[level]) for level in levels]
    blocks = sorted(set.intersection(*(set(seconds) for seconds in times)))
    blocks = [block for block in blocks if all(seconds[block] > 0.0 for seconds in times)]
    return blocks, np.array([[seconds[block] for seconds in times] for block in blocks], dtype=np.float64)


def _seen(measured: RecordData, levels: Sequence[int]) -> dict[int, Seen]:
    """Recorded waiting at each worker count above one."""
    seen = measured.once("waits", waits)
    levels_seen = {}
    for level in levels:
        rows = seen.filter(pl.col("workers") == level)
        if level > 1 and rows.height:
            slowest = rows["slowest"].median()
            levels_seen[level] = Seen(
                hidden_s=max(0.0, float(rows["hidden_s"].median() or 0.0)),  # type: ignore[arg-type]
                slowest=max(1.0, float(slowest)) if isinstance(slowest, int | float) else 1.0,
                method=str(rows["method"][0]),
            )
    return levels_seen


def waits(measured: RecordData) -> pl.DataFrame:
    """Per timed launch, by the most direct method with all its ranks: (launch, workers, method, hidden_s, slowest).

    Per step: the hidden time of the rank that waited least, and the ranks' mean wait beyond it.
    """
    steps = watched(measured.steady_steps.select("launch", "step", "step_s"), measured.table("communication"))
    timed = measured.timed.select("launch", "workers")
    per_launch = (
        _with_totals(measured)
        .group_by("launch", "step", "method")
        .agg(
            pl.len().alias("ranks"),
            pl.col("exposed_ns").mean().alias("_mean"),
            pl.col("exposed_ns").min().alias("_least"),
            (pl.col("total_ns") - pl.col("exposed_ns")).sort_by("exposed_ns", "total_ns").first().alias("_hidden"),
        )
        .join(steps.lazy(), on=("launch", "step"))
        .join(timed.lazy(), on="launch")
        .filter(pl.col("ranks") == pl.col("workers"))
        .with_columns((pl.col("step_s") - pl.col("_mean") / NS_PER_S).alias("_own"))
        .filter(pl.col("_own") > 0.0)
        .group_by("launch", "workers", "method")
        .agg(
            (pl.col("_hidden").median() / NS_PER_S).alias("hidden_s"),
            (1.0 + (pl.col("_mean") - pl.col("_least")) / NS_PER_S / pl.col("_own")).mean().alias("slowest"),
        )
        .collect()
    )
    precedence = pl.col("method").replace_strict(list(METHODS), list(range(len(METHODS))), return_dtype=pl.Int32)
    return per_launch.sort(precedence, "launch").unique("launch", keep="first", maintain_order=True).sort("launch")


def _with_totals(measured: RecordData) -> pl.LazyFrame:
    """Rows of `communication` with known exposed and total times; the total from the step's collectives if the row lacks it."""
    rows = measured.table("communication").lazy().filter(pl.col("exposed_ns").is_not_null() & pl.col("method").is_in(METHODS))
    with_total = rows.filter(pl.col("total_ns").is_not_null())
    if measured.table("communication").filter(pl.col("total_ns").is_null()).height == 0:
        return with_total
    calls = measured.communicated.calls.lazy().select("launch", "rank", "step", pl.col("total_ns").alias("_total"))
    joined = rows.filter(pl.col("total_ns").is_null()).join(calls, on=["launch", "rank", "step"])
    completed = joined.with_columns(pl.col("_total").alias("total_ns")).drop("_total").filter(pl.col("total_ns").is_not_null())
    return pl.concat([with_total, completed])
