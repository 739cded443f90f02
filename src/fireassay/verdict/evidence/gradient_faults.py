"""Which faults does a gradient show when compared with one worker's or with another launch's?

What is wrong with a distributed training?

The first known fault with evidence in the record, in this order: an earlier fault explains the later ones.

| layer | evidence | name |
|---|---|---|
| A ledger | two ranks read the same samples while others were read by none | `shard_read_twice` |
| A | samples that no rank used | `samples_lost` |
| A | samples used twice: as many as padding adds, or not | `samples_duplicated_by_padding`, `samples_duplicated` |
| A | a reported denominator that is not items / workers: each rank's own, or the same on all | `unequal_shards`, `gradient_scaled` |
| C hashes | parameters differ before the first step | `replica_seed_mismatch` |
| B, C | the gradients of some parameters differ between ranks | `parameter_not_reduced` |
| B, C | the same in a step in which only some ranks clip | `clipped_on_some_ranks` |
| B, C | the gradients of all parameters differ, in the first step or a later sampled one | `gradients_not_synchronised` |
| C | parameters diverge later: learning rate or other settings | `learning_rate_differs_by_rank`, `optimizer_settings_differ_by_rank` |
| C | parameters diverge later: restored states (`fireassay.verdict.evidence.divergence`) | `optimizer_states_differ` |
| C | parameters diverge later: not by an update | `parameters_changed_on_one_rank` |
| B | norms found by torch's clipping differ between ranks, and gradients do not | `clipped_before_reduction` |
| A contents | samples with other contents than one worker's, on some ranks, or on all and not at random | `contents_differ_by_rank`, `contents_differ` |
| A contents | samples with other contents on another rank, and always the same on one | `contents_differ_by_rank` |
| B | gradients of earlier steps that only some ranks clear | `cleared_on_some_ranks` |
| C | random states equal where they should differ, or vice versa | `same_random_numbers`, `random_numbers_differ` |
| B gradient | a multiple of one worker's gradient | `gradient_scaled`, with the factor's name |
| B | another gradient, with unequal shards | `unequal_shards` |
| B | nearly the gradient, with every element representable in half precision | `reduced_in_less_precision` |
| B | another gradient | `gradient_differs` |
| B | a multiple of one worker's gradient in a later step only | `gradient_scaled`, `clipping_differs` |
| B | equal starts, gradients that differ by rounding | `nondeterministic_within_rounding`, no fault |

Pure. Cannot tell: faults that begin after the first step and turn the gradients of all ranks alike without scaling them; wrong reports by
the script.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from fireassay.estimates.format import count, given
from fireassay.frames.record_data import RecordData
from fireassay.frames.record_tables import once_per_record
from fireassay.frames.training.correctness.first_gradients import Compared, First, accumulations, samples_of
from fireassay.frames.training.correctness.later_gradients import Later, compared_later
from fireassay.frames.training.correctness.sample_ledger import shares
from fireassay.frames.training.parallelism import Claim, why_not
from fireassay.metrics.training.correctness import first_losses
from fireassay.stats.groups.gradient_difference import Part, compare, ratio_name, tolerance
from fireassay.verdict.evidence.divergence import Diagnosis
from fireassay.verdict.evidence.fault_evidence import (
    Evidence,
    added_noise,
    altered,
    averaged_later,
    clipped_before_reduction,
    collect,
    denominators,
    fingerprints_of,
    ledger,
    other_beginning,
    random_states,
    same_draws,
    uncleared,
    unsynchronised,
)

MIN_ELEMENTS = 8  # elements needed to tell the precision
LATER = 0.05  # relative: rounding accumulated up to a later step
MAX_GROWN = 0.6  # in ln(factor): a factor of 2 is always named
GROWN = 4.0  # times the angle between the gradients, or the spread of their norms' ratios
AVERAGE_ONCE = (
    "average over ranks and batches exactly once: DDP divides by the worker count by itself, and a loss divided by the "
    "number of accumulated batches is not to be averaged again"
)
FAR: Final = 100.0  # times the rounding error of a precision: no rounding, where no limit is known
SAME_LOSS: Final = 1e-3  # relative
IN_FLOAT64: Final = "compare in float64: a difference that remains is a fault of the distribution"
NO_ROUNDING: Final = (
    "this is no rounding. If the losses differ too, look for labels, a loss or a model that differ on some rank or with the worker count; "
    "if they agree, look at the backward pass and at how gradients are averaged"
)
SUMS = 251  # from this many numbers on, each may be a sum of many elements


def _worst(evidence: Evidence, name: str) -> Compared | None:
    """The launch with the largest error, if that exceeds rounding."""
    known = [item for item in evidence.compared if item.first.configuration == name and item.difference is not None]
    known = [item for item in known if not (item.first.apart() and averaged_later(evidence.hashed, item.first))]
    if not known:
        return None
    compared = max(known, key=lambda item: item.difference.error if item.difference else 0.0)
    return compared if compared.difference and compared.difference.error > tolerance(compared.precision).error else None


def scaled(evidence: Evidence, name: str) -> Diagnosis | None:
    compared = _worst(evidence, name)
    if compared is None or compared.difference is None or not is_scaled(compared):
        return None
    scale = compared.difference.scale
    called = ratio_name(scale, factors(compared.first.workers, compared.accumulation or 1), _near(compared))
    return Diagnosis(
        fault="gradient_scaled",
        layer="gradient",
        evidence=f"the gradient of step {compared.first.step} of launch {compared.first.launch} is {given(scale, digits=6)} times one worker's"
        f"{f', which is {called}' if called else ''}, and points the same way (1 - cos = {compared.difference.turn:.1e}, in {compared.precision})",
        remedy=AVERAGE_ONCE,
    )


def is_scaled(compared: Compared) -> bool:
    """True if the gradient is a multiple, other than 1, of the correct one."""
    difference, near = compared.difference, _near(compared)
    return difference is not None and difference.rest <= near and abs(difference.scale - 1.0) > near


def _near(compared: Compared) -> float:
    """Rounding tolerance of a factor and of its residual."""
    known = tolerance(compared.precision)
    return known.error if math.isinf(known.certain) else known.certain


def factors(of_workers: int, of_batches: int) -> dict[str, float]:
    """name -> factor left by a wrong average."""
    workers, batches = float(of_workers), float(of_batches)
    return {
        "1 / workers": 1.0 / workers,
        "workers": workers,
        "1 / accumulated batches": 1.0 / batches,
        "accumulated batches": batches,
        "1 / (workers x accumulated batches)": 1.0 / (workers * batches),
        "workers x accumulated batches": workers * batches,
    }


def other_gradient(evidence: Evidence, name: str) -> Diagnosis | None:
    compared = _worst(evidence, name)
    if compared is None or compared.difference is None:
        return None
    unequal = _unequal(evidence.measured, compared.first)
    known, error = tolerance(compared.precision), compared.difference.error
    known_ids = compared.by == "ids"
    same = " with the same samples" if known_ids else ""
    numbers = (
        f"the gradient of {compared.difference.worst} in step {compared.first.step} of launch {compared.first.launch} is {error:.1e} of its length from "
        f"one worker's{same} ({compared.precision} rounds to {known.error:.0e}); k = {given(compared.difference.scale, digits=4)}"
    )
    if unequal:
        return Diagnosis(
            fault="unequal_shards",
            layer="ledger",
            evidence=f"{numbers}; {unequal}",
            remedy="divide the sum of the losses by all ranks' items / workers, not by this rank's items",
        )
    if legitimate(evidence.measured, name):
        return None
    if less := _reduced_in(compared):
        return Diagnosis(
            fault="reduced_in_less_precision",
            layer="gradient",
            severity="warning",
            evidence=f"{numbers}; every known element is representable in {less}: the ranks' gradients were averaged in {less}",
            remedy="average in float32 (no compressing communication hook, reduce_dtype of FSDP), if the saving is not worth the rounding",
        )
    return Diagnosis(
        fault="gradient_differs",
        layer="gradient",
        severity="note" if not known_ids else "fail" if error > known.certain else "warning",
        evidence=numbers + _losses(evidence, compared) if known_ids else f"{numbers}; but it is unknown whether the samples were the same",
        remedy=NO_ROUNDING if known_ids and error > min(known.certain, FAR * known.error) else IN_FLOAT64,
    )


def _losses(evidence: Evidence, compared: Compared) -> str:
    """What the losses of the same step add: whether the difference lies before the gradients."""
    rows = first_losses(evidence.measured).filter(pl.col("step") == compared.first.step).select("launch", "loss").iter_rows()
    known = dict(rows)
    loss, right = (known.get(launch, math.nan) for launch in (compared.first.launch, compared.reference))
    if not (math.isfinite(loss) and math.isfinite(right)):
        return ""
    if abs(loss - right) > SAME_LOSS * abs(right):
        return f"; the loss of that step differs too ({given(loss, digits=4)}, one worker's {given(right, digits=4)})"
    return "; the losses of that step agree"


def _reduced_in(compared: Compared) -> str | None:
    """The half precision that represents every gradient element, if the error is within that precision's rounding."""
    kept = [np.asarray(gradient.sums, dtype=np.float64) for gradient in compared.first.own.values() if 0 < len(gradient.sums) < SUMS]
    numbers: NDArray[np.float64] = np.concatenate(kept) if kept else np.zeros(0)
    if np.count_nonzero(numbers) < MIN_ELEMENTS or compared.difference is None:
        return None
    known = (kind for kind in ("bfloat16", "float16") if compared.difference.error <= tolerance(kind).error)
    return next((kind for kind in known if _of_kind(numbers, kind)), None)


