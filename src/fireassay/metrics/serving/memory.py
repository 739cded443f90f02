"""How much memory does an engine need?  Four sources, four metrics: a number of one source is never compared with one of another.

    engine_memory_device    NVML, the processes of an engine that assay started: its own memory on all GPUs
    engine_memory_gpus      NVML or a DCGM exporter: all that is in use on the GPUs of the engine's host, by whichever program
    engine_memory_host      /proc, the processes of an engine that assay started: their proportional memory (Pss), each shared page once
    engine_memory_reported  process_resident_memory_bytes of the engine's own /metrics page: the process that serves the page

Each is the largest reading in the measured window of a launch, of every replica (GPU), added up, then over launches. Samples are about one
second apart. An engine that takes its memory in advance (vLLM, SGLang) shows what it was given, not what this load needs: see server_kv_cache.
Sources: NVML API reference; proc(5); Prometheus client libraries, "process metrics".
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Final

import polars as pl

from fireassay.estimates.estimate import Value
from fireassay.frames.machine_use import of_gpus, of_timed
from fireassay.frames.per_launch import from_frame
from fireassay.frames.record_data import RecordData
from fireassay.metrics.metric import Metric, Results
from fireassay.metrics.serving.pooled import windows
from fireassay.units import BYTES

REPLICA: Final = pl.col("device").str.starts_with("replica-")
NOT_STARTED: Final = "assay did not start the engine, so its processes are unknown; serving.targets[].command starts it"


def _peak(measured: RecordData, rows: pl.DataFrame, *, name: str, aggregate: str, missing: str) -> Mapping[str, Value]:
    """Each device's largest reading in the window, added up."""
    inside = rows.join(windows(measured).select("launch", "begin_ns", "end_ns"), on="launch")
    inside = inside.filter(pl.col("ns").is_between(pl.col("begin_ns"), pl.col("end_ns")) & (pl.col("value") >= 0.0))
    peaks = inside.group_by("launch", "host", "device").agg(pl.col("value").max(), pl.len().alias("readings"))
    largest = peaks.group_by("launch").agg(pl.col("value", "readings").sum())
    return from_frame(measured, largest, unit=BYTES, name=name, aggregate=aggregate, missing=missing, trials="readings")


def _of_processes(measured: RecordData, _: Results, *, counter: str, name: str, aggregate: str, missing: str) -> Mapping[str, Value]:
    return _peak(measured, of_timed(measured, counter).filter(REPLICA), name=name, aggregate=aggregate, missing=missing)


def _of_all_gpus(measured: RecordData, _: Results) -> Mapping[str, Value]:
    rows, of = of_gpus(measured, "memory_used"), "largest memory in use in the window, by whichever program, GPUs added up"
    missing = "no NVML on this host, and no DCGM exporter in serving.targets[].metrics"
    return _peak(measured, rows, name=GPUS.name, aggregate=of, missing=missing)


memory = partial(Metric, unit=BYTES, kind="cost", better="lower", dimension="performance", about=("serving",))
OF_PROCESSES: Final = (  # name, title, counter, what it is, why there is none, question, caveat
    (
        "engine_memory_device",
        "GPU memory of the engine's processes",
        "device_memory",
        "NVML's memory of the engine's processes on all GPUs",
        f"{NOT_STARTED}, or NVML does not name them (a container, no GPU)",
        "How much GPU memory do the engine's processes hold at most?",
        "By NVML, of processes that assay started and that NVML names by the same ids, which it does not within a container.",
    ),
    (
        "engine_memory_host",
        "Host memory of the engine's processes",
        "memory_proportional",
        "proportional memory (Pss) of the engine's processes",
        NOT_STARTED,
        "How much host memory do the engine's processes need at most?",
        "Of processes that assay started, on this host; a page that several processes share is divided among them.",
    ),
    (
        "engine_memory_reported",
        "Host memory, by the engine's own report",
        "memory_reported",
        "process_resident_memory_bytes of the engine's page",
        "no page with process_resident_memory_bytes was read; set serving.targets[].metrics, for example {url}/metrics",
        "How much host memory does the engine report at most?",
        "Resident memory of the process that serves the page: workers in other processes are missing.",
    ),
)
OF_DEVICE, OF_HOST, REPORTED = (
    memory(
        name=name,
        title=title,
        formula=f"sum over replicas of the largest {what} in the window",
        compute=partial(
            _of_processes, counter=counter, name=name, missing=missing, aggregate=f"largest {what} in the window, replicas added up"
        ),
        question=question,
        caveat=f"{caveat} A peak between two readings is missed.",
        rank=rank,
    )
    for rank, (name, title, counter, what, missing, question, caveat) in zip((390, 392, 393), OF_PROCESSES, strict=True)
)
GPUS: Final = memory(
    name="engine_memory_gpus",
    title="Memory in use on the GPUs",
    formula="sum over GPUs of the largest memory in use in the window",
    compute=_of_all_gpus,
    question="How much memory is in use on the GPUs at most?",
    caveat="All programs on the GPUs of this host, or of an exporter's: with two engines on one GPU, that of both. A peak between two readings is "
    "missed.",
    rank=391,
)
METRICS = (OF_DEVICE, GPUS, OF_HOST, REPORTED)
