"""MLflow's own client finds every number, its bounds and what it is worth; a second export changes nothing."""

from __future__ import annotations

import json
import os
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fireassay.api.senders import mlflow as sender
from fireassay.api.senders.support import mlflow_client
from fireassay.reports.exports.export import Subject
from tests.canary import found_in
from tests.exporting import tracked

pytest.importorskip("mlflow", reason="mlflow-skinny is not installed")
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]  # MLflow's own

DIGEST = "ab" * 32


def sealed(subject: Subject) -> Subject:
    return Subject(view=replace(subject.view, seal=DIGEST), options=subject.options)


def runs(folder: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> tuple[Any, list[Any]]:
    """MLflow's client, and every run of an experiment."""
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    monkeypatch.setenv("MLFLOW_DISABLE_TELEMETRY", "true")
    from mlflow import MlflowClient

    client = MlflowClient(folder.as_uri())
    experiment = client.get_experiment_by_name(name)
    assert experiment is not None
    return client, client.search_runs([experiment.experiment_id])


def test_every_number_bound_verdict_and_digest_is_read_back(training: Subject, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    subject, before = sealed(training), dict(os.environ)
    sent = sender.send(subject, Path(), str(tmp_path / "runs"))
    assert dict(os.environ) == before
    assert (sent.where, sent.new) == (str(tmp_path / "runs"), True)
    client, found = runs(tmp_path / "runs", subject.head.name, monkeypatch)
    by_configuration = {run.data.params["configuration"]: run for run in found}
    parent = by_configuration["all"]
    assert parent.info.run_name == subject.head.record
    for configuration, numbers in tracked(subject.document).items():
        run = by_configuration.pop(configuration)
        assert {name: value for name, value in run.data.metrics.items() if "step_seconds" not in name} == numbers
        assert run.data.tags["fireassay.digest"] == DIGEST
        assert run.data.tags["fireassay.status"] == subject.document["verdict"]["status"]
        assert run.data.tags["fireassay.sentence"] == subject.document["verdict"]["sentence"]
        assert run.data.tags.get("mlflow.parentRunId") == (None if run is parent else parent.info.run_id)
        assert run.info.status == "FINISHED"
    run = next(run for run in found if run.data.params.get("workers") == "2")
    launch = subject.measured.timed.filter(configuration=run.data.params["configuration"])["launch"][0]
    curve = client.get_metric_history(run.info.run_id, f"step_seconds/launch {launch}")
    steps = subject.measured.global_steps.filter(launch=launch).sort("step")
    assert [(point.step, point.value) for point in sorted(curve, key=lambda point: point.step)] == list(
        steps.select("step", "step_s").iter_rows()
    )
    names = {file.path for file in client.list_artifacts(parent.info.run_id)}
    assert names == {"assay-report.json", "report.html", "values.json"}
    document = json.loads(Path(client.download_artifacts(parent.info.run_id, "assay-report.json")).read_text())
    assert document == json.loads(json.dumps(subject.document))
    absent = [
        one
        for one in json.loads(Path(client.download_artifacts(run.info.run_id, "values.json")).read_text())["values"]
        if one["value"] is None
    ]
    assert all(one["standing"] and one["reason"] for one in absent)
    assert sender.send(subject, Path(), str(tmp_path / "runs")).new is False
    assert len(runs(tmp_path / "runs", subject.head.name, monkeypatch)[1]) == len(found)


def test_an_invalid_record_says_so_and_half_a_record_is_written_again(
    late: Subject, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    subject = replace(sealed(late), options={"experiment": "mine"})
    monkeypatch.setattr(sender, "_log", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        sender.send(subject, Path(), str(tmp_path))
    monkeypatch.undo()
    assert sender.send(subject, Path(), str(tmp_path)).new
    _, found = runs(tmp_path, "mine", monkeypatch)
    assert Counter(run.info.run_name for run in found) == {f"INVALID {subject.head.record}": 1, "INVALID rate=6": 1}
    assert {name.partition("/")[0] for run in found for name in run.data.metrics} == {"invalid"}
    assert {(run.data.tags["fireassay.status"], run.data.tags["fireassay.admissible"]) for run in found} == {("INVALID", "false")}


def test_a_password_of_the_servers_address_is_not_shown(late: Subject, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mlflow_client, "_uri", lambda _: tmp_path.as_uri())
    where = sender.send(sealed(late), Path(), "https://me:hunter2hunter2hunter2@mlflow.example/").where
    assert "hunter2" not in where
    assert found_in(tmp_path, b"", secrets=("hunter2hunter2hunter2",)) == []


@pytest.mark.parametrize(
    ("name", "allowed"), [("a(b)=µ", "a_b__µ"), ("../../etc/passwd", "etc/passwd"), ("//", "_"), ("x/./y", "x/y"), ("n" * 300, "n" * 250)]
)
def test_a_name_is_one_that_mlflow_allows_and_no_way_out_of_its_folder(name: str, allowed: str) -> None:
    from mlflow.utils.validation import _validate_metric_name

    assert mlflow_client.allowed_name(name) == allowed
    _validate_metric_name(allowed)


def test_mlflow_prints_no_address_of_a_run_to_stdout(tmp_path: Path) -> None:
    from mlflow.environment_variables import MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT as SILENT

    with mlflow_client.opened(str(tmp_path)):
        assert SILENT.get()


def test_a_filter_cannot_be_left() -> None:
    view: Any = type("V", (), {})()
    made: Any = type("S", (), {"head": type("H", (), {"record": "x' or 'a' = 'a", "digest": "unsealed"})(), "view": view})()
    assert sender._key(made) == "x__or__a_____a"
