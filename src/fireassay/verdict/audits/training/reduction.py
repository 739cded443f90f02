"""Are gradients reduced once per step, in large pieces?"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

import polars as pl

from fireassay.estimates.format import count, given
from fireassay.frames.record_data import RecordData
from fireassay.frames.training.communication.watched_steps import all_watched
from fireassay.frames.training.parallel_evidence import KIND, SUMMING
from fireassay.metrics.metric import Results
from fireassay.verdict.audits.audit import TRAINING, Audits
from fireassay.verdict.types import Finding

AUDITS = Audits(about=TRAINING)
USUAL_MB: Final = 25  # DistributedDataParallel's buckets
SMALL_BYTES: Final = 1 << 20
MIN_CALLS: Final = 8
NEAR: Final = 0.1


@AUDITS.add("gradient_reduction", "Are gradients reduced once per step, in large pieces?", title="gradients reduced too often")
def examine_reduction(measured: RecordData, _: Results) -> Iterator[Finding]:
    """Notes on DistributedDataParallel, per configuration.

    Reduced once per accumulated batch, since `no_sync` is missing: the result is right, the transfer is k times as much. Buckets that are
    small against the model: many calls, each with its latency.
    """
    for name, level in zip(measured.configurations, measured.levels, strict=True):
        if level > 1 and (found := _traffic(measured, name)):
            yield from _findings(measured, name, *found)


def _traffic(measured: RecordData, name: str) -> tuple[int, dict[str, Any], float, float] | None:
    """(launch, evidence, bytes per step, calls per step) of the first launch of a configuration under DistributedDataParallel; a rank's."""
    launches = measured.timed.filter(pl.col("configuration") == name)["launch"].sort().to_list()
    events = measured.table("events").filter((pl.col("kind") == KIND) & pl.col("launch").is_in(launches)).sort("launch", "rank")
    if not events.height:
        return None
    launch, told = int(events["launch"][0]), json.loads(events["detail"][0])
    rank = int(events["rank"][0])
    rows = all_watched(measured.table("collectives"), measured.table("communication"))
    rows = rows.filter((pl.col("launch") == launch) & (pl.col("rank") == rank) & pl.col("step").is_not_null() & pl.col("op").is_in(SUMMING))
    per_step = rows.group_by("step").agg(pl.col("bytes").sum(), pl.len().alias("calls"))
    if len(told.get("ddp", ())) != 1 or not told.get("bytes") or not per_step.height:  # of several models the passes are not told apart
        return None
    return launch, told, float(per_step["bytes"].median()), float(per_step["calls"].median())  # type: ignore[arg-type]


def _findings(measured: RecordData, name: str, launch: int, told: dict[str, Any], nbytes: float, calls: float) -> Iterator[Finding]:
    prints = measured.table("fingerprints").filter((pl.col("launch") == launch) & (pl.col("what") == "backward_passes"))
    passes = int(prints["value"].max() or 1)  # type: ignore[arg-type]
    times = nbytes / told["bytes"]
    if passes > 1 and abs(times - passes) <= NEAR * passes:
        evidence = f"each step has {passes} backward passes and reduces the gradients {given(times, digits=2)} times: once would do"
        remedy = "run all but the last pass of a step within model.no_sync(): the same result for one transfer"
        yield Finding("reduced_every_pass", "note", name, evidence, remedy)
    bucket = told.get("bucket_bytes")
    usual = 2 + nbytes / (USUAL_MB << 20)
    if bucket and bucket < SMALL_BYTES and calls > MIN_CALLS + passes * usual:
        evidence = (
            f"the gradients of a step are sent in {given(calls, digits=3)} calls of {given(nbytes / calls / 1024, digits=3)} KiB: bucket_cap_mb is "
            f"{given(bucket / (1 << 20), digits=2)}, where {USUAL_MB} (the default) would make {count(int(usual), 'calls')}"
        )
        yield Finding("small_buckets", "note", name, evidence, "leave bucket_cap_mb at its default, or try larger ones with `assay tune`")
