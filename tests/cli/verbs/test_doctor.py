"""`assay doctor`: measures, judges, keeps, shows again; exit codes say what came of it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fireassay import cli
from fireassay.api import fitness
from fireassay.record import environment as kept
from fireassay.runners.calibration import machine
from fireassay.runners.calibration.machine import MachineExamination

pytestmark = pytest.mark.slow


SEEN = MachineExamination(
    record=None,
    clock={"step_s": 1e-8, "read_s": 5e-8, "sleep_overshoot_s": 1e-4, "wall_drift_ppm": 3.0},
    context={},
    shares={},
    seconds=12.0,
    stopped="",
)


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    return tmp_path


def plant(monkeypatch: pytest.MonkeyPatch, values: list[float], stopped: str = "") -> None:
    """Let an examination give these launch values."""
    monkeypatch.setattr(machine, "examine", lambda *_, **__: replace(SEEN, stopped=stopped))
    monkeypatch.setattr(fitness, "_launch_values", lambda _: ([2.0 * i for i in range(len(values))], values))


def nearly(k: int, spread: float) -> list[float]:
    """Independent values with this relative spread; a fixed seed."""
    import numpy as np

    return [float(value) for value in np.exp(np.random.default_rng(5).normal(0.0, spread, k))]


def test_a_quiet_machine_is_fit_kept_and_shown_again(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    plant(monkeypatch, nearly(42, 0.001))
    assert cli.main(["doctor"]) == 0
    first = capsys.readouterr().out
    assert "this machine is fit (42 launches of fixed work" in first
    assert cli.main(["doctor", "--show"]) == 0
    assert first.startswith(capsys.readouterr().out.rstrip("\n"))


@pytest.mark.parametrize(("spread", "code"), [(0.05, 4), (0.5, 1)])
def test_the_exit_code_says_noisy_or_unfit(monkeypatch: pytest.MonkeyPatch, spread: float, code: int) -> None:
    plant(monkeypatch, nearly(42, spread))
    assert cli.main(["doctor", "--quiet"]) == code


def test_an_examination_that_was_stopped_is_kept_if_it_is_long_enough(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    plant(monkeypatch, nearly(30, 0.001), stopped="stopped by Ctrl-C")
    assert cli.main(["doctor"]) == 130
    assert "absent" not in kept.read_fitness()
    plant(monkeypatch, nearly(5, 0.001), stopped="stopped by Ctrl-C")
    assert cli.main(["doctor"]) == 130
    assert "too few measurements to keep" in capsys.readouterr().err


def test_json_is_the_stored_result(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    plant(monkeypatch, nearly(42, 0.001))
    assert cli.main(["doctor", "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert 0.0 < found["noise_floor"] < 0.01
    assert found["minimum_detectable_effect_k5"] > found["noise_floor"]
    assert {key: kept.read_fitness()[key] for key in found} == found


def test_there_is_nothing_to_show_on_a_machine_that_was_never_examined(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["doctor", "--show"]) == 6
    assert "Run it: assay doctor" in capsys.readouterr().err


def test_it_takes_five_minutes_at_most(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["doctor", "--seconds", "301"]) == 2
    assert "at most 300" in capsys.readouterr().err


def test_a_short_real_examination_says_that_it_is_too_short() -> None:
    result, stopped = fitness.machine_examined(3.0, launches=2)
    assert stopped == ""
    assert result is not None
    assert result["launches"] <= 2
    (aa,) = [check for check in result["checks"] if check["name"] == "A/A test"]
    assert aa["fitness"] == "unknown"
