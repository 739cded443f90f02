"""The run that the training made gets the verdict, wherever the tracker keeps it; a run that is not the training's stays as it was."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from fireassay.api.exporting import export
from fireassay.api.senders import mlflow as to_mlflow
from fireassay.api.senders import wandb as to_wandb
from fireassay.cli.support.judged import judged
from fireassay.frames.record_data import from_record
from fireassay.record.reader import open_record
from fireassay.reports.exports.export import Subject
from fireassay.reports.exports.support import tracked as shared
from fireassay.reports.exports.support.training_runs import training_runs
from tests.api.senders import test_wandb
from tests.builders import frame
from tests.exporting import tracked
from tests.launchers.helpers import recorded
from tests.runners.making import experiment

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]  # of the trackers' libraries

DIGEST, RUN = "ab" * 32, "0123456789abcdef0123456789abcdef"


@pytest.fixture(autouse=True)
def brief(monkeypatch: pytest.MonkeyPatch) -> None:
    """The record's own runs are about other tests: one, without files and curves."""
    runs = shared.runs
    monkeypatch.setattr(shared, "runs", lambda subject: (replace(run, curves=()) for run in islice(runs(subject), 1)))
    monkeypatch.setattr(shared, "files", lambda *_: {})


def logged(training: Subject, tracker: str, run: str, *, launch: int = 0, digest: str = DIGEST, **about: str) -> Subject:
    """The training, of which a launch logged to a run."""
    measured = training.measured
    detail = json.dumps({"tracker": tracker, "run": run, **about})
    events = measured.table("events").vstack(frame("events", [(launch, 1, None, "h", 0, 0, "tracker_run", None, None, detail)]))
    data = replace(measured, tables={**measured.tables, "events": events})
    return Subject(view=replace(training.view, measured=data, seal=digest))


def begun(subject: Subject, launch: int = 0) -> datetime:
    """A second after the launch began."""
    text = subject.measured.table("launches").filter(launch=launch)["begin_utc"][0]
    return datetime.fromtimestamp(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp() + 1.0, UTC)


def expected(subject: Subject, launch: int = 0) -> dict[str, float]:
    """The names and numbers of the launch's configuration, over those of the whole record, from the published document."""
    key = subject.measured.table("launches").filter(launch=launch)["configuration"][0]
    made = tracked(subject.document)
    return {f"fireassay/{name}": number for name, number in {**made.get("all", {}), **made[key]}.items()}


# ---- MLflow ----------------------------------------------------------------------------------------------------------


