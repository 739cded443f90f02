"""Do `fireassay.run`, `load` and `compare` the same as the verbs, without printing and without exiting?"""

from __future__ import annotations

import os
import signal
import warnings
from pathlib import Path
from typing import Any

import pytest

import fireassay
from fireassay.api import experiment_run, load_fit, measuring
from fireassay.errors import Interrupted, SpecError
from fireassay.spec.flags.load import add_flags, experiment_from
from fireassay.spec.load import to_toml
from tests.api.conftest import GOOD
from tests.simulated_made import experiment


def test_a_run_returns_its_record_and_prints_nothing(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    record = fireassay.run(experiment(levels=(1, 2), launches=3, sweep=False), root=tmp_path)
    assert (record.state, record.sealed, record.path.parent) == ("complete", True, tmp_path)
    assert record.metrics.filter(metric="speedup").height == 2
    assert capfd.readouterr() == ("", "")


def test_a_file_is_run_like_its_experiment_with_its_script_beside_it(tmp_path: Path) -> None:
    asked = experiment(levels=(1,), launches=3, sweep=False)
    (tmp_path / "simulated.toml").write_text(to_toml(asked))
    assert fireassay.read_experiment(tmp_path / "simulated.toml") == asked
    assert fireassay.run(tmp_path / "simulated.toml", root=tmp_path / "records").experiment == asked


def test_ctrl_c_keeps_what_was_measured(tmp_path: Path) -> None:
    def stop(progress: Any) -> None:
        os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(Interrupted, match="assay resume"):
        fireassay.run(experiment(levels=(1, 2), launches=3, sweep=False), root=tmp_path, on_progress=stop)
    record = fireassay.open("latest", root=tmp_path)
    assert record.state == "interrupted"
    assert record.table("launches").height < 6


def test_the_arguments_of_a_load_are_the_flags_of_the_verb(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import argparse

    parser = argparse.ArgumentParser()
    add_flags(parser)
    words = [
        "http://localhost:1",
        "--model",
        "tiny",
        "--concurrency",
        "1,8",
        "--slo",
        "ttft=0.2,tpot=0.05",
        "--duration",
        "30s",
        "--goodput",
    ]
    expected = experiment_from(parser.parse_args(words))
    ran: list[Any] = []
    monkeypatch.setattr(experiment_run, "run", lambda asked, **_: ran.append(asked) or GOOD)
    record = fireassay.load(
        "http://localhost:1", model="tiny", concurrency=[1, 8], slo="ttft=0.2,tpot=0.05", duration="30s", goodput=True, root=tmp_path
    )
    assert (ran, record.path) == ([expected], GOOD)


def test_a_load_fits_its_requests_as_the_verb_s_does(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    ran: list[Any] = []
    monkeypatch.setattr(experiment_run, "run", lambda asked, **_: ran.append(asked) or GOOD)
    monkeypatch.setattr(load_fit, "one_request", lambda *_: 5.0)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        fireassay.load("http://localhost:1", model="tiny", root=tmp_path)
        fireassay.load("http://localhost:1", model="tiny", duration="10s", root=tmp_path)
    notes = [str(warning.message) for warning in told]
    assert any("so a launch lasts 50 s instead of 10 s" in note for note in notes)
    assert any("--duration 50s" in note for note in notes)
    assert [asked.serving.arrivals.duration_s for asked in ran] == [50.0, 10.0]


def test_every_wrong_argument_of_a_load_is_named_before_anything_is_sent() -> None:
    with pytest.raises(SpecError) as caught:
        fireassay.load("http://localhost:1", modl="tiny", concurency=3)
    assert [(problem.where, problem.fix) for problem in caught.value.problems] == [
        ("modl", "Did you mean model?"),
        ("concurency", "Did you mean concurrency?"),
    ]
    with pytest.raises(SpecError, match=r"--concurrency: found many"):
        fireassay.load("http://localhost:1", concurrency="many")
    with pytest.raises(SpecError, match="--goodput: found 3"):
        fireassay.load("http://localhost:1", model="tiny", goodput=3)
    with pytest.raises(SpecError, match="urls: found nothing"):
        fireassay.load()


def test_a_list_becomes_commas_or_a_repeated_flag() -> None:
    namespace = measuring._namespace(("http://a:1",), {"rate": (5, 10.5), "header": ["a: b"], "goodput": "ttft=1"})
    assert (namespace.key_rate, namespace.goodput, namespace.urls) == ("5,10.5", "ttft=1", ["http://a:1"])
    assert namespace.key_header == ["a: b"]


def test_a_comparison_is_a_frame_a_sentence_and_a_table(record: fireassay.Record) -> None:
    result = fireassay.compare(record, at=["workers=1", "workers=2"], primary="step_time")
    assert result.outcomes == {"workers=2": "improved"}
    assert result.quality == {"workers=2": "HELD"}
    row = result.changes.row(0, named=True)
    assert (row["metric"], row["primary"]) == ("step_time", True)
    assert row["low"] < row["ratio"] < row["high"] < 1.0
    assert str(result) == result.sentence
    assert "−41 % [−66, −0.9]" in result._repr_html_()


def test_records_are_compared_by_name_path_or_handle(folder: Path) -> None:
    asked = experiment(levels=(1, 2), launches=3, sweep=False)
    first, second = (fireassay.run(asked, root=folder / "records") for _ in range(2))
    result = fireassay.compare(first, second.name, root=folder / "records", force=True)
    assert (result.state, len(result.sides)) == ("incomparable", 2), "a simulated record is no evidence"
    assert result.outcomes == {}
    assert "incomparable" in repr(result)


def test_a_record_is_not_compared_with_itself(record: fireassay.Record) -> None:
    with pytest.raises(SpecError, match="the same record"):
        fireassay.compare(record, record)
