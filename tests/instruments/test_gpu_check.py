"""The check of a GPU is tried on fakes: a broken promise, a check that hangs and a machine without a GPU end as they say."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from fireassay.spec.sections.costs import peak_of

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "gpu_check.py"


@pytest.fixture
def check(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    monkeypatch.syspath_prepend(str(SCRIPT.parent))
    monkeypatch.delitem(sys.modules, "pynvml", raising=False)
    import gpu_check

    yield gpu_check
    sys.modules.pop("gpu_check", None)
    sys.modules.pop("pynvml", None)


def fake(check: ModuleType, folder: Path) -> Any:
    (folder / "pynvml.py").write_text(check.NVML)
    return check.Place(folder, fake=True)


def test_limits_of_the_checks_fit_into_eight_minutes(check: ModuleType) -> None:
    assert sum(one.limit_s for one in check.CHECKS) <= 8 * 60
    assert len({one.name for one in check.CHECKS}) == len(check.CHECKS) == 9


def test_joules_of_a_constant_power_are_power_times_time(check: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path])
    figures = check.power(fake(check, tmp_path))
    assert figures["samples"] >= 2
    assert figures["joules"] >= 600 * 0.95  # 300 W for two seconds or more


def test_a_counter_that_is_off_breaks_the_promise(check: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path])
    place = fake(check, tmp_path)
    (tmp_path / "pynvml.py").write_text(check.NVML.replace("300_000 * time", "200_000 * time"))
    assert check.child("power", place) == 0
    assert "from power times time" in json.loads((tmp_path / "power.json").read_text())["why"]


def test_a_check_that_hangs_is_ended_at_its_limit_with_its_processes(check: ModuleType, tmp_path: Path) -> None:
    power = next(one for one in check.CHECKS if one.name == "power")
    outcome = check.in_child(replace(power, limit_s=0.01), replace(fake(check, tmp_path), fake=False))
    assert not outcome.kept
    assert outcome.why.startswith("not done after 0.01 s")


def test_a_check_that_crashes_says_its_last_line(check: ModuleType, tmp_path: Path) -> None:
    """The child finds no record of an earlier check."""
    phases = next(one for one in check.CHECKS if one.name == "phases")
    outcome = check.in_child(phases, fake(check, tmp_path))
    assert not outcome.kept
    assert outcome.why.startswith("the check ended with exit code 1: ")


@pytest.mark.parametrize("device", ["NVIDIA H200", "NVIDIA H100 80GB HBM3", "NVIDIA H100 PCIe", "NVIDIA L40S", "NVIDIA A100-SXM4-80GB"])
def test_peaks_entered_apart_agree(check: ModuleType, device: str) -> None:
    peak = peak_of(device, "bfloat16")
    assert peak is not None
    assert peak.flops_per_s == pytest.approx(check.datasheet(device), rel=2e-3)


def test_without_a_gpu_nothing_is_checked() -> None:
    done = subprocess.run(
        [sys.executable, str(SCRIPT)], capture_output=True, text=True, check=False, env={"CUDA_VISIBLE_DEVICES": "", "PATH": ""}
    )
    assert done.returncode == 2
    assert "No GPU" in done.stderr


@pytest.mark.deep
@pytest.mark.torch
def test_every_check_passes_on_fakes(tmp_path: Path) -> None:
    out = tmp_path / "found.json"
    done = subprocess.run([sys.executable, str(SCRIPT), "--fake", "--json", str(out)], capture_output=True, text=True, check=False)
    found = json.loads(out.read_text())
    assert {one["name"]: one["why"] for one in found["checks"] if not one["kept"]} == {}
    assert done.returncode == 0
    assert (found["fake"], found["device"]) == (True, "no GPU: faked on the processor, no promise about times is judged")
