"""Does distribution compute what one worker computes?

Samples: an exact ledger of the ids that the script reports. Gradients: g as the optimizer gets it in the first step, against g* of the
one-worker launch in the same block; rounding is at most 1e-12 in float64 and 2e-5 in float32, while the 5e-2 of bfloat16 hides real
faults. Equal loss curves prove nothing: adaptive optimizers hide a scaled gradient. Mean losses over unequal shards weight samples
unequally (pytorch issues 37359, 67253).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Final

import polars as pl

from fireassay.estimates.estimate import Absent, Value
from fireassay.estimates.over_launches import average, exact, no_launch
from fireassay.frames.record_data import RecordData, effective_steps
from fireassay.frames.record_tables import not_to_its_end
from fireassay.frames.training.correctness.first_gradients import Compared, worst
from fireassay.frames.training.correctness.sample_ledger import NO_WHOLE_EPOCH, Epoch, epochs, no_ledger, weights
from fireassay.frames.training.parallel_evidence import hashes
from fireassay.frames.training.parallelism import Claim, absent
from fireassay.frames.training.work import loss_curves
from fireassay.metrics.metric import Metric, Results
from fireassay.units import COUNT, FRACTION, RATIO

measure = partial(Metric, kind="ratio", better="lower", dimension="correctness")
REFERENCE = Absent("not_applicable", "this is the reference")
NOT_FINITE = Absent("undefined", "a first loss is not a finite number")
NO_GRADIENT = Absent("undefined", "one worker's gradient is zero or not finite")
NO_HASHES = Absent("not_measured", "no parameters were hashed; call probe.watch(model)")
SHARDED = Absent(
    "not_applicable", "ranks hold parts of the parameters, or stages of a pipeline: neither they nor the replicas of one part are compared"
)
NO_DENOMINATORS = Absent("not_measured", "the script did not report the divisor of its losses; call probe.log(denominator=...)")
LAST_STEPS: Final = 10
LOSS: Final = "loss"  # a unit


def _loss_deviation(measured: RecordData, _: Results) -> Mapping[str, Value]:
    first = first_losses(measured)
    base = first.filter(pl.col("configuration") == measured.base).select("block", "step", pl.col("loss").alias("reference"))
    return {name: _first_loss(measured, first, base, name) for name in measured.configurations}


def first_losses(measured: RecordData) -> pl.DataFrame:
    """(launch, configuration, block, step, loss) at the first step with a reported loss."""
    losses = measured.table("fingerprints").filter((pl.col("what") == "loss") & pl.col("value").is_not_null())
    rows = effective_steps(losses.filter(pl.col("step") == pl.col("step").min().over("launch")))
    steps = measured.rows_of(rows.select("launch", "step").unique(), "launch", "rank", "step", "items")
    items = steps.unique(["launch", "rank", "step"])
    weighted = rows.join(items, on=["launch", "rank", "step"], how="left")
    weight = pl.col("items").fill_null(1.0)
    mean = (pl.col("value") * weight).sum() / weight.sum()
    loss = pl.when(weight.sum() > 0.0).then(mean).otherwise(pl.col("value").mean()).alias("loss")
    means = weighted.sort("launch", "rank").group_by("launch", "step").agg(loss)
    return means.join(measured.timed.select("launch", "configuration", "block"), on="launch")


def _first_loss(measured: RecordData, first: pl.DataFrame, base: pl.DataFrame, name: str) -> Value:
    if name == measured.base:
        return REFERENCE
    if (reason := absent(measured, name, "loss")) is not None:
        return reason
    pairs = first.filter(pl.col("configuration") == name).join(base, on=["block", "step"])
    pairs = pairs.filter(pl.col("reference") != 0.0)
    if pairs.height == 0:
        return Absent("not_measured", "no loss was reported; call probe.log(loss=loss)")
    if not (pairs["loss"].is_finite() & pairs["reference"].is_finite()).all():
        return NOT_FINITE
    deviation = ((pairs["loss"] - pairs["reference"]) / pairs["reference"]).abs().max()
    return exact(
        float(deviation),  # type: ignore[arg-type]
        unit=FRACTION,
        name="loss_deviation",
        n_launches=pairs.height,
        n_trials=pairs.height,
        how=f"largest of {pairs.height} rounds, first step, weighted by items",
    )


LOSS_DEVIATION = measure(
    name="loss_deviation",
    title="First loss against the base",
    unit=FRACTION,
    formula="max over rounds |loss(p) - loss(base)| / |loss(base)| at the first step",
    compute=_loss_deviation,
    question="Does the first loss equal that of the base's launch with the same seed?",
    caveat="About 1e-7 in float32 is rounding; later steps are not judged, since rounding grows.",
    rank=110,
)


def _final_loss_difference(measured: RecordData, _: Results) -> Mapping[str, Value]:
    curves = loss_curves(measured)
    base = curves.filter(pl.col("configuration") == measured.base)
    reference = base.select("block", "step", pl.col("loss").alias("reference"))
    return {name: _last_losses(measured, curves, reference, name) for name in measured.configurations}


def _last_losses(measured: RecordData, curves: pl.DataFrame, reference: pl.DataFrame, name: str) -> Value:
    if name == measured.base:
        return REFERENCE
    if (reason := absent(measured, name, "loss")) is not None:
        return reason
    if measured.timed.filter(pl.col("configuration") == name).height == 0:
        return no_launch(name)
    pairs = curves.filter(pl.col("configuration") == name).join(reference, on=["block", "step"])
    if pairs.height == 0:
        return Absent("not_measured", "no loss was reported on both sides; call probe.log(loss=loss)")
    last = pairs.sort("block", "step").group_by("block", maintain_order=True).tail(LAST_STEPS)
    broken = last.filter(~(pl.col("loss").is_finite() & pl.col("reference").is_finite()))
    if broken.height:  # leaving these out would judge a broken training by the losses before it broke
        since = min(broken["step"].to_list())
        detail = f"{broken.height} of the {last.height} last common losses are no finite numbers, the first at step {since}"
        return Absent("undefined", detail)
    per_block = last.group_by("block").agg((pl.col("loss") - pl.col("reference")).mean().alias("d")).sort("block")
    return average(
        per_block["d"].to_list(),
        measured.confidence,
        unit=LOSS,
        name=f"final_loss_difference|base:{measured.base}",
        aggregate=f"difference to the base's launch of the round, mean over the last {LAST_STEPS} common steps",
        n_trials=last.height,
    )


FINAL_LOSS_DIFFERENCE = measure(
    name="final_loss_difference",
    title="Last losses against the base",
    unit=LOSS,
    kind="level",
    formula="mean over the last 10 common steps of loss(p) - loss(base), paired by round",
    compute=_final_loss_difference,
    question="How far apart are the last losses of a configuration and the base, with the same seed?",
    caveat="Advice, never a gate: equal curves hide scaled gradients, different ones may be rounding that grew.",
    rank=111,
)


def _against_one_worker(measured: RecordData, _: Results, *, name: str, unit: str, scale: bool) -> Mapping[str, Value]:
    """Error or scale of the launch with the largest difference in first gradients, per configuration."""

    def of(compared: Compared | Absent) -> Value:
        if isinstance(compared, Absent):
            return compared
        assert compared.difference is not None
        difference, parameters = compared.difference, len(compared.difference.errors)
        if scale and math.isnan(difference.scale):
            return NO_GRADIENT
        where = f"over {parameters}" if scale else f"{difference.worst}, of {parameters}"
        launches = f"launch {compared.first.launch} against launch {compared.reference}"
        how = f"{where} parameters, in {compared.precision}, first step, {launches}"
        value = difference.scale if scale else difference.error
        return exact(value, unit=unit, name=name, n_launches=1, n_trials=parameters, how=how)

    levels = zip(measured.levels, measured.configurations, strict=True)
    return {configuration: REFERENCE if level == 1 else of(worst(measured, configuration)) for level, configuration in levels}


GRADIENT_ERROR = measure(
    name="gradient_error",
    title="Gradient against one worker's",
    unit=FRACTION,
    formula="max over parameters |g - g*| / |g*| in the first step, g* of one worker with the same samples",
    compute=partial(_against_one_worker, name="gradient_error", unit=FRACTION, scale=False),
    question="Does the first gradient equal the one that a single worker computes from the same samples?",
    caveat="Later steps are not judged; random layers and batch statistics differ legitimately.  Large parameters: estimated within 9 %.",
    rank=112,
)
GRADIENT_SCALE = measure(
    name="gradient_scale",
    title="Scale of the gradient",
    unit=RATIO,
    better="neither",
    formula="<g, g*> / <g*, g*> over all parameters in the first step, g* of one worker with the same samples",
    compute=partial(_against_one_worker, name="gradient_scale", unit=RATIO, scale=True),
    question="By which factor is the first gradient longer than the one that a single worker computes?",
    caveat="1/workers: averaged twice; workers: summed; 1/batches: accumulated gradients averaged once too often. See also gradient_error.",
    rank=113,
)


def _replicas_agree(measured: RecordData, _: Results) -> Mapping[str, Value]:
    compared = hashes(measured)
    levels = zip(measured.levels, measured.configurations, strict=True)
    return {name: _agreement(measured, compared.filter(pl.col("configuration") == name), level, name) for level, name in levels}


def _agreement(measured: RecordData, rows: pl.DataFrame, level: int, name: str) -> Value:
    if level == 1:
        return Absent("not_applicable", "one worker has no replica to agree with")
    if (reason := absent(measured, name, "replicas")) is not None:
        return reason
    if rows.height == 0:
        return SHARDED if hashes(measured, what="parameter_shard_hash").filter(configuration=name).height else NO_HASHES
    return exact(
        float(rows["agree"].mean()),  # type: ignore[arg-type]
        unit=FRACTION,
        name="replicas_agree",
        n_launches=rows["launch"].n_unique(),
        n_trials=int(rows["ranks"].sum()),
        how=f"{rows.height} hashed steps compared over all ranks, exactly: after 0, 1, 2, 4, 8, ... steps and at the end",
    )


REPLICAS_AGREE = measure(
    name="replicas_agree",
    title="Replicas in step",
    unit=FRACTION,
    better="higher",
    formula="hashed steps with equal hashes on all ranks / hashed steps",
    compute=_replicas_agree,
    question="Do all replicas hold the same parameters, from step 0 on?",
    caveat="Necessary, not sufficient: most faults of distributed training keep replicas equal.",
    rank=114,
)


def _per_configuration(measured: RecordData, claim: Claim, value: Callable[[str], Value]) -> Mapping[str, Value]:
    """A value per configuration, if its parallelism allows judging it."""
    return {name: value(name) if (reason := absent(measured, name, claim)) is None else reason for name in measured.configurations}


def _samples(measured: RecordData, every: Sequence[Epoch], *, name: str, most: int, whole: str) -> Value:
    return exact(
        float(most),
        unit=COUNT,
        name=name,
        n_launches=len({epoch.launch for epoch in every}),
        n_trials=sum(epoch.used for epoch in every),
        how=f"exact count over {len(every)} {whole}",
    )


def _samples_lost(measured: RecordData, _: Results) -> Mapping[str, Value]:
    judged = epochs(measured)

    def lost(name: str) -> Value:
        every = [epoch for epoch in judged if epoch.configuration == name]
        complete = [epoch for epoch in every if not epoch.cut_short]
        if not every:
            return no_ledger(measured, name)
        if not complete:
            return not_to_its_end(measured, name, "no epoch is complete, so lost samples are unknown") or NO_WHOLE_EPOCH
        largest, dropped = (max(getattr(epoch, column) for epoch in complete) for column in ("lost", "dropped"))
        beside = f", without {dropped} that fill no batch of one worker either" if dropped else ""
        return _samples(measured, complete, name="samples_lost", most=largest, whole=f"complete epochs and all ranks{beside}")

    return _per_configuration(measured, "samples", lost)


SAMPLES_LOST = measure(
    name="samples_lost",
    title="Samples lost per epoch",
    unit=COUNT,
    kind="count",
    formula="ids of the data set that no rank used, most of any complete epoch",
    compute=_samples_lost,
    question="Was every training sample used?",
    caveat="Only ids that the script reports count; samples that fill no batch of one worker either are not lost.",
    rank=115,
)


def _samples_duplicated(measured: RecordData, _: Results) -> Mapping[str, Value]:
    judged = epochs(measured)

    def duplicated(name: str) -> Value:
        every = [epoch for epoch in judged if epoch.configuration == name]
        if not every:
            return no_ledger(measured, name)
        largest = max(epoch.duplicated for epoch in every)
        return _samples(measured, every, name="samples_duplicated", most=largest, whole="epochs and all ranks")

    return _per_configuration(measured, "samples", duplicated)


SAMPLES_DUPLICATED = measure(
    name="samples_duplicated",
    title="Samples used twice per epoch",
    unit=COUNT,
    kind="count",
    formula="uses beyond the first, most of any epoch",
    compute=_samples_duplicated,
    question="Was any training sample used more than once in an epoch?",
    caveat="Only ids that the script reports count, whether or not it trained on them.",
    rank=116,
)


def _sample_weight_error(measured: RecordData, _: Results) -> Mapping[str, Value]:
    weighed = weights(measured)

    def error(name: str) -> Value:
        rows = weighed.filter(pl.col("configuration") == name)
        if rows.height == 0:
            return NO_DENOMINATORS
        return exact(
            float(rows["off"].max()),  # type: ignore[arg-type]
            unit=FRACTION,
            name="sample_weight_error",
            n_launches=rows["launch"].n_unique(),
            n_trials=rows.height,
            how=f"largest of {rows.height} ranks and steps, exactly",
        )

    return _per_configuration(measured, "gradients", error)


SAMPLE_WEIGHT_ERROR = measure(
    name="sample_weight_error",
    title="Weight of samples",
    unit=FRACTION,
    formula="max over ranks and steps |N / (W d) - 1|, N items of the step, d what the rank's losses were divided by",
    compute=_sample_weight_error,
    question="Did every sample weigh the same in the gradient, whatever its rank?",
    caveat="It trusts the denominator that the script reports; the gradient can contradict it.",
    rank=117,
)
METRICS = (
    LOSS_DEVIATION,
    FINAL_LOSS_DIFFERENCE,
    GRADIENT_ERROR,
    GRADIENT_SCALE,
    REPLICAS_AGREE,
    SAMPLES_LOST,
    SAMPLES_DUPLICATED,
    SAMPLE_WEIGHT_ERROR,
)
