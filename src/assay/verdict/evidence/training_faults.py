"""What is wrong with a distributed training?  The first of the known faults whose evidence is in the record.

In this order, because a fault that stands earlier explains what those that stand later would see:

| layer | evidence | name |
|---|---|---|
| A ledger | two ranks read the same samples while others were read by nobody | `shard_read_twice` |
| A | samples that no rank used | `samples_lost` |
| A | samples used twice, as many as padding adds, or not | `samples_duplicated_by_padding`, `samples_duplicated` |
| A | a told denominator that is not items / workers: each rank's own, or the same wrong one on all | `unequal_shards`, `gradient_scaled` |
| C hashes | parameters differ before the first step | `replica_seed_mismatch` |
| B, C | some parameters' gradients differ between the ranks | `parameter_not_reduced` |
| B, C | all of them do, in the first step or in a later one that was looked at | `gradients_not_synchronised` |
| C | parameters part later, by the learning rate or other settings | `learning_rate_differs_by_rank`, `optimizer_settings_differ_by_rank` |
| C | by restored states, or by no update (`assay.verdict.evidence.divergence`) | `optimizer_states_differ`,
`parameters_changed_on_one_rank` |
| B | the norms that torch's clipping found differ between ranks, and the gradients do not | `clipped_before_reduction` |
| C | equal random states where they are to differ, or the other way round | `same_random_numbers`, `random_numbers_differ` |
| B gradient | a multiple of one worker's gradient | `gradient_scaled`, with the factor's name |
| B | another gradient, and shards are unequal | `unequal_shards` |
| B | nearly the gradient, all in numbers of half precision | `reduced_in_less_precision` |
| B | another gradient | `gradient_differs` |
| B | a multiple of one worker's gradient in a later step, as no earlier one was | `gradient_scaled`, `clipping_differs` |
| B | the same start gave gradients that differ by rounding | `nondeterministic_within_rounding`, no fault |

Pure.  Source: house research, quality section 4.  Cannot tell: faults that begin after the first step and turn the gradients of all ranks
alike, without scaling them; what a script tells wrongly.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from assay.estimates.format import count, given
from assay.frames.record_data import Measured, effective_steps
from assay.frames.training.first_gradients import Compared, First, accumulations, compared, firsts, laters, samples_of
from assay.frames.training.hashed_state import hashes
from assay.frames.training.later_gradients import Later, clipped_apart, compared_later
from assay.frames.training.parallelism import Claim, why_not
from assay.frames.training.sample_ledger import Epoch, epochs
from assay.frames.training.sample_weights import shares, weights
from assay.stats.groups.gradient_difference import Part, compare, ratio_name, tolerance
from assay.verdict.evidence.divergence import SYNCHRONISE, Cause, cause, of_settings, settings_apart
from assay.verdict.types import Severity

Layer = Literal["ledger", "gradient", "hashes"]
MANY = 3  # parameters that are named
SAME_WEIGHT = 1e-12  # relative
FEWEST = 8  # elements, to tell what kind of numbers they are
LATER = 0.05  # relative: rounding that has grown until a later step
MOST_GROWN = 0.6  # a factor of 2 is always one
GROWN = 4.0  # times the angle by which two trainings have parted, or the spread of their parameters' norms
AVERAGE_ONCE = (
    "average over ranks and batches exactly once: DDP divides by the worker count by itself, and a loss divided by the "
    "number of accumulated batches is not to be averaged again"
)
SUMS = 251  # as many numbers may be sums of many elements


@dataclass(frozen=True, kw_only=True)
class Diagnosis:
    """A named fault of one configuration."""

    fault: str
    layer: Layer
    severity: Severity
    evidence: str
    remedy: str


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """What the layers say of a record, looked at once."""

    measured: Measured
    epochs: tuple[Epoch, ...]
    weighed: pl.DataFrame = field(repr=False)
    hashed: pl.DataFrame = field(repr=False)  # of the parameters
    random: pl.DataFrame = field(repr=False)  # of the random states
    host: pl.DataFrame = field(repr=False)  # of the host's, where the model is on a GPU
    first: tuple[First, ...]
    compared: tuple[Compared, ...]


def look(measured: Measured) -> Evidence:
    """Everything that a diagnosis needs."""
    return Evidence(
        measured=measured,
        epochs=epochs(measured),
        weighed=weights(measured),
        hashed=hashes(measured),
        random=hashes(measured, what="random_hash"),
        host=hashes(measured, what="random_hash_host"),
        first=firsts(measured),
        compared=compared(measured),
    )


# what each test takes for granted of the parallelism
CLAIMS: Final[Mapping[str, Claim]] = {
    "_ledger": "samples",
    "_weights": "gradients",
    "_beginning": "replicas",
    "_unsynchronised": "replicas",
    "_random": "random numbers",
    "_scaled": "gradients",
    "_other": "gradients",
    "_rounding": "gradients",
    "_clipped": "gradients",
    "_later": "gradients",
}


def diagnose(measured: Measured) -> Mapping[str, Diagnosis | None]:
    """The first fault of every configuration, or None."""
    return measured.once("diagnosis", _diagnosed)


def _diagnosed(measured: Measured) -> Mapping[str, Diagnosis | None]:
    evidence = look(measured)
    return {name: next(_faults(evidence, name), None) for name in measured.configurations}


def _faults(evidence: Evidence, name: str) -> Iterator[Diagnosis]:
    for test in (_ledger, _weights, _beginning, _unsynchronised, _clipped, _random, _scaled, _other, _later, _rounding):
        if why_not(evidence.measured, name, CLAIMS[test.__name__]):  # another parallelism does not have it
            continue
        found = test(evidence, name)
        if found is not None:
            yield found


# ---- A: the ledger ---------------------------------------------------------------------------------------------------


def _ledger(evidence: Evidence, name: str) -> Diagnosis | None:
    own = [epoch for epoch in evidence.epochs if epoch.configuration == name]
    lost = max((epoch for epoch in own if not epoch.cut_short), key=lambda epoch: epoch.lost, default=None)
    twice = max(own, key=lambda epoch: epoch.duplicated, default=None)
    if lost is not None and lost.lost:
        return _lost(evidence, lost)
    if twice is None or not twice.duplicated:
        return None
    padding = twice.duplicated == -twice.expected % twice.workers
    return Diagnosis(
        fault="samples_duplicated_by_padding" if padding else "samples_duplicated",
        layer="ledger",
        severity="fail",
        evidence=f"{count(twice.duplicated, 'samples')} used more than once in epoch {twice.epoch} of launch {twice.launch}",
        remedy="give the padded samples weight 0, or make the data set a multiple of the global batch"
        if padding
        else "check the sharding of the sampler: every id must fall to exactly one rank",
    )


def _lost(evidence: Evidence, worst: Epoch) -> Diagnosis:
    same = _same_shard(evidence.measured, worst)
    if same is not None:
        return Diagnosis(
            fault="shard_read_twice",
            layer="ledger",
            severity="fail",
            evidence=f"ranks {same[0]} and {same[1]} used the same samples in every step of epoch {worst.epoch} of launch {worst.launch}, "
            f"and {count(worst.lost, 'samples')} were used by none",
            remedy="give the sampler this worker's own rank, and set its number of replicas to the worker count",
        )
    return Diagnosis(
        fault="samples_lost",
        layer="ledger",
        severity="fail",
        evidence=f"{worst.lost} of {count(worst.expected, 'samples')} used by no rank in epoch {worst.epoch} of launch {worst.launch}",
        remedy="check the sharding of the sampler: every id must fall to exactly one rank, and drop_last must drop nothing",
    )


def _same_shard(measured: Measured, epoch: Epoch) -> tuple[int, int] | None:
    """Two ranks that used the same samples in every step of an epoch."""
    samples = measured.table("samples").filter((pl.col("launch") == epoch.launch) & (pl.col("epoch") == epoch.epoch))
    rows = effective_steps(samples).explode("ids").drop_nulls("ids").sort("step", "ids")
    of_rank = rows.group_by("rank").agg(pl.col("step"), pl.col("ids")).sort("rank")
    seen: dict[tuple[tuple[int, ...], tuple[int, ...]], int] = {}
    for rank, steps, ids in of_rank.iter_rows():
        key = (tuple(steps), tuple(ids))
        if key in seen:
            return seen[key], int(rank)
        seen[key] = int(rank)
    return None


def _weights(evidence: Evidence, name: str) -> Diagnosis | None:
    told = evidence.weighed.with_columns(factor=pl.col("total") / (pl.col("workers") * pl.col("denominator")))
    own = told.filter((pl.col("configuration") == name) & (pl.col("workers") > 1))
    off = _unlike_one(own, told.filter(pl.col("workers") == 1)).sort("off", descending=True)
    if off.height == 0:
        return None
    row = off.row(0, named=True)
    same = off.filter((pl.col("launch") == row["launch"]) & (pl.col("step") == row["step"]))["alike"].all()
    numbers = (
        f"{given(row['denominator'])} in step {row['step']} of launch {row['launch']}, where {given(row['total'])} items on {row['workers']} workers "
        f"ask for {given(row['total'] / row['workers'])}; that is off by {given(row['off'], digits=3)}"
    )
    if same:
        return Diagnosis(
            fault="gradient_scaled",
            layer="ledger",
            severity="fail",
            evidence=f"every rank divides its losses by {numbers}",
            remedy="average over ranks and batches exactly once: divide the sum of the losses by all ranks' items / workers",
        )
    return Diagnosis(
        fault="unequal_shards",
        layer="ledger",
        severity="fail",
        evidence=f"rank {row['rank']} divides its losses by {numbers}",
        remedy="divide the sum of the losses by all ranks' items / workers, not by this rank's items",
    )


def _unlike_one(own: pl.DataFrame, alone: pl.DataFrame) -> pl.DataFrame:
    """The rows that are off, with `alike`: whether all ranks told that they divided by the same.  Where no told one is another, and one
    worker's
    samples of that step have the same weight, it is a divisor that stays the same for a batch that is not full; so it is taken to be
    where there is no one worker, all ranks told the same and other steps are right.  What a single rank told says nothing of the others."""
    same = pl.col("denominator").n_unique().over("launch", "step") == 1
    alike = same & (pl.col("rank").n_unique().over("launch", "step") == pl.col("workers"))
    one = alone.group_by("step").agg(pl.col("factor").first().alias("of_one"))
    rows = own.with_columns(same=same, alike=alike).join(one, on="step", how="left").filter(pl.col("off") > 0.0)
    if alone.height:
        usual = (pl.col("factor") - pl.col("of_one")).abs() <= SAME_WEIGHT * pl.col("of_one")
        return rows.filter(~(pl.col("same") & usual.fill_null(value=False)))
    some_right = bool((own["off"] == 0.0).any())
    return rows.filter(~pl.col("alike")) if some_right else rows


# ---- C: hashes -------------------------------------------------------------------------------------------------------


def _beginning(evidence: Evidence, name: str) -> Diagnosis | None:
    apart = _apart(evidence, name).filter(pl.col("step") == 0)
    if apart.height == 0:
        return None
    return Diagnosis(
        fault="replica_seed_mismatch",
        layer="hashes",
        severity="fail",
        evidence=f"parameter hashes differ between ranks before the first step (launch {apart['launch'][0]})",
        remedy="give every rank the same initial parameters: the same seed, or let DDP broadcast them (init_sync=True)",
    )


def _apart(evidence: Evidence, name: str) -> pl.DataFrame:
    own = evidence.hashed.filter((pl.col("configuration") == name) & ~pl.col("agree"))
    return own.filter((pl.col("workers") > 1) & (pl.col("incarnation") == 0)).sort("step", "launch")


def _unsynchronised(evidence: Evidence, name: str) -> Diagnosis | None:
    apart = _apart(evidence, name)
    for one in (*evidence.first, *laters(evidence.measured)):
        names = one.apart() if one.configuration == name else ()
        if names and not averaged_later(evidence.hashed, one):
            return _unreduced(one, names)
    # parts of parameters are not held against each other: their settings are
    first = (int(apart["launch"][0]), int(apart["step"][0])) if apart.height else None
    found = _settings(evidence, name) if first is None else cause(evidence.measured, *first)
    if found is None:
        return None
    return Diagnosis(fault=found.fault, layer="hashes", severity="fail", evidence=found.evidence, remedy=found.remedy)


def _settings(evidence: Evidence, name: str) -> Cause | None:
    own = evidence.measured.timed.filter(pl.col("configuration") == name)["launch"].to_list()
    for launch, step, setting, values in settings_apart(evidence.measured):
        if launch in own:
            return of_settings(launch, step, setting, values)
    return None


def _clipped(evidence: Evidence, name: str) -> Diagnosis | None:
    for found in clipped_apart(evidence.measured, evidence.hashed, name):
        return Diagnosis(
            fault="clipped_before_reduction",
            layer="gradient",
            severity="fail" if found.active else "warning",
            evidence=f"in step {found.step} of launch {found.launch} clip_grad_norm_ found norms of {found.norms} and was to clip to "
            f"{given(found.limit, digits=4)}, and then all ranks stepped with the same gradient: each rank clipped its own before they were averaged"
            f"{'' if found.active else ' (no norm was above the limit there)'}",
            remedy="clip after the gradients are averaged: outside of no_sync, after the last backward pass or after the all_reduce",
        )
    return None


def averaged_later(hashed: pl.DataFrame, first: First) -> bool:
    """Whether the parameters are the same on all ranks after the step: then the optimizer averaged the gradients itself."""
    after = hashed.filter((pl.col("launch") == first.launch) & (pl.col("step") > first.step))
    return after.height > 0 and bool(after.sort("step")["agree"][0])


def _unreduced(first: First, names: tuple[str, ...]) -> Diagnosis:
    some = [name for name, own in first.own.items() if own.norm != 0.0]
    if len(names) >= len(some):
        return Diagnosis(
            fault="gradients_not_synchronised",
            layer="gradient",
            severity="fail",
            evidence=f"no gradient is the same on all ranks in step {first.step} of launch {first.launch}",
            remedy=SYNCHRONISE,
        )
    more = f" and {len(names) - MANY} more" if len(names) > MANY else ""
    return Diagnosis(
        fault="parameter_not_reduced",
        layer="gradient",
        severity="fail",
        evidence=f"the gradient of {', '.join(names[:MANY])}{more} is not the same on all ranks in step {first.step} of launch {first.launch}, "
        f"those of {count(len(first.own) - len(names), 'parameters')} are",
        remedy="use every parameter in the last pass before the optimizer steps, or wrap the model with find_unused_parameters=True",
    )


def _random(evidence: Evidence, name: str) -> Diagnosis | None:
    """Random states against what was declared; undeclared, dropout with equal states is suspicious."""
    measured = evidence.measured
    own = evidence.random.filter((pl.col("configuration") == name) & (pl.col("workers") > 1))
    own = own.with_columns(pl.col("text").n_unique().over("launch").alias("states"))
    declared = _said(measured, name, "random_state")["text"].unique().to_list()
    host = evidence.host.filter((pl.col("configuration") == name) & (pl.col("workers") > 1))
    equal, differ = own.filter(pl.col("different") < pl.col("ranks")), own.filter(~pl.col("agree"))
    equal = equal if equal.height else host.filter(pl.col("different") < pl.col("ranks"))
    if "different" in declared and equal.height:
        return _same_numbers(equal, "fail", "declared different")
    if "equal" in declared and differ.height:
        row = differ.row(0, named=True)
        return Diagnosis(
            fault="random_numbers_differ",
            layer="hashes",
            severity="fail",
            evidence=f"random states are declared equal and differ between ranks at step {row['step']} of launch {row['launch']}",
            remedy="seed all ranks alike, and let them draw equally often",
        )
    layers = _said(measured, name, "random_layers")["value"].max()
    begun = own.filter((pl.col("step") == 0) & pl.col("agree") & (pl.col("states") > 1))  # and then some are drawn
    if declared or not layers or not begun.height:
        return None
    return _same_numbers(begun, "warning", f"the model has {count(int(layers), 'layers')} that draw")  # type: ignore[arg-type]


def _said(measured: Measured, name: str, what: str) -> pl.DataFrame:
    launches = measured.timed.filter(pl.col("configuration") == name).select("launch")
    return measured.table("fingerprints").filter(pl.col("what") == what).join(launches, on="launch", how="semi")


def _same_numbers(rows: pl.DataFrame, severity: Severity, why: str) -> Diagnosis:
    row = rows.row(0, named=True)
    return Diagnosis(
        fault="same_random_numbers",
        layer="hashes",
        severity=severity,
        evidence=f"random states are equal on ranks at step {row['step']} of launch {row['launch']} ({row['different']} different ones on "
        f"{row['ranks']} ranks; {why}): every rank drops the same units",
        remedy="add the rank to the seed after the model is made, or say probe.watch(model, random='equal') if it is meant",
    )


# ---- B: the gradient against one worker's ----------------------------------------------------------------------------


def _worst(evidence: Evidence, name: str) -> Compared | None:
    """The launch that is farthest off, if that is more than rounding."""
    known = [one for one in evidence.compared if one.first.configuration == name and one.difference is not None]
    known = [one for one in known if not (one.first.apart() and averaged_later(evidence.hashed, one.first))]
    if not known:
        return None
    found = max(known, key=lambda one: one.difference.error if one.difference else 0.0)
    return found if found.difference and found.difference.error > tolerance(found.precision).error else None


def _scaled(evidence: Evidence, name: str) -> Diagnosis | None:
    found = _worst(evidence, name)
    if found is None or found.difference is None or not is_scaled(found):
        return None
    scale = found.difference.scale
    called = ratio_name(scale, factors(found.first.workers, found.accumulation or 1), _near(found))
    return Diagnosis(
        fault="gradient_scaled",
        layer="gradient",
        severity="fail",
        evidence=f"the gradient of step {found.first.step} of launch {found.first.launch} is {given(scale, digits=6)} times one worker's"
        f"{f', which is {called}' if called else ''}, and points the same way (1 - cos = {found.difference.turn:.1e}, in {found.precision})",
        remedy=AVERAGE_ONCE,
    )


def is_scaled(found: Compared) -> bool:
    """Whether the gradient is a multiple of the right one, and not it."""
    difference, near = found.difference, _near(found)
    return difference is not None and difference.rest <= near and abs(difference.scale - 1.0) > near


def _near(found: Compared) -> float:
    """What a factor, and what it leaves unexplained, may be off by rounding."""
    known = tolerance(found.precision)
    return known.error if math.isinf(known.certain) else known.certain


def factors(of_workers: int, of_batches: int) -> dict[str, float]:
    """name -> factor that a wrong average leaves."""
    workers, batches = float(of_workers), float(of_batches)
    return {
        "1 / workers": 1.0 / workers,
        "workers": workers,
        "1 / accumulated batches": 1.0 / batches,
        "accumulated batches": batches,
        "1 / (workers x accumulated batches)": 1.0 / (workers * batches),
        "workers x accumulated batches": workers * batches,
    }


def _other(evidence: Evidence, name: str) -> Diagnosis | None:
    found = _worst(evidence, name)
    if found is None or found.difference is None:
        return None
    unequal = _unequal(evidence.measured, found.first)
    known, error = tolerance(found.precision), found.difference.error
    known_ids = found.by == "ids"
    same = " with the same samples" if known_ids else ""
    numbers = (
        f"the gradient of {found.difference.worst} in step {found.first.step} of launch {found.first.launch} is {error:.1e} of its length from "
        f"one worker's{same} ({found.precision} rounds to {known.error:.0e}); k = {given(found.difference.scale, digits=4)}"
    )
    if unequal:
        return Diagnosis(
            fault="unequal_shards",
            layer="ledger",
            severity="fail",
            evidence=f"{numbers}; {unequal}",
            remedy="divide the sum of the losses by all ranks' items / workers, not by this rank's items",
        )
    if legitimate(evidence.measured, name):
        return None
    if less := _reduced_in(found):
        return Diagnosis(
            fault="reduced_in_less_precision",
            layer="gradient",
            severity="warning",
            evidence=f"{numbers}; every element that is known is a number of {less}: the ranks' gradients were averaged in {less}",
            remedy="average in float32 (no compressing communication hook, reduce_dtype of FSDP), if the saving is not worth the rounding",
        )
    return Diagnosis(
        fault="gradient_differs",
        layer="gradient",
        severity="note" if not known_ids else "fail" if error > known.certain else "warning",
        evidence=numbers if known_ids else f"{numbers}; but whether the samples were the same is not known",
        remedy="compare in float64: what is left there is a fault of the distribution",
    )


def _reduced_in(found: Compared) -> str | None:
    """The half precision of whose numbers the gradient is, where it differs by no more than that precision's rounding."""
    kept = [np.asarray(one.sums, dtype=np.float64) for one in found.first.own.values() if 0 < len(one.sums) < SUMS]
    numbers: NDArray[np.float64] = np.concatenate(kept) if kept else np.zeros(0)
    if np.count_nonzero(numbers) < FEWEST or found.difference is None:
        return None
    known = (kind for kind in ("bfloat16", "float16") if found.difference.error <= tolerance(kind).error)
    return next((kind for kind in known if _of_kind(numbers, kind)), None)


