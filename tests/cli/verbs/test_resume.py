"""`assay resume` goes on with an interrupted record, and says in one sentence why it does not go on with another."""

from __future__ import annotations

from pathlib import Path

import pytest

from fireassay.api import experiment_run
from fireassay.cli import main
from fireassay.cli.support import judged
from fireassay.cli.support.judged import NOTHING_KEPT
from fireassay.errors import WorkloadError
from fireassay.exit_codes import EXIT_OF_STATUS
from fireassay.record import folder as record_folder
from fireassay.record.reader import open_record
from tests.runners.experiment.test_run import interrupted
from tests.runners.making import experiment

pytestmark = pytest.mark.slow


@pytest.fixture
def record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An interrupted record below ./records with three of its four launches made."""
    monkeypatch.chdir(tmp_path)
    return interrupted(tmp_path, experiment(), launches=3)


def test_an_interrupted_record_is_completed_judged_and_reported(record: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["resume", "latest"])
    assert open_record(record).state == "complete"
    assert code == EXIT_OF_STATUS[judged.judged(record)[1]]
    told = capsys.readouterr()
    assert "4 launches, 3 of them already done\n" in told.err
    assert told.err.count(" ok after ") == 1
    assert "report: " in told.out


def test_an_interrupted_profile_ends_as_a_profile_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing was to be timed, so that a verdict on timings would say nothing: what was profiled is told. `train.py` makes no step."""
    monkeypatch.chdir(tmp_path)
    interrupted(tmp_path, experiment(factor={"levels": [1]}, profile={"only": True}))
    assert main(["resume", "latest", "--quiet"]) == NOTHING_KEPT
    told = " ".join(capsys.readouterr().out.split())
    assert "no step was seen: the script does not use torch" in told
    assert "INCONCLUSIVE" not in told


def test_what_was_profiled_before_a_resumed_script_failed_is_told_whatever_the_record_is_like(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def failing(*_: object, **__: object) -> None:
        raise WorkloadError("the script failed")

    monkeypatch.chdir(tmp_path)
    interrupted(tmp_path, experiment(factor={"levels": [1]}, profile={"only": True}))
    monkeypatch.setattr(experiment_run, "resume", failing)
    window = {"rank": 0, "kept": 2, "seen": 8, "asked": {"wait": 1, "warm_up": 1, "active": 2, "tool": "torch"}, "trouble": "", "file": "f"}
    launch = {"configuration": "workers=1", "launch": 0, "status": "failed", "reason": "exit code 3", "folder": "f"}
    told = {"record": "records/x", "launches": [{**launch, "ranks": [], "nsys": [], "windows": [window]}]}
    monkeypatch.setattr(judged, "profile_of", lambda path: told)
    assert main(["resume", "latest", "--quiet"]) == 5
    said = capsys.readouterr()
    assert "failed: exit code 3" in said.out
    assert "the script failed" in said.err

    def unreadable(path: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(judged, "profile_of", unreadable)
    assert main(["resume", "latest", "--quiet"]) == 5  # the script's failure, and not that of telling of it
    assert "the script failed" in capsys.readouterr().err


def test_a_complete_record_is_refused_with_what_can_be_done_with_it(record: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record_folder.reopen(record).finish("complete")
    assert main(["resume", str(record)]) == 6
    assert capsys.readouterr().err == (
        f"error: {record} is complete; no launch is left to run. Show it: assay report {record}. Measure again: assay reproduce {record}.\n"
    )


@pytest.mark.deep
def test_a_changed_script_is_refused_unless_forced(record: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "train.py").write_text("print('changed')")
    assert main(["resume", str(record), "--quiet"]) == 2
    assert "assay resume --force" in capsys.readouterr().err
    main(["resume", str(record), "--quiet", "--force"])
    assert open_record(record).state == "complete"


def test_a_record_that_is_not_there_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["resume", "latest"]) == 6
    assert "no record" in capsys.readouterr().err
