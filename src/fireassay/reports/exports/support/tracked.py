"""What does an experiment tracker (MLflow, TensorBoard, W&B) get?  A run for the record, and below it one for each configuration.

Trackers know no intervals: a value's bounds are numbers of their own, named after it.  Nor do they know that a number may not be quoted, so
that is said in its name, and such a number never shares a chart with those that stand: `invalid/speedup`, `provisional/speedup.low`.  A
run's title begins with INVALID where the record is.  What was not measured has no number; values.json says why.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import polars as pl

from fireassay.frames.record_data import RecordData
from fireassay.metrics.metric import ALL
from fireassay.reports.documents.json_object import encode
from fireassay.reports.exports.export import Subject
from fireassay.reports.exports.values import Head, ValueRow
from fireassay.reports.pages.record import page
from fireassay.reports.writers import html
from fireassay.spec.experiment import Experiment

MAX_POINTS: Final = 1_000  # of a curve, evenly spaced: trackers show no more
STEP_TIME: Final = "step_seconds"


@dataclass(frozen=True, kw_only=True)
class Curve:
    """The times of a launch's steps, as they were measured: every rank, warm-up included, the slowest rank's."""

    launch: int
    steps: Sequence[int]
    seconds: Sequence[float]


@dataclass(frozen=True, kw_only=True)
class Run:
    """A configuration, or under ALL what is about the whole record."""

    configuration: str
    title: str
    labels: Mapping[str, str]
    rows: Sequence[ValueRow]
    curves: Sequence[Curve]


def runs(subject: Subject) -> Iterator[Run]:
    """The record's own run, then one for each configuration that has a value or a reason for none, in the report's order."""
    by_key: dict[str, list[ValueRow]] = {ALL: []}
    for row in subject.values:
        by_key.setdefault(row.configuration, []).append(row)
    drawn = curves(subject.measured)
    void = "INVALID " if subject.head.status == "INVALID" else ""
    for key, rows in by_key.items():
        title = f"{void}{subject.head.record if key == ALL else key}"
        yield Run(configuration=key, title=title, labels=rows[0].labels if rows else {}, rows=rows, curves=drawn.get(key, ()))


def numbers(rows: Sequence[ValueRow]) -> dict[str, float]:
    """Name -> number, of values and of the bounds that the data give."""
    named = ((marked(row.metric, row.standing), row) for row in rows if row.value is not None)
    return {
        f"{name}{end}": number
        for name, row in named
        for end, number in (("", row.value), (".low", row.low), (".high", row.high))
        if number is not None
    }


def marked(name: str, standing: str) -> str:
    """The name, saying what its number is worth."""
    return f"{standing}/{name}" if standing else name


def files(run: Run, subject: Subject) -> dict[str, str]:
    """values.json: all that is known of each value, among it why it may not be quoted or is absent; for the record its report, too."""
    made = {"values.json": encode({"record": asdict(subject.head), "values": [asdict(row) for row in run.rows]})}
    if run.configuration == ALL:
        made |= {"report.html": html.write(page(subject.view)), "assay-report.json": encode(subject.document)}
    return made


def facts(head: Head) -> dict[str, str]:
    """The record and its verdict, each with a name that no tracker uses itself."""
    return {f"fireassay.{name}": str(value) for name, value in asdict(head).items()} | {
        "fireassay.admissible": str(head.admissible).lower()
    }


def note(head: Head) -> str:
    """The verdict in words, for a place where a tracker shows a text."""
    worth = f" Its numbers are {head.standing} ({head.standing_reason}) and may not be quoted as they are." if head.standing else ""
    return f"{head.status}: {head.sentence}{worth} Record {head.record}, SHA-256 {head.digest}, measured by Fireassay {head.assay_version}."


def ns(utc: str) -> int:
    """A recorded date in nanoseconds since 1970; 0 if it was not recorded.  That of the record's begin is the time of all its numbers."""
    moment = datetime.fromisoformat(utc or "1970-01-01")
    aware = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
    return (aware - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1) * 1_000


def settings(experiment: Experiment) -> dict[str, str]:
    """Dotted key -> value as text, of what was asked; keys at their default are left out."""
    return dict(_flat(experiment.model_dump(mode="json", by_alias=True, exclude_none=True, exclude_defaults=True), ""))


def _flat(value: Any, path: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _flat(inner, f"{path}.{name}" if path else str(name))
    elif isinstance(value, list) and any(isinstance(inner, Mapping) for inner in value):
        yield from _flat(dict(enumerate(value)), path)
    elif value not in ("", [], {}):
        yield path, str(value)


def curves(measured: RecordData) -> Mapping[str, Sequence[Curve]]:
    """Configuration -> the step times of its timed launches; empty for records without steps."""
    steps = measured.global_steps.join(measured.timed.select("launch", "configuration"), on="launch").sort("launch", "step")
    made: dict[str, list[Curve]] = {}
    for (launch,), rows in steps.filter(pl.col("step_s").is_not_null()).group_by("launch", maintain_order=True):
        some = rows.gather_every(-(-rows.height // MAX_POINTS))
        curve = Curve(launch=int(launch), steps=some["step"].to_list(), seconds=some["step_s"].to_list())
        made.setdefault(rows["configuration"][0], []).append(curve)
    return made
