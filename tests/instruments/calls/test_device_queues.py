"""Does a trial wait for the devices that are in use, and for no other?"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import fireassay
from fireassay.errors import SpecError, WorkloadError
from fireassay.estimates.estimate import Absent, Estimate
from fireassay.instruments.calls import device_queues
from tests.instruments.calls.queued import WORK_S, write_queued


@pytest.fixture
def queued(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    write_queued(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.slow
def test_work_that_is_queued_is_in_the_time(queued: Path) -> None:
    """A call returns in microseconds; its device works for 50 ms on each."""
    result = fireassay.time("work:step", launches=3, round_s=0.05)
    device = result.record.metric("trial_device_time")
    assert isinstance(result.estimate, Estimate)
    assert isinstance(device, Estimate)
    assert result.estimate.value >= WORK_S
    assert device.value == pytest.approx(WORK_S, rel=0.2)
    assert device.value <= result.estimate.value
    assert "synchronised once in each trial, with the cost of that: cuda:0" in result.text
    assert {"cuda:0"} == set(result.record.table("telemetry").filter(counter="synchronise")["device"])


@pytest.mark.slow
def test_work_that_is_not_waited_for_by_request_is_named(queued: Path) -> None:
    result = fireassay.time("work:step", launches=3, round_s=0.002, device="cpu")
    assert isinstance(result.record.metric("trial_device_time"), Absent)
    assert "no trial waited for cuda:0 (timing.device is 'cpu'), in 3 launches" in result.text


@pytest.mark.slow
@pytest.mark.parametrize("device", ["cuda:5", "xpu", "mps"])
def test_a_device_that_is_not_there_ends_the_run(queued: Path, device: str) -> None:
    with pytest.raises(WorkloadError, match=f"timing.device = '{device}', but torch finds no such device"):
        fireassay.time("work:step", launches=3, device=device)


def test_a_device_of_another_name_is_refused() -> None:
    with pytest.raises(SpecError, match="auto, cpu, cuda, cuda:N, xpu, xpu:N or mps"):
        fireassay.time("work:step", device="gpu")


def test_torch_is_not_imported_to_find_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    assert device_queues.in_use("auto") == ()
    assert "torch" not in sys.modules
