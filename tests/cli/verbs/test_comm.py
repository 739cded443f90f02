"""Does `assay comm` do what its help says, and does it explain itself where it cannot?"""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from types import SimpleNamespace

import pytest

from fireassay import cli
from fireassay.errors import WorkloadError
from fireassay.record.lookup import record_folders
from fireassay.spec.experiment import Experiment
from fireassay.spec.load import from_mapping


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_the_first_example_of_the_help_as_a_file(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["comm", "--workers", "2,4", "--ops", "all_reduce,all_gather", "--sizes", "1K:256M", "--toml"]) == 0
    made = from_mapping(tomllib.loads(capsys.readouterr().out))
    assert made.collectives is not None
    assert (made.workload.runner, made.factor.levels) == ("collectives", (2, 4))
    assert made.collectives.operations == ("all_reduce", "all_gather")
    assert made.collectives.every_size == tuple(1024 * 4**step for step in range(10))  # 1 KiB ... 256 MiB


def test_without_flags_two_workers_reduce_up_to_16_mebibytes(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["comm", "--dry-run", "--json"]) == 0
    plan = json.loads(capsys.readouterr().out)["launches"]
    assert [one["configuration"] for one in plan] == ["workers=2"] * 5
    assert cli.main(["comm", "--toml"]) == 0
    made = from_mapping(tomllib.loads(capsys.readouterr().out))
    assert made.collectives is not None
    assert (made.collectives.every_size[0], made.collectives.every_size[-1]) == (2**10, 2**24)


class Person:
    """Somebody at a terminal who types an answer."""

    def __init__(self, answer: str) -> None:
        self.answer = answer

    def isatty(self) -> bool:
        return True

    def readline(self) -> str:
        return self.answer


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> list[Experiment]:
    """The experiments that would have been measured."""
    ran: list[Experiment] = []

    def run(experiment: Experiment, **_: object) -> Path:
        ran.append(experiment)
        raise WorkloadError("not in this test")

    monkeypatch.setattr("fireassay.api.experiment_run.run", run)
    return ran


def test_in_a_pipe_a_long_run_that_no_flag_describes_is_refused(measured: list[Experiment], capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["comm"]) == 2
    err = capsys.readouterr().err
    assert "every default takes at least 41 s: 8 sizes up to 16 MiB. Confirm it with --yes" in err
    assert "--yes" in err
    assert measured == []


@pytest.mark.parametrize("words", [["--yes"], ["--sizes", "1K:16M"], ["--workers", "2"]])
def test_a_run_that_was_confirmed_or_described_is_not_asked_about(measured: list[Experiment], words: list[str]) -> None:
    assert cli.main(["comm", *words]) == 5
    assert len(measured) == 1


@pytest.mark.parametrize(("answer", "code", "runs"), [("y\n", 5, 1), ("YES\n", 5, 1), ("\n", 130, 0), ("n\n", 130, 0), ("", 130, 0)])
def test_at_a_terminal_a_long_run_is_asked_about(
    measured: list[Experiment], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], answer: str, code: int, runs: int
) -> None:
    monkeypatch.setattr("sys.stdin", Person(answer))
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    assert cli.main(["comm", "--quiet"]) == code
    assert len(measured) == runs
    err = capsys.readouterr().err
    assert "Measure it? [y/N]" in err
    assert "Less: assay comm --sizes 1K:1M --launches 3" in err


def test_all_operations_and_an_interface(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["comm", "--ops", "all", "--interface", "eth1", "--toml"]) == 0
    made = from_mapping(tomllib.loads(capsys.readouterr().out))
    assert made.collectives is not None
    assert len(made.collectives.operations) == 9
    assert made.workload.environment == {"GLOO_SOCKET_IFNAME": "eth1", "NCCL_SOCKET_IFNAME": "eth1"}


def test_wrong_flags_are_told_together_under_their_own_names(capsys: pytest.CaptureFixture[str]) -> None:
    words = [
        "comm",
        "--workers",
        "2,x",
        "--ops",
        "all_redcue",
        "--sizes",
        "1K:big",
        "--backend",
        "smoke",
        "--root-rank",
        "5",
        "--calls",
        "0",
    ]
    assert cli.main(words) == 2
    err = capsys.readouterr().err
    for flag in ("--workers", "--ops", "--sizes", "--backend", "--calls"):
        assert f"{flag}: found" in err
    assert "whole numbers with commas and no spaces, as in 2,4" in err
    assert "a size such as 1K, 16M or 1000" in err
    assert record_folders(Path("records")) == []


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--interface", "nope0"), "--interface: found 'nope0'"),
        (("--sizes", "1G"), "--sizes: found 1073741824 bytes, for which 2 workers hold"),
        (("--dtype", "bfloat16", "--workers", "200"), "--dtype: found bfloat16 on 200 workers"),
    ],
)
def test_what_the_runner_refuses_is_told_under_the_flags_too(
    words: tuple[str, ...], told: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("psutil.virtual_memory", lambda: SimpleNamespace(total=2**30))
    assert cli.main(["comm", *words]) == 2
    err = capsys.readouterr().err
    assert told in err
    assert not any(key in err for key in ("workload.environment", "collectives."))
    assert record_folders(Path("records")) == []


def test_a_root_that_is_no_rank_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["comm", "--workers", "2,4", "--root-rank", "2", "--dry-run"]) == 2
    assert "--root-rank: found 2; allowed: a rank that exists at every level: below 2" in capsys.readouterr().err


def test_a_worker_count_that_is_none_is_not_told_as_a_wrong_root(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["comm", "--workers", "0", "--dry-run"]) == 2
    assert "--root-rank" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "flag"), [(("--workers", "2,3"), "--group-size"), (("--workers", "4", "--root-rank", "2"), "--root-rank")]
)
def test_groups_that_leave_a_rank_over_or_lack_the_root_are_refused(
    words: tuple[str, ...], flag: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["comm", *words, "--group-size", "2", "--dry-run"]) == 2
    assert f"{flag}: found" in capsys.readouterr().err


def test_a_placement_that_an_operation_does_not_have_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["comm", "--ops", "all_reduce", "--placement", "out", "--dry-run"]) == 2
    assert "torch.distributed supports only one placement for these operations" in capsys.readouterr().err


def test_a_section_without_its_runner_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.toml").write_text('name = "a"\n[workload]\nscript = "a.toml"\n[factor]\nlevels = [2]\n[collectives]\nsizes = ["1K"]\n')
    assert cli.main(["run", "a.toml", "--dry-run"]) == 2
    assert 'Write runner = "collectives" below [workload]' in capsys.readouterr().err
