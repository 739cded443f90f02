"""Which record do `latest:KIND`, `latest:NAME` and a short name refer to?"""

from __future__ import annotations

from pathlib import Path

import pytest

from fireassay.clock import FakeClock
from fireassay.errors import RecordError
from fireassay.record.folder import create
from fireassay.record.lookup import resolve, short_name
from fireassay.spec.experiment import Experiment
from tests.record.making import experiment


def made(root: Path, spec: Experiment, second: int) -> Path:
    return create(root, spec, "", clock=FakeClock(ns=second * 10**9)).path


def call(name: str) -> Experiment:
    """An experiment of the kind `calls`."""
    spec = experiment(name)
    return spec.model_copy(update={"workload": spec.workload.model_copy(update={"runner": "command", "script": "true"})})


@pytest.fixture
def records(tmp_path: Path) -> dict[str, Path]:
    """Two trainings of one name, then one of another, then a call."""
    return {
        "old": made(tmp_path, experiment("vit"), 1),
        "new": made(tmp_path, experiment("vit"), 2),
        "other": made(tmp_path, experiment("resnet"), 3),
        "call": made(tmp_path, call("start"), 4),
    }


def test_latest_with_a_kind_or_a_name_is_the_newest_of_it(records: dict[str, Path], tmp_path: Path) -> None:
    assert resolve("latest", tmp_path) == records["call"]
    assert resolve("latest:calls", tmp_path) == records["call"]
    assert resolve("latest:training", tmp_path) == records["other"]
    assert resolve("latest:vit", tmp_path) == records["new"]
    assert resolve("latest:resnet", tmp_path) == records["other"]


def test_nothing_of_a_kind_or_name_lists_what_there_is(records: dict[str, Path], tmp_path: Path) -> None:
    with pytest.raises(RecordError, match=r"no record in .* has the kind or name 'vi'") as caught:
        resolve("latest:vi", tmp_path)
    assert "kinds: training (3), calls (1); names: vit (2), start (1), resnet (1)" in str(caught.value)
    with pytest.raises(RecordError, match="needs a kind or a name after the colon"):
        resolve("latest:", tmp_path)
    with pytest.raises(RecordError, match="has the kind or name 'serving'"):
        resolve("latest:serving", tmp_path)


def test_a_name_that_is_a_kind_too_is_ambiguous_unless_both_mean_one_record(tmp_path: Path) -> None:
    named = made(tmp_path, call("training"), 1)
    of_kind = made(tmp_path, experiment("vit"), 2)
    with pytest.raises(RecordError, match="latest:training is ambiguous") as caught:
        resolve("latest:training", tmp_path)
    assert named.name in str(caught.value)
    assert of_kind.name in str(caught.value)
    both = made(tmp_path, experiment("training"), 3)
    assert resolve("latest:training", tmp_path) == both


def test_an_unreadable_newer_record_is_reported(records: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (records["new"] / "experiment.toml").write_text("x = 1")
    assert resolve("latest:vit", tmp_path) == records["old"]
    assert "not the latest" in capsys.readouterr().err


def test_a_short_name_leaves_out_the_timestamp_and_is_understood(records: dict[str, Path], tmp_path: Path) -> None:
    folder = records["old"].name
    short = short_name(folder, "vit", folder[-6:])
    assert short == f"vit-{folder[-6:]}"
    assert resolve(short, tmp_path) == records["old"]
    assert short_name("renamed", "vit", "8f0b5f") == "renamed"
    with pytest.raises(RecordError, match="no record"):
        resolve(f"resnet-{folder[-6:]}", tmp_path)


def test_the_whole_name_of_one_experiment_is_no_prefix_of_another(tmp_path: Path) -> None:
    short = made(tmp_path, experiment("vit"), 1)
    made(tmp_path, experiment("vit1"), 2)
    made(tmp_path, experiment("vit-large"), 3)
    assert resolve("vit", tmp_path) == short
    made(tmp_path, experiment("vit"), 4)
    with pytest.raises(RecordError, match="4 records in .* begin with 'vit'"):
        resolve("vit", tmp_path)


def test_a_folder_of_other_files_does_not_hide_the_record_of_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    record, logs = made(tmp_path / "records", experiment("vit"), 1), tmp_path / "vit"
    logs.mkdir()
    assert resolve("vit", tmp_path / "records") == record
    assert resolve("./vit", tmp_path / "records") == Path("vit")
    assert resolve("vit", tmp_path / "none") == Path("vit")
