"""Would a load of assay's own client be long and large enough for MLPerf, and pass its compliance tests?

Duration, counts and early stopping of its scenario, for every launch; the tests are those of `own_tests`.  Seeds of the round and LoadGen
itself are not its own, so a pass is no valid result.  Source: mlcommons/inference_policies, inference_rules.adoc.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

import polars as pl

from fireassay.estimates.format import count, given
from fireassay.frames.record_data import RecordData
from fireassay.spec.sections.scenario import SAMPLES, SECONDS, Requirements, requirements
from fireassay.stats.models.queueing import floor, least_passes
from fireassay.units import NS_PER_S
from fireassay.verdict.evidence.sent_requests import main, planned, serving_of
from fireassay.verdict.mlperf.own_tests import compliance
from fireassay.verdict.mlperf.types import MlperfCheck, Rule, rule, unchecked

RULES: Final = "inference_rules.adoc"
NOT_OURS: Final = (
    ("LoadGen", "the load comes from LoadGen", "assay's own client sent it"),
    ("seeds", "the seeds of the round", "assay draws arrivals and samples with its own seed"),
    ("power", "optional", "read by the record's own meters, not by a PTDaemon"),
)


def load_launches(measured: RecordData) -> pl.DataFrame:
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
    """True if a request failed or exceeded a latency bound: first token, time per later token, or end to end."""
    objectives = serving_of(measured).objectives
    late = pl.col("status") != "ok"
    first = (pl.col("first_token_ns") - pl.col("scheduled_ns")) / NS_PER_S
    each = (pl.col("last_token_ns") - pl.col("first_token_ns")) / NS_PER_S / (pl.col("tokens_out") - 1)
    whole = (pl.col("last_token_ns").fill_null(pl.col("done_ns")) - pl.col("scheduled_ns")) / NS_PER_S
    for value, limit in ((first, objectives.ttft_s), (each, objectives.tpot_s), (whole, objectives.e2e_s)):
        if limit is not None:
            late = late | (value > limit).fill_null(value=False)
    return late


def judge_load(measured: RecordData, name: str, others: Sequence[RecordData] = ()) -> MlperfCheck | None:
    """The minima of the scenario of an own load, of every launch, and the compliance tests; None: its arrivals are no scenario of MLPerf.

    others: see `own_tests.compliance`.
    """
    required = requirements(serving_of(measured).arrivals.process)
    if required is None:
        return None
    launches = load_launches(measured)
    rules = [one for row in launches.iter_rows(named=True) for one in load_rules(measured, required, row)]
    rules += _samples(measured)
    rules = [*rules, *compliance(measured, others)] if rules else [rule("launches", False, "a successful launch", "none", source=RULES)]
    rules += [unchecked(what, needed, reason, RULES) for what, needed, reason in NOT_OURS]
    return MlperfCheck(
        suite="inference",
        title=f"MLPerf {required.name}, {name}",
        round="",
        division="",
        benchmark="",
        scenario=required.name,
        files=launches.height,
        rules=tuple(rules),
        score=None,
        notes=("a load of assay's own client is no MLPerf result, whatever rules hold",),
    )


def _samples(measured: RecordData) -> Iterator[Rule]:
    """Whether different samples were sent: of one sample again and again the answer may be cached."""
    rows = planned(measured, "example")
    if not rows.height:
        return
    different = rows["example"].n_unique() if rows["example"].null_count() == 0 else rows.height
    found = f"{different:,} different in {rows.height:,} requests"
    yield rule("samples differ", different > 1 or rows.height == 1, "more than one sample", found, source="compliance TEST04")


def load_rules(measured: RecordData, required: Requirements, row: dict[str, Any]) -> Iterator[Rule]:
    """The minima of a scenario, of a row of `load_launches`."""
    where, seconds, percentile = f"launch {row['launch']}, {row['configuration']}", float(row["seconds"] or 0.0), required.percentile
    yield rule("duration", seconds >= SECONDS, f">= {SECONDS:g} s", f"{given(seconds, 3)} s", where, RULES)
    if percentile is None:
        yield rule("samples", row["requests"] >= SAMPLES, f">= {SAMPLES:,}", f"{row['requests']:,}", where, RULES)
        return
    needed, late = floor(percentile), ""
    if required.name == "Server":
        bounded = serving_of(measured).objectives.any
        yield rule("latency bound", bounded, "serving.objectives", "set" if bounded else "none set", where, RULES)
        if not bounded:
            return
        needed, late = least_passes(row["late"], percentile) + row["late"], f" with {row['late']:,} late"
    words = f">= {needed:,} queries for p{100 * percentile:g}{late}"
    yield rule("early stopping", row["queries"] >= needed, words, count(row["queries"], "queries"), where, RULES)
