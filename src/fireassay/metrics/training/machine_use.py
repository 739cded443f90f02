"""How busy are the devices, and which share of the memory that is there does a training need?

Two methods say how busy a device is, and they are never merged: samples of NVML's utilisation (the share of time in which some kernel ran, in
timed launches) and the union of the kernels' intervals in a profile (in profiled launches, which are slower). Neither is an efficiency: see
mfu. Peaks of device memory are torch's own counters and NVML's; totals are of the device. Sources: NVML API reference, nvmlUtilization_t;
torch.cuda memory statistics; proc(5); Documentation/admin-guide/cgroup-v2.rst.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import polars as pl

from fireassay.estimates.estimate import Absent, Value
from fireassay.estimates.over_launches import averaged, no_launch
from fireassay.frames.machine_use import busy, of_gpus, of_timed
from fireassay.frames.per_launch import from_frame
from fireassay.frames.record_data import RecordData
from fireassay.metrics.metric import Metric, Results
from fireassay.units import BYTES, FRACTION

measure = partial(Metric, dimension="performance", about=("training",))

NO_SAMPLE = (
    "no NVML reading lies within the steady steps: no NVIDIA GPU (or no nvidia-ml-py) on the coordinator's host, or too short a launch"
)
NO_PROFILE = "no rank was profiled on a device; `assay profile` does it"
NO_TOTAL = "no rank reported the memory of a device that it used: no torch.cuda, or a record made before assay read it"
NO_READING = "the meter made no such reading"


Rows = Callable[[RecordData], pl.DataFrame]  # (configuration, launch, value, readings), or without the configuration


def _shares(measured: RecordData, _: Results, *, rows: Rows, name: str, aggregate: str, missing: str) -> Mapping[str, Value]:
    """Student t over launches; shares may be 0, so no logarithm."""
    values, made = rows(measured), dict[str, Value]()
    for configuration in measured.configurations:
        of = values.filter(pl.col("configuration") == configuration).sort("launch")
        if not of.height:
            seen = bool(measured.timed_by_block.get(configuration)) or bool(measured.profiles)
            made[configuration] = Absent("not_measured", missing) if seen else no_launch(configuration)
            continue
        launches, readings = of["value"].to_list(), int(of["readings"].sum())
        made[configuration] = averaged(launches, measured.confidence, unit=FRACTION, aggregate=aggregate, name=name, n_trials=readings)
    return made


def _share(name: str, rows: Rows, of: str, missing: str, **declared: Any) -> Metric:
    compute = partial(_shares, rows=rows, name=name, aggregate=of, missing=missing)
    return measure(name=name, unit=FRACTION, kind="ratio", better="neither", compute=compute, **declared)


def _peaks(measured: RecordData, _: Results, *, rows: Rows, name: str, aggregate: str, missing: str) -> Mapping[str, Value]:
    largest = rows(measured).group_by("launch").agg(pl.col("value").max(), pl.len().alias("readings"))
    return from_frame(measured, largest, unit=BYTES, name=name, missing=missing, trials="readings", aggregate=aggregate)


def _peak(name: str, rows: Rows, of: str, missing: str, **declared: Any) -> Metric:
    compute = partial(_peaks, rows=rows, name=name, aggregate=of, missing=missing)
    return measure(name=name, unit=BYTES, kind="cost", better="lower", compute=compute, **declared)


def _mean_of_launch(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.group_by("configuration", "launch").agg(pl.col("value").mean(), pl.col("readings").sum())


DEVICE_BUSY = _share(
    "device_busy",
    rows=lambda measured: _mean_of_launch(busy(measured)),
    of="mean NVML utilisation of the GPUs of the coordinator's host during the steady steps",
    missing=NO_SAMPLE,
    title="Device busy, by NVML",
    formula="mean over readings and GPUs of NVML's utilisation during the steady steps",
    question="In what share of the time does some kernel run on a device?",
    caveat="A share of time, not of the device: one small kernel at a time gives 100 %, and kernels that wait for other ranks count. Of the GPUs "
    "that the workload may use, idle ones included, on every host that was metered.",
    rank=1510,
)


def busy_when_profiled(measured: RecordData) -> pl.DataFrame:
    """(configuration, launch, rank, value, readings): 1 - idle / window over the profiled steps of every rank on a device."""
    names = dict(measured.table("launches").select("launch", "configuration").iter_rows())
    rows = []
    for profile in measured.profiles:
        for place, rank in enumerate(profile.get("ranks") or ()):
            steps = [step for step in rank.get("steps") or () if step["window_ns"] > 0]
            if rank.get("on_device") and steps and (name := names.get(profile["launch"])) is not None:
                number = rank["rank"] if isinstance(rank.get("rank"), int) else place  # a trace of another profiler may not say
                idle, whole = (sum(step[key] for step in steps) for key in ("idle_ns", "window_ns"))
                rows.append((name, profile["launch"], number, min(max(1.0 - idle / whole, 0.0), 1.0), len(steps)))
    schema = {"configuration": pl.String, "launch": pl.Int32, "rank": pl.Int32, "value": pl.Float64, "readings": pl.Int64}
    return pl.DataFrame(rows, schema=schema, orient="row")


DEVICE_BUSY_PROFILED = _share(
    "device_busy_profiled",
    rows=lambda measured: _mean_of_launch(busy_when_profiled(measured)),
    of="mean over ranks of the union of kernels and copies / the profiled steps",
    missing=NO_PROFILE,
    title="Device busy, by the profiler",
    formula="mean over ranks of (union of the intervals of kernels and copies) / the profiled steps",
    question="In what share of the profiled steps does some kernel or copy run on a device?",
    caveat="The profiler slows the launching of kernels, so a device is at least this busy without it. Communication kernels count, also while "
    "they wait for other ranks.",
    rank=1511,
)


GPU_MEMORY_PEAK = _peak(
    "gpu_memory_peak",
    rows=partial(of_gpus, counter="memory_used"),
    of="largest NVML reading of the memory in use on one GPU",
    missing=NO_SAMPLE,
    title="Peak memory in use on a GPU, by NVML",
    formula="largest reading of the memory in use on one GPU",
    question="How full is a GPU at most, with the driver, libraries and other programs?",
    caveat="Sampled: a peak between two readings is missed. It includes programs that are none of this training.",
    rank=1512,
)


def reserved_shares(measured: RecordData) -> pl.DataFrame:
    """(launch, configuration, device, used, total, value): torch's reserved peak of each device of a rank over the device's memory."""
    used, total = (
        of_timed(measured, counter).group_by("launch", "configuration", "device").agg(pl.col("value").max().alias(name))
        for counter, name in (("memory_reserved_peak", "used"), ("memory_device_total", "total"))
    )
    known = used.join(total.filter(pl.col("total") > 0.0), on=["launch", "configuration", "device"])
    return known.with_columns((pl.col("used") / pl.col("total")).alias("value"))


MEMORY_SHARE = _share(
    "memory_share",
    rows=lambda measured: (
        reserved_shares(measured).group_by("configuration", "launch").agg(pl.col("value").max(), pl.len().alias("readings"))
    ),
    of="largest share of a device's memory that torch held at most",
    missing=NO_TOTAL,
    title="Share of device memory used",
    formula="max over ranks and devices of memory_reserved_peak / memory of the device",
    question="What share of the memory of a device does torch hold at most?",
    caveat="torch.cuda.max_memory_reserved: with torch's cache, without the driver, NCCL and other programs (gpu_memory_peak has those).",
    rank=1513,
)


LAUNCH_MEMORY_PEAK = _peak(
    "launch_memory_peak",
    rows=lambda measured: of_timed(measured, "memory_proportional").filter(pl.col("device") == "launch"),
    of="largest sum over the launch's processes of their proportional memory",
    missing=f"{NO_READING}: the kernel shows no smaps_rollup, or the processes are another user's",
    title="Peak host memory of a launch",
    formula="largest reading of the sum of Pss over all processes of a launch",
    question="How much host memory do all processes of a launch need at most, loaders and shared pages once?",
    caveat="Sampled about once a second: a peak between two readings is missed. Of several hosts the one that needs most.",
    rank=1514,
)


def machine_shares(measured: RecordData) -> pl.DataFrame:
    """(launch, configuration, used, total, value, readings): the fullest moment of the control group if it is limited, else of the machine."""
    machine = _fullest(measured, "memory", "used", "total")
    group = _fullest(measured, "cgroup", "memory_used", "memory_limit")
    return pl.concat([group, machine.join(group, on="launch", how="anti")])


def _fullest(measured: RecordData, device: str, used: str, total: str) -> pl.DataFrame:
    readings, sizes = (of_timed(measured, counter).filter(pl.col("device") == device) for counter in (used, total))
    of = sizes.group_by("launch", "host").agg(pl.col("value").max().alias("total"))
    known = readings.join(of.filter(pl.col("total") > 0.0), on=["launch", "host"]).with_columns(
        (pl.col("value") / pl.col("total")).alias("share")
    )
    return known.group_by("launch", "configuration").agg(
        pl.col("value").sort_by("share").last().alias("used"),
        pl.col("total").sort_by("share").last(),
        pl.col("share").max().alias("value"),
        pl.len().alias("readings"),
    )


MACHINE_MEMORY_SHARE = _share(
    "machine_memory_share",
    rows=machine_shares,
    of="largest share of the memory of the machine, or of its control group's limit, in use",
    missing=NO_READING,
    title="Share of host memory in use",
    formula="max over readings of memory in use / memory of the machine (of the control group's limit, if it has one)",
    question="How full is the host's memory at most while a launch runs?",
    caveat="All programs on the host, not only this training; a control group is also charged with the page cache of its files.",
    rank=1515,
)

METRICS = (DEVICE_BUSY, DEVICE_BUSY_PROFILED, GPU_MEMORY_PEAK, MEMORY_SHARE, LAUNCH_MEMORY_PEAK, MACHINE_MEMORY_SHARE)
