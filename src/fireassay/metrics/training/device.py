"""How well are the devices used, and how much memory do they need?

Work is summed over the steady steps, as in throughput (PaLM, arXiv 2204.02311, appendix B): a median step would ignore stalled
ones. Every number states its convention for operations and the source of the peak; different conventions are never compared.
Hardware FLOP/s utilisation includes recomputation (Korthikanti et al., arXiv 2205.05198).
Memory is the maximum over ranks, and over the devices of a rank, as the processes reported it at their end.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

import polars as pl

from fireassay.estimates.estimate import Absent, Value
from fireassay.frames.per_launch import from_frame
from fireassay.frames.record_data import RecordData
from fireassay.frames.training.flops import Amount, absent, of_steps, peaks, precisions, source
from fireassay.metrics.metric import Metric, Results
from fireassay.units import BYTES, FLOP, FLOP_PER_S, FRACTION

measure = partial(Metric, dimension="performance", about=("training",))

SCHEMA = {"launch": pl.Int32, "value": pl.Float64}
BY_FORMULA = Absent("not_applicable", 'a formula does not include recomputation; flops.convention = "counter" counts it')
PEAK_WORDS = {"datasheet": "published", "measured": "measured", "given": "given"}
NO_DEVICE = "no rank used a device through torch.cuda, or none finished"


def _flops_per_step(measured: RecordData, _: Results) -> Mapping[str, Value]:
    amounts, convention = of_steps(measured), measured.experiment.flops.convention
    rows = [(launch, amount.value) for launch, amount in amounts.items() if amount.value is not None]
    return from_frame(
        measured,
        pl.DataFrame(rows, schema=SCHEMA, orient="row"),
        unit=FLOP,
        name=f"flops_per_step|conv:{convention}",
        missing=absent(amounts.values()).detail,
        aggregate=f"operations of a step of all ranks, convention {convention}",
    )


FLOPS_PER_STEP = measure(
    name="flops_per_step",
    title="FLOPs per step",
    unit=FLOP,
    kind="count",
    better="neither",
    formula="sum over ranks of the model's products in a step, by the convention named",
    compute=_flops_per_step,
    question="How many floating-point operations does a step of all ranks need?",
    caveat="Excludes recomputed activations and element-wise work.",
    rank=1500,
)


def _achieved_flops(measured: RecordData, _: Results) -> Mapping[str, Value]:
    amounts, convention = of_steps(measured), measured.experiment.flops.convention
    return from_frame(
        measured,
        pl.DataFrame(list(_speeds(measured, amounts).items()), schema=SCHEMA, orient="row"),
        unit=FLOP_PER_S,
        name=f"achieved_flops|conv:{convention}",
        missing=absent(amounts.values()).detail,
        aggregate=f"operations of the steady steps, convention {convention}, / their time",
    )


def _speeds(measured: RecordData, amounts: Mapping[int, Amount]) -> dict[int, float]:
    """launch -> operations per second, if the operations of a mean step and its time are known."""
    seconds = dict(measured.steady_steps.group_by("launch").agg(pl.col("step_s").mean()).iter_rows())
    return {
        launch: amount.value / seconds[launch] for launch, amount in amounts.items() if amount.value is not None and seconds.get(launch)
    }


ACHIEVED_FLOPS = measure(
    name="achieved_flops",
    title="Achieved speed",
    unit=FLOP_PER_S,
    kind="rate",
    better="higher",
    formula="operations of the steady steps / their time",
    compute=_achieved_flops,
    question="How many of the model's floating-point operations per second do all devices perform?",
    caveat="It needs no peak, and excludes recomputation, padding and element-wise work.",
    rank=1501,
)


def _mfu(measured: RecordData, _: Results) -> Mapping[str, Value]:
    return _share_of_peak(measured, of_steps(measured), "mfu")


def _share_of_peak(measured: RecordData, amounts: Mapping[int, Amount], name: str) -> Mapping[str, Value]:
    """Operations of a step per second, by launch, over the devices' peak."""
    speeds, peaks_of_launch = _speeds(measured, amounts), peaks(measured)
    known = {launch: peak.value for launch, peak in peaks_of_launch.items() if peak.value}
    shares = [(launch, speed / known[launch]) for launch, speed in speeds.items() if launch in known]
    missing = absent(amounts.values()) if not speeds else absent(peaks_of_launch.values())
    convention, origin = measured.experiment.flops.convention, source(measured)
    types = "+".join(precisions(measured)) or "unknown"
    values = from_frame(
        measured,
        pl.DataFrame(shares, schema=SCHEMA, orient="row"),
        unit=FRACTION,
        missing=missing.detail,
        name=f"{name}|conv:{convention}|peak:{origin}|in:{types}",
        aggregate=f"operations per second, convention {convention}, / the {PEAK_WORDS[origin]} peak of its devices in {types}",
    )
    return {
        key: replace(value, reason=missing.reason) if isinstance(value, Absent) and value.detail == missing.detail else value
        for key, value in values.items()
    }


