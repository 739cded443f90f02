"""Which readings of GPUs and of memory count?

Those of the timed launches. Shares of time are over what is measured: in a training from the first steady step to the last one of the ranks on
the host of the readings, in a load the measured window. Peaks of memory are over whole launches: what is needed once must be there. Of launches
on several nodes each node has a meter. Where NVML and an exporter show the same host's GPUs, NVML's count.
"""

from __future__ import annotations

from typing import Final

import polars as pl

from fireassay.frames.record_data import RecordData
from fireassay.frames.record_tables import once_per_record

GPU: Final = pl.col("device").str.contains("^(gpu|GPU|MIG)-")


@once_per_record
def of_timed(measured: RecordData, counter: str) -> pl.DataFrame:
    """A counter's readings in the timed launches: launch, configuration, host, device, ns, value, method."""
    rows = measured.table("telemetry").filter((pl.col("counter") == counter) & pl.col("value").is_finite())
    timed = measured.timed.select("launch", "configuration")
    return rows.join(timed, on="launch").select("launch", "configuration", "host", "device", "ns", "value", "method")


def of_gpus(measured: RecordData, counter: str) -> pl.DataFrame:
    """The same of GPUs: by NVML where a launch has any such reading, else by an exporter."""
    rows = of_timed(measured, counter).filter(GPU)
    sampled = (pl.col("method") == "sampled").any().over("launch", "host")
    return rows.filter(~sampled | (pl.col("method") == "sampled"))


@once_per_record
def busy(measured: RecordData) -> pl.DataFrame:
    """(launch, configuration, host, device, value, readings): mean utilisation of each GPU in the measured part of each launch."""
    rows = of_gpus(measured, "utilisation").join(_measured_part(measured), on=["launch", "host"])
    inside = rows.filter(pl.col("ns").is_between(pl.col("begin_ns"), pl.col("end_ns")) & pl.col("value").is_between(0.0, 1.0))
    return inside.group_by("launch", "configuration", "host", "device").agg(pl.col("value").mean(), pl.len().alias("readings"))


def _measured_part(measured: RecordData) -> pl.DataFrame:
    """(launch, host, begin_ns, end_ns) on the host's own clock."""
    hosts = measured.table("telemetry").filter(pl.col("counter") == "utilisation").select("launch", "host").unique()
    if measured.kind.sends_requests:
        return hosts.join(measured.served.windows.select("launch", "begin_ns", "end_ns"), on="launch").drop_nulls()
    span, parts = (pl.col("begin_ns").min(), pl.col("end_ns").max()), measured.steady_slices("begin_ns", "end_ns")
    steps = pl.concat(some.group_by("launch", "rank").agg(span) for some in parts)
    of_rank = measured.table("events").filter(pl.col("rank").is_not_null()).select("launch", "rank", "host").unique(["launch", "rank"])
    known = steps.join(of_rank, on=["launch", "rank"])
    return known.group_by("launch", "host").agg(pl.col("begin_ns").min(), pl.col("end_ns").max())
