"""What a record says is run and sent without a question only if this user made the record here: every other one may be a trap."""

from __future__ import annotations

import io
import json
import os
import pty
import re
import shutil
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from fireassay.api import checking, experiment_run
from fireassay.cli import main
from fireassay.cli.support import trust
from fireassay.clock import FakeClock
from fireassay.errors import SpecError
from fireassay.record import folder as record_folder
from fireassay.record import origin
from fireassay.record.manifest import read_manifest
from fireassay.record.reader import open_record
from fireassay.record.seal import plan_signature
from fireassay.spec.experiment import Experiment
from fireassay.spec.load import from_mapping
from tests.runners.experiment.test_run import interrupted
from tests.runners.making import experiment

TRAP = "import sys; open(sys.argv[1], 'w').close()"
SERVING = {
    "name": "trap",
    "workload": {"runner": "serving", "work": "tokens"},
    "gates": {"efficiency": "none"},
    "serving": {
        "model": "m",
        "concurrency": [1],
        "targets": [
            {
                "urls": ["http://127.0.0.1:9/theirs"],
                "api_key_env": "THEIR_CHOICE",
                "headers": {"X-More": "{env:ANOTHER_CHOICE}"},
                "metrics": ["http://127.0.0.1:9/metrics"],
            }
        ],
        "prompts": {"source": "/etc/hostname"},
        "scenarios": ["dataset"],
    },
}


def trap(tmp_path: Path, *, state: Any = "interrupted", serving: bool = False, launches: int = 0) -> tuple[Path, Path]:
    """A record that somebody else made, as it arrives here, and the file that shows that its command ran."""
    shown, home = tmp_path / "it-ran", tmp_path / "theirs"
    home.mkdir()
    (home / "trap.py").write_text(TRAP)
    workload = {"script": "trap.py", "arguments": [str(shown)], "environment": {"PYTHONSTARTUP": "theirs.py"}}
    theirs = interrupted(home, from_mapping(SERVING) if serving else experiment(workload=workload), launches=launches)
    if state != "interrupted":
        record_folder.reopen(theirs).finish(state)
    (tmp_path / "records").mkdir()
    return shutil.copytree(theirs, tmp_path / "records" / theirs.name), shown


VERBS = {
    "resume": ["resume", "{}"],
    "run": ["run", "{}", "--launches", "1"],
    "run its experiment with another script": ["run", "{}", "--", "other.py"],
    "profile": ["profile", "{}"],
    "reproduce": ["reproduce", "{}"],
}


@pytest.mark.parametrize("verb", VERBS)
def test_the_command_of_a_strangers_record_is_named_and_not_run(
    verb: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "other.py").write_text("")
    record, shown = trap(tmp_path, state="interrupted" if verb == "resume" else "failed")
    assert main([word.format(record) for word in VERBS[verb]]) == 2
    told = capsys.readouterr().err
    assert "a record not made by you on this machine and in this folder; allowed: your own, or any with --trust" in told
    assert "set PYTHONSTARTUP=theirs.py" in told
    if "other.py" not in VERBS[verb]:
        assert f"run trap.py {shown} (training), in {tmp_path / 'theirs'}" in told
    assert not shown.exists()


@pytest.mark.parametrize("flags", [[], ["--check"], ["--concurrency", "2"]])
def test_the_address_and_the_variables_of_a_strangers_load_are_named_and_nothing_is_sent(
    flags: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("THEIR_CHOICE", "hunter2-hunter2")
    monkeypatch.setenv("ANOTHER_CHOICE", "swordfish-swordfish")
    record, _ = trap(tmp_path, state="failed", serving=True)
    assert main(["load", str(record), *flags]) == 2
    told = capsys.readouterr().err
    assert "send requests to http://127.0.0.1:9/theirs, with the value of $THEIR_CHOICE, $ANOTHER_CHOICE" in told
    assert "read http://127.0.0.1:9/metrics" in told
    assert "read the file /etc/hostname" in told
    assert "hunter2" not in told
    assert main(["load", str(record), "--toml"]) == 0  # sends nothing


def test_a_redacted_variable_is_named_as_one_that_would_be_passed_on(tmp_path: Path) -> None:
    from fireassay.spec.deeds import deeds

    asked = experiment(workload={"environment": {"HF_TOKEN": "[redacted]", "MODE": "fast"}})
    assert {"pass on the value of $HF_TOKEN", "set MODE=fast"} <= set(deeds(asked, tmp_path))


def test_the_interface_of_a_program_refuses_as_well(tmp_path: Path) -> None:
    record, shown = trap(tmp_path)
    with pytest.raises(SpecError, match="not made by you"):
        experiment_run.resume(record)
    assert not shown.exists()
    assert checking.Checking.trust is not None


# ---- what is the user's own, and what is not


def _own(path: Path) -> bool:
    return origin.is_own(path, read_manifest(path))


def test_a_record_made_here_is_the_users_own_at_each_of_its_stages(tmp_path: Path) -> None:
    path = interrupted(tmp_path, experiment(), launches=4)
    assert _own(path)
    record_folder.reopen(path).finish("complete")
    assert open_record(path).sealed
    assert _own(path)


def test_a_copied_or_moved_record_is_foreign(tmp_path: Path) -> None:
    path = interrupted(tmp_path, experiment())
    copied = shutil.copytree(path, tmp_path / "elsewhere")
    assert not _own(copied)
    assert not _own(path.rename(tmp_path / "moved"))


def test_another_users_record_is_foreign(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "theirs"))
    path = interrupted(tmp_path, experiment())
    assert _own(path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "mine"))
    assert not _own(path)  # no key yet
    interrupted(tmp_path, experiment())
    assert not _own(path)  # another key


