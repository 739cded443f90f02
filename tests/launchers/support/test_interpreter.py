"""Does the script run in the Python that was named, and does the record say what is installed there?"""

from __future__ import annotations

import platform
import sys
import venv
from pathlib import Path

import pytest

from fireassay.errors import EnvironmentLacks, SpecError
from fireassay.launchers import local, plain
from fireassay.launchers.support import interpreter
from fireassay.record.environment import capture
from fireassay.record.reader import open_record
from fireassay.runners.experiment.run import run as run_experiment
from fireassay.spec.experiment import Experiment
from fireassay.spec.load import checked
from fireassay.spec.sections.workload import Launcher
from tests.launchers.helpers import request, run

SAYS_ITS_FOLDER = "import sys; print(sys.prefix)"


def answering(folder: Path, words: str) -> str:
    """A program that answers every question so."""
    program = folder / "python"
    program.write_text(f"#!/bin/sh\n{words}\n")
    program.chmod(0o755)
    return str(program)


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment in which nothing is installed."""
    folder = tmp_path_factory.mktemp("other") / "env"
    venv.create(folder, symlinks=True, with_pip=False)
    return folder


def named(python: object, script: str = "train.py", folder: Path | None = None, **launcher: object) -> Experiment:
    data = {"name": "x", "workload": {"script": script, "attach": False}, "launcher": {"python": str(python), **launcher}}
    return checked({**data, "factor": {"levels": [1]}, "launches": {"per_configuration": 1}}, folder, "the test")


def test_without_a_name_it_is_assays_own() -> None:
    assert interpreter.path(Launcher()) == sys.executable
    assert interpreter.path(Launcher(python="sh")).startswith("/")


@pytest.mark.parametrize(("answer", "torch"), [("3 11 1", True), ("3 13 0", False)])
def test_another_python_says_itself_whether_it_has_torch(tmp_path: Path, answer: str, torch: bool) -> None:
    settings = Launcher(python=answering(tmp_path, f"echo {answer}"))
    assert interpreter.has_torch(settings) is torch


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("echo 3 10 1", "is Python 3.10; the hooks in its workers need 3.11 or newer"),
        ("echo nonsense", "is no Python that starts"),
        ("echo broken >&2; exit 3", "is no Python that starts: python: broken"),
    ],
)
def test_what_cannot_run_the_script_is_refused_before_a_launch(tmp_path: Path, words: str, said: str) -> None:
    with pytest.raises(EnvironmentLacks, match=said):
        local.check(named(answering(tmp_path, words)))


def test_what_an_environment_prints_on_start_is_not_its_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "sitecustomize.py").write_text("print('hello', 7)")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    python = answering(tmp_path, f'exec {sys.executable} "$@"')
    interpreter.has_torch(Launcher(python=python))
    assert capture(python=python)["software"]["python"]["version"] == platform.python_version()


def test_a_torch_in_the_current_folder_is_not_installed(tmp_path: Path, empty: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "torch.py").write_text("")
    monkeypatch.chdir(tmp_path)
    python = answering(tmp_path, f'exec {empty}/bin/python "$@"')
    assert not interpreter.has_torch(Launcher(python=python))


def test_a_new_experiment_names_the_file_of_its_python(tmp_path: Path, empty: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "train.py").write_text("")
    monkeypatch.setenv("PATH", f"{empty}/bin:/bin")
    monkeypatch.setenv("HOME", str(tmp_path))
    named_there = [named(python, folder=tmp_path).launcher.python for python in ("env/../python", "~/python", "python3", "nowhere", "")]
    assert named_there == [f"{tmp_path}/python", f"{tmp_path}/python", f"{empty}/bin/python3", "nowhere", ""]
    assert named("python3").launcher.python == "python3"  # a record is read as it is


@pytest.mark.parametrize("path", ["there.py", "there/__main__.py"])
def test_a_module_installed_only_there_is_run_and_identified(tmp_path: Path, empty: Path, path: str) -> None:
    installed = tmp_path / "packages" / path
    installed.parent.mkdir(parents=True)
    installed.write_text(SAYS_ITS_FOLDER)
    python = answering(tmp_path, f'PYTHONPATH={tmp_path}/packages${{PYTHONPATH:+:$PYTHONPATH}} exec {empty}/bin/python "$@"')
    experiment = named(python, script="-m there", folder=tmp_path)
    record = open_record(run_experiment(experiment, folder=tmp_path, root=tmp_path / "records"))
    assert record.manifest["environment"]["before"]["script"]["path"] == str(installed)
    with pytest.raises(SpecError, match="-m elsewhere"):
        run_experiment(named(python, script="-m elsewhere", folder=tmp_path), folder=tmp_path, root=tmp_path / "records")


def test_a_missing_file_and_a_python_without_torch_are_told_apart(tmp_path: Path, empty: Path) -> None:
    with pytest.raises(EnvironmentLacks, match="is no Python that starts"):
        local.check(named(tmp_path / "none"))
    two = named(empty / "bin/python").model_copy(update={"factor": named("x").factor.model_copy(update={"levels": (1, 2)})})
    with pytest.raises(EnvironmentLacks, match=f"torch is not installed for {empty}/bin/python. Install it there: pip install torch. "):
        local.check(two)


def test_torchrun_is_that_of_the_named_python(tmp_path: Path) -> None:
    python = answering(tmp_path, "echo 3 11 1")
    words = local.command(request(tmp_path, "", workers=2, settings=Launcher(python=python)), with_torch=True)
    assert words[:4] == [python, "-P", "-m", "torch.distributed.run"]


@pytest.mark.parametrize("launcher", [local, plain])
def test_the_script_runs_there(tmp_path: Path, empty: Path, launcher: object) -> None:
    asked = request(tmp_path, SAYS_ITS_FOLDER, settings=Launcher(python=str(empty / "bin/python")))
    assert run(launcher, asked).exit_code == 0  # type: ignore[arg-type]
    assert asked.log.read_text() == f"{empty}\n"


def test_a_record_says_what_is_installed_there(tmp_path: Path, empty: Path) -> None:
    (tmp_path / "train.py").write_text(SAYS_ITS_FOLDER)
    path = run_experiment(named(empty / "bin/python"), folder=tmp_path, root=tmp_path / "records")
    for when in ("before", "after"):
        software = open_record(path).manifest["environment"][when]["software"]
        assert software["packages"] == {}
        assert software["torch"] == {"absent": "torch is not installed"}
        assert software["python"]["version"] == capture()["software"]["python"]["version"]


def test_what_a_python_does_not_tell_is_absent_and_not_assays_own(tmp_path: Path) -> None:
    software = capture(python=answering(tmp_path, "echo nonsense"))["software"]
    assert [value["absent"].split(":")[0] for value in software.values()] == ["python does not tell"] * 3


@pytest.mark.parametrize("runner", ["command", "simulated"])
def test_a_runner_that_starts_no_script_refuses_it(runner: str) -> None:
    data = {"name": "x", "workload": {"runner": runner, "script": "true"}, "launcher": {"python": "python3"}}
    with pytest.raises(SpecError, match="launcher.python"):
        checked(data, None, "the test")


def test_forked_workers_are_those_of_assays_own() -> None:
    with pytest.raises(SpecError, match="launcher.python"):
        named("python3", start="fork")
