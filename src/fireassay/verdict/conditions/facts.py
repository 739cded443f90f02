"""Which facts about the work follow from the raw rows and from the signatures of the estimates?"""

from __future__ import annotations

import hashlib
from typing import Any

import polars as pl

from fireassay.estimates.estimate import Estimate
from fireassay.frames.record_data import RecordData
from fireassay.frames.training.correctness.sample_ledger import known_samples
from fireassay.metrics.metric import Results
from fireassay.verdict.conditions.condition import Read


def fingerprint(what: str) -> Read:
    """A value that the script reports; sorted values if launches disagree."""

    def read(measured: RecordData, _: Results) -> Any:
        rows = measured.table("fingerprints").filter(pl.col("what") == what).join(measured.timed, on="launch", how="semi")
        values = sorted(value for value in rows["value"].drop_nulls().unique().to_list())
        return (values[0] if len(values) == 1 else values) if values else None

    return read


def _per_configuration(measured: RecordData, frame: pl.DataFrame) -> dict[str, Any]:
    """configuration -> median over its timed launches, from a frame (launch, value), in configuration order."""
    joined = measured.timed.join(frame, on="launch").group_by("configuration").agg(pl.col("value").median())
    medians = dict(zip(joined["configuration"].to_list(), joined["value"].to_list(), strict=True))
    return {name: medians[name] for name in measured.configurations if name in medians}


def items_per_step(measured: RecordData, _: Results) -> Any:
    counted = measured.global_steps.filter(pl.col("items").is_not_null())
    return _per_configuration(measured, counted.group_by("launch").agg(pl.col("items").median().alias("value")))


def steps(measured: RecordData, _: Results) -> Any:
    return _per_configuration(measured, measured.global_steps.group_by("launch").agg(pl.len().alias("value")))


def warm_up_trials(measured: RecordData, _: Results) -> Any:
    """True if warm-up trials preceded the counted ones."""
    trials = measured.table("trials")
    if trials.height == 0:
        return None
    return "made" if trials["warm_up"].sum() > 0 else "none"


def examples(measured: RecordData, _: Results) -> Any:
    """Digest and size of the set of scored examples, independent of order and scores."""
    ids = measured.table("examples").select("metric", "example").unique().sort("metric", "example")
    return _digest(ids["metric"] + "\x1f" + ids["example"], "examples") if ids.height else None


def samples(measured: RecordData, _: Results) -> Any:
    """Digest of the set of training samples, for whole epochs only: part of one depends on the seed."""
    ids = known_samples(measured).select(pl.col("ids").explode()).drop_nulls().unique().sort("ids")
    whole = fingerprint("dataset_size")(measured, {})
    return _digest(ids["ids"].cast(pl.String), "samples") if ids.height and ids.height == whole else None


def _digest(ids: pl.Series, what: str) -> str:
    text = "\n".join(ids.to_list())
    return f"{len(ids):,} {what}, {hashlib.sha256(text.encode()).hexdigest()[:16]}"


def definitions(_: RecordData, results: Results) -> Any:
    """metric -> version of its definition, from the signatures of its estimates."""
    by_metric: dict[str, str] = {}
    for name, values in results.items():
        versions = {
            tag for value in values.values() if isinstance(value, Estimate) for tag in value.signature.split("|") if tag[:2] == "v:"
        }
        if versions:
            by_metric[name] = "|".join(sorted(versions))
    return by_metric or None


def tag(metric: str, tag: str) -> Read:
    """A tag of a metric's signature; None if the metric is absent."""

    def read(_: RecordData, results: Results) -> Any:
        values = (value for value in results.get(metric, {}).values() if isinstance(value, Estimate))
        parts = (part for value in values for part in value.signature.split("|"))
        return next((part.partition(":")[2] for part in parts if part.startswith(f"{tag}:")), None)

    return read


def sentinel(measured: RecordData, _: Results) -> Any:
    """Median time of the coordinator's fixed work around each launch, seconds."""
    rows = measured.table("telemetry").filter(pl.col("device") == "sentinel")
    return rows["value"].median() if rows.height else None
