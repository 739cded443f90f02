"""A shell completes what the command line knows, and a hostile name of a folder is never run."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from fireassay import catalog
from fireassay.cli.verbs.completion import SHELLS, names, script
from tests.limits import PROCESS_S

HOSTILE = "$(touch pwned)"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with two records, a hostile one, and an experiment file."""
    for name in ("vit-20260102T000000Z-bbbbbb", "digits-20260103T000000Z-aaaaaa", HOSTILE):
        (tmp_path / "records" / name).mkdir(parents=True)
        (tmp_path / "records" / name / "manifest.json").write_text("{}")
    (tmp_path / "digits.toml").write_text("")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_names_are_those_of_records_newest_first_with_the_words_for_the_newest(folder: Path) -> None:
    told = list(names("records", Path("records")))
    assert told[0] == "latest"
    assert {f"latest:{kind}" for kind in catalog.names("kinds")} < set(told)
    assert told[-2:] == ["digits-20260103T000000Z-aaaaaa", "vit-20260102T000000Z-bbbbbb"]
    assert "digits.toml" not in told
    assert next(names("targets", Path("records"))) == "digits.toml"


@pytest.mark.parametrize("shell", SHELLS)
def test_every_verb_is_in_the_script_of_every_shell(shell: str) -> None:
    text = script(shell)
    assert [verb for verb in catalog.names("cli.verbs") if verb not in text] == []
    assert "completion --names records" in text


@pytest.mark.parametrize("shell", SHELLS)
def test_every_script_is_one_that_its_shell_reads(shell: str, tmp_path: Path) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    (tmp_path / "script").write_text(script(shell))
    done = subprocess.run([shell, "-n", "script"], cwd=tmp_path, capture_output=True, text=True, timeout=PROCESS_S, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def completed(folder: Path, *words: str) -> list[str]:
    """What bash offers for the last word."""
    program = folder / "bin" / "assay"
    program.parent.mkdir(exist_ok=True)
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m fireassay "$@"\n')
    program.chmod(0o755)
    (folder / "script").write_text(script("bash"))
    code = 'source ./script; COMP_WORDS=(assay "$@"); COMP_CWORD=$#; _shtab_assay; printf "%s\\n" "${COMPREPLY[@]}"'
    path = f"{program.parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", code, "bash", *words], cwd=folder, env=os.environ | {"PATH": path}, capture_output=True, text=True, timeout=PROCESS_S
    )
    assert done.stderr == ""
    return done.stdout.split()


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (("veri",), ["verify"]),
        (("list", "--col"), ["--color"]),
        (("list", "--color", "n"), ["never"]),
        (("run", "--scaling", "st"), ["strong"]),
        (("run", "dig"), ["digits.toml", "digits-20260103T000000Z-aaaaaa"]),
        (("compare", "latest", "vit"), ["vit-20260102T000000Z-bbbbbb"]),
        (("check", "latest", "--against", "vit"), ["vit-20260102T000000Z-bbbbbb"]),
        (("check", "latest", "--primary", "throughpu"), ["throughput"]),
    ],
)
def test_bash_completes(folder: Path, words: tuple[str, ...], offered: list[str]) -> None:
    assert completed(folder, *words) == offered


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
def test_the_name_of_a_folder_is_never_run(folder: Path) -> None:
    assert HOSTILE not in completed(folder, "report", "")
    assert not (folder / "pwned").exists()