def _of_kind(numbers: NDArray[np.float64], kind: str) -> bool:
    """Whether all are numbers of a half precision: of 11 or 8 binary digits."""
    if not np.isfinite(numbers).all():
        return False
    mantissas = np.frexp(numbers)[0] * (2.0**11 if kind == "float16" else 2.0**8)
    return bool((mantissas == np.rint(mantissas)).all())


def _unequal(measured: Measured, first: First) -> str:
    """That the ranks' shares of a step are unequal and nobody told by what the losses are divided; else empty."""
    told = measured.table("fingerprints").filter((pl.col("launch") == first.launch) & (pl.col("what") == "denominator"))
    own = shares(measured).filter((pl.col("launch") == first.launch) & (pl.col("step") == first.step))
    if told.height or own.height == 0 or own["items"].n_unique() == 1:
        return ""
    return f"the ranks' shares of it are unequal ({', '.join(given(x) for x in own['items'].to_list())})"


def legitimate(measured: Measured, name: str) -> str:
    """Why a gradient may differ from one worker's without a fault; empty where nothing is known that would do it."""
    random, batch = (_layers(measured, name, what) for what in ("random_layers", "batch_layers"))
    found = []
    if random:
        found.append(f"{count(random, 'layers')} {'draws' if random == 1 else 'draw'} random numbers")
    if batch:
        found.append(f"{count(batch, 'layers')} {'normalises' if batch == 1 else 'normalise'} by the batch of each rank")
    return "; ".join(found)