def test_another_machines_record_is_foreign(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = interrupted(tmp_path, experiment())
    monkeypatch.setattr(socket, "gethostname", lambda: "another-host")
    assert not _own(path)


@pytest.mark.parametrize("how", ["experiment", "folder of the script", "mark", "no mark", "mark of another kind"])
def test_a_record_that_was_changed_or_has_no_mark_is_foreign(how: str, tmp_path: Path) -> None:
    path = interrupted(tmp_path, experiment())
    manifest = read_manifest(path)
    if how == "experiment":
        text = (path / "experiment.toml").read_text()
        (path / "experiment.toml").write_text(text.replace("train.py", "trap.py"))
    elif how == "folder of the script":
        manifest["environment"]["before"]["script"]["folder"] = "/tmp"
    elif how == "no mark":
        del manifest["origin"]
    else:
        manifest["origin"] = "0" * 64 if how == "mark" else "é"
    (path / "manifest.json").write_text(json.dumps(manifest))
    assert not _own(path)


def test_without_a_folder_for_the_key_a_record_is_made_and_foreign(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    path = interrupted(tmp_path, experiment())
    assert read_manifest(path)["origin"] == ""
    assert not _own(path)


def test_the_key_is_only_the_users(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    interrupted(tmp_path, experiment())
    assert (tmp_path / "assay" / "origin.key").stat().st_mode & 0o777 == 0o600


def test_a_load_that_assay_made_is_repeated_without_a_question(tmp_path: Path) -> None:
    asked: Experiment = from_mapping(SERVING)
    record = record_folder.create(tmp_path, asked, plan_signature(asked), clock=FakeClock())
    assert _own(record.path)


# ---- who is asked


@pytest.mark.slow
@pytest.mark.parametrize(("answer", "code", "ran"), [("\n", 130, False), ("y\n", None, True)])
def test_at_a_terminal_the_user_decides(answer: str, code: int | None, ran: bool, tmp_path: Path) -> None:
    record, shown = trap(tmp_path, launches=3)
    ours, theirs = pty.openpty()
    os.write(ours, answer.encode())
    command = [sys.executable, "-m", "fireassay", "resume", str(record), "--quiet"]
    with subprocess.Popen(command, stdin=theirs, stdout=subprocess.DEVNULL, stderr=theirs, cwd=tmp_path) as process:
        os.close(theirs)
        told = b""
        while True:
            try:
                piece = os.read(ours, 65536)
            except OSError:  # the terminal's other end is closed
                break
            if not piece:
                break
            told += piece
        ended = process.wait()
    os.close(ours)
    assert b"Run it? [y/N]" in told
    assert f"run trap.py {shown} (training)".encode() in told
    assert shown.exists() is ran, told
    assert ended == code or code is None


@pytest.mark.parametrize("answer", ["n", "no", "", "yep", "ja"])
def test_whatever_is_no_yes_is_a_no(
    answer: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(trust, "can_ask", lambda: True)
    monkeypatch.setattr("sys.stdin", io.StringIO(f"{answer}\n"))
    record, shown = trap(tmp_path)
    assert main(["resume", str(record), "--quiet"]) == 130
    assert "Run it? [y/N]" in capsys.readouterr().err
    assert not shown.exists()


@pytest.mark.slow
@pytest.mark.deep
def test_with_trust_it_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    record, shown = trap(tmp_path)
    main(["resume", str(record), "--trust", "--quiet"])
    assert shown.exists()
    assert _own(record)  # from now on it is the user's


def test_every_verb_that_runs_what_a_record_says_asks() -> None:
    """A verb that gets an experiment from a record, by whatever of these ways, has the flag and the question."""
    ways = re.compile(r"\b(?:stored|recorded_load|resume|again|run_again|Checking)\(")
    asks = ("compare", "fleet")  # the first asks `again` only what is gone, to advise; the other's history is only read
    verbs = [
        path for path in Path(origin.__file__).parents[1].glob("cli/verbs/*.py") if path.stem not in asks and ways.search(path.read_text())
    ]
    assert {path.stem for path in verbs} == {"check", "load", "profile", "reproduce", "resume", "run"}
    for path in verbs:
        assert re.search(r"\badd_trust\(parser\)", path.read_text()), path
        assert re.search(r"\ballow\(", path.read_text()), path


def test_a_dry_run_says_what_a_strangers_record_would_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    record, shown = trap(tmp_path, state="complete")
    assert main(["reproduce", str(record), "--dry-run"]) == 0
    told = capsys.readouterr().out
    assert "was not made by you on this machine and in this folder; its experiment would" in told
    assert f"run trap.py {shown} (training)" in told


def test_with_standard_input_closed_a_strangers_record_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Python's sys.stdin is None then."""
    record, shown = trap(tmp_path)
    monkeypatch.setattr(sys, "stdin", None)
    assert main(["resume", str(record)]) == 2
    assert "or any with --trust" in capsys.readouterr().err
    assert not shown.exists()
