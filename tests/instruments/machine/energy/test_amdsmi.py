"""Does amdsmi count the joules of AMD GPUs?"""

from __future__ import annotations

from pathlib import Path

import pytest

from fireassay.instruments.machine.energy.support.launch_energy import find
from tests.instruments.machine.energy_made import around


class FakeAmd:
    """Two GPUs whose accumulators count steps of 15.3 microjoules."""

    AmdSmiException = RuntimeError

    def amdsmi_init(self) -> None: ...

    def amdsmi_get_processor_handles(self) -> list[str]:
        return ["a", "b"]

    def amdsmi_get_gpu_device_uuid(self, handle: str) -> str:
        return f"uuid-{handle}"

    def amdsmi_get_energy_count(self, handle: str) -> dict[str, float]:
        if handle == "b":
            raise RuntimeError("not supported")
        return {"energy_accumulator": 2_000_000, "counter_resolution": 15.3, "timestamp": 0}


def test_amdsmi_counts_steps_of_its_resolution(tmp_path: Path) -> None:
    """2,000,000 x 15.3 microjoules = 30.6 J."""
    counters, absences = find(around(tmp_path, "amdsmi", load_amdsmi=FakeAmd))
    assert [(counter.device, counter.read()) for counter in counters] == [("GPU-uuid-a", pytest.approx(30.6))]
    assert "not supported" in absences["energy_amdsmi"]


def test_amdsmi_reads_visible_gpus_only(tmp_path: Path) -> None:
    counters, absences = find(around(tmp_path, "amdsmi", load_amdsmi=FakeAmd, environ={"ROCR_VISIBLE_DEVICES": "7"}))
    assert (counters, absences["energy"]) == ((), "amdsmi lists no GPU visible to the workload")
