"""The disturbances of each launch, folded from counters by hand, and the limits applied to them."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fireassay.frames.noise import COLUMNS, disturbances, disturbed, fold
from fireassay.spec.sections.workload import Noise
from tests.handmade import Handmade

pytestmark = pytest.mark.slow


def made(launches: int = 1, **noise: Any) -> Handmade:
    """Launches of ten seconds on a machine of two processors, without counters."""
    found = Handmade(levels=(1,), blocks=launches)
    found.experiment = found.experiment.model_copy(update={"noise": Noise(**noise)})
    for block in range(launches):
        found.launch(workers=1, block=block, wall_s=10.0)
    return found


def counted(record: Handmade, launch: int, **spans: float) -> None:
    """Totals that grow by so much between a reading at 0 s and one at 10 s."""
    counters = {
        "busy": ("cpu", "busy"),
        "idle": ("cpu", "idle"),
        "steal": ("cpu", "steal"),
        "own": ("launch", "cpu_time"),
        "assay": ("coordinator", "cpu_time"),
        "throttled": ("cgroup", "throttled"),
        "psi_cpu": ("cpu", "pressure_some"),
        "psi_io": ("io", "pressure_some"),
        "psi_memory": ("memory", "pressure_some"),
        "switches": ("launch", "involuntary_switches"),
    }
    for name, span in spans.items():
        device, counter = counters[name]
        record.reading(launch, device, counter, 5.0, at_s=0.0)
        record.reading(launch, device, counter, 5.0 + span, at_s=10.0)


def sentinels(record: Handmade, *pairs: tuple[float, float]) -> None:
    """The readings before and after each launch."""
    for launch, (before, after) in enumerate(pairs):
        record.reading(launch, "sentinel", "before", before, at_s=-1.0, method="self")
        record.reading(launch, "sentinel", "after", after, at_s=11.0, method="self")


def row(record: Handmade, launch: int = 0) -> dict[str, Any]:
    return fold(record.measured()).to_dicts()[launch]


def test_shares_are_of_the_processors_and_of_the_time_between_the_readings() -> None:
    """Two processors for ten seconds: 15 busy, 4 idle, 1 stolen = 20. Foreign (15 - 11 - 1) / 20 = 15 %; stolen 5 %."""
    record = made()
    counted(record, 0, busy=15, idle=4, steal=1, own=11, assay=1, throttled=0.2, psi_cpu=4, psi_io=1, psi_memory=0.5, switches=300)
    found = row(record)
    expected = {
        "foreign": 0.15,
        "steal": 0.05,
        "throttled": 0.02,
        "psi_cpu": 0.4,
        "psi_io": 0.1,
        "psi_memory": 0.05,
        "switches_per_s": 30.0,
    }
    assert {name: found[name] for name in expected} == pytest.approx(expected)


def test_unread_counters_are_null_and_disturb_nothing() -> None:
    record = made()
    counted(record, 0, busy=15, idle=5, own=14.9)
    found = row(record)
    assert found["foreign"] == pytest.approx(0.1 / 20)
    assert [name for name in COLUMNS if found[name] is not None] == ["foreign"]
    assert disturbed(record.measured(), 0) == ""
    assert disturbed(record.measured(), 99) == ""


def test_a_launch_with_a_single_reading_has_no_shares() -> None:
    record = made()
    for device, counter in (("cpu", "busy"), ("cpu", "idle"), ("cpu", "pressure_some")):
        record.reading(0, device, counter, 5.0)
    assert (row(record)["foreign"], row(record)["psi_cpu"]) == (None, None)


@pytest.mark.parametrize(
    ("spans", "said"),
    [
        ({"busy": 12, "idle": 8, "own": 9.9}, "other programs used 10.5 % of the processors (at most 10 %)"),
        ({"busy": 10, "idle": 9.7, "own": 10, "steal": 0.3}, "the hypervisor took 1.50 % of the processors (at most 1 %)"),
        ({"throttled": 0.06}, "the control group's quota stopped the processes for 0.600 % of the launch (at most 0.500 %)"),
        ({"psi_io": 0.6}, "tasks waited for input or output for 6.00 % of the launch (at most 5 %)"),
        ({"psi_memory": 1}, "tasks waited for memory for 10 % of the launch (at most 5 %)"),
    ],
)
def test_each_limit_is_reported_with_its_share(spans: dict[str, float], said: str) -> None:
    record = made()
    counted(record, 0, **spans)
    assert disturbed(record.measured(), 0) == said


def test_processor_waits_and_switches_are_reported_but_never_a_reason() -> None:
    """Four workers on two processors: all of the load is the launch's own."""
    record = made()
    counted(record, 0, busy=20, idle=0, own=19.9, psi_cpu=9.9, switches=100_000)
    assert row(record)["psi_cpu"] == pytest.approx(0.99)
    assert disturbed(record.measured(), 0) == ""


def test_several_reasons_are_all_reported() -> None:
    record = made()
    counted(record, 0, busy=20, idle=0, own=1, psi_io=5)
    assert disturbed(record.measured(), 0).count(";") == 1