MFU = measure(
    name="mfu",
    title="Model FLOP/s utilisation",
    unit=FRACTION,
    kind="ratio",
    better="higher",
    formula="achieved_flops / peak of the devices in the precision used",
    compute=_mfu,
    question="What share of the devices' peak does the model use?",
    caveat="No number without a known dense peak in that precision, nor for quantised products. It does not say why the rest is unused.",
    rank=1502,
)


def _hfu(measured: RecordData, _: Results) -> Mapping[str, Value]:
    if measured.experiment.flops.convention != "counter":
        return dict.fromkeys(measured.configurations, BY_FORMULA)
    return _share_of_peak(measured, of_steps(measured, with_recomputed=True), "hfu")


HFU = measure(
    name="hfu",
    title="Hardware FLOP/s utilisation",
    unit=FRACTION,
    kind="ratio",
    better="neither",
    formula="(achieved_flops + recomputed operations per second) / peak of the devices in the precision used",
    compute=_hfu,
    question="What share of the devices' peak is used, recomputation included?",
    caveat="It shows how busy the device is, not how fast the model trains: checkpointing raises hfu and lowers mfu.",
    rank=1503,
)


def _peak_memory(measured: RecordData, _: Results, *, counter: str, name: str, missing: str, of: str) -> Mapping[str, Value]:
    readings = measured.table("telemetry").filter(pl.col("counter") == counter)
    largest = readings.group_by("launch").agg(pl.col("value").max())
    return from_frame(measured, largest, unit=BYTES, name=name, missing=missing, aggregate=f"largest rank's {of}")


MEMORIES = (  # name, title, formula, counter, of, why there is none, question, caveat
    (
        "memory_peak",
        "Peak device memory",
        "most bytes allocated on one device, of the largest rank",
        "memory_allocated_peak",
        "peak of allocated device memory",
        NO_DEVICE,
        "How much device memory does the training need at most?",
        "torch.cuda.max_memory_allocated: excludes memory of the driver and of other libraries.",
    ),
    (
        "memory_reserved_peak",
        "Peak reserved memory",
        "most bytes that torch held of one device, of the largest rank",
        "memory_reserved_peak",
        "peak of reserved device memory",
        NO_DEVICE,
        "How much device memory does torch hold at most, used or cached?",
        "torch.cuda.max_memory_reserved: part of it is cache that could have been released.",
    ),
    (
        "host_memory_peak",
        "Peak memory of a rank",
        "most resident memory of one rank's process",
        "memory_peak",
        "peak of resident memory",
        "the script's steps were not recorded, so no rank reported its memory at its end",
        "How much host memory does a rank need at most?",
        "VmHWM, with Python, torch and the probe but without loader processes; pages shared between ranks count in each.",
    ),
)
MEMORY_PEAK, MEMORY_RESERVED_PEAK, HOST_MEMORY_PEAK = (
    measure(
        name=name,
        title=title,
        unit=BYTES,
        kind="cost",
        better="lower",
        formula=formula,
        compute=partial(_peak_memory, counter=counter, name=name, missing=missing, of=of),
        question=question,
        caveat=caveat,
        rank=rank,
    )
    for rank, (name, title, formula, counter, of, missing, question, caveat) in enumerate(MEMORIES, 1504)
)

METRICS = (FLOPS_PER_STEP, ACHIEVED_FLOPS, MFU, HFU, MEMORY_PEAK, MEMORY_RESERVED_PEAK, HOST_MEMORY_PEAK)
