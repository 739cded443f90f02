"""Which run of a tracker a launch records: of rank 0, once each, without credentials; a library that fails costs nothing."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from fireassay.clock import FakeClock
from fireassay.instruments import tracker_runs
from fireassay.instruments.callbacks.step_numbers import StepNumbers
from fireassay.instruments.recorder import singleton
from fireassay.instruments.recorder.recorder import Recorder
from fireassay.instruments.recorder.sink import Identity, MemorySink

MLFLOW = {"tracker": "mlflow", "run": "ab12", "name": "calm-fox", "address": "https://mlflow.example/api"}


class Broken:
    """A library in a state that it does not expect."""

    def __getattr__(self, _: str) -> Any:
        raise RuntimeError("not now")


def libraries(monkeypatch: pytest.MonkeyPatch, *, mlflow: Any = None, wandb: Any = None) -> None:
    monkeypatch.setitem(sys.modules, "mlflow", mlflow)
    monkeypatch.setitem(sys.modules, "wandb", wandb)


def of_mlflow(address: str = "https://me:hunter2@mlflow.example/api?token=hunter2#x") -> Any:
    run = SimpleNamespace(info=SimpleNamespace(run_id="ab12", run_name="calm-fox"))
    return SimpleNamespace(active_run=lambda: run, get_tracking_uri=lambda: address)


def recorder(rank: int = 0) -> tuple[Recorder, MemorySink]:
    sink = MemorySink()
    identity = Identity(launch=3, rank=rank, workers=2, incarnation=0, seed=1, host="here")
    return Recorder(identity, sink, now=FakeClock(ns=1_000).now_ns), sink


def noted(sink: MemorySink) -> list[dict[str, str]]:
    return [json.loads(row[-1]) for row in sink.of("events") if row[6] == tracker_runs.KIND]


@pytest.mark.parametrize("rank", [0, 1])
def test_the_active_run_is_recorded_after_the_first_step_by_rank_0_alone(rank: int, monkeypatch: pytest.MonkeyPatch) -> None:
    libraries(monkeypatch, mlflow=of_mlflow())
    probe, sink = recorder(rank)
    for _ in probe.steps([1, 2, 3]):
        with probe.phase("optimizer"):
            pass
    assert noted(sink) == ([] if rank else [MLFLOW])


def test_a_run_of_wandb_and_no_run(monkeypatch: pytest.MonkeyPatch) -> None:
    run = SimpleNamespace(id="x1", name=None, project="p", entity="team", settings=SimpleNamespace(base_url="https://api.wandb.ai"))
    libraries(monkeypatch, mlflow=SimpleNamespace(active_run=lambda: None), wandb=SimpleNamespace(run=run))
    assert list(tracker_runs.seen()) == [
        {"tracker": "wandb", "run": "x1", "project": "p", "entity": "team", "address": "https://api.wandb.ai"}
    ]
    libraries(monkeypatch, wandb=SimpleNamespace(run=None))
    assert list(tracker_runs.seen()) == []


def test_a_library_that_fails_hides_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    libraries(monkeypatch, mlflow=of_mlflow(), wandb=Broken())
    assert list(tracker_runs.seen([Broken()])) == [MLFLOW]


def test_callbacks_record_the_loggers_that_make_no_run_active(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    libraries(monkeypatch)
    monkeypatch.chdir(tmp_path)
    probe, sink = recorder()
    monkeypatch.setattr(singleton, "recorder", lambda: probe)
    numbers = StepNumbers()
    writer = SimpleNamespace(add_scalar=print, log_dir="runs/one")
    lightning = SimpleNamespace(run_id="cd34", _run_name="own", _tracking_uri="sqlite:///a.db", experiment=object())
    trackers = [SimpleNamespace(experiment=writer), SimpleNamespace(tracker=writer), SimpleNamespace(tb_writer=writer), lightning, object()]
    assert numbers.take(trackers) == {}
    assert noted(sink) == [], "nothing was logged yet"
    for _ in range(2):
        numbers._steps.append(SimpleNamespace(step_ns=5, wait_ns=None, exposed_ns=None, items=None))  # type: ignore[arg-type]
        assert numbers.take(trackers)["assay_provisional/steps"] == 1
    board = {"tracker": "tensorboard", "run": str(tmp_path / "runs/one"), "name": "one"}
    assert noted(sink) == [board, {"tracker": "mlflow", "run": "cd34", "name": "own", "address": "sqlite:///a.db"}]
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("sqlite:///mlflow.db", "sqlite:///mlflow.db"),
        ("postgresql://me:p@ss/w?rd@db:5432/runs", "postgresql://db:5432/runs"),
        ("file:///home/x/mlruns", "file:///home/x/mlruns"),
        ("./mlruns", "./mlruns"),
        ("databricks://profile", "databricks://profile"),
    ],
)
def test_an_address_keeps_no_credentials(address: str, shown: str) -> None:
    assert tracker_runs.plain(address) == shown
