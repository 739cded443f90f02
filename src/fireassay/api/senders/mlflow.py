"""How does MLflow get a record?  As a run, and below it a run for each configuration.

The destination is a tracking server (http://...), another store that MLflow knows (sqlite:///...), or a folder; by default MLFLOW_TRACKING_URI.
Metrics are values and bounds by the names of `fireassay.reports.exports.support.tracked`; params what the experiment asked; tags the
verdict and the digest; artifacts the report, `assay-report/1`, and of each run a table with the unit, method and worth of every value.
A record that is there is found by its digest and left alone; half of one, which an interruption left, is deleted and written again.
A run of the same store that the training itself made (`training_runs`) gets the verdict as tags and its values below `fireassay/`.

MLflow's usage statistics are turned off; its credentials are its own (MLFLOW_TRACKING_TOKEN ...).
"""

from __future__ import annotations

import math
import os
import re
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from fireassay.api.senders.sender import Sender, Sent, training_note
from fireassay.metrics.metric import ALL
from fireassay.record.secrets.redact import redact
from fireassay.reports.exports.export import Subject
from fireassay.reports.exports.support import tracked
from fireassay.reports.exports.support.training_runs import PREFIX, TrainingRun, training_runs
from fireassay.reports.exports.values import UNSEALED

if TYPE_CHECKING:
    from mlflow import MlflowClient

OWN: Final = {  # unless the user says otherwise
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "MLFLOW_ALLOW_FILE_STORE": "true",  # a folder is what was asked for
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "2",  # 7 take minutes to say that nothing listens
}
KEY: Final = "fireassay.key"  # a tag: the digest, or of a record without a seal its id
ADDED: Final = "fireassay.added"  # the same in a run of the training
NS_PER_MS: Final = 1_000_000
MAX_METRICS, MAX_PARAMS, MAX_TAG, MAX_PARAM, MAX_NAME = 1_000, 100, 5_000, 500, 250  # of MLflow's REST API


def send(subject: Subject, _: Path, destination: str) -> Sent:
    """Raises what MLflow raises."""
    with _environment():
        from mlflow import MlflowClient

        client = MlflowClient(tracking_uri=_uri(destination))
        name = subject.options.get("experiment") or subject.head.name
        known = client.get_experiment_by_name(name)
        experiment = known.experiment_id if known is not None else client.create_experiment(name)
        found = _found(client, experiment, _key(subject))
        done = [run for run in found if run.info.status == "FINISHED" and "mlflow.parentRunId" not in run.data.tags]
        if not done:
            for run in found:
                client.delete_run(run.info.run_id)
        parent = done[0].info.run_id if done else _write(client, experiment, subject)
        news = [(run, _added(client, run, parent, subject)) for run in training_runs(subject, "mlflow")]
        return Sent(
            where=redact(destination or str(client.tracking_uri)),
            new=not done or any(why is None for _, why in news),
            notes=tuple(training_note(run.shown, why) for run, why in news if why != ""),
        )


@contextmanager
def _environment() -> Iterator[None]:
    before = dict(os.environ)
    os.environ.update({name: value for name, value in OWN.items() if name not in before})
    try:
        yield
    finally:
        for name in OWN.keys() - before.keys():
            os.environ.pop(name, None)


def _uri(destination: str) -> str | None:
    """None: MLflow's own default."""
    return destination if not destination or ":/" in destination else Path(destination).resolve().as_uri()


def _key(subject: Subject) -> str:
    """By which a record is found again, without what a filter of MLflow takes for its own."""
    head = subject.head
    return re.sub(r"[^\w.-]", "_", head.record if head.digest == UNSEALED else head.digest)


def _found(client: MlflowClient, experiment: str, key: str) -> Sequence[Any]:
    return list(client.search_runs([experiment], filter_string=f"tags.`{KEY}` = '{key}'", max_results=50_000))


def _added(client: MlflowClient, training: TrainingRun, parent: str, subject: Subject) -> str | None:
    """Add the verdict to a run that the training made.  None: added; empty: it was there; else why not."""
    from mlflow.entities import Metric
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
    numbers = {**old, **{_name(name): number for name, number in training.numbers.items()}}
    for some in _batches([Metric(name, number, now, 0) for name, number in numbers.items()], MAX_METRICS):
        client.log_batch(training.run, metrics=some)
    about = {
        **tracked.facts(subject.head),
        "fireassay.launches": ", ".join(map(str, training.launches)),
        "fireassay.run": parent,
        ADDED: key,
    }
    for name, value in about.items():  # the last of them says that all is there
        client.set_tag(training.run, name, value[:MAX_TAG])
    return None


def _write(client: MlflowClient, experiment: str, subject: Subject) -> str:
    """The record's run first, which ends last: until then it is half of one.  Returns its id."""
    parent = ""
    for run in tracked.runs(subject):
        above = {"mlflow.parentRunId": parent} if parent else {}
        made = client.create_run(experiment, _at(subject), {**_tags(subject), **above}, run.title[:MAX_NAME]).info.run_id
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
    metrics = [Metric(_name(name), number, at, 0) for name, number in tracked.numbers(run.rows).items()]
    for curve in run.curves:
        name = _name(f"{tracked.marked(tracked.STEP_TIME, standing)}/launch {curve.launch}")
        metrics += [Metric(name, seconds, at, step) for step, seconds in zip(curve.steps, curve.seconds, strict=True)]
    for some in _batches(metrics, MAX_METRICS):
        client.log_batch(made, metrics=some)
    for few in _batches([Param(_name(name), value[:MAX_PARAM]) for name, value in params.items()], MAX_PARAMS):
        client.log_batch(made, params=few)
    for file, content in tracked.files(run, subject).items():
        client.log_text(made, content, file)


def _name(name: str) -> str:
    """A name that MLflow allows: it is a path in its file store."""
    parts = (part for part in re.sub(r"[^/\w.\- :]", "_", name).split("/") if part.strip("."))
    return "/".join(parts)[:MAX_NAME] or "_"


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