def _layers(measured: Measured, name: str, what: str) -> int:
    return int(max(_said(measured, name, what)["value"].drop_nulls().to_list(), default=0))


def _later(evidence: Evidence, name: str) -> Diagnosis | None:
    """A factor that a later step has, in the first step that has one."""
    for one in compared_later(evidence.measured):
        if one.later.configuration != name or not _same_way(one) or math.isnan(one.unclipped):
            continue
        scaled = _is_factor(one, one.unclipped)
        if scaled and not legitimate(evidence.measured, name):
            return _scaled_later(evidence.measured, one)
        if not scaled and _is_factor(one, one.scale):
            return Diagnosis(
                fault="clipping_differs",
                layer="gradient",
                severity="warning",
                evidence=f"{_where(one)} is clipped to {given(one.scale, digits=4)} times one worker's; before clipping it is the same",
                remedy="clip to the same norm for every worker count: the averaged gradient is that of one worker",
            )
    return None


def _scaled_later(measured: Measured, one: Later) -> Diagnosis:
    batches = accumulations(measured, one.later)
    called = ratio_name(one.unclipped, factors(one.later.workers, batches or 1), LATER)
    return Diagnosis(
        fault="gradient_scaled",
        layer="gradient",
        severity="fail" if called else "warning",
        evidence=f"{_where(one)} is {given(one.unclipped, digits=4)} times one worker's{f', which is {called}' if called else ''}, "
        "while those of the first step are equal",
        remedy=AVERAGE_ONCE,
    )


