"""`assay time`: commands are split, timed, shown, compared, and failures have their exit code."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from fireassay import cli
from fireassay.api.again import unready
from fireassay.cli.verbs.time import commands, labels, named
from fireassay.errors import SpecError
from tests.limits import PROCESS_S

QUICK = ("--launches", "3", "--round", "0.001", "--trials", "2", "--quiet")
PYTHON = (sys.executable, "-S", "-c")


def assay(tmp_path: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "fireassay", "time", *words],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=PROCESS_S,
        check=False,
        stdin=subprocess.DEVNULL,
    )


def test_three_dashes_part_commands_and_two_dashes_stay_in_them() -> None:
    words = ["a", "-x", "--", "y", "---", "b"]
    assert commands(words, shell=False) == [["a", "-x", "--", "y"], ["b"]]


def test_a_line_for_the_shell_is_one_word() -> None:
    assert commands(["ls | wc -l", "---", "ls", "-l"], shell=True) == [["/bin/sh", "-c", "ls | wc -l"], ["/bin/sh", "-c", "ls -l"]]


@pytest.mark.parametrize("shell", [False, True])
@pytest.mark.parametrize("words", [[], ["---"], ["a", "---"], ["---", "a"], [""], ["  "], ["a", "---", ""]])
def test_an_empty_command_is_refused_with_an_example(words: list[str], shell: bool) -> None:
    with pytest.raises(SpecError, match="For example: assay time --"):
        commands(words, shell=shell)


def test_the_same_command_twice_gets_numbers() -> None:
    assert labels([["true"], ["true"], ["ls", "a b"]], shell=False) == ["true (1)", "true (2)", "ls 'a b'"]


def test_a_label_is_one_line_that_steers_no_terminal() -> None:
    assert labels([["echo", "\x1b[31mred\nü\u202e"]], shell=False) == [r"echo '\x1b[31mred\nü\u202e'"]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_command_of_bytes_that_are_no_text_is_refused(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["time", *QUICK, "--", sys.executable, os.fsdecode(b"\xff")]) == 2  # as the interpreter decodes the command line
    assert r"workload.arguments[0]: found '\udcff'; allowed: UTF-8 text" in capsys.readouterr().err
    assert not (here / "records").exists()


def test_one_command_is_timed_and_the_record_named(tmp_path: Path) -> None:
    done = assay(tmp_path, *QUICK, "--full", "--", *PYTHON, "")
    assert done.returncode == 0, done.stderr
    first, *rows = done.stdout.splitlines()
    assert first.startswith(sys.executable)
    named = [row.split()[0] for row in rows if row and row[0].islower()]
    assert named[:5] == ["time", "spread", "processor", "memory", "floor"]
    (record,) = [row.partition(": ")[2] for row in rows if row.startswith("record: ")]
    assert (tmp_path / record / "SEAL").is_file()


@pytest.mark.deep
def test_two_commands_are_made_in_turn_and_compared(tmp_path: Path) -> None:
    done = assay(tmp_path, *QUICK, "--json", "--", *PYTHON, "", "---", *PYTHON, "import time; time.sleep(0.2)")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert [one["launches"] for one in found["commands"]] == [3, 3]
    (pair,) = found["against_first"]
    assert pair["ratio"] > 1.0  # one of them sleeps for 0.2 s at each start
    manifests = [json.loads((tmp_path / one["record"] / "manifest.json").read_text()) for one in found["commands"]]
    assert manifests[0]["session"]["id"] == manifests[1]["session"]["id"]


@pytest.mark.deep
def test_two_commands_that_were_timed_apart_are_measured_in_turn_by_one_command(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for text in ("x = 'a b'", "x = 'c'"):
        assert cli.main(["time", *QUICK, "--", *PYTHON, text]) == 0
    asked = ["compare", *sorted(str(path) for path in (here / "records").iterdir()), "--varying", "workload.arguments"]
    capsys.readouterr()
    assert cli.main(asked) == 4
    shown = capsys.readouterr().out.partition("next ")[2].replace("\\\n", "").split("record ")[0]
    words = shlex.split(shown.partition("assay ")[2])
    assert words[:2] == ["time", "--"]
    ours, theirs = commands(words[2:], shell=False)
    assert {tuple(ours), tuple(theirs)} == {(*PYTHON, "x = 'a b'"), (*PYTHON, "x = 'c'")}


def test_a_word_that_the_record_does_not_hold_makes_no_command() -> None:
    assert unready(["curl", "-H", "key: [redacted]"])
    assert unready(["a", "---"])
    assert not unready(["a", "--", "b c"])


def test_a_failing_command_is_exit_5_with_its_last_words(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["time", *QUICK, "--", *PYTHON, "import sys; sys.exit('no such model')"]) == 5
    assert "its last output: no such model" in capsys.readouterr().err
    assert len(list((here / "records").iterdir())) == 1


def test_a_command_before_the_dashes_is_told_where_it_belongs(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        cli.main(["time", "sort", "data.txt"])
    assert "A command follows --, as in: assay time -- sort data.txt." in capsys.readouterr().err


@pytest.mark.usefixtures("here")
def test_a_command_that_is_not_there_is_exit_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["time", *QUICK, "--", "no-such-program-anywhere"]) == 2
    assert "which is not on the PATH" in capsys.readouterr().err


@pytest.mark.deep
def test_what_a_command_prints_can_be_shown(tmp_path: Path) -> None:
    done = assay(tmp_path, *QUICK, "--show-output", "--", *PYTHON, "print('hello')")
    assert "\nhello\n" in done.stdout


@pytest.mark.survival
@pytest.mark.core
@pytest.mark.deep
def test_ctrl_c_ends_the_command_and_keeps_what_was_measured(tmp_path: Path) -> None:
    code = "import os, pathlib, time; pathlib.Path('pid').write_text(str(os.getpid())); time.sleep(100)"
    words = [sys.executable, "-m", "fireassay", "time", "--quiet", "--", *PYTHON, code]
    process = subprocess.Popen(words, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    pid = tmp_path / "pid"
    while not (pid.exists() and pid.read_text()):
        assert process.poll() is None
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=PROCESS_S)
    assert process.returncode == 130
    assert "assay resume" in errors
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text()), 0)


def test_bad_numbers_are_told_by_their_flag(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    assert cli.main(["time", "--launches", "0", "--", sys.executable]) == 2
    assert "--launches: found 0" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("sleep 0.1", "sleep"),
        ("./bench.sh --fast", "bench"),
        ("python3 train.py --epochs 3", "train"),
        ("/usr/bin/python3.11 -X dev work.py", "python3"),
        ("python -u train.py", "train"),
        ("python -m pkg.train", "pkg-train"),
        ("python3 -c pass", "python3"),
        ("bash build.sh", "build"),
        ("curl --header token.txt", "curl"),
    ],
)
def test_a_record_is_named_after_the_script_or_the_program(command: str, name: str) -> None:
    assert named(command.split()) == name
