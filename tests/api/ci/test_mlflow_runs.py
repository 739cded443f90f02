"""A history in MLflow: its own client sees the numbers, jobs that write at once lose nothing, and a stranger's run is refused."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from fireassay.api.ci import mlflow_runs
from fireassay.api.ci.history import keep, load, reachable
from fireassay.errors import EnvironmentLacks, RecordError
from fireassay.verdict.checking.kept import line
from tests.verdict.checking.test_kept import one

pytest.importorskip("mlflow", reason="mlflow-skinny is not installed")
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]  # MLflow's own


@pytest.fixture
def where(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A history in a folder of MLflow's."""
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")  # threads share the variables
    monkeypatch.setenv("MLFLOW_DISABLE_TELEMETRY", "true")
    monkeypatch.delenv("MLFLOW_EXPERIMENT_NAME", raising=False)
    return f"mlflow:{tmp_path / 'runs'}"


def runs(where: str, name: str = "assay-history") -> list[Any]:
    """What MLflow's client finds."""
    from mlflow import MlflowClient

    client = MlflowClient(Path(where.removeprefix("mlflow:")).as_uri())
    return list(client.search_runs([each.experiment_id for each in client.search_experiments(filter_string=f"name = '{name}'")]))


def test_a_folder_that_is_not_there_is_not_made_to_read_it(where: str, tmp_path: Path) -> None:
    with pytest.raises(EnvironmentLacks, match="there is no such folder"):
        load(where, tmp_path)
    assert not (tmp_path / "runs").exists()


def test_a_gate_is_a_run_with_its_numbers_and_is_read_back_as_it_was(where: str, tmp_path: Path) -> None:
    reachable(where, tmp_path)
    assert load(where, tmp_path) == []
    later, void = (
        one(2, 2.0, machine={"cpu.model": "µ" * 400, **{f"gpu.{n}": "x" * 90 for n in range(90)}}),
        one(3, verdict="NOT COMPARABLE"),
    )
    for each in (later, one(1), void):
        assert keep(where, each, tmp_path) == f"experiment assay-history of {tmp_path / 'runs'}"
    assert keep(where, one(1), tmp_path).endswith(", kept before")
    assert load(where, tmp_path) == [one(1), later, void]
    first, second, third = sorted(runs(where), key=lambda run: run.info.start_time)
    assert (first.info.run_name, first.info.status, first.info.start_time) == ("PASS 0000000000", "FINISHED", 1_767_225_600_000)
    bounds = {"trial_time.change": 1.001, "trial_time.change.low": 0.99, "trial_time.change.high": 1.01}
    assert second.data.metrics == {"trial_time": 2.0, "trial_time.low": 1.8, "trial_time.high": 2.2, **bounds}
    assert {name.partition("/")[0] for name in third.data.metrics} == {"invalid"}
    assert {len(text) <= 5_000 for text in second.data.tags.values()} == {True}


def test_five_jobs_that_begin_it_at_once_keep_every_line(where: str, tmp_path: Path) -> None:
    with ThreadPoolExecutor() as pool:
        list(pool.map(lambda day: keep(where, one(day), tmp_path), range(1, 6)))
    assert load(where, tmp_path) == [one(day) for day in range(1, 6)]


def test_a_job_that_was_interrupted_leaves_a_whole_line_and_the_next_adds_the_numbers(
    where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mlflow_runs, "_metrics", lambda _: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        keep(where, one(), tmp_path)
    assert load(where, tmp_path) == [one()]
    monkeypatch.undo()
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    keep(where, one(), tmp_path)
    ((run,), name) = (runs(where), "trial_time")
    assert (run.info.status, run.data.metrics[name]) == ("FINISHED", 1.0)


def test_repositories_that_share_a_server_have_an_experiment_each(where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLFLOW_EXPERIMENT_NAME", "mine")
    keep(where, one(1), tmp_path)
    monkeypatch.setenv("MLFLOW_EXPERIMENT_NAME", "yours")
    keep(where, one(2), tmp_path)
    assert load(where, tmp_path) == [one(2)]
    assert [run.data.tags["mlflow.source.git.commit"] for run in runs(where, "mine")] == [one(1).commit]


@pytest.mark.parametrize("planted", ["{}", "not JSON", line(one()).replace("PASS", "P" * 501)])
def test_a_strangers_line_is_refused_with_the_run_that_holds_it(planted: str, where: str, tmp_path: Path) -> None:
    from mlflow import MlflowClient

    client = MlflowClient((tmp_path / "runs").as_uri())
    home = client.create_experiment("assay-history")
    client.create_run(home)  # of something else
    run = client.create_run(home, tags={"fireassay.gate": "x", "fireassay.line.0000": planted})
    with pytest.raises(RecordError, match=f"run {run.info.run_id}, line 1 is not of a kept gate"):
        load(where, tmp_path)


def test_a_server_that_is_not_there_is_said_before_anything_is_measured_and_without_its_password(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    with pytest.raises(EnvironmentLacks, match=r"^experiment assay-history of http://\[redacted\]@127.0.0.1:1: ") as lacks:
        reachable("mlflow:http://me:hunter2hunter2@127.0.0.1:1", tmp_path)
    assert "hunter2" not in str(lacks.value)


def test_without_mlflow_it_says_what_to_install(where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fireassay.api.exporting.find_spec", lambda _: None)
    with pytest.raises(EnvironmentLacks, match=r"pip install 'fireassay\[mlflow\]'"):
        reachable(where, tmp_path)
