"""`assay gate`: from a command and a base to an exit code, a JUnit file and a comment, with nothing left behind."""

from __future__ import annotations

import subprocess
from pathlib import Path
from xml.etree import ElementTree

import pytest

from fireassay import catalog, cli
from fireassay.cli import main
from fireassay.cli.support.verb import share
from fireassay.cli.verbs.gate import MARGIN, _asked, _take_margin
from fireassay.errors import SpecError


def git(folder: Path, *words: str) -> str:
    identity = ["-c", "user.name=test", "-c", "user.email=test@example.org", "-c", "commit.gpgsign=false"]
    return subprocess.run(["git", *identity, "-C", str(folder), *words], capture_output=True, text=True, check=True).stdout.strip()


def parsed(*words: str) -> object:
    arguments = cli.parser(catalog.load("cli.verbs", "gate")).parse_args(list(words))
    _take_margin(arguments)
    return arguments


def test_a_margin_is_a_share_or_in_per_cent() -> None:
    assert share("5%") == share("5 %") == share("0.05") == 0.05


@pytest.mark.parametrize(
    ("words", "margin", "command"),
    [
        (("--", "python", "work.py"), MARGIN, ["python", "work.py"]),
        (("--margin", "3%", "--", "python", "work.py"), 0.03, ["python", "work.py"]),
        (("--", "python", "work.py", "--margin", "3%"), 0.03, ["python", "work.py"]),
        (("--margin", "3%", "--", "work", "-x", "--margin", "9%"), 0.03, ["work", "-x", "--margin", "9%"]),
        (("--", "work", "-x", "--margin", "wide"), MARGIN, ["work", "-x", "--margin", "wide"]),
    ],
)
def test_the_margin_may_end_the_command(words: tuple[str, ...], margin: float, command: list[str]) -> None:
    arguments = parsed("main", *words)
    assert (arguments.margin, [*arguments.after_dashes]) == (margin, command)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("words", "name"), [(("python", "-u", "my work.py", "-n"), "my-work"), (("./tool", "x"), "tool"), (("bash", "run.sh"), "run")]
)
def test_a_record_is_named_after_what_is_measured(words: tuple[str, ...], name: str) -> None:
    experiment, folder = _asked(parsed("main", "--", *words))  # type: ignore[arg-type]
    assert (experiment.name, folder, experiment.workload.script) == (name, Path(), words[0])


def test_workers_make_it_a_training(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").touch()
    experiment, _ = _asked(parsed("main", "--workers", "2", "--", "train.py"))  # type: ignore[arg-type]
    assert (experiment.workload.runner, experiment.factor.levels, experiment.workload.script) == ("training", (2,), "train.py")


def test_every_wrong_flag_is_named_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["gate", "main", "--pairs", "2", "--budget", "soon", "--primary", "speed", "--", "true"]) == 2
    shown = capsys.readouterr().err
    assert [flag in shown for flag in ("--pairs: found 2", "--budget: found soon", "--primary: found speed")] == [True] * 3
    with pytest.raises(SpecError, match="a command after --"):
        _asked(parsed("main"))  # type: ignore[arg-type]


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """main holds a script that sleeps for 0.1 s; the working directory."""
    folder = tmp_path / "repository"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    (folder / "work.py").write_text("import time\n\ntime.sleep(0.1)\n")
    git(folder, "add", "work.py")
    git(folder, "commit", "-q", "-m", "base")
    monkeypatch.chdir(folder)
    return folder


@pytest.mark.deep
@pytest.mark.slow
def test_a_change_that_waits_five_times_as_long_fails_and_nothing_is_left(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (repository / "work.py").write_text("import time\n\ntime.sleep(0.5)\n")
    code = main(["gate", "main", "--junit", "gate.xml", "--markdown", "gate.md", "--", "python", "work.py", "--margin", "5%"])
    shown = capsys.readouterr()
    assert code == 1, shown
    assert shown.out.startswith("FAIL  ")
    assert "remeasured once" in shown.out
    assert "with its uncommitted changes" in " ".join(shown.out.split())
    assert "smallest change these pairs could show" in " ".join(shown.out.split())
    assert ElementTree.parse("gate.xml").getroot().get("failures") == "1"
    assert len(Path("gate.md").read_text().splitlines()) <= 25
    assert git(repository, "worktree", "list").count("\n") == 0
    assert len(list(Path("records/gates").iterdir())) == 4
    assert [path.name for path in Path("records").iterdir()] == ["gates"]


@pytest.mark.deep
@pytest.mark.slow
def test_a_script_that_the_base_lacks_is_named(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (repository / "new.py").touch()
    assert main(["gate", "main", "--quiet", "--", "python", "new.py"]) == 5
    assert "main has no new.py" in capsys.readouterr().err
    assert git(repository, "worktree", "list").count("\n") == 0
