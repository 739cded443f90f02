"""How busy the devices are and which share of the memory is used: hand-made readings."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from fireassay.metrics.training.machine_use import (
    DEVICE_BUSY,
    DEVICE_BUSY_PROFILED,
    GPU_MEMORY_PEAK,
    LAUNCH_MEMORY_PEAK,
    MACHINE_MEMORY_SHARE,
    MEMORY_SHARE,
    METRICS,
)
from tests.handmade import Handmade
from tests.metrics.narrow import absence, estimated

GIB = float(1 << 30)
HERE = "workers=2"


def trained(blocks: int = 3) -> Handmade:
    """Two ranks on host `host`, 30 steps of 1 s from second 10 on."""
    made = Handmade(levels=(2,), blocks=blocks)
    for block in range(blocks):
        number = made.launch(workers=2, block=block, wall_s=50.0)
        for rank in (0, 1):
            made.event(number, "worker_start", 1.0, rank=rank)
            made.steps(number, rank=rank, seconds=[1.0] * 30, start_s=10.0)
    return made


def test_only_samples_within_the_steady_steps_count_and_gpus_weigh_alike() -> None:
    """gpu-0 reads 0.9 and 0.7, gpu-1 0.4: (0.8 + 0.4) / 2. The readings of start and end are 0."""
    made = trained()
    for number in range(3):
        for device, at_s, value in (
            ("gpu-0", 5.0, 0.0),
            ("gpu-0", 25.0, 0.9),
            ("gpu-0", 35.0, 0.7),
            ("gpu-1", 30.0, 0.4),
            ("gpu-0", 45.0, 0.0),
        ):
            made.reading(number, device, "utilisation", value, at_s=at_s, unit="share", method="sampled")
    value = estimated(DEVICE_BUSY.compute(made.measured(), {})[HERE])
    assert (value.value, value.low, value.high, value.n_trials) == pytest.approx((0.6, 0.6, 0.6, 9))
    assert "NVML" in value.method


def test_an_idle_device_is_busy_for_no_time_and_that_is_a_value() -> None:
    made = trained()
    for number in range(3):
        made.reading(number, "gpu-0", "utilisation", 0.0, at_s=30.0, unit="share", method="sampled")
    assert estimated(DEVICE_BUSY.compute(made.measured(), {})[HERE]).value == 0.0


def test_what_an_exporter_shows_of_the_same_gpus_is_not_counted_again() -> None:
    made = trained()
    for number in range(3):
        made.reading(number, "gpu-0", "utilisation", 0.5, at_s=30.0, unit="share", method="sampled")
        made.reading(number, "GPU-aaaa", "utilisation", 1.0, at_s=30.0, unit="share", method="scraped")
    assert estimated(DEVICE_BUSY.compute(made.measured(), {})[HERE]).value == pytest.approx(0.5)


def test_without_any_reading_nothing_is_measured() -> None:
    measured = trained().measured()
    for metric in METRICS:
        assert absence(metric.compute(measured, {})[HERE]).reason == "not_measured"


def profile(launch: int, idle: tuple[float, ...]) -> dict[str, Any]:
    ranks = [
        {"rank": rank, "on_device": True, "steps": [{"window_ns": 100, "idle_ns": share * 100}, {"window_ns": 300, "idle_ns": share * 300}]}
        for rank, share in enumerate(idle)
    ]
    return {"launch": launch, "ranks": [*ranks, {"rank": 9, "on_device": False, "steps": [{"window_ns": 1, "idle_ns": 0}]}]}


def test_the_profilers_share_is_by_rank_and_no_part_of_nvmls() -> None:
    """Ranks idle for 0.1 and 0.3 of their steps: busy for 0.8 on average. The rank on the processor does not count."""
    made = trained()
    number = made.launch(workers=2, block=3, role="profile")
    measured = replace(made.measured(), profiles=(profile(number, (0.1, 0.3)),))
    assert estimated(DEVICE_BUSY_PROFILED.compute(measured, {})[HERE]).value == pytest.approx(0.8)
    absence(DEVICE_BUSY.compute(measured, {})[HERE])


def test_memory_of_a_gpu_is_the_largest_reading_of_any() -> None:
    made = trained()
    for number in range(3):
        for device, value in (("gpu-0", 3.0 * GIB), ("gpu-0", 5.0 * GIB), ("gpu-1", 4.0 * GIB)):
            made.reading(number, device, "memory_used", value, at_s=5.0, unit="B", method="sampled")
    assert estimated(GPU_MEMORY_PEAK.compute(made.measured(), {})[HERE]).value == pytest.approx(5.0 * GIB)


def test_the_share_of_a_device_is_that_of_the_fullest_rank_and_of_its_own_device() -> None:
    """40 of 80 GiB on one rank, 30 of 40 GiB on the other: 75 %, though 40 GiB is more."""
    made = trained()
    for number in range(3):
        for rank, used, total in ((0, 40.0, 80.0), (1, 30.0, 40.0)):
            made.reading(number, f"rank-{rank}/cuda:0", "memory_reserved_peak", used * GIB, unit="B", method="self")
            made.reading(number, f"rank-{rank}/cuda:0", "memory_device_total", total * GIB, unit="B", method="self")
    assert estimated(MEMORY_SHARE.compute(made.measured(), {})[HERE]).value == pytest.approx(0.75)


def test_a_record_without_the_size_of_the_device_has_no_share() -> None:
    made = trained()
    for number in range(3):
        made.reading(number, "rank-0/cuda:0", "memory_reserved_peak", GIB, unit="B", method="self")
    assert "memory of a device" in absence(MEMORY_SHARE.compute(made.measured(), {})[HERE]).detail


def test_a_launchs_memory_is_its_fullest_moment() -> None:
    made = trained()
    for number in range(3):
        for at_s, value in ((5.0, 1.0), (20.0, 3.0), (40.0, 2.0)):
            made.reading(number, "launch", "memory_proportional", value * GIB, at_s=at_s, unit="B", method="sampled")
        made.reading(number, "replica-0", "memory_proportional", 9.0 * GIB, unit="B", method="sampled")
    assert estimated(LAUNCH_MEMORY_PEAK.compute(made.measured(), {})[HERE]).value == pytest.approx(3.0 * GIB)


@pytest.mark.parametrize(("limit", "expected"), [(None, 3.1 / 24.0), (6.0, 2.0 / 6.0)])
def test_the_hosts_share_is_of_the_limit_where_a_group_has_one(limit: float | None, expected: float) -> None:
    made = trained()
    for number in range(3):
        for device, counter, value in (("memory", "used", 3.1), ("memory", "total", 24.0), ("cgroup", "memory_used", 2.0)):
            made.reading(number, device, counter, value * GIB, unit="B", method="sampled")
        if limit:
            made.reading(number, "cgroup", "memory_limit", limit * GIB, unit="B", method="sampled")
    assert estimated(MACHINE_MEMORY_SHARE.compute(made.measured(), {})[HERE]).value == pytest.approx(expected)
