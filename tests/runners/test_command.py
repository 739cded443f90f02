"""Is a command timed round by round, with fresh processes, the same number of trials, and nothing lost or left?"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from fireassay.errors import SpecError, WorkloadError
from fireassay.frames.record_data import from_record
from fireassay.record.lookup import record_folders
from fireassay.record.reader import Record, open_record
from fireassay.runners.experiment.run import run
from fireassay.spec.experiment import Experiment
from fireassay.spec.load import from_mapping
from fireassay.verdict.judge import judge

pytestmark = pytest.mark.slow


def asked(*command: str, rounds: int = 3, **timing: Any) -> Experiment:
    return from_mapping(
        {
            "name": "timed",
            "workload": {"runner": "command", "script": command[0], "arguments": list(command[1:])},
            "factor": {"levels": [1]},
            "launches": {"per_configuration": rounds},
            "noise": {"sentinel_s": 0.0},
            "timing": {"round_s": 0.001, **timing},
            "limits": {"grace_s": 0.5},
        }
    )


def made(tmp_path: Path, *command: str, **timing: Any) -> Record:
    return open_record(run(asked(*command, **timing), root=tmp_path / "records", folder=tmp_path))


@pytest.fixture(scope="module")
def record(tmp_path_factory: pytest.TempPathFactory) -> Record:
    """Three rounds of a Python that does nothing."""
    return made(tmp_path_factory.mktemp("timed"), sys.executable, "-S", "-c", "", round_s=0.05)


def test_every_round_has_the_trials_that_the_first_one_found(record: Record) -> None:
    counted = record.table("trials").filter(pl.col("warm_up") == 0).group_by("launch").len().sort("launch")
    assert counted["launch"].to_list() == [0, 1, 2]
    assert counted["len"].n_unique() == 1
    assert counted["len"][0] >= 1
    warm = record.table("trials").filter(pl.col("warm_up") == 1)
    assert warm["launch"].unique().sort().to_list() == [0, 1, 2]  # the first round may warm up longer


def test_the_record_is_sealed_judged_and_passes_without_a_quality(record: Record) -> None:
    counted = record.table("trials").filter(pl.col("warm_up") == 0).height
    judgement = judge(from_record(record))
    assert record.state == "complete"
    assert judgement.verdict.status == "MEASURED"
    assert f"a call (95 % over 3 launches, {counted} trials in all)" in judgement.verdict.sentence


def test_a_number_of_trials_that_is_asked_for_is_kept(tmp_path: Path) -> None:
    trials = made(tmp_path, sys.executable, "-S", "-c", "", trials=2, rounds=1).table("trials")
    assert trials.filter(pl.col("warm_up") == 0).height == 2


def test_what_starting_costs_stands_beside_it(record: Record) -> None:
    floors = record.table("telemetry").filter(pl.col("device") == "spawn")
    assert floors.filter(pl.col("counter") == "start").height == 3
    assert bool((floors["value"] > 0.0).all())


def test_a_failing_command_ends_the_run_and_the_record_keeps_its_last_output(tmp_path: Path) -> None:
    with pytest.raises(WorkloadError, match=r"round 1: the command ended with exit code 3; its last output: no such model"):
        made(tmp_path, sys.executable, "-c", "import sys; print('no such model', file=sys.stderr); sys.exit(3)")
    (path,) = record_folders(tmp_path / "records")
    record = open_record(path)
    assert record.state == "failed"
    assert record.table("launches")["status"].to_list() == ["failed"]
    assert record.table("trials")["exit_code"].to_list() == [3]


def test_a_round_that_fails_after_others_makes_the_whole_a_failure_and_later_ones_say_only_which_it_was(tmp_path: Path) -> None:
    code = "import pathlib, sys; p = pathlib.Path('seen'); n = int(p.read_text()) if p.exists() else 0; p.write_text(str(n + 1)); sys.exit(n == 2)"
    with pytest.raises(WorkloadError, match="round 2"):
        made(tmp_path, sys.executable, "-c", code, trials=1)
    (path,) = record_folders(tmp_path / "records")
    assert open_record(path).table("launches")["reason"].to_list()[2:] == ["round 2 failed"]


def test_a_round_that_takes_too_long_says_how_far_it_was(tmp_path: Path) -> None:
    code = "import pathlib, time; p = pathlib.Path('seen'); n = int(p.read_text()) if p.exists() else 0; p.write_text(str(n + 1)); time.sleep(100 * (n == 2))"
    asked_ = asked(sys.executable, "-c", code, trials=5)
    limits = asked_.limits.model_copy(update={"launch_timeout_s": 3.0})
    with pytest.raises(WorkloadError, match=r"after 3 s and was ended; \d trials? had ended, \d of them counted"):
        run(asked_.model_copy(update={"limits": limits}), root=tmp_path / "records", folder=tmp_path)


def test_command_output_has_no_separate_file(tmp_path: Path) -> None:
    # else a secret in it would stay in the record's folder when assay and the round are killed
    code = "import os, sys; sys.exit(any('.errors' in name for _, _, names in os.walk('records') for name in names))"
    assert made(tmp_path, sys.executable, "-c", code, trials=1, rounds=1).state == "complete"


def test_a_failure_may_be_ignored(tmp_path: Path) -> None:
    record = made(tmp_path, sys.executable, "-c", "raise SystemExit(1)", trials=1, rounds=1, ignore_failure=True)
    assert record.state == "complete"
    assert set(record.table("trials")["exit_code"]) == {1}


def test_the_command_sees_the_users_own_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    code = "import os, sys; sys.exit(any(n in os.environ for n in ('OMP_NUM_THREADS', 'FIREASSAY_LAUNCH_DIR', 'FIREASSAY_SEED')))"
    assert made(tmp_path, sys.executable, "-c", code, trials=1, rounds=1).state == "complete"


def test_a_relative_program_is_looked_for_in_the_folder(tmp_path: Path) -> None:
    tool = tmp_path / "tool"
    tool.write_text(f"#!{sys.executable}\n")
    tool.chmod(0o755)
    assert made(tmp_path, "./tool", trials=1, rounds=1).state == "complete"


@pytest.mark.parametrize(
    ("script", "found"),
    [
        ("no-such-program-anywhere", "which is not on the PATH"),
        ("./absent", "which does not exist"),
        ("./folder", "which is a folder"),
        ("./plain", "which is not executable"),
    ],
)
def test_a_program_that_cannot_start_is_refused_before_any_record(tmp_path: Path, script: str, found: str) -> None:
    (tmp_path / "plain").touch()
    (tmp_path / "folder").mkdir()
    with pytest.raises(SpecError, match=found):
        made(tmp_path, script)
    assert not (tmp_path / "records").exists()


def test_a_secret_among_the_arguments_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="an apparent secret"):
        made(tmp_path, sys.executable, "--api-key", "sk-proj-0123456789abcdef0123456789abcdef")


def test_several_levels_are_refused(tmp_path: Path) -> None:
    wrong = asked("true").model_copy(update={"factor": asked("true").factor.model_copy(update={"levels": (1, 2)})})
    with pytest.raises(SpecError, match="assay time -- ONE --- OTHER"):
        run(wrong, root=tmp_path / "records", folder=tmp_path)