def _of_kind(numbers: NDArray[np.float64], kind: str) -> bool:
    """True if all numbers are representable with the significand of a half precision: 11 (float16) or 8 (bfloat16) bits."""
    if not np.isfinite(numbers).all():
        return False
    mantissas = np.frexp(numbers)[0] * (2.0**11 if kind == "float16" else 2.0**8)
    return bool((mantissas == np.rint(mantissas)).all())


def _unequal(measured: RecordData, first: First) -> str:
    """Evidence that the ranks' shares of a step are unequal and no loss denominator was reported; else empty."""
    denominators = measured.table("fingerprints").filter((pl.col("launch") == first.launch) & (pl.col("what") == "denominator"))
    items = shares(measured).filter((pl.col("launch") == first.launch) & (pl.col("step") == first.step))
    if denominators.height or items.height == 0 or items["items"].n_unique() == 1:
        return ""
    return f"the ranks' shares of it are unequal ({', '.join(given(x) for x in items['items'].to_list())})"


def legitimate(measured: RecordData, name: str) -> str:
    """Why a gradient may differ from one worker's without a fault; empty if no such reason is known."""
    random, batch = (_layers(measured, name, what) for what in ("random_layers", "batch_layers"))
    reasons = []
    if random:
        reasons.append(f"{count(random, 'layers')} {'draws' if random == 1 else 'draw'} random numbers")
    if batch:
        reasons.append(f"{count(batch, 'layers')} {'normalises' if batch == 1 else 'normalise'} by the batch of each rank")
    return "; ".join(reasons)


