"""Which facts about the work follow from the raw rows and from the signatures of the estimates?

Which conditions does the experiment set?

Which program measured, what do its numbers mean, and does it name its hardware?
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any, Final

import polars as pl

from fireassay.estimates.estimate import Estimate
from fireassay.frames.carbon import grid_words
from fireassay.frames.record_data import RecordData
from fireassay.frames.training.correctness.sample_ledger import known_samples
from fireassay.metrics.metric import Results
from fireassay.verdict.conditions.condition import Read
from fireassay.verdict.conditions.environment import seen


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


def data(key: str) -> Read:
    """What the experiment states of its data: version, split, or the digests of its files; "not stated" if nothing."""

    def read(measured: RecordData, _: Results) -> Any:
        return (seen(measured, "data") if key == "content" else getattr(measured.experiment.data, key, None)) or "not stated"

    return read


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


NOT_ASKED: Final = "not asked for"


def of(*path: str) -> Read:
    """A key of the experiment; "not asked for" if unset."""

    def read(measured: RecordData, _: Results) -> Any:
        value: Any = measured.experiment
        for key in path:
            value = getattr(value, key, None)
            if value is None:
                return NOT_ASKED
        return list(value) if isinstance(value, tuple) else value

    return read


def script(measured: RecordData, _: Results) -> Any:
    """The script's name, if its content was not recorded (the digest says more); for a load the engine's address."""
    if measured.kind.sends_requests:
        return NOT_ASKED
    return None if seen(measured, "script", "sha256") else measured.experiment.workload.script


def argument_files(measured: RecordData, _: Results) -> Any:
    """Name -> digest of the files among a program's arguments, but for those that changed while it ran: it writes them itself."""
    before, after = (seen(measured, "script", "files", when=when) or {} for when in ("before", "after"))
    return {name: digest for name, digest in before.items() if after.get(name, digest) == digest}


def grid(measured: RecordData, _: Results) -> Any:
    return NOT_ASKED if measured.experiment.carbon is None else grid_words(measured)


def prices(measured: RecordData, _: Results) -> Any:
    prices = measured.experiment.prices
    return NOT_ASKED if prices is None else prices.model_dump(mode="json", by_alias=True)


def levels(measured: RecordData, _: Results) -> Any:
    return list(measured.configurations)


def base(measured: RecordData, _: Results) -> Any:
    """The base of speedups; a load has none, nor has an evaluation."""
    return measured.base if measured.speeds_up else NOT_ASKED


def ending(measured: RecordData, _: Results) -> str:
    """When a launch ends: after a number of steps, or when its script does."""
    steps = measured.experiment.every_step
    most = "at most " if measured.experiment.launches.quick else ""
    return "with the script" if steps is None else f"after {most}{steps} steps"


OURS: Final[Mapping[str, str]] = {  # assay's values for what an imported record says of its tool (importers)
    "tool": "assay",
    "clock": "scheduled",
    "first_token": "the first chunk with text: content, reasoning or a tool call",
    "end": "the last chunk with text",
    "tokens": "the server's usage, else the tokenizer",
    "connection": "kept alive; a new one is set up inside of the latency",
    "stamps": "monotonic, at the socket read, before parsing",
    "left_out": "nothing",
    "environment": "recorded",
}


def meaning(key: str) -> Read:
    """The tool and the meaning of its numbers; equal for all of our own records of loads."""

    def read(measured: RecordData, _: Results) -> Any:
        foreign = measured.foreign
        if not measured.kind.sends_requests:
            return None
        if foreign is None:
            return OURS[key]
        return foreign.get(key) if key in ("tool", "clock") else (foreign.get("meanings") or {}).get(key)

    return read


def unseen(subject: str) -> Read:
    """An imported file does not name its hardware; two unknown machines never count as the same."""

    def read(measured: RecordData, _: Results) -> Any:
        foreign = measured.foreign
        if measured.kind.name != subject:
            return None
        return OURS["environment"] if foreign is None else f"not said by {foreign.get('file')} ({str(foreign.get('sha256'))[:8]})"

    return read
