"""`assay doctor client`: measures, judges, keeps beside the machine's result, shows again; a stop keeps what there is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fireassay import cli
from fireassay.record import environment as kept
from fireassay.runners.calibration import machine
from fireassay.runners.calibration.machine import ClientCalibration

GOOD = {"p50": 0.05, "p99": 0.4, "max": 3.0}
LIMIT = {"measured": 9000.0, "reachable": 9000.0, "limited_by": "client", "client_cores": 0.98}
CEILING: dict[str, Any] = {
    "streams": 64,
    "tokens": 32,
    "requests_per_s": 9000.0,
    "chunks_per_s": 9000.0,
    "requests": LIMIT,
    "chunks": LIMIT,
}


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    return tmp_path


def plant(monkeypatch: pytest.MonkeyPatch, *, p99: float = 0.4, streams: tuple[int, ...] = (1, 32), stopped: str = "") -> None:
    """Let a calibration give this."""
    errors = [
        {
            "streams": n,
            "ttft_ms": {**GOOD, "p99": p99},
            "itl_ms": GOOD,
            "lag_ms": GOOD,
            "requests": 240,
            "told_ms": {"p50": 50.0, "p99": 51.0, "max": 52.0},
            "unsure_ms": GOOD,
            "within": 1.0,
            "unpaired": 0,
            "foreign_cores": 0.0,
        }
        for n in streams
    ]
    seen = ClientCalibration(
        errors=errors,
        provoked=[{**one, "disturbed": "stopped"} for one in errors[:1]],
        ceiling=None if stopped else CEILING,
        timer_lag_ms=None if stopped else GOOD,
        seconds=9.0,
        stopped=stopped,
    )
    monkeypatch.setattr(machine, "calibrate", lambda *_: seen)


def test_a_good_client_is_fit_kept_and_shown_again(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    plant(monkeypatch)
    assert cli.main(["doctor", "client"]) == 0
    first = capsys.readouterr().out
    assert "this client is fit to measure here (Python 3." in first
    assert "a time to first token is off by 0.05 ms at the median, by at most 0.40 ms in 99 of 100" in " ".join(first.split())
    assert cli.main(["doctor", "client", "--show"]) == 0
    assert first.startswith(capsys.readouterr().out.rstrip("\n"))


@pytest.mark.parametrize(("p99", "code"), [(3.0, 4), (30.0, 1)])
def test_the_exit_code_says_noisy_or_unfit(monkeypatch: pytest.MonkeyPatch, p99: float, code: int) -> None:
    plant(monkeypatch, p99=p99)
    assert cli.main(["doctor", "client", "--quiet"]) == code


def test_json_is_what_is_stored_and_what_the_audits_look_for(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    plant(monkeypatch)
    assert cli.main(["doctor", "client", "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert kept.read_client_fitness() == found
    assert found["ceiling"]["requests_per_s"] == 9000.0
    assert found["loop_lag_ms"] == GOOD


def test_what_was_measured_before_a_stop_is_kept(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    plant(monkeypatch, stopped="stopped by Ctrl-C")
    assert cli.main(["doctor", "client"]) == 130
    assert "ceiling" in kept.read_client_fitness()
    plant(monkeypatch, streams=(), stopped="stopped by Ctrl-C")
    assert cli.main(["doctor", "client"]) == 130
    assert "too few measurements to keep" in capsys.readouterr().err


def test_a_client_that_was_never_calibrated_is_an_error_that_says_what_to_run(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["doctor", "client", "--show"]) not in (0, 70)
    assert "assay doctor client" in capsys.readouterr().err


def test_more_than_five_minutes_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["doctor", "client", "--seconds", "301"]) == 2
    assert "at most 300" in capsys.readouterr().err
