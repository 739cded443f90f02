"""A device that idles between short kernels is told; one that idles for another reason, or works, is not."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from fireassay.frames.record_data import RecordData
from fireassay.verdict.audits.bottlenecks.bottleneck_launches import AUDIT
from tests.builders import estimate
from tests.handmade import Handmade

ONE = "workers=1"
MS = 1_000_000


def profiled(*idle_ms: int, kernel_us: float, on_device: bool = True) -> RecordData:
    """Steps of 100 ms that idle so long, and 1,000 kernels of a length."""
    made = Handmade(levels=(1,), blocks=1)
    launch = made.launch(workers=1, role="profile")
    steps = [{"window_ns": 100 * MS, "idle_ns": one * MS} for one in idle_ms]
    kernels = [
        {"name": "ncclDevKernel_AllReduce", "class": "communication", "calls": 4, "ns": 40 * MS},  # its length is no kernel's that computes
        {"name": "k", "class": "matmul", "calls": 1000, "ns": round(1000 * kernel_us * 1000)},
    ]
    rank: dict[str, Any] = {"rank": 0, "on_device": on_device, "steps": steps, "kernels": kernels}
    return replace(made.measured(), profiles=({"launch": launch, "ranks": [rank], "nsys": []},))


def test_a_device_that_idles_between_short_kernels_is_told_with_the_most_that_could_be_gained() -> None:
    """50 of 100 ms on average, 40 at least and 60 at most: 2 times, 1.67 to 2.5."""
    (found,) = AUDIT.examine(profiled(40, 60, kernel_us=5.0), {})
    assert (found.rule, found.configuration) == ("bottleneck_launches", ONE)
    assert "idles 50% of the profiled steps (40% to 60% of each)" in found.evidence
    assert "without it a step would be at most 2.00 times as fast [1.66, 2.50]" in found.evidence
    assert "torch.compile" in found.remedy


@pytest.mark.parametrize(
    ("idle", "kernel_us", "on_device"),
    [((5, 8), 5.0, True), ((40, 60), 200.0, True), ((40, 60), 5.0, False)],
    ids=["busy", "long kernels", "on processors"],
)
def test_otherwise_nothing_is_told(idle: tuple[int, ...], kernel_us: float, on_device: bool) -> None:
    measured = profiled(*idle, kernel_us=kernel_us, on_device=on_device)
    assert tuple(AUDIT.examine(measured, {})) == ()


def test_waiting_for_data_is_taken_off() -> None:
    """45 of 50 ms idle are data: 5 % are left."""
    data = {"data_time": {ONE: estimate(0.045, 0.0, "s")}}
    assert tuple(AUDIT.examine(profiled(50, 50, kernel_us=5.0), data)) == ()


def test_without_a_profile_nothing_is_told() -> None:
    made = Handmade(levels=(1,), blocks=1)
    made.launch(workers=1)
    assert tuple(AUDIT.examine(made.measured(), {})) == ()