def _layers(measured: RecordData, name: str, what: str) -> int:
    return int(max(fingerprints_of(measured, name, what)["value"].drop_nulls().to_list(), default=0))


def later_gradient(evidence: Evidence, name: str) -> Diagnosis | None:
    """A wrong factor in a later step; the first such step."""
    for step in compared_later(evidence.measured):
        if step.later.configuration != name or not _same_way(step) or math.isnan(step.unclipped):
            continue
        scaled = _is_factor(step, step.unclipped)
        if scaled and not legitimate(evidence.measured, name):
            return _scaled_later(evidence.measured, step)
        if not scaled and _is_factor(step, step.scale):
            return Diagnosis(
                fault="clipping_differs",
                layer="gradient",
                severity="warning",
                evidence=f"{_where(step)} is clipped to {given(step.scale, digits=4)} times one worker's; before clipping it is the same",
                remedy="clip to the same norm for every worker count: the averaged gradient is that of one worker",
            )
    return None


def _scaled_later(measured: RecordData, step: Later) -> Diagnosis:
    batches = accumulations(measured, step.later)
    called = ratio_name(step.unclipped, factors(step.later.workers, batches or 1), LATER)
    return Diagnosis(
        fault="gradient_scaled",
        layer="gradient",
        severity="fail" if called else "warning",
        evidence=f"{_where(step)} is {given(step.unclipped, digits=4)} times one worker's{f', which is {called}' if called else ''}, "
        "while those of the first step are equal",
        remedy=AVERAGE_ONCE,
    )


