"""Do batch-normalisation statistics drift apart between ranks?

DistributedDataParallel broadcasts rank 0's statistics at each forward pass: between passes ranks differ by one step, which is no fault.
Without a broadcast (`broadcast_buffers=False`, FSDP, gradients averaged by hand) each rank keeps its own shard's statistics: ranks evaluate
different models, and a checkpoint holds one rank's. A warning only, since the parameters are correct and the evaluating rank is unknown; a
script that equalises them before it ends passes. Below a thousandth of a standard deviation it is a note, within rounding nothing.

    drift = root mean square, over channels, of the difference between two ranks, in standard deviations
    (`instruments/recorder/batch_statistics.py`)

Cannot tell: whether statistics are broadcast if the script watches the model inside its wrapper; then there is no finding.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from itertools import combinations
from typing import Final

import polars as pl

from fireassay.estimates.format import count, given
from fireassay.frames.record_data import RecordData, effective_steps
from fireassay.frames.training.correctness.hashed_state import hashes
from fireassay.frames.training.parallelism import why_not
from fireassay.metrics.metric import Results
from fireassay.verdict.audits.support.audit import Audit
from fireassay.verdict.types import Finding

RULE: Final = "batch_statistics_drift"
SMALL: Final = 1e-3  # standard deviations
ROUNDING: Final = 1e-5


def examine(measured: RecordData, _: Results) -> Iterator[Finding]:
    """One finding per configuration with differing statistics at the end."""
    prints = measured.table("fingerprints")
    broadcasts = prints.filter(pl.col("what") == "buffers_broadcast").group_by("launch").agg(pl.col("value").max().alias("sent"))
    rows = effective_steps(prints.filter(pl.col("what") == "batch_statistics"))
    last = rows.filter(pl.col("step") == pl.col("step").max().over("launch"))
    joined = last.join(measured.timed.filter(pl.col("workers") > 1).select("launch", "configuration", "workers"), on="launch")
    kept = joined.join(broadcasts, on="launch").filter((pl.col("sent") == 0.0) & (pl.col("step") > 0)).sort("launch", "rank")
    for name in measured.configurations:
        launches = kept.filter(pl.col("configuration") == name).partition_by("launch", maintain_order=True)
        drifts = [(_drift(group), group) for group in launches if group.height == group["workers"][0]]
        worst = max(drifts, key=lambda drift: drift[0], default=None)
        if worst is not None and worst[0] > ROUNDING and not why_not(measured, name, "replicas"):
            yield _finding(measured, name, *worst)


def _drift(rows: pl.DataFrame) -> float:
    """The largest drift between two ranks, in standard deviations."""
    sketches = [json.loads(text) for text in rows["text"]]
    pairs = [math.dist(a, b) for a, b in combinations(sketches, 2) if len(a) == len(b)]
    numbers = float(rows["value"][0])
    return max(pairs, default=0.0) / math.sqrt(numbers) if numbers else 0.0


def _finding(measured: RecordData, name: str, drift: float, rows: pl.DataFrame) -> Finding:
    launch, step = int(rows["launch"][0]), int(rows["step"][0])
    buffers = hashes(measured, what="buffer_hash").filter((pl.col("launch") == launch) & (pl.col("step") == step))
    of = f", {buffers['different'][0]} different ones on {buffers['ranks'][0]} ranks" if buffers.height else ""
    evidence = (
        f"the running statistics of batch normalisation differ between ranks by {given(drift, digits=2)} standard deviations after "
        f"{count(step, 'steps')} of launch {launch}{of}, and nothing equalises them: each rank evaluates, and saves, a different model"
    )
    remedy = "use SyncBatchNorm, leave broadcast_buffers on, or broadcast one rank's buffers before evaluating and saving"
    return Finding(RULE, "warning" if drift > SMALL else "note", name, evidence, remedy)


AUDIT = Audit(
    name="batch_statistics",
    title="drifting batch statistics",
    question="Do the running statistics of batch normalisation agree between ranks?",
    examine=examine,
    about=("training",),
)
