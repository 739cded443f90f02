"""The meter: rows at the beginning, in between and at the end; nothing that fails may reach the launch."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from fireassay.clock import FakeClock, SystemClock
from fireassay.instruments.machine import meter as meter_module
from fireassay.instruments.machine.meter import COUNTERS, Meter, Row
from fireassay.record.arrow_schemas import arrow_schema
from fireassay.record.declared import TELEMETRY
from fireassay.record.environment import FIELDS
from fireassay.record.machine import Machine
from fireassay.spec.sections.energy import Energy
from tests.limits import PROCESS_S

NEVER = 3600.0  # seconds between readings: only the first and the last one are made
STAT = "cpu  1000 100 500 3000 50 20 30 40 0 0\n"
RAPL = {"name": "package-0", "energy_uj": "5000000", "max_energy_range_uj": "65712999613"}


def no_nvml() -> Any:
    raise ImportError("No module named 'pynvml'")


def own_pid() -> Sequence[int]:
    return [os.getpid()]


class Rows(list[Row]):
    """Collected rows; `seen(n)` waits until the meter has made `n` readings."""

    def __init__(self) -> None:
        super().__init__()
        self._changed = threading.Condition()

    def __call__(self, row: Row) -> None:
        with self._changed:
            self.append(row)
            self._changed.notify_all()

    def seen(self, readings: int) -> None:
        """Returns once the last counter of a reading was written `readings` times."""
        with self._changed:
            assert self._changed.wait_for(lambda: len(self.of("meter", "cpu_time")) >= readings, timeout=PROCESS_S)

    def of(self, device: str, counter: str) -> list[Row]:
        """The rows of one counter."""
        return [row for row in self if row[3:5] == (device, counter)]


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """A machine with processor counters and one RAPL package, and no other counter."""
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/stat").write_text(STAT)
    folder = tmp_path / "sys/class/powercap/intel-rapl:0"
    folder.mkdir(parents=True)
    for name, text in RAPL.items():
        (folder / name).write_text(text)
    return Machine(root=tmp_path, environ={}, folder=tmp_path)


def show_joules(machine: Machine, joules: float) -> None:
    """Move the made-up package's counter."""
    (machine.root / "sys/class/powercap/intel-rapl:0/energy_uj").write_text(f"{round(joules * 1e6)}")


def test_a_launch_is_enclosed_by_a_first_and_a_last_reading(machine: Machine) -> None:
    rows, clock = Rows(), FakeClock()
    meter = Meter(Energy(sample_every_s=NEVER), rows, clock, machine=machine, load_nvml=no_nvml)
    meter.start(3, own_pid)
    begin = len(rows)
    clock.advance(10.0)
    show_joules(machine, 12.5)
    meter.stop()
    assert {row[0] for row in rows} == {3}
    assert [row[5] for row in rows.of("package-0", "energy")] == [0.0, 7.5]
    assert [row[5] for row in rows.of("cpu", "busy")] == [16.5 * 100 / os.sysconf("SC_CLK_TCK")] * 2
    assert rows[0][1] == 0
    assert min(row[1] for row in rows[begin:]) >= 10_000_000_000 - 1


def test_every_launch_begins_its_joules_anew(machine: Machine) -> None:
    rows = Rows()
    meter = Meter(Energy(sample_every_s=NEVER), rows, SystemClock(), machine=machine, load_nvml=no_nvml)
    for launch, joules in ((0, 10.0), (1, 40.0)):
        meter.start(launch, own_pid)
        show_joules(machine, joules)
        meter.stop()
    assert [(row[0], row[5]) for row in rows.of("package-0", "energy")] == [(0, 0.0), (0, 5.0), (1, 0.0), (1, 30.0)]


@pytest.mark.slow
def test_readings_are_made_while_the_launch_runs(machine: Machine) -> None:
    rows = Rows()
    meter = Meter(Energy(sample_every_s=0.005), rows, SystemClock(), machine=machine, load_nvml=no_nvml)
    meter.start(0, own_pid)
    rows.seen(5)
    meter.stop()
    times = [row[1] for row in rows.of("cpu", "busy")]
    assert times == sorted(times)
    costs = [row[5] for row in rows.of("meter", "cpu_time")]
    assert costs == sorted(costs)
    assert costs[-1] > 0


def test_rows_fit_the_telemetry_table(machine: Machine) -> None:
    import pyarrow as pa

    rows = Rows()
    meter = Meter(Energy(sample_every_s=NEVER), rows, SystemClock(), machine=machine, load_nvml=no_nvml)
    meter.start(0, own_pid)
    meter.stop()
    columns = dict(zip(TELEMETRY.column_names, map(list, zip(*rows, strict=True)), strict=True))
    assert pa.table(columns, schema=arrow_schema("telemetry")).num_rows == len(rows)


def test_every_counter_written_is_in_the_table_and_in_the_reference(machine: Machine) -> None:
    rows = Rows()
    real = Machine() if Path("/proc/stat").exists() else machine
    for where, energy in (
        (real, Energy()),
        (machine, Energy(sample_every_s=0.005)),
        (machine, Energy(source="modelled", modelled_watts_per_worker=9.0)),
    ):
        meter = Meter(energy, rows, SystemClock(), machine=where, load_nvml=no_nvml)
        meter.start(0, own_pid, workers=2)
        meter.stop()
    written = {(row[4], row[6], row[7]) for row in rows}
    assert {"busy", "energy", "cpu_time"} <= {counter for counter, _, _ in written}
    assert written <= {(counter.name, counter.unit, counter.method) for counter in COUNTERS}
    assert all(f"`{counter.name}`" in meter_module.reference() for counter in COUNTERS)