def _where(step: Later) -> str:
    return f"the gradient of step {step.later.step} of launch {step.later.launch}"


def _same_way(step: Later) -> bool:
    """True if all parameters' gradients are the same multiple of one worker's."""
    return step.spread <= LATER and not step.turn > LATER


def _is_factor(step: Later, factor: float) -> bool:
    """True if the factor exceeds what rounding does to two sound trainings: their norms drift apart about as much as their directions."""
    parted = step.spread if math.isnan(step.turn) else math.sqrt(2.0 * max(0.0, step.turn))
    return factor <= 0.0 or abs(math.log(factor)) > max(math.log1p(LATER), min(GROWN * parted, MAX_GROWN))


def rounding(evidence: Evidence, name: str) -> Diagnosis | None:
    """Two launches with equal starts and gradients that differ only by rounding."""
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
                f"sums were formed in another order, which {first.precision} rounds differently",
                remedy="nothing is wrong; deterministic algorithms make runs repeatable bit for bit, at a cost",
            )
    return None


def _between(a: First, b: First) -> float | None:
    if a.own.keys() != b.own.keys():
        return None
    parts = [
        Part(name=name, found=b.own[name].sums, right=gradient.sums, right_norm=gradient.norm or 0.0)
        for name, gradient in a.own.items()
        if len(gradient.sums) == len(b.own[name].sums) and gradient.sums
    ]
    return compare(parts, a.precision).error if parts else None


def _ids(measured: RecordData, first: First) -> tuple[int, ...]:
    return tuple(samples_of(measured, [first])["ids"].to_list())


# each test, in table order, with the property of the parallelism that it assumes
TESTS: Final[tuple[tuple[Callable[[Evidence, str], Diagnosis | None], Claim], ...]] = (
    (ledger, "samples"),
    (denominators, "gradients"),
    (other_beginning, "replicas"),
    (unsynchronised, "replicas"),
    (clipped_before_reduction, "gradients"),
    (altered, "samples"),
    (random_states, "random numbers"),
    (added_noise, "random numbers"),
    (same_draws, "random numbers"),
    (uncleared, "gradients"),
    (scaled, "gradients"),
    (other_gradient, "gradients"),
    (later_gradient, "gradients"),
    (rounding, "gradients"),
)
EVIDENCE: Final = ("fingerprints", "gradients", "samples")  # the tables that tell of faults: without rows no test finds one


@once_per_record
def diagnose(measured: RecordData) -> Mapping[str, Diagnosis | None]:
    """configuration -> its first fault, or None."""
    if not any(measured.table(name).height for name in EVIDENCE):
        return dict.fromkeys(measured.configurations)
    evidence = collect(measured)
    return {name: next(_faults(evidence, name), None) for name in measured.configurations}


def _faults(evidence: Evidence, name: str) -> Iterator[Diagnosis]:
    for test, claim in TESTS:
        if why_not(evidence.measured, name, claim):  # the assumption fails under this parallelism
            continue
        diagnosis = test(evidence, name)
        if diagnosis is not None:
            yield diagnosis
