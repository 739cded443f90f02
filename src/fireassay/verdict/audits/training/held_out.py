"""Was the model evaluated on samples it was trained on?

For unmodified scripts: an evaluation is a batch passed to a model in evaluation mode without gradients and not used for training then.
Shared rows of one data set are a warning: the resulting quality says nothing about new data. Evaluating the training data itself is
legitimate, for training accuracy: a note if other data are evaluated too, else a warning.

Cannot tell: equal samples in data sets with separate storage; samples trained on other ranks; evaluations of a script that marks its own
steps.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

import polars as pl

from fireassay.estimates.format import count
from fireassay.frames.record_data import RecordData
from fireassay.metrics.metric import Results
from fireassay.verdict.audits.support.audit import Audit
from fireassay.verdict.types import Finding, Severity


@dataclass(frozen=True, kw_only=True)
class Evaluated:
    """The worst evaluation of one data set on one rank."""

    launch: int
    data: str
    samples: int
    trained_on: int
    training_data: bool


def examine(measured: RecordData, _: Results) -> tuple[Finding, ...]:
    """At most one finding per configuration and rule, for its worst evaluation."""
    return tuple(finding for name in measured.configurations for finding in _of(name, _evaluations(measured, name)))


def _evaluations(measured: RecordData, configuration: str) -> list[Evaluated]:
    launches = measured.timed.filter(pl.col("configuration") == configuration).select("launch")
    events = measured.table("events").filter(pl.col("kind") == "evaluated_samples").join(launches, on="launch")
    rows = events.select("launch", "value", "detail").iter_rows()
    return [Evaluated(launch=int(launch), trained_on=int(value), **json.loads(detail)) for launch, value, detail in rows]


def _of(configuration: str, every: list[Evaluated]) -> Iterator[Finding]:
    worst = max((evaluated for evaluated in every if not evaluated.training_data), key=_trained_on, default=None)
    if worst is not None and worst.trained_on:
        evidence = _evidence(worst)
        remedy = "split the data once, by disjoint indices; the quality measured on these samples says nothing about new data"
        yield Finding("evaluation_overlaps_training", "warning", configuration, evidence, remedy)
        return
    training = max((evaluated for evaluated in every if evaluated.training_data), key=_trained_on, default=None)
    if training is None or not training.trained_on:
        return
    alone = not _others(every)
    severity: Severity = "warning" if alone else "note"
    evidence = f"{_evidence(training)}, the data set that it is trained on{'; nothing else was evaluated' if alone else ''}"
    remedy = (
        "evaluate held-out data if this accuracy should represent quality"
        if alone
        else "nothing is wrong, if this is the training's own accuracy; other data were evaluated too"
    )
    yield Finding("evaluated_on_training_data", severity, configuration, evidence, remedy)


def _others(every: list[Evaluated]) -> bool:
    """Whether other data were evaluated; before the first step the training data count as new."""
    training = {evaluated.data for evaluated in every if evaluated.training_data}
    return any(evaluated.trained_on == 0 and (evaluated.training_data or evaluated.data not in training) for evaluated in every)


def _trained_on(evaluated: Evaluated) -> int:
    return evaluated.trained_on


def _evidence(worst: Evaluated) -> str:
    return (
        f"of {count(worst.samples, 'samples')} evaluated in launch {worst.launch} ({worst.data}), the model had been trained on "
        f"{worst.trained_on:,}"
    )


AUDIT = Audit(
    name="held_out", title="evaluated on training data", question="Was the model evaluated on samples it was trained on?", examine=examine
)
