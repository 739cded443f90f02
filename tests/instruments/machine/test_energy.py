"""Joules from made-up counters: wraps, resets, failures; and which counters are there at all."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fireassay.clock import FakeClock
from fireassay.instruments.machine.energy.nvml import nvml
from fireassay.instruments.machine.energy.rapl import rapl
from fireassay.instruments.machine.energy.support.accumulator import MAX_WATTS, Accumulated, Raw, accumulate
from fireassay.instruments.machine.energy.support.launch_energy import LaunchEnergy, find, modelled, update_period_s
from fireassay.instruments.machine.energy.support.source import Around, JouleCounter
from fireassay.instruments.machine.reading import Reading
from fireassay.record.machine import Machine, Unread
from fireassay.spec.sections.energy import Energy

S = 1_000_000_000
RANGE = 65_712.999613  # joules: max_energy_range_uj of a common package


def raw(*values: float | None, every_s: float = 1.0) -> list[Raw]:
    """Readings at equal distances."""
    return [Raw(round(index * every_s * S), value) for index, value in enumerate(values)]


# ---- the accumulator -----------------------------------------------------------------------------------------------------


def test_a_counter_that_rises_gives_the_difference() -> None:
    assert accumulate(raw(100.0, 150.0, 175.0), RANGE) == Accumulated(joules=75.0, last=Raw(2 * S, 175.0))


@pytest.mark.parametrize("readings", [raw(), raw(5.0), raw(None, None), raw(None, 5.0, None)])
def test_fewer_than_two_good_readings_give_nothing(readings: list[Raw]) -> None:
    assert accumulate(readings, RANGE).joules == 0.0


def test_one_wrap_is_added_up() -> None:
    used = accumulate(raw(950.0, 30.0), 1000.0, max_watts=300.0)
    assert (used.joules, used.wraps, used.lower_bound) == (80.0, 1, False)


def test_wraps_between_different_readings_are_all_counted() -> None:
    used = accumulate(raw(900.0, 100.0, 500.0, 900.0, 100.0), 1000.0, max_watts=999.0)
    assert (used.joules, used.wraps, used.lower_bound) == (1200.0, 2, False)


def test_time_enough_for_several_wraps_makes_a_lower_bound() -> None:
    used = accumulate(raw(100.0, 150.0, every_s=100.0), 1000.0, max_watts=10.0)
    assert (used.joules, used.lower_bound) == (50.0, True)


def test_a_failed_reading_is_no_wrap() -> None:
    """A reader that answers 0 on failure gains a whole range at every failure (CodeCarbon issue 1309)."""
    used = accumulate(raw(500.0, None, 520.0), 1000.0, max_watts=300.0)
    assert (used.joules, used.wraps, used.errors, used.lower_bound) == (20.0, 0, 1, False)


def test_failures_over_a_wrap_lose_nothing() -> None:
    used = accumulate(raw(990.0, None, None, 20.0), 1000.0, max_watts=300.0)
    assert (used.joules, used.wraps, used.errors) == (30.0, 1, 2)


@pytest.mark.parametrize("value", [-1.0, math.nan, math.inf, RANGE * 1.01])
def test_a_value_that_the_counter_cannot_show_is_a_failure(value: float) -> None:
    used = accumulate(raw(500.0, value, 520.0), RANGE)
    assert (used.joules, used.errors, used.lower_bound) == (20.0, 1, False)


def test_a_reset_is_no_wrap() -> None:
    """From 10 000 J to 5 J in a second would be 55 kW as a wrap: the driver was loaded again."""
    used = accumulate(raw(10_000.0, 5.0, 25.0), RANGE)
    assert (used.joules, used.wraps, used.lower_bound) == (25.0, 0, True)


def test_a_counter_without_a_range_can_only_be_reset() -> None:
    used = accumulate(raw(10_000.0, 40.0), None)
    assert (used.joules, used.wraps, used.lower_bound) == (40.0, 0, True)


def test_a_jump_that_no_device_can_draw_is_left_out() -> None:
    used = accumulate(raw(0.0, 10.0, 1_000_010.0, 1_000_020.0), None)
    assert (used.joules, used.lower_bound) == (20.0, True)


def test_a_counter_that_shows_energy_late_is_not_a_jump() -> None:
    """700 W shown every 0.1 s and read every 0.01 s: nothing, nothing, ..., 70 J at once."""
    assert accumulate(raw(*[0.0] * 10, 70.0, every_s=0.01), None) == Accumulated(joules=70.0, last=Raw(S // 10, 70.0))


TRUTHS = st.lists(st.tuples(st.floats(0.0, MAX_WATTS), st.floats(0.01, 10.0)), min_size=1, max_size=30)


def walk(truth: list[tuple[float, float]], begin: float, max_range: float) -> list[Raw]:
    """What a wrapping counter shows of (watts, seconds) drawn one after the other."""
    total, ns, shown = begin, 0, [Raw(0, begin)]
    for watts, duration in truth:
        total, ns = total + watts * duration, ns + round(duration * S)
        shown.append(Raw(ns, total % max_range))
    return shown


@given(TRUTHS, st.floats(0.0, RANGE))
def test_what_was_drawn_is_what_is_counted_over_any_number_of_wraps(truth: list[tuple[float, float]], begin: float) -> None:
    used = accumulate(walk(truth, begin, RANGE), RANGE)
    drawn = sum(watts * duration for watts, duration in truth)
    assert used.joules == pytest.approx(drawn, abs=1e-6 * RANGE)
    assert used.wraps == (begin + drawn) // RANGE or math.isclose((begin + drawn) % RANGE, 0, abs_tol=1e-3)
    assert not used.lower_bound


@given(TRUTHS, st.floats(0.0, RANGE), st.data())
def test_failures_in_between_change_no_joule_as_long_as_one_wrap_fits(
    truth: list[tuple[float, float]], begin: float, data: st.DataObject
) -> None:
    shown = walk(truth, begin, RANGE)
    failed = data.draw(st.sets(st.integers(1, max(1, len(shown) - 2)), max_size=3))  # three times 10 s at 2 kW is 60 kJ
    gaps = [Raw(reading.ns, None if index in failed and index < len(shown) - 1 else reading.joules) for index, reading in enumerate(shown)]
    used = accumulate(gaps, RANGE)
    assert used.joules == pytest.approx(accumulate(shown, RANGE).joules, abs=1e-6 * RANGE) or used.lower_bound


ANYTHING = st.lists(st.tuples(st.integers(0, 100 * S), st.one_of(st.none(), st.floats(allow_nan=True))), max_size=20)


@given(ANYTHING, st.one_of(st.none(), st.floats(1.0, 1e6)))
def test_joules_are_never_negative_and_never_fall(readings: list[tuple[int, float | None]], max_range: float | None) -> None:
    ordered = [Raw(ns, value) for ns, value in sorted(readings, key=lambda reading: reading[0])]
    totals = [accumulate(ordered[:size], max_range).joules for size in range(len(ordered) + 1)]
    assert all(0.0 <= before <= after for before, after in pairwise(totals))
    assert all(math.isfinite(total) for total in totals)


@given(ANYTHING, st.one_of(st.none(), st.floats(1.0, 1e6)))
def test_no_more_is_counted_than_the_device_can_draw(readings: list[tuple[int, float | None]], max_range: float | None) -> None:
    ordered = [Raw(ns, value) for ns, value in sorted(readings, key=lambda reading: reading[0])]
    span_s = (ordered[-1].ns - ordered[0].ns) / S if ordered else 0.0
    assert accumulate(ordered, max_range).joules <= MAX_WATTS * (span_s + len(ordered)) + 1e-6


# ---- RAPL ----------------------------------------------------------------------------------------------------------------


def zone(root: Path, name: str, device: str, energy_uj: int | str, range_uj: int | str = 65_712_999_613) -> None:
    """One powercap zone."""
    folder = root / "sys/class/powercap" / name
    folder.mkdir(parents=True)
    for file, value in (("name", device), ("energy_uj", energy_uj), ("max_energy_range_uj", range_uj)):
        (folder / file).write_text(f"{value}\n")


def bare(root: Path, **environ: str) -> Machine:
    return Machine(root=root, environ=environ, folder=root)


def test_packages_and_their_memory_are_read_and_nothing_twice(tmp_path: Path) -> None:
    zone(tmp_path, "intel-rapl:0", "package-0", 1_000_000)
    zone(tmp_path, "intel-rapl:0:0", "core", 400_000)  # inside the package
    zone(tmp_path, "intel-rapl:0:1", "uncore", 100_000)  # inside the package
    zone(tmp_path, "intel-rapl:0:2", "dram", 300_000)
    zone(tmp_path, "intel-rapl:1", "package-1", 2_000_000)
    zone(tmp_path, "intel-rapl:1:0", "dram", 500_000)
    zone(tmp_path, "intel-rapl:2", "psys", 9_000_000)  # holds the packages
    zone(tmp_path, "intel-rapl-mmio:0", "package-0", 1_000_001)  # the same package, another way
    found = rapl(bare(tmp_path))
    assert found.absence is None
    assert {counter.device: counter.read() for counter in found.counters} == {
        "package-0": 1.0,
        "dram-0": 0.3,
        "package-1": 2.0,
        "dram-1": 0.5,
    }
    assert {counter.max_range for counter in found.counters} == {65_712.999613}


def test_a_package_that_only_the_memory_mapped_zone_shows_is_read_there(tmp_path: Path) -> None:
    zone(tmp_path, "intel-rapl-mmio:0", "package-0", 5_000_000)
    assert [(counter.device, counter.read()) for counter in rapl(bare(tmp_path)).counters] == [("package-0", 5.0)]


def test_no_powercap_is_a_reason(tmp_path: Path) -> None:
    found = rapl(bare(tmp_path))
    assert found.counters == ()
    assert found.absence is not None
    assert found.absence.startswith("no RAPL: /sys/class/powercap has no intel-rapl zone")


@pytest.mark.parametrize(
    ("energy", "limit", "reason"),
    [
        ("", 1, "energy_uj is empty"),
        ("x", 1, "'x' is not an integer"),
        (1, 0, "wraps could not be recognised"),
        (1, "", "max_energy_range_uj is empty"),
    ],
)
def test_a_counter_that_cannot_be_read_is_a_reason_and_no_zero(tmp_path: Path, energy: Any, limit: Any, reason: str) -> None:
    zone(tmp_path, "intel-rapl:0", "package-0", energy, limit)
    found = rapl(bare(tmp_path))
    assert found.counters == ()
    assert reason in (found.absence or "")


def test_a_counter_that_only_root_may_read_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    zone(tmp_path, "intel-rapl:0", "package-0", 1)
    original = Path.read_text

    def read_text(path: Path, *arguments: Any, **settings: Any) -> str:
        if path.name == "energy_uj":
            raise PermissionError(13, "Permission denied")  # the tests may run as root, whom no mode keeps out
        return original(path, *arguments, **settings)

    monkeypatch.setattr(Path, "read_text", read_text)
    assert rapl(bare(tmp_path)).absence == (
        "RAPL cannot be read: intel-rapl:0: /sys/class/powercap/intel-rapl:0/energy_uj: Permission denied; "
        "energy_uj is often readable by root only"
    )


# ---- NVML ----------------------------------------------------------------------------------------------------------------


class FakeNvmlError(Exception):
    """Like pynvml.NVMLError."""


class FakeNvml:
    """A binding that shows GPUs with these counters, in millijoules; an exception is raised instead of shown."""

    NVMLError = FakeNvmlError

    def __init__(self, counters: dict[str, int | Exception], init: Exception | None = None) -> None:
        self.counters, self.init = counters, init

    def nvmlInit(self) -> None:
        if self.init is not None:
            raise self.init

    def nvmlDeviceGetCount(self) -> int:
        return len(self.counters)

    def nvmlDeviceGetHandleByIndex(self, index: int) -> str:
        return list(self.counters)[index]

    def nvmlDeviceGetUUID(self, handle: str) -> bytes:
        return handle.encode()

    def nvmlDeviceGetTotalEnergyConsumption(self, handle: str) -> int:
        value = self.counters[handle]
        if isinstance(value, Exception):
            raise value
        return value


def missing() -> Any:
    raise ImportError("No module named 'pynvml'")


def test_gpu_counters_are_joules_since_the_driver_was_loaded() -> None:
    library = FakeNvml({"GPU-a": 1500, "GPU-b": 2500})
    found = nvml(lambda: library, {})
    assert {counter.device: (counter.read(), counter.max_range) for counter in found.counters} == {
        "GPU-a": (1.5, None),
        "GPU-b": (2.5, None),
    }
    assert found.absence is None


@pytest.mark.parametrize(
    ("chosen", "devices"),
    [
        ("1", ["GPU-b"]),
        ("0,1", ["GPU-a", "GPU-b"]),
        ("1,0,1", ["GPU-a", "GPU-b"]),
        ("GPU-b", ["GPU-b"]),
        (" 0 ", ["GPU-a"]),
        ("", []),
        ("7", []),
    ],
)
def test_only_gpus_that_the_workload_may_use_are_counted_and_each_once(chosen: str, devices: list[str]) -> None:
    library = FakeNvml({"GPU-a": 1, "GPU-b": 2})
    found = nvml(lambda: library, {"CUDA_VISIBLE_DEVICES": chosen})
    assert [counter.device for counter in found.counters] == devices
    assert (found.absence is None) == bool(devices)


@pytest.mark.parametrize(
    ("load", "reason"),
    [
        (missing, "no NVML: the package nvidia-ml-py is not installed"),
        (lambda: FakeNvml({}, init=FakeNvmlError("Driver Not Loaded")), "no NVML: Driver Not Loaded"),
        (lambda: FakeNvml({}), "NVML lists no GPU visible to the workload"),
        (lambda: FakeNvml({"GPU-a": FakeNvmlError("Not Supported")}), "NVML counts no energy: GPU-a: Not Supported"),
    ],
)
def test_no_gpu_counter_is_a_reason(load: Callable[[], Any], reason: str) -> None:
    found = nvml(load, {})
    assert (found.counters, found.absence) == ((), reason)


# ---- what an experiment asks for, and one launch ---------------------------------------------------------------------------


def test_auto_takes_every_counter_there_is(tmp_path: Path) -> None:
    zone(tmp_path, "intel-rapl:0", "package-0", 1)
    counters, absences = find(Around(energy=Energy(), machine=bare(tmp_path), load_nvml=lambda: FakeNvml({"GPU-a": 1})))
    assert [counter.device for counter in counters] == ["GPU-a", "package-0"]
    assert absences.keys() == {"energy_amdsmi"}


def test_one_missing_kind_is_named_but_energy_is_measured(tmp_path: Path) -> None:
    zone(tmp_path, "intel-rapl:0", "package-0", 1)
    counters, absences = find(Around(energy=Energy(), machine=bare(tmp_path), load_nvml=missing))
    assert [counter.device for counter in counters] == ["package-0"]
    assert absences.keys() == {"energy_nvml", "energy_amdsmi"}


@pytest.mark.parametrize(("source", "devices"), [("rapl", ["package-0"]), ("nvml", ["GPU-a"]), ("none", []), ("modelled", [])])
def test_only_what_was_asked_for_is_read(tmp_path: Path, source: Any, devices: list[str]) -> None:
    zone(tmp_path, "intel-rapl:0", "package-0", 1)
    counters, _ = find(
        Around(
            energy=Energy(source=source, modelled_watts_per_worker=10.0), machine=bare(tmp_path), load_nvml=lambda: FakeNvml({"GPU-a": 1})
        )
    )
    assert [counter.device for counter in counters] == devices


def test_without_any_counter_energy_is_absent_with_every_reason(tmp_path: Path) -> None:
    counters, absences = find(Around(energy=Energy(), machine=bare(tmp_path), load_nvml=missing))
    assert counters == ()
    assert absences["energy"] == "; ".join(absences[f"energy_{name}"] for name in ("amdsmi", "nvml", "rapl"))


def test_energy_that_nobody_asked_for_says_so(tmp_path: Path) -> None:
    assert find(Around(energy=Energy(source="none"), machine=bare(tmp_path), load_nvml=missing)) == (
        (),
        {"energy": 'not requested: energy.source = "none"'},
    )


def counter_of(values: list[float | Exception], max_range: float | None = 1000.0) -> JouleCounter:
    """A counter that shows these values one after the other."""
    shown = iter(values)

    def read() -> float:
        value = next(shown)
        if isinstance(value, Exception):
            raise value
        return value

    return JouleCounter(device="package-0", read=read, max_range=max_range)


def test_a_launch_begins_at_zero_joules_and_rises_over_wraps_and_failures() -> None:
    clock, launch = FakeClock(), LaunchEnergy((counter_of([990.0, Unread("gone"), 20.0, 5.0], 1000.0),))
    seen: list[list[tuple[str, float]]] = []
    for _ in range(3):
        seen.append([(reading.counter, reading.value) for reading in launch.read(clock) if reading.counter != "energy_bound"])
        clock.advance(0.1)
    assert seen == [[("energy", 0.0)], [("energy", 0.0), ("energy_errors", 1.0)], [("energy", 30.0), ("energy_errors", 1.0)]]


def test_a_reset_in_a_launch_is_written_down() -> None:
    clock, launch = FakeClock(), LaunchEnergy((counter_of([500_000.0, 7.0], None),))
    list(launch.read(clock))
    assert list(launch.read(clock)) == [
        Reading("package-0", "energy", 7.0, "J"),
        Reading(
            "package-0", "energy_bound", 2000.0 - 7.0 + 2000.0, "J"
        ),  # 2000 W for the counter's delay of 1 s, at the reset and at the ends
        Reading("package-0", "energy_doubts", 1.0, "count"),
    ]


def test_a_counter_that_never_answers_gives_no_joules() -> None:
    launch = LaunchEnergy((counter_of([Unread("no")]),))
    assert [reading.counter for reading in launch.read(FakeClock())] == ["energy_errors"]


def test_modelled_joules_are_labelled() -> None:
    assert modelled(50.0, 4, 10.0) == Reading("workers", "energy", 2000.0, "J", "modelled")


def stepped(clock: FakeClock, every_s: float) -> JouleCounter:
    """A counter that moves every `every_s` seconds."""
    return JouleCounter(device="GPU-a", read=lambda: float(clock.ns // round(every_s * S)), max_range=None)


@pytest.mark.parametrize("every_s", [0.02, 0.1])
def test_the_period_of_a_counter_is_measured(every_s: float) -> None:
    clock = FakeClock()
    assert update_period_s(stepped(clock, every_s), clock, lambda: False) == pytest.approx(every_s, abs=0.002)
    assert clock.ns <= 1.01 * S


def test_a_counter_that_stands_still_has_no_period() -> None:
    clock = FakeClock()
    assert update_period_s(SimpleNamespace(device="x", read=lambda: 5.0, max_range=None), clock, lambda: False) is None  # type: ignore[arg-type]
    assert clock.ns <= 1.01 * S


def test_measuring_a_period_ends_with_the_launch() -> None:
    clock = FakeClock()
    assert update_period_s(stepped(clock, 0.1), clock, lambda: clock.ns > S // 20) is None
    assert clock.ns < S // 10