def test_modelled_energy_needs_the_workers_and_says_so(machine: Machine) -> None:
    rows, clock = Rows(), FakeClock()
    energy = Energy(source="modelled", modelled_watts_per_worker=30.0, sample_every_s=NEVER)
    meter = Meter(energy, rows, clock, machine=machine, load_nvml=no_nvml)
    assert "energy" not in meter.absences()
    meter.start(0, own_pid, workers=4)
    clock.advance(10.0)
    meter.stop()
    assert [row[5:] for row in rows.of("workers", "energy")] == [(0.0, "J", "modelled"), (1200.0, "J", "modelled")]
    assert rows.of("package-0", "energy") == []
    meter.start(1, own_pid)
    meter.stop()
    assert meter.absences()["energy"] == "modelled energy needs the number of workers of the launch"


def test_what_is_not_measured_has_a_reason(tmp_path: Path) -> None:
    meter = Meter(Energy(), Rows(), SystemClock(), machine=Machine(root=tmp_path, environ={}), load_nvml=no_nvml)
    absences = meter.absences()
    assert absences.keys() == {
        "processor_time",
        "pressure_cpu",
        "pressure_memory",
        "pressure_io",
        "throttled",
        "energy",
        "energy_rapl",
        "energy_nvml",
        "energy_amdsmi",
        "frequency",
        "gpu_state",
        "memory_used",
        "cgroup_memory",
        "network",
        "tcp",
    }
    assert all(absences.values())
    assert not absences.keys() & {field.key.split(".")[0] for field in FIELDS}  # they stand side by side in the manifest


def test_a_caller_that_fails_costs_rows_but_raises_nothing(machine: Machine) -> None:
    def lost() -> Sequence[int]:
        raise OSError("the process table is gone")

    rows = Rows()
    meter = Meter(Energy(sample_every_s=NEVER), rows, SystemClock(), machine=machine, load_nvml=no_nvml)
    meter.start(0, lost)
    meter.stop()
    assert all(len(rows.of(*counter)) == 2 for counter in (("cpu", "busy"), ("package-0", "energy"), ("meter", "cpu_time")))
    assert meter.absences()["meter"] == "OSError: the process table is gone"


def test_a_record_that_takes_no_rows_does_not_end_the_launch(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: Row) -> None:
        raise OSError("No space left on device")

    monkeypatch.setattr(meter_module, "update_period_s", lambda *_: 0.1)
    meter = Meter(Energy(sample_every_s=0.001), full, SystemClock(), machine=machine, load_nvml=no_nvml)
    meter.start(0, own_pid)
    meter.stop()
    assert meter.absences()["meter"] == "OSError: No space left on device"


def test_a_reading_that_never_returns_does_not_hold_up_the_experiment(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(meter_module, "JOIN_S", 0.05)
    hung, release = threading.Event(), threading.Event()

    def pids() -> Sequence[int]:
        if threading.current_thread().name == "assay-meter":
            hung.set()
            release.wait(60)
        return []

    meter = Meter(Energy(source="none", sample_every_s=0.001), Rows(), SystemClock(), machine=machine, load_nvml=no_nvml)
    meter.start(7, pids)
    assert hung.wait(60)
    meter.stop()
    release.set()
    assert "the last one of launch 7 is missing" in meter.absences()["meter"]


@pytest.mark.slow
def test_processes_are_asked_for_less_often_where_asking_is_dear(machine: Machine) -> None:
    asked: list[int] = []

    def dear() -> Sequence[int]:
        asked.append(1)
        begin = time.thread_time()
        while time.thread_time() - begin < 0.1:  # at most every 20 s, then
            pass
        return []

    rows = Rows()
    meter = Meter(Energy(sample_every_s=0.001), rows, FakeClock(), machine=machine, load_nvml=no_nvml)
    meter.start(0, dear)
    rows.seen(10)
    meter.stop()
    assert len(asked) == 2  # at the beginning and at the end; the fake clock moves by a second at most


def test_stopping_what_was_not_started_does_nothing(machine: Machine) -> None:
    rows = Rows()
    meter = Meter(Energy(), rows, SystemClock(), machine=machine, load_nvml=no_nvml)
    meter.stop()
    meter.stop()
    assert rows == []


def test_starting_the_next_launch_ends_the_one_before(machine: Machine) -> None:
    rows = Rows()
    meter = Meter(Energy(sample_every_s=NEVER), rows, SystemClock(), machine=machine, load_nvml=no_nvml)
    meter.start(0, own_pid)
    meter.start(1, own_pid)
    meter.stop()
    assert [row[0] for row in rows.of("cpu", "busy")] == [0, 0, 1, 1]
    assert not [thread for thread in threading.enumerate() if thread.name == "assay-meter"]


def test_the_period_of_a_counter_is_written_with_every_launch(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    measured: list[str] = []

    def period(counter: Any, *_: Any) -> float:
        measured.append(counter.device)
        return 0.001

    monkeypatch.setattr(meter_module, "update_period_s", period)
    rows = Rows()
    meter = Meter(Energy(sample_every_s=0.005), rows, SystemClock(), machine=machine, load_nvml=no_nvml)
    for launch in range(2):
        meter.start(launch, own_pid)
        rows.seen(4 * launch + 3)
        meter.stop()
    assert measured == ["package-0"]
    assert [(row[0], row[5], row[7]) for row in rows.of("package-0", "sensor_period")] == [(0, 0.001, "sampled"), (1, 0.001, "sampled")]
