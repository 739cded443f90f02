"""Does memory limit the training, or is it unused?

memory_peak against the memory of the smallest device; host_memory_peak x the most ranks on a host, against the machine's memory. Above nine
tenths, a larger batch or one long sequence may fail to allocate; below half of a device, a larger batch fits. Allocated memory is torch's
own; the driver and other libraries add to it. Cannot tell if hosts differ in their memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl

from fireassay.estimates.estimate import Estimate
from fireassay.estimates.format import show
from fireassay.frames.record_data import RecordData
from fireassay.metrics.metric import Results
from fireassay.verdict.audits.support.audit import Audit
from fireassay.verdict.types import Finding

FULL, EMPTY = 0.90, 0.50  # of the available memory
FULL_KNOB = "a smaller batch with accumulation, activation checkpointing, lower precision, or sharding (FSDP)"
EMPTY_KNOB = "a larger batch per worker, if training tolerates it; `assay tune` tries it with quality held"


def examine(measured: RecordData, results: Results) -> Iterator[Finding]:
    """A warning if memory is nearly exhausted, a note if more than half of a device's is unused."""
    device, host = _smallest_device(measured.before), _host(measured.before)
    together = _ranks_of_a_host(measured)
    for configuration in measured.varied:
        name, workers = configuration.name, together.get(configuration.name, configuration.workers)
        yield from _one(name, results.get("memory_peak", {}).get(name), device, 1, "a device's memory", empty=True)
        yield from _one(name, results.get("host_memory_peak", {}).get(name), host, workers, "the machine's memory", empty=False)


def _one(name: str, value: object, capacity: float | None, times: int, what: str, *, empty: bool) -> list[Finding]:
    if not isinstance(value, Estimate) or not capacity:
        return []
    share = value.value * times / capacity
    each = f"{show(value).text} on the largest rank{f' x {times} ranks per host' if times > 1 else ''}"
    evidence = f"{each} is {share:.0%} of {what}"
    if share > FULL:
        return [Finding("bottleneck_memory", "warning", name, evidence, FULL_KNOB)]
    if empty and share < EMPTY:
        return [Finding("memory_unused", "note", name, evidence, EMPTY_KNOB)]
    return []


def _ranks_of_a_host(measured: RecordData) -> dict[str, int]:
    """configuration -> most ranks on one host in a launch, as the ranks reported."""
    first_steps = measured.table("events").filter(pl.col("kind") == "first_step")
    ranks = first_steps.join(measured.timed.select("launch", "configuration"), on="launch")
    each = ranks.group_by("configuration", "launch", "host").agg(pl.col("rank").n_unique().alias("ranks"))
    return {str(name): int(most) for name, most in each.group_by("configuration").agg(pl.col("ranks").max()).iter_rows()}


def _smallest_device(before: Mapping[str, Any]) -> float | None:
    devices = _within(before, "gpu", "nvidia").get("devices")
    sizes = [entry.get("memory_bytes") for entry in devices or () if isinstance(entry, Mapping)]
    return min((float(entry) for entry in sizes if isinstance(entry, int | float)), default=None)


def _host(before: Mapping[str, Any]) -> float | None:
    """Memory available to the workers: the cgroup limit if below the machine's memory."""
    limits = (_within(before, "memory").get("total_bytes"), _within(before, "cgroup", "memory_limit").get("bytes"))
    return min((float(limit) for limit in limits if isinstance(limit, int | float) and limit > 0), default=None)


def _within(before: Mapping[str, Any], *path: str) -> Mapping[str, Any]:
    value: Any = before
    for name in path:
        value = value.get(name) if isinstance(value, Mapping) else None
    return value if isinstance(value, Mapping) else {}


AUDIT = Audit(
    name="bottleneck_memory",
    title="limiting or unused memory",
    question="Does memory limit the training, or is it unused?",
    examine=examine,
    about=("training",),
)
