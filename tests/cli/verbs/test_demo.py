"""`assay demo` brings its example along: it copies, keeps what the user changed, runs and judges."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from fireassay.cli import main
from fireassay.cli.support import progress
from fireassay.cli.verbs import demo
from fireassay.spec.experiment import Experiment
from fireassay.spec.load import load


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[tuple[Experiment, Path, Path]]:
    """What would be run, instead of running it; torch counts as installed."""
    calls: list[tuple[Experiment, Path, Path]] = []

    def noted(experiment: Experiment, _: argparse.Namespace, *, folder: Path, root: Path, tables: bool) -> int:
        assert tables
        calls.append((experiment, folder, root))
        return 4

    monkeypatch.setattr(progress, "run_and_judge", noted)
    monkeypatch.setattr(demo, "find_spec", lambda _: object())
    monkeypatch.chdir(tmp_path)
    return calls


def test_the_example_is_copied_and_run_and_the_exit_code_is_the_verdicts(
    ran: list[tuple[Experiment, Path, Path]], repository: Path
) -> None:
    assert main(["demo"]) == 4
    [(experiment, folder, root)] = ran
    assert (experiment.name, folder, root) == ("demo", Path("fireassay-demo"), Path("fireassay-demo/records"))
    assert (folder / experiment.workload.script).is_file()
    for name in demo.FILES:
        assert (folder / name).read_bytes() == (repository / "examples" / name).read_bytes()


@pytest.mark.parametrize(("words", "name", "launches"), [([], "demo", 3), (["--whole"], "digits", 5)])
def test_the_whole_example_is_asked_for_by_name(
    ran: list[tuple[Experiment, Path, Path]], words: list[str], name: str, launches: int
) -> None:
    main(["demo", "--folder", "here", *words])
    [(experiment, folder, _)] = ran
    assert (experiment.name, experiment.launches.per_configuration, folder) == (name, launches, Path("here"))


def test_what_the_user_changed_is_kept_and_said(ran: list[tuple[Experiment, Path, Path]], capsys: pytest.CaptureFixture[str]) -> None:
    main(["demo"])
    changed = Path("fireassay-demo/demo.toml")
    changed.write_text(changed.read_text().replace("per_configuration = 3", "per_configuration = 4"))
    capsys.readouterr()
    main(["demo"])
    assert ran[-1][0].launches.per_configuration == 4
    assert f"{changed} differs from the packaged one and is used as it is" in capsys.readouterr().err


@pytest.mark.usefixtures("ran")
def test_without_torch_the_command_that_installs_it_is_said_and_nothing_is_copied(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(demo, "find_spec", lambda _: None)
    assert main(["demo"]) == 7
    assert "-m pip install torch" in capsys.readouterr().err
    assert not Path("fireassay-demo").exists()


@pytest.mark.usefixtures("ran")
def test_a_folder_that_cannot_be_written_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    Path("file").write_text("")
    assert main(["demo", "--folder", "file"]) == 6
    assert "Choose another folder with --folder." in capsys.readouterr().err


def test_the_list_names_every_file(ran: list[tuple[Experiment, Path, Path]], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "--list"]) == 0
    shown = capsys.readouterr().out
    assert all(name in shown for name in demo.FILES)
    assert ran == []


def test_where_nothing_can_be_forked_torch_is_imported_anew(
    repository: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from fireassay.launchers import local

    experiment = load(repository / "examples" / "demo.toml")
    monkeypatch.setattr(local, "no_fork", lambda: "")
    assert demo.startable(experiment).launcher.start == "fork"
    monkeypatch.setattr(local, "no_fork", lambda: "/dev/kfd exists")
    assert demo.startable(experiment).launcher.start == "exec"
    assert "imports torch anew, which takes longer: /dev/kfd exists" in capsys.readouterr().err


def test_with_quiet_there_is_no_note(ran: list[tuple[Experiment, Path, Path]], capsys: pytest.CaptureFixture[str]) -> None:
    main(["demo"])
    Path("fireassay-demo/digits/DIGITS.md").write_text("mine")
    capsys.readouterr()
    main(["demo"])
    assert "differs from the packaged one" in capsys.readouterr().err
    main(["demo", "--quiet"])
    assert capsys.readouterr().err == ""
    assert len(ran) == 3
