"""Which faults do the recorded samples and loss denominators show?"""

from __future__ import annotations

import polars as pl

from fireassay.estimates.format import count, given
from fireassay.frames.record_data import RecordData, effective_steps
from fireassay.frames.training.correctness.sample_ledger import Epoch
from fireassay.verdict.evidence.fault_evidence import Diagnosis, Evidence

SAME_WEIGHT = 1e-12  # relative


def ledger(evidence: Evidence, name: str) -> Diagnosis | None:
    rows = [epoch for epoch in evidence.epochs if epoch.configuration == name]
    lost = max((epoch for epoch in rows if not epoch.cut_short), key=lambda epoch: epoch.lost, default=None)
    twice = max(rows, key=lambda epoch: epoch.duplicated, default=None)
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


def _same_shard(measured: RecordData, epoch: Epoch) -> tuple[int, int] | None:
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


def denominators(evidence: Evidence, name: str) -> Diagnosis | None:
    weighed = evidence.weighed.with_columns(factor=pl.col("total") / (pl.col("workers") * pl.col("denominator")))
    rows = weighed.filter((pl.col("configuration") == name) & (pl.col("workers") > 1))
    off = _unlike_one(rows, weighed.filter(pl.col("workers") == 1)).sort("off", descending=True)
    if off.height == 0:
        return None
    row = off.row(0, named=True)
    same = off.filter((pl.col("launch") == row["launch"]) & (pl.col("step") == row["step"]))["alike"].all()
    numbers = (
        f"{given(row['denominator'])} in step {row['step']} of launch {row['launch']}, where {given(row['total'])} items on {row['workers']} workers "
        f"require {given(row['total'] / row['workers'])}; that is off by {given(row['off'], digits=3)}"
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


def _unlike_one(rows_of_ranks: pl.DataFrame, alone: pl.DataFrame) -> pl.DataFrame:
    """Rows with a wrong denominator; `alike`: all ranks reported the same one.

    A constant divisor applied to an incomplete batch is no fault. It is recognised if the ranks agree and one worker's samples of that step
    carry the same weight; without a one-worker run, if all ranks reported the same divisor and other steps are right. A report from a
    single rank says nothing about the others.
    """
    same = pl.col("denominator").n_unique().over("launch", "step") == 1
    alike = same & (pl.col("rank").n_unique().over("launch", "step") == pl.col("workers"))
    of_one = alone.group_by("step").agg(pl.col("factor").first().alias("of_one"))
    rows = rows_of_ranks.with_columns(same=same, alike=alike).join(of_one, on="step", how="left").filter(pl.col("off") > 0.0)
    if alone.height:
        usual = (pl.col("factor") - pl.col("of_one")).abs() <= SAME_WEIGHT * pl.col("of_one")
        return rows.filter(~(pl.col("same") & usual.fill_null(value=False)))
    some_right = bool((rows_of_ranks["off"] == 0.0).any())
    return rows.filter(~pl.col("alike")) if some_right else rows