def _where(one: Later) -> str:
    return f"the gradient of step {one.later.step} of launch {one.later.launch}"


def _same_way(one: Later) -> bool:
    """Whether all parameters' gradients are the same multiple of one worker's."""
    return one.spread <= LATER and not one.turn > LATER


def _is_factor(one: Later, factor: float) -> bool:
    """Whether it is more than rounding has made of two sound trainings: they grow and shrink apart about as much as they turn apart."""
    parted = one.spread if math.isnan(one.turn) else math.sqrt(2.0 * max(0.0, one.turn))
    return factor <= 0.0 or abs(math.log(factor)) > max(math.log1p(LATER), min(GROWN * parted, MOST_GROWN))


def _rounding(evidence: Evidence, name: str) -> Diagnosis | None:
    """Two launches that began alike, whose gradients differ by rounding only."""
    alike: dict[tuple[str, tuple[int, ...]], First] = {}
    starts = evidence.hashed.filter((pl.col("step") == 0) & pl.col("agree"))
    hash_of = dict(zip(starts["launch"].to_list(), starts["text"].to_list(), strict=True))
    for first in evidence.first:
        if first.configuration != name or first.launch not in hash_of:
            continue
        key = (hash_of[first.launch], _ids(evidence.measured, first))
        other = alike.setdefault(key, first)
        if other is first or not key[1]:
            continue
        error = _between(other, first)
        if error is not None and 0.0 < error <= tolerance(first.precision).error:
            return Diagnosis(
                fault="nondeterministic_within_rounding",
                layer="gradient",
                severity="note",
                evidence=f"launches {other.launch} and {first.launch} began alike, and their gradients differ by {error:.1e} of their length: "
                f"sums were made in another order, which {first.precision} rounds differently",
                remedy="nothing is wrong; deterministic algorithms make runs repeatable bit for bit, at a price",
            )
    return None


def _between(a: First, b: First) -> float | None:
    if a.own.keys() != b.own.keys():
        return None
    parts = [
        Part(name=name, found=b.own[name].sums, right=one.sums, right_norm=one.norm or 0.0)
        for name, one in a.own.items()
        if len(one.sums) == len(b.own[name].sums) and one.sums
    ]
    return compare(parts, a.precision).error if parts else None


def _ids(measured: Measured, first: First) -> tuple[int, ...]:
    return tuple(samples_of(measured, [first])["ids"].to_list())
