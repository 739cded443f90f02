"""`assay gate`: from a command and a base to an exit code, a JUnit file and a comment, with nothing left behind."""

from __future__ import annotations

import errno
import json
import shlex
import subprocess
from pathlib import Path
from xml.etree import ElementTree

import pytest

from fireassay import catalog, cli
from fireassay.api.gating import Gate
from fireassay.cli import main
from fireassay.cli.support.verb import share
from fireassay.cli.verbs.gate import MARGIN, _asked, _compare, _repeated, _take_margin
from fireassay.errors import SpecError
from fireassay.record import files


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


def test_a_python_script_alone_is_a_training_on_one_worker(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").touch()
    experiment, _ = _asked(parsed("main", "--", "train.py", "-x"))  # type: ignore[arg-type]
    assert (experiment.workload.runner, experiment.factor.levels, experiment.workload.arguments) == ("training", (1,), ("-x",))
    assert "as a command: python train.py" in capsys.readouterr().err
    (tmp_path / "train.py").chmod(0o755)
    assert _asked(parsed("main", "--", "./train.py"))[0].workload.runner == "command"  # type: ignore[arg-type]


def test_a_line_of_the_shell_that_ends_in_a_script_is_a_command() -> None:
    experiment, _ = _asked(parsed("main", "--shell", "--", "python3 work.py"))  # type: ignore[arg-type]
    assert (experiment.workload.runner, experiment.workload.arguments) == ("command", ("-c", "python3 work.py"))


GIVEN = [
    ("--margin", "3%", "--merge-base", "--setup", "make all", "--setup=-x", "--accept", "pass,inconclusive", "--budget", "9m"),
    ("--workers", "2", "--root", "r s"),
    ("--shell", "--primary", "trial_cpu_time"),
]


@pytest.mark.parametrize("words", GIVEN, ids=" ".join)
def test_the_words_of_the_same_gate_ask_the_same(words: tuple[str, ...]) -> None:
    before = parsed("main", *words, "--pairs", "7")
    words_again = _repeated(before)  # type: ignore[arg-type]
    after = parsed("main", *words_again)
    assert "--pairs" not in words_again
    assert {**vars(before), "pairs": None} == vars(after)


def test_of_a_full_disk_a_gate_does_not_say_that_it_can_be_resumed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], repository: Path
) -> None:
    def full(_: Gate) -> None:
        raise files.explain(OSError(errno.ENOSPC, "full"), Path("records"), "write")

    monkeypatch.setattr(Gate, "run", full)
    assert main(["gate", "main", "--quiet", "--", "true"]) == 6
    said = " ".join(capsys.readouterr().err.split())
    assert "Free some space and run the same command again" in said
    assert "resume" not in said


def test_the_page_of_the_last_gate_is_no_file_of_the_change(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], repository: Path
) -> None:
    def stopped(_: Gate) -> None:
        raise files.explain(OSError(errno.ENOSPC, "full"), Path("records"), "write")

    monkeypatch.setattr(Gate, "run", stopped)
    (repository / "gate.html").touch()
    assert main(["gate", "main", "--html", "--", "true"]) == 6
    assert "untracked" not in capsys.readouterr().err


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
def test_a_change_that_waits_much_longer_fails_and_nothing_is_left(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (repository / "work.py").write_text("import time\n\ntime.sleep(3.0)\n")
    code = main(
        ["gate", "main", "--pairs", "6", "--junit", "gate.xml", "--markdown", "gate.md", "--", "python", "work.py", "--margin", "5%"]
    )
    shown = capsys.readouterr()
    assert code == 1, shown
    assert shown.out.startswith("FAIL  ")
    assert "remeasured once" in shown.out
    assert "with its uncommitted changes" in " ".join(shown.out.split())
    power = ("smallest change these pairs could show", "too few pairs to")  # the other where the machine is busy
    assert any(words in " ".join(shown.out.split()) for words in power)
    assert ElementTree.parse("gate.xml").getroot().get("failures") == "1"
    assert len(Path("gate.md").read_text().splitlines()) <= 25
    assert git(repository, "worktree", "list").count("\n") == 0
    assert len(list(Path("records/gates").iterdir())) == 4
    assert [path.name for path in Path("records").iterdir()] == ["gates"]


def test_a_command_that_fails_is_an_error_in_every_file(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = ["--junit", "gate.xml", "--markdown", "gate.md", "--badge", "gate.svg"]
    assert main(["gate", "main", "--pairs", "3", "--quiet", *files, "--", "python", "-c", "raise SystemExit(3)"]) == 5
    assert all("exit code 3" in Path(name).read_text() for name in ("gate.md", "gate.svg"))
    (error,) = ElementTree.parse(repository / "gate.xml").getroot().findall("testcase/error")
    assert "exit code 3" in error.attrib["message"]
    assert "exit code 3" in " ".join(capsys.readouterr().err.split())


@pytest.mark.deep
@pytest.mark.slow
def test_the_compare_that_a_failed_gate_offers_decides_as_the_gate_did(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A change that waits less and computes eight times as much: wall time would decide otherwise."""
    script = "import time\n\nsum(range({n}))\ntime.sleep({s})\n"
    (repository / "work.py").write_text(script.format(n=1_000_000, s=0.4))
    git(repository, "commit", "-q", "-a", "-m", "slow")
    (repository / "work.py").write_text(script.format(n=8_000_000, s=0))
    assert main(["gate", "main", "--primary", "trial_cpu_time", "--pairs", "6", "--quiet", "--", "python", "work.py"]) == 1
    shown = capsys.readouterr().out
    command = shlex.split(shown[shown.index("assay compare") :].partition("\nrecord")[0].replace("\\\n", " "))
    assert main([*command[1:-1], "--json", "--quiet"]) == 0
    [decisive] = [change for change in json.loads(capsys.readouterr().out)["changes"] if change["primary"]]
    assert (decisive["metric"], decisive["outcome"]) == ("trial_cpu_time", "worse")


@pytest.mark.parametrize("words", [(), ("--primary", "trial_cpu_time")])
def test_the_compare_that_a_gate_offers_is_decided_by_the_metric_of_the_gate(words: tuple[str, ...]) -> None:
    offered = _compare(parsed("main", *words, "--", "true"), [Path("a"), Path("b")])  # type: ignore[arg-type]
    arguments = cli.parser(catalog.load("cli.verbs", "compare")).parse_args(offered[2:])
    assert (arguments.records, arguments.primary) == (["a", "b"], words[1] if words else None)


@pytest.mark.deep
@pytest.mark.slow
def test_a_script_that_the_base_lacks_is_named(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (repository / "new.py").touch()
    assert main(["gate", "main", "--quiet", "--", "python", "new.py"]) == 5
    assert "main has no new.py" in capsys.readouterr().err
    assert git(repository, "worktree", "list").count("\n") == 0
