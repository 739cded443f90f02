"""Does the examination read clocks and counters rightly, end early on request, and work where nothing can be read?"""

from __future__ import annotations

from itertools import count
from pathlib import Path

import pytest

from fireassay.errors import Interrupted
from fireassay.record.machine import Machine
from fireassay.runners.calibration import machine as doctor


def test_the_cost_and_the_step_of_a_clock() -> None:
    ticks = count(0, 40)  # each reading 40 ns later
    found = doctor.clock_cost(lambda: next(ticks), reads=100)
    assert found["step_s"] == pytest.approx(40e-9)
    assert found["read_s"] == pytest.approx(101 * 40e-9 / 100)


def test_a_clock_that_stands_still_has_no_step() -> None:
    assert doctor.clock_cost(lambda: 7, reads=10)["step_s"] == 0.0


def test_a_sleep_that_returns_at_once_is_not_late() -> None:
    assert doctor.sleep_overshoot(lambda _: None, sleeps=5)["sleep_overshoot_s"] < 0.0


def test_the_wall_clock_against_the_monotonic_one() -> None:
    # 10 s pass; the wall clock gains 1 ms: 100 parts per million
    found = doctor.clock_drift((0, 5), (10_000_000_000, 10_001_000_005))
    assert found == {"wall_drift_ppm": pytest.approx(100.0), "wall_drift_s": pytest.approx(0.001)}


def test_shares_of_the_time_in_between() -> None:
    names = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")
    zero = dict.fromkeys(names, 0)
    before = {"ticks": zero, "own_s": 1.0, "pressure_cpu": 0, "pressure_memory": None, "pressure_io": 0, "throttled_ns": 0}
    after = {
        **before,
        "ticks": {**zero, "user": 300, "idle": 650, "steal": 50},
        "own_s": 2.0,
        "pressure_cpu": 2_500_000,
        "throttled_ns": 50_000_000,
    }
    found = doctor.shares(before, after, 10.0)
    assert found["steal"] == pytest.approx(0.05)
    ticks_per_s = __import__("os").sysconf("SC_CLK_TCK")
    assert found["foreign"] == pytest.approx(max(0.0, 300 / ticks_per_s - 1.0) / (1000 / ticks_per_s))
    assert found["pressure_cpu"] == pytest.approx(0.25)
    assert found["throttled"] == pytest.approx(0.005)
    assert found["pressure_memory"] is None


def test_a_machine_that_says_nothing_is_described_all_the_same(tmp_path: Path) -> None:
    machine = Machine(root=tmp_path, environ={})
    seen = doctor.counters(machine)
    assert seen["ticks"] is None
    assert set(doctor.shares(seen, seen, 1.0).values()) == {None}
    assert doctor.context(machine)["cpu.turbo"] == {"absent": "the kernel does not show turbo here"}


def test_turbo_is_read_from_either_driver(tmp_path: Path) -> None:
    folder = tmp_path / "sys/devices/system/cpu/cpufreq"
    folder.mkdir(parents=True)
    (folder / "boost").write_text("1\n")
    assert doctor.context(Machine(root=tmp_path, environ={}))["cpu.turbo"] == "on"


@pytest.mark.slow
def test_the_launches_go_through_the_harness_and_end_in_time(tmp_path: Path) -> None:
    seen = doctor.examine(tmp_path, 2.0, launches=2)
    assert seen.record is not None
    assert seen.record.parent == tmp_path
    assert seen.stopped == ""
    asked = doctor.experiment(180.0, 60)
    assert asked.limits.experiment_timeout_s == 159.5  # a tenth and 2.5 s are kept back for what comes before and after
    assert asked.timing.round_s == pytest.approx(159.5 / 60 - doctor.OVERHEAD_S)
    assert doctor.experiment(4.0, 60).limits.experiment_timeout_s == 2.0  # but never more than half


@pytest.mark.slow
def test_ctrl_c_keeps_what_was_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(*_: object, root: Path, **__: object) -> Path:
        (root / "doctor-x").mkdir()
        raise Interrupted("stopped by Ctrl-C; measured data are kept")

    monkeypatch.setattr(doctor, "run", stopped)
    seen = doctor.examine(tmp_path, 1.0, launches=2)
    assert (seen.record, seen.stopped) == (tmp_path / "doctor-x", "stopped by Ctrl-C")
