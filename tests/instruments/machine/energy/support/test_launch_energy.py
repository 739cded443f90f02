"""Joules from made-up counters: wraps, resets, failures; and which counters are there at all."""

from __future__ import annotations

import math
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fireassay.clock import FakeClock
from fireassay.instruments.machine.energy.support.accumulator import MAX_WATTS, Accumulated, Raw, accumulate
from fireassay.instruments.machine.energy.support.launch_energy import LaunchEnergy, find, modelled, update_period_s
from fireassay.instruments.machine.energy.support.source import Around, JouleCounter
from fireassay.instruments.machine.reading import Reading
from fireassay.record.machine import Unread
from fireassay.spec.sections.energy import Energy
from tests.instruments.machine.energy_made import FakeNvml, bare, missing, zone

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
