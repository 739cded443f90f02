"""How does MLflow get a record?  As a run, and below it a run for each configuration.

Its destinations: `fireassay.api.senders.support.mlflow_client`.
Metrics are values and bounds by the names of `fireassay.reports.exports.support.tracked`; params what the experiment asked; tags the
verdict and the digest; artifacts the report, `assay-report/1`, and of each run a table with the unit, method and worth of every value.
A record that is there is found by its digest and left alone; half of one, which an interruption left, is deleted and written again.
A run of the same store that the training itself made (`training_runs`) gets the verdict as tags and its values below `fireassay/`.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from fireassay.api.senders.sender import Sender, Sent, training_note
from fireassay.api.senders.support.mlflow_client import MAX_NAME, MAX_TAG, allowed_name, experiment, opened
from fireassay.metrics.metric import ALL
from fireassay.record.secrets.redact import redact
from fireassay.reports.exports.export import Subject
from fireassay.reports.exports.support import tracked
from fireassay.reports.exports.support.training_runs import PREFIX, TrainingRun, training_runs
from fireassay.reports.exports.values import UNSEALED

if TYPE_CHECKING:
    from mlflow import MlflowClient

KEY: Final = "fireassay.key"  # a tag: the digest, or of a record without a seal its id
ADDED: Final = "fireassay.added"  # the same in a run of the training
NS_PER_MS: Final = 1_000_000
MAX_METRICS, MAX_PARAMS, MAX_PARAM = 1_000, 100, 500  # of MLflow's REST API


def send(subject: Subject, _: Path, destination: str) -> Sent:
    """Raises what MLflow raises."""
    with opened(destination) as client:
        name = subject.options.get("experiment") or subject.head.name
        home = experiment(client, name)
        found = _found(client, home, _key(subject))
        done = [run for run in found if run.info.status == "FINISHED" and "mlflow.parentRunId" not in run.data.tags]
        if not done:
            for run in found:
                client.delete_run(run.info.run_id)
        parent = done[0].info.run_id if done else _write(client, home, subject)
        news = [(run, _added(client, run, parent, subject)) for run in training_runs(subject, "mlflow")]
        return Sent(
            where=redact(destination or str(client.tracking_uri)),
            new=not done or any(why is None for _, why in news),
            notes=tuple(training_note(run.shown, why) for run, why in news if why != ""),
        )


def _key(subject: Subject) -> str:
    """By which a record is found again, without what a filter of MLflow takes for its own."""
    head = subject.head
    return re.sub(r"[^\w.-]", "_", head.record if head.digest == UNSEALED else head.digest)


def _found(client: MlflowClient, home: str, key: str) -> Sequence[Any]:
    return list(client.search_runs([home], filter_string=f"tags.`{KEY}` = '{key}'", max_results=50_000))


def _added(client: MlflowClient, training: TrainingRun, parent: str, subject: Subject) -> str | None:
    """Add the verdict to a run that the training made.  None: added; empty: it was there; else why not."""
    from mlflow.entities import Metric, RunTag
    from mlflow.exceptions import MlflowException

    try:
        run = client.get_run(training.run)
    except MlflowException:
        return "it is not in this store. Export to the one that the training logs to"
    if run.info.lifecycle_stage != "active":
        return "it was deleted"
    if why := training.foreign(run.info.start_time * NS_PER_MS, run.info.end_time and (run.info.end_time + 1) * NS_PER_MS):
        return why
    tags, key, record = run.data.tags, _key(subject), subject.head.record
    if tags.get("fireassay.record", record) != record:
        return f"it has the verdict of the record {tags['fireassay.record']}"
    if tags.get(ADDED) == key:
        return ""
    old = {name: math.nan for name in run.data.metrics if name.startswith(PREFIX)}  # of an earlier verdict on the same record
    now = time.time_ns() // NS_PER_MS  # MLflow shows the newest
    numbers = {**old, **{allowed_name(name): number for name, number in training.numbers.items()}}
    for some in _batches([Metric(name, number, now, 0) for name, number in numbers.items()], MAX_METRICS):
        client.log_batch(training.run, metrics=some)
    about = {
        **tracked.facts(subject.head),
        "fireassay.launches": ", ".join(map(str, training.launches)),
        "fireassay.run": parent,
        ADDED: key,
    }
    client.log_batch(training.run, tags=[RunTag(name, value[:MAX_TAG]) for name, value in about.items()])  # last: all is there
    return None


def _write(client: MlflowClient, home: str, subject: Subject) -> str:
    """The record's run first, which ends last: until then it is half of one.  Returns its id."""
    parent = ""
    for run in tracked.runs(subject):
        above = {"mlflow.parentRunId": parent} if parent else {}
        made = client.create_run(home, _at(subject), {**_tags(subject), **above}, run.title[:MAX_NAME]).info.run_id
        parent = parent or made
        _log(client, made, run, subject)
        if made != parent:
            client.set_terminated(made)
    client.set_terminated(parent)
    return parent


def _tags(subject: Subject) -> dict[str, str]:
    known = {**tracked.facts(subject.head), KEY: _key(subject), "mlflow.note.content": tracked.note(subject.head)}
    return {name: value[:MAX_TAG] for name, value in known.items()}


def _log(client: MlflowClient, made: str, run: tracked.Run, subject: Subject) -> None:
    from mlflow.entities import Metric, Param

    at, standing = _at(subject), subject.head.standing
    params = {"configuration": run.configuration, **run.labels}
    if run.configuration == ALL:
        params |= tracked.settings(subject.measured.experiment)
    metrics = [Metric(allowed_name(name), number, at, 0) for name, number in tracked.numbers(run.rows).items()]
    for curve in run.curves:
        name = allowed_name(f"{tracked.marked(tracked.STEP_TIME, standing)}/launch {curve.launch}")
        metrics += [Metric(name, seconds, at, step) for step, seconds in zip(curve.steps, curve.seconds, strict=True)]
    for some in _batches(metrics, MAX_METRICS):
        client.log_batch(made, metrics=some)
    for few in _batches([Param(allowed_name(name), value[:MAX_PARAM]) for name, value in params.items()], MAX_PARAMS):
        client.log_batch(made, params=few)
    for file, content in tracked.files(run, subject).items():
        client.log_text(made, content, file)


def _batches(items: Sequence[Any], most: int) -> Iterator[Sequence[Any]]:
    return (items[at : at + most] for at in range(0, len(items), most))


def _at(subject: Subject) -> int:
    """Milliseconds since 1970."""
    return tracked.ns(subject.head.created_utc) // NS_PER_MS


SENDER = Sender(
    name="mlflow",
    title="MLflow",
    summary="runs, metrics with bounds, params, tags, step curves, the report; server or folder",
    options={"experiment": "name of MLflow's experiment (the record's)"},
    needs="mlflow",
    extra="mlflow",
    send=send,
)
