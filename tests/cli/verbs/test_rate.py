"""`assay rate` serves until it is stopped, says what was kept and what to do next, and loses nothing when it is killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from fireassay.cli import main
from tests.api.rating.study import folder
from tests.limits import PROCESS_S


@contextmanager
def rating(path: Path, *flags: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A running `assay rate`, and the address that it prints."""
    command = [sys.executable, "-m", "fireassay", "rate", str(path), *flags]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout
            lines = [process.stdout.readline(), process.stdout.readline()]
            yield process, next(line.split("&rater=")[0] for line in lines if line.startswith("http"))
        finally:
            process.kill()


def answer(address: str, number: int, chosen: str, rater: str = "r1") -> None:
    base, key = address.split("/?key=")
    body = json.dumps({"rater": rater, "number": number, "answer": chosen}).encode()
    request = urllib.request.Request(f"{base}/answer", body, {"Content-Type": "application/json", "X-Assay-Key": key})
    with urllib.request.urlopen(request, timeout=PROCESS_S) as reply:
        assert json.load(reply)["done"] == number + 1


@pytest.mark.slow
@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM])
def test_it_ends_with_what_was_kept_and_the_next_command(stop: signal.Signals, tmp_path: Path) -> None:
    path = folder(tmp_path / "study", 3)
    with rating(path) as (process, address):
        for number in range(3):
            answer(address, number, "tie")
        process.send_signal(stop)
        out, err = process.communicate(timeout=PROCESS_S)
    assert (process.returncode, err) == (0, "")
    assert f"kept 3 answers of 1 rater in {path / 'ratings.csv'}; go on" in out
    assert f"next: assay score {path / 'ratings.csv'} --ratings pairs" in out


@pytest.mark.slow
@pytest.mark.survival
def test_what_was_accepted_is_there_after_a_kill(tmp_path: Path) -> None:
    path = folder(tmp_path / "study", 10)
    with rating(path) as (process, address):
        for number in range(6):
            answer(address, number, "first")
        os.kill(process.pid, signal.SIGKILL)
        process.wait(PROCESS_S)
    assert len((path / "ratings.csv").read_text().splitlines()) == 7
    with rating(path) as (process, address):
        answer(address, 6, "first")


@pytest.mark.slow
def test_a_winner_is_named_once_it_may_be(tmp_path: Path) -> None:
    path = folder(tmp_path / "study", 12)
    with rating(path) as (process, address):
        base, key = address.split("/?key=")
        for number in range(12):
            with urllib.request.urlopen(f"{base}/next?key={key}&rater=r1", timeout=PROCESS_S) as reply:
                first = json.load(reply)["shown"][0]["text"]
            answer(address, number, "first" if first.startswith("BETA") else "second")
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=PROCESS_S)
    assert err.count("stop: ben wins over ann") == 1
    assert "stop: ben wins over ann" in out


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (["nothing"], "a folder with items.jsonl"),
        (["."], "neither items.jsonl nor items.csv"),
        (["study", "--port", "99999"], "0 takes a free one"),
        (["study", "--each", "0"], "1 or more"),
        (["alone"], "Rate one alone with --likert."),
    ],
)
def test_what_cannot_be_is_refused_before_anything_listens(
    flags: list[str], words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    folder(tmp_path / "study", 2)
    (tmp_path / "alone").mkdir()
    (tmp_path / "alone" / "items.jsonl").write_text('{"item": "1", "sides": {"a": "x"}}\n')
    assert main(["rate", *flags]) == 2
    assert words in capsys.readouterr().err
    assert not (tmp_path / "alone" / "ratings.csv").exists()