def store(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    pytest.importorskip("mlflow", reason="mlflow-skinny is not installed")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    monkeypatch.setenv("MLFLOW_DISABLE_TELEMETRY", "true")
    from mlflow import MlflowClient

    return MlflowClient(folder.as_uri())


def trained(client: Any, at: datetime) -> str:
    """A run of a training that logged its loss."""
    ms = int(at.timestamp() * 1000)
    experiment = client.get_experiment_by_name("theirs")
    run = client.create_run(experiment.experiment_id if experiment else client.create_experiment("theirs"), start_time=ms).info.run_id
    client.log_metric(run, "loss", 0.5)
    client.set_terminated(run, end_time=ms + 1)
    return str(run)


def test_mlflow_s_run_gets_every_number_and_the_newest_verdict_once(
    training: Subject, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = store(tmp_path, monkeypatch)
    run = trained(client, begun(training))
    subject = logged(training, "mlflow", run, name="mine")
    sent = to_mlflow.send(subject, Path(), str(tmp_path))
    assert sent.notes == (f"the training's run {run} (mine) has the verdict too.",)
    data = client.get_run(run).data
    assert data.metrics == {"loss": 0.5, **expected(subject)}
    verdict = subject.document["verdict"]
    assert (data.tags["fireassay.digest"], data.tags["fireassay.status"]) == (DIGEST, verdict["status"])
    assert (data.tags["fireassay.sentence"], data.tags["fireassay.launches"]) == (verdict["sentence"], "0")
    assert client.get_run(data.tags["fireassay.run"]).info.run_name == subject.head.record
    again = to_mlflow.send(subject, Path(), str(tmp_path))
    assert (again.new, again.notes) == (False, ())
    assert len(client.get_metric_history(run, next(iter(expected(subject))))) == 1
    client.log_metric(run, "fireassay/invalid/gone", 1.0)  # of a verdict before the record was resumed
    subject = logged(training, "mlflow", run, digest="cd" * 32)
    assert to_mlflow.send(subject, Path(), str(tmp_path)).new
    data = client.get_run(run).data
    assert data.tags["fireassay.digest"] == "cd" * 32
    assert math.isnan(data.metrics.pop("fireassay/invalid/gone"))
    assert data.metrics == {"loss": 0.5, **expected(subject)}


def test_runs_of_mlflow_that_are_not_the_training_s_are_left_alone(
    training: Subject, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = store(tmp_path, monkeypatch)
    before = trained(client, datetime(2025, 1, 1, tzinfo=UTC))
    deleted, another = trained(client, begun(training)), trained(client, begun(training))
    client.delete_run(deleted)
    client.set_tag(another, "fireassay.record", "other-record")
    whys = {
        before: "not written to while launch 0 ran",
        deleted: "it was deleted",
        another: "it has the verdict of the record other-record",
        RUN: "not in this store",
        "../../../etc": "not in this store",
    }
    subject = training
    for run in whys:
        subject = logged(subject, "mlflow", run, address="http://192.0.2.1:9\x1b[31m")  # never asked
    notes = to_mlflow.send(subject, Path(), str(tmp_path)).notes
    assert [why for why, note in zip(whys.values(), notes, strict=True) if why not in note] == []
    assert "\x1b" not in "".join(notes)
    assert [client.get_run(run).data.metrics for run in (before, deleted, another)] == [{"loss": 0.5}] * 3


@pytest.mark.torch
def test_a_launch_of_two_ranks_records_the_run_of_rank_0_and_its_record_s_verdict_reaches_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = store(tmp_path / "runs", monkeypatch)
    (tmp_path / "train.py").write_text(SCRIPT)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", (tmp_path / "runs").as_uri())
    asked = experiment(
        workload={"script": "train.py"}, factor={"levels": [2]}, launches={"per_configuration": 1}, launcher={"kind": "local"}
    )
    path = recorded(asked, folder=tmp_path, root=tmp_path / "records")
    view, _ = judged(path)
    (made,) = training_runs(Subject(view=view), "mlflow")
    run = client.get_run(made.run)
    assert (made.launches, made.about) == ((0,), {"name": run.info.run_name, "address": (tmp_path / "runs").as_uri()})
    assert export(view, path, "mlflow", str(tmp_path / "runs")).notes[-1].endswith("has the verdict too.")
    data = client.get_run(made.run).data
    assert data.metrics.pop("loss") == 0.25
    assert data.metrics == expected(Subject(view=view))
    assert len(data.metrics) > 10
    assert data.tags["fireassay.digest"] == view.seal == open_record(path).seal
    assert list(training_runs(Subject(view=view), "wandb")) == []
    assert from_record(open_record(path)).table("events").filter(kind="tracker_run")["rank"].to_list() == [0]


SCRIPT = """
import os, sys, types

import torch
import torch.distributed as dist

from fireassay import probe

dist.init_process_group("gloo")
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(4, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
if dist.get_rank() == 0:
    import mlflow

    mlflow.start_run()
    mlflow.log_metric("loss", 0.25)
else:
    run = types.SimpleNamespace(info=types.SimpleNamespace(run_id="of-rank-1", run_name="x"))
    sys.modules["mlflow"] = types.SimpleNamespace(active_run=lambda: run, get_tracking_uri=lambda: "")
with probe.start() as p:
    for batch in p.steps([torch.ones(2, 4)] * 8):
        loss = model(batch).square().mean()
        loss.backward()
        with p.phase("optimizer"):
            optimizer.step()
if dist.get_rank() == 0:
    mlflow.end_run()
dist.destroy_process_group()
"""


# ---- TensorBoard -----------------------------------------------------------------------------------------------------


def board(folder: Path, at: datetime) -> Path:
    """A folder to which a SummaryWriter wrote."""
    folder.mkdir()
    from tensorboard.summary.writer.event_file_writer import EventFileWriter  # type: ignore[import-untyped]

    EventFileWriter(str(folder)).close()
    (file,) = folder.iterdir()
    file.rename(folder / f"events.out.tfevents.{int(at.timestamp())}.host.1.0")
    return folder


def test_tensorboard_shows_the_verdict_in_the_training_s_own_run_once(training: Subject, tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator  # type: ignore[import-untyped]

    run = board(tmp_path / "run", begun(training))
    subject = logged(training, "tensorboard", str(run))
    sent = export(subject.view, tmp_path / "r", "tensorboard", str(tmp_path / "out"))
    assert sent.notes == (f"the training's run {run} has the verdict too.",)
    read = EventAccumulator(str(run))
    read.Reload()
    about = {tag: read.SummaryMetadata(tag) for tag in read.Tags()["tensors"]}
    numbers = {tag: one.summary_description for tag, one in about.items() if one.plugin_data.plugin_name == "scalars"}
    assert {tag: float(text.split(" ")[0]) for tag, text in numbers.items()} == expected(subject)
    assert all(DIGEST in text for text in numbers.values())
    assert subject.document["verdict"]["sentence"] in read.Tensors("fireassay/verdict")[0].tensor_proto.string_val[0].decode()
    files = {path: path.read_bytes() for path in run.iterdir()}
    again = export(subject.view, tmp_path / "r", "tensorboard", str(tmp_path / "out"))
    assert (again.new, again.notes) == (False, ())
    newer = logged(training, "tensorboard", str(run), digest="cd" * 32)
    export(newer.view, tmp_path / "r", "tensorboard", str(tmp_path / "newer"))
    assert [path.name for path in sorted(run.iterdir())] == [path.name for path in sorted(files)], "the older verdict is replaced"


def test_folders_that_are_not_the_training_s_are_left_alone(training: Subject, tmp_path: Path) -> None:
    old = tmp_path / "old" / "events.out.tfevents.1700000000.host.1.0"
    for folder in ("empty", "old"):
        (tmp_path / folder).mkdir()
    old.touch()
    whys = {"absent": "No such file", "empty": "holds no event file", "old": "not written to while launch 0 ran", "nul\x00": "null byte"}
    subject = training
    for folder in whys:
        subject = logged(subject, "tensorboard", str(tmp_path / folder))
    notes = export(subject.view, tmp_path / "r", "tensorboard", str(tmp_path / "out")).notes
    assert [why for why, note in zip(whys.values(), notes, strict=True) if why not in note] == []
    assert sorted(path.name for path in tmp_path.iterdir()) == ["empty", "old", "out"]
    assert list(old.parent.iterdir()) == [old]


# ---- W&B -------------------------------------------------------------------------------------------------------------


def test_wandb_s_run_is_continued_offline_once(training: Subject, tmp_path: Path) -> None:
    pytest.importorskip("wandb", reason="wandb is not installed")
    own = tmp_path / "wandb" / f"offline-run-{begun(training).astimezone():%Y%m%d_%H%M%S}-x1y2"
    own.mkdir(parents=True)
    subject = logged(training, "wandb", "x1y2", project="theirs", entity="team")
    sent = to_wandb.send(subject, Path(), str(tmp_path))
    assert sent.notes[0] == "the training's run x1y2 has the verdict too."
    (more,) = [path for path in (tmp_path / "wandb").glob("*-x1y2") if path != own]
    run = test_wandb.read(more)
    assert (run["id"], run["project"], run["config"]["fireassay.digest"]) == ("x1y2", "theirs", DIGEST)
    numbers = {
        f"{name}{end}": row[part]
        for name, row in run["summary"].items()
        if name.startswith("fireassay/")
        for end, part in (("", "value"), (".low", "low"), (".high", "high"))
        if row["value"] is not None and row[part] is not None
    }
    assert numbers == expected(subject)
    assert list(own.iterdir()) == []
    again = to_wandb.send(subject, Path(), str(tmp_path))
    assert (again.new, again.notes) == (False, ())


def test_a_run_of_wandb_elsewhere_is_named(training: Subject, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(to_wandb, "_write", lambda *_: None)
    monkeypatch.setattr(to_wandb, "_continue", lambda *_: 1 / 0)
    (tmp_path / "wandb" / "run-20200101_000000-x1y2").mkdir(parents=True)
    whys = {"x1y2": "not written to while launch 0 ran", "zz": "not in this folder", "*": "not in this folder"}
    subject = training
    for run in whys:
        subject = logged(subject, "wandb", run)
    notes = to_wandb.send(subject, Path(), str(tmp_path)).notes
    assert [why for why, note in zip(whys.values(), notes, strict=False) if why not in note] == []


# ---- which values ----------------------------------------------------------------------------------------------------


def test_a_run_that_configurations_share_gets_what_holds_for_all(training: Subject) -> None:
    launches = training.measured.table("launches")
    first = {key: launches.filter(configuration=key)["launch"][0] for key in ("workers=1", "workers=2")}
    subject = logged(training, "mlflow", RUN, launch=first["workers=1"])
    subject = logged(subject, "mlflow", RUN, launch=first["workers=2"])
    (run,) = training_runs(subject, "mlflow")
    assert sorted(run.launches) == sorted(first.values())
    assert {row.configuration for row in run.rows} <= {"all"}


@pytest.mark.parametrize("detail", ["", "[]", "{", '{"tracker": 1}', '{"tracker": "mlflow"}', '{"tracker": "mlflow", "run": ["x"]}'])
def test_a_note_that_says_nothing_is_no_run(detail: str, training: Subject) -> None:
    events = frame("events", [(0, 1, None, "h", 0, 0, "tracker_run", None, None, detail)])
    data = replace(training.measured, tables={**training.measured.tables, "events": events})
    assert list(training_runs(Subject(view=replace(training.view, measured=data)), "mlflow")) == []