def test_the_gpu_share_is_of_the_worst_reason_of_the_worst_gpu() -> None:
    record = made()
    for at_s, (first, second) in enumerate([(0, 0), (1, 0), (0, 1), (0, 1)]):
        record.reading(0, "gpu-0", "slowdown_thermal", first, at_s=at_s, unit="flag")
        record.reading(0, "gpu-1", "slowdown_power_brake", second, at_s=at_s, unit="flag")
    assert row(record)["gpu_throttled"] == 0.5
    assert disturbed(record.measured(), 0).startswith("a GPU was throttled for heat or power in 50 % of the readings")


def test_gpu_clocks_are_relative_to_the_median_launch() -> None:
    record = made(3)
    for launch, (megahertz, gigahertz) in enumerate([(1980, 3.0), (1980, 3.0), (990, 2.4)]):
        record.reading(launch, "gpu-0", "sm_clock", megahertz * 1e6, unit="Hz")
        record.reading(launch, "gpu-0", "slowdown_thermal", 0.0, unit="flag")
        record.reading(launch, "cpu", "frequency", gigahertz * 1e9, unit="Hz")
        counted(record, launch, busy=1, idle=1, own=1)
    assert [found["clock_ratio"] for found in fold(record.measured()).to_dicts()] == [1.0, 1.0, 0.5]
    assert [bool(disturbed(record.measured(), launch)) for launch in (0, 1, 2)] == [False, False, True]
    assert disturbed(record.measured(), 2) == "a GPU's clock was 50 % below that of the median launch (at most 25 %)"
    assert [found["frequency_ratio"] for found in fold(record.measured()).to_dicts()] == pytest.approx([1.0, 1.0, 0.8])


def test_a_sentinel_is_compared_with_the_median_in_robust_deviations() -> None:
    """49 51 49 51 50 50 49 60 ms: median 50, absolute deviations 1 1 1 1 0 0 1 10, their median 1."""
    record = made(4)
    sentinels(record, (0.049, 0.051), (0.049, 0.051), (0.050, 0.050), (0.049, 0.060))
    found = row(record, 3)
    assert (found["sentinel"], found["sentinel_ratio"]) == (0.060, pytest.approx(1.2))
    assert found["deviations"] == pytest.approx(0.010 / (1.4826 * 0.001))
    assert disturbed(record.measured(), 3) == "the speed probe took 1.2 times its median (6.7 robust standard deviations)"
    assert disturbed(record.measured(), 2) == ""


def test_a_sentinel_within_five_percent_is_no_disturbance_however_quiet_the_others_were() -> None:
    record = made(4)
    sentinels(record, (0.05, 0.05), (0.05, 0.05), (0.05, 0.05), (0.05, 0.0524))
    assert math.isinf(row(record, 3)["deviations"])
    assert disturbed(record.measured(), 3) == ""


def test_among_equal_sentinels_a_slower_one_is_reported_without_a_deviation() -> None:
    record = made(4)
    sentinels(record, (0.05, 0.05), (0.05, 0.05), (0.05, 0.05), (0.05, 0.06))
    assert disturbed(record.measured(), 3) == "the speed probe took 1.2 times its median (all others were equal)"


def test_the_limit_of_deviations_is_the_experiments() -> None:
    record = made(4, sentinel_deviations=10.0)
    sentinels(record, (0.049, 0.051), (0.049, 0.051), (0.050, 0.050), (0.049, 0.060))
    assert disturbed(record.measured(), 3) == ""


def test_the_first_launch_is_not_slow_by_its_own_two_readings() -> None:
    """Two readings lie one MAD from their median, whatever they are."""
    record = made(1)
    sentinels(record, (0.05, 0.50))
    assert disturbed(record.measured(), 0) == ""


@given(busy=st.floats(0, 1e4), idle=st.floats(0, 1e4), steal=st.floats(0, 1e4), own=st.floats(0, 1e4), assay=st.floats(0, 1e4))
def test_shares_lie_between_nothing_and_all(busy: float, idle: float, steal: float, own: float, assay: float) -> None:
    record = made()
    counted(record, 0, busy=busy, idle=idle, steal=steal, own=own, assay=assay)
    found = row(record)
    for name in ("foreign", "steal"):
        assert found[name] is None or 0.0 <= found[name] <= 1.0


@given(st.lists(st.floats(0.01, 10.0), min_size=2, max_size=12), st.floats(0.1, 100.0))
def test_the_unit_of_the_sentinel_does_not_matter(readings: list[float], factor: float) -> None:
    """A machine that is twice as slow throughout has the same disturbed launches."""
    once, again = made(len(readings)), made(len(readings))
    sentinels(once, *((value, value) for value in readings))
    sentinels(again, *((value * factor, value * factor) for value in readings))
    for one, other in zip(fold(once.measured()).to_dicts(), fold(again.measured()).to_dicts(), strict=True):
        assert other["sentinel_ratio"] == pytest.approx(one["sentinel_ratio"])


def test_every_disturbed_launch_is_named_with_its_rules() -> None:
    record = made(3)
    counted(record, 1, busy=12, idle=8, own=9.9, psi_io=0.6)
    assert {launch: list(rules) for launch, rules in disturbances(record.measured()).items()} == {1: ["foreign_load", "pressure_io"]}
