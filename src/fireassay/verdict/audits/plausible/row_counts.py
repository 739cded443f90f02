"""Do the row counts agree with the plan and the launches?

A planned launch succeeds once; a launch has no rank beyond its workers; no more requests arrive than its schedule has; tokens counted per
chunk add up; every row belongs to a launch, and every launch to the plan. Rows that contradict another table were not measured: INVALID.
`ledger` compares requests with their schedule; `cherry_picked` finds missing launches. Cannot tell: omitted rows that nothing else counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import polars as pl

from fireassay.frames.record_data import RecordData
from fireassay.metrics.metric import EVERYTHING, Results
from fireassay.record.sealing.seal import plan_signature
from fireassay.record.tables import TABLES
from fireassay.spec.plan import plan
from fireassay.verdict.audits.support.audit import Audit
from fireassay.verdict.evidence.impossible_rows import blind, impossible
from fireassay.verdict.types import Finding

OF_RANKS = ("steps", "samples", "fingerprints", "gradients", "collectives", "communication", "inventory", "waits")


def examine(measured: RecordData, _: Results) -> tuple[Finding, ...]:
    """At most one finding per rule and table."""
    if measured.foreign is not None:
        return ()
    return (*_twice(measured), *_strangers(measured), *_beyond(measured), *_arrived(measured), *_tokens(measured), *_plan(measured))


def _twice(measured: RecordData) -> tuple[Finding, ...]:
    done = measured.table("launches").filter(pl.col("status") == "ok").sort("launch")
    again = done.with_columns(_earlier=pl.col("launch").shift(1).over("slot")).filter(pl.col("_earlier").is_not_null())
    return impossible("slot_twice", "launches", again, "slot {slot} of the plan succeeded already in launch {_earlier}")


def _strangers(measured: RecordData) -> Iterator[Finding]:
    """Rows of unlisted launches, in a record that was written completely and not salvaged (`record/salvage.py`)."""
    sealed = measured.manifest.get("sealed")
    if measured.state != "complete" or (isinstance(sealed, Mapping) and sealed.get("salvaged")):
        return
    known = set(measured.table("launches")["launch"])
    for table in TABLES:
        if not known.issuperset(measured.table(table)["launch"].unique()):
            strange = measured.table(table).filter(~pl.col("launch").is_in(known))
            yield from impossible(
                "launch_unknown",
                table,
                strange.group_by("launch").agg(_rows=pl.len(), _known=pl.lit(len(known))),
                "{_rows} rows of launch {launch}, which is not among the {_known} of the table launches",
            )


def _beyond(measured: RecordData) -> Iterator[Finding]:
    """Ranks beyond the launch's workers."""
    launches = measured.table("launches").select("launch", "workers")
    for table in (name for name in OF_RANKS if measured.table(name).height):
        rows = measured.table(table).group_by("launch").agg(pl.col("rank").max()).join(launches, on="launch")
        yield from impossible("rank_unknown", table, rows.filter(pl.col("rank") >= pl.col("workers")), "rank {rank} of {workers} workers")


def _arrived(measured: RecordData) -> tuple[Finding, ...]:
    noted = measured.manifest.get("schedules")
    if not isinstance(noted, Mapping):
        return ()
    due = {int(launch): note.get("requests") for launch, note in noted.items() if str(launch).isdigit() and isinstance(note, Mapping)}
    rows = measured.table("arrivals").group_by("launch").agg(pl.len().alias("_rows"))
    known = rows.with_columns(_due=pl.col("launch").replace_strict(due, default=None, return_dtype=pl.Int64))
    bad = known.filter(pl.col("_rows") > pl.col("_due"))
    return impossible("arrivals_too_many", "arrivals", bad, "it has {_rows} requests; the schedule recorded before the load has {_due}")


def _tokens(measured: RecordData) -> tuple[Finding, ...]:
    counted = (
        measured.table("token_counts").filter(pl.col("chunk_tokens").list.len() > 0).with_columns(_sum=pl.col("chunk_tokens").list.sum())
    )
    return impossible(
        "tokens_differ",
        "token_counts",
        counted.filter(pl.col("_sum") > pl.col("tokens_out")),
        "its chunks hold {_sum} tokens, the whole answer {tokens_out}",
    )


def _plan(measured: RecordData) -> tuple[Finding, ...]:
    """What the plan requires of a timed slot; only if the record's signature is that of this experiment."""
    if measured.manifest.get("plan_signature") != plan_signature(measured.experiment):
        return ()
    slots = [
        (launch.slot, f"{launch.configuration} with {launch.workers} workers")
        for launch in plan(measured.experiment)
        if launch.role == "timed"
    ]
    planned = pl.DataFrame(slots, schema={"slot": pl.Int32, "_planned": pl.String}, orient="row")
    label = pl.format("{} with {} workers", "configuration", "workers").alias("_reported")
    both = measured.table("launches").filter(pl.col("role") == "timed").join(planned, on="slot").with_columns(label)
    return impossible(
        "plan_differs",
        "launches",
        both.filter(pl.col("_reported") != pl.col("_planned")),
        "it is {_reported}; slot {slot} of the plan is {_planned}",
    )


AUDIT = Audit(
    name="row_counts",
    title="impossible row counts",
    question="Do the row counts agree with the plan and the launches?",
    examine=examine,
    about=EVERYTHING,
    blind=blind,
)
