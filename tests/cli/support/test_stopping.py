"""Whoever stops assay is told by what it was stopped, and whether there is a record."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from fireassay.cli import main
from tests.record.making import unfinished

SAID = {
    signal.SIGTERM: "assay: stopped by a termination signal",
    signal.SIGHUP: "assay: stopped by the end of the terminal",
    signal.SIGINT: "assay: interrupted",
}


@pytest.fixture(autouse=True)
def _somewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text("pass")


@pytest.fixture(autouse=True)
def _a_terminal_that_may_end() -> Iterator[None]:
    """Under nohup the tests inherit that its end is ignored, which assay then does as well."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


def struck_by(number: int, monkeypatch: pytest.MonkeyPatch, where: str) -> None:
    """The signal comes when this function is called."""
    monkeypatch.setattr(where, lambda *_, **__: os.kill(os.getpid(), number))


@pytest.mark.parametrize("number", SAID)
def test_a_signal_before_there_is_a_record_says_that_nothing_was_measured(
    number: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    struck_by(number, monkeypatch, "fireassay.runners.experiment.run.refuse_bytes")
    assert main(["run", "--workers", "1", "--launches", "2", "--launcher", "plain", "--", "train.py"]) == 130
    said = capsys.readouterr()
    assert said.err.splitlines()[-1] == f"{SAID[signal.Signals(number)]}: nothing was measured; no record was written"
    assert not (tmp_path / "records").exists()


@pytest.mark.parametrize("number", SAID)
def test_every_other_verb_says_by_what_it_was_stopped(
    number: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    struck_by(number, monkeypatch, "fireassay.api.records.survey.record_folders")
    assert main(["list"]) == 130
    assert capsys.readouterr().err == f"{SAID[signal.Signals(number)]}\n"


def test_a_record_that_was_begun_is_named(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    made: list[Path] = []

    def begin(_: Path) -> None:
        made.append(unfinished(tmp_path / "x").path)
        os.kill(os.getpid(), signal.SIGTERM)

    monkeypatch.setattr("fireassay.api.records.survey.record_folders", begin)
    assert main(["list"]) == 130
    assert capsys.readouterr().err == f"assay: stopped by a termination signal; the record is kept: {made[0]}\n"


def test_a_signal_that_is_ignored_stays_ignored(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)  # nohup
    try:
        struck_by(signal.SIGHUP, monkeypatch, "fireassay.record.store.Store")
        assert main(["list"]) == 0
    finally:
        signal.signal(signal.SIGHUP, before)


def test_the_handlers_are_as_they_were_afterwards() -> None:
    before = [signal.getsignal(number) for number in SAID]
    main(["list"])
    assert [signal.getsignal(number) for number in SAID] == before
