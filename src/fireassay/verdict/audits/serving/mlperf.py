"""Would this run meet MLPerf's rules for its scenario?

The scenarios single_stream, multi_stream, server and offline take their arrivals from MLPerf, which also requires at least 600 s and enough
queries. With early stopping (stats.early_stopping, confidence 0.99): SingleStream 64 queries for the p90, MultiStream 662 for the p99,
Server h(t) + t for t late queries, Offline 24,576 samples. A shortfall is a note: the numbers and their intervals stand, but are not
MLPerf's. Only duration and counts are checked; a submission needs more (accuracy run, seeds, LoadGen itself). Source:
mlcommons/inference_policies, inference_rules.adoc.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import polars as pl

from fireassay.estimates.format import given
from fireassay.frames.record_data import RecordData
from fireassay.metrics.metric import Results
from fireassay.spec.sections.mlperf import SAMPLES, SECONDS, requirements
from fireassay.stats.models.early_stopping import floor, least_passes
from fireassay.units import NS_PER_S
from fireassay.verdict.audits.support.audit import Audit
from fireassay.verdict.evidence.affected import by_configuration
from fireassay.verdict.evidence.sent_requests import main, serving_of
from fireassay.verdict.types import Finding

SCENARIOS: Final = ("single_stream", "multi_stream", "server", "offline")
REQUIRED: Final = {process: required for process in SCENARIOS if (required := requirements(process)) is not None}
NAMES: Final = {process: required.name for process, required in REQUIRED.items()}
PERCENTILES: Final = {process: required.percentile for process, required in REQUIRED.items() if required.percentile is not None}


def examine(measured: RecordData, _: Results) -> tuple[Finding, ...]:
    """A note per configuration of such a scenario, valid or not, for its shortest launch."""
    process = serving_of(measured).arrivals.process
    if process not in NAMES:
        return ()
    return tuple(_finding(measured, process, name, rows) for name, rows in by_configuration(measured, _launches(measured)))


def _launches(measured: RecordData) -> pl.DataFrame:
    """(configuration, launch, seconds, queries, requests, late) of each timed launch's measured part."""
    rows = main(measured, "scheduled_ns", "first_token_ns", "last_token_ns", "done_ns", "tokens_out", "status")
    span = (pl.col("done_ns").max() - pl.col("scheduled_ns").min()) / NS_PER_S
    return (
        rows.group_by("launch", "configuration")
        .agg(
            span.alias("seconds"),
            pl.len().alias("requests"),
            pl.col("scheduled_ns").n_unique().alias("queries"),
            _late(measured).sum().alias("late"),
        )
        .sort("launch")
    )


def _late(measured: RecordData) -> pl.Expr:
    """Whether a request failed or exceeded a latency bound: first token, time per later token, or end to end."""
    objectives = serving_of(measured).objectives
    late = pl.col("status") != "ok"
    first = (pl.col("first_token_ns") - pl.col("scheduled_ns")) / NS_PER_S
    each = (pl.col("last_token_ns") - pl.col("first_token_ns")) / NS_PER_S / (pl.col("tokens_out") - 1)
    whole = (pl.col("last_token_ns").fill_null(pl.col("done_ns")) - pl.col("scheduled_ns")) / NS_PER_S
    for value, limit in ((first, objectives.ttft_s), (each, objectives.tpot_s), (whole, objectives.e2e_s)):
        if limit is not None:
            late = late | (value > limit).fill_null(value=False)
    return late


def _finding(measured: RecordData, process: str, name: str, rows: pl.DataFrame) -> Finding:
    missing = list(_missing(measured, process, rows))
    shown = f"MLPerf {NAMES[process]}"
    if missing:
        evidence = f"{shown} would not accept this run: {'; '.join(missing)}"
        remedy = f"serving.arrivals.duration_s = {SECONDS:g} or more, and enough queries; assay's own intervals hold without that"
        return Finding("mlperf_not_valid", "note", name, evidence, remedy)
    evidence = f"duration and counts are those that {shown} requires; an accuracy run and LoadGen itself are not covered"
    return Finding("mlperf_valid", "note", name, evidence, "nothing")


def _missing(measured: RecordData, process: str, rows: pl.DataFrame) -> Iterator[str]:
    shortest = min((float(value) for value in rows["seconds"].drop_nulls()), default=0.0)
    if shortest < SECONDS:
        yield f"a launch lasts {given(shortest, 3)} s, at least {SECONDS:g} s are required"
    if process == "offline":
        fewest = int(rows["requests"].min())  # type: ignore[arg-type]
        if fewest < SAMPLES:
            yield f"{fewest:,} samples, at least {SAMPLES:,} are required"
        return
    p, fewest = PERCENTILES[process], int(rows["queries"].min())  # type: ignore[arg-type]
    if process == "server":
        yield from _early(p, rows, required=serving_of(measured).objectives.any)
    elif fewest < floor(p):
        yield f"{fewest:,} queries, the early stopping of a p{100 * p:g} needs at least {floor(p):,}"


def _early(p: float, rows: pl.DataFrame, *, required: bool) -> Iterator[str]:
    if not required:
        yield "no latency bound is set (serving.objectives)"
        return
    for queries, late in rows.select("queries", "late").iter_rows():
        needed = least_passes(late, p) + late
        if queries < needed:
            yield f"{late:,} of {queries:,} queries were over the latency bound, which needs at least {needed:,} queries"
            return


AUDIT = Audit(
    name="mlperf",
    title="not an MLPerf run",
    question="Would this run meet MLPerf's rules for its scenario?",
    examine=examine,
    about=("serving",),
)
