"""Does ipmitool give the power of the host?"""

from __future__ import annotations

from pathlib import Path

import pytest

from fireassay.instruments.machine.energy.support.launch_energy import find
from fireassay.instruments.machine.energy.support.source import WattMeter
from tests.instruments.machine.energy_made import around, ipmitool


@pytest.fixture
def tool(tmp_path: Path) -> dict[str, str]:
    return ipmitool(tmp_path)


def test_ipmi_gives_the_power_of_the_host(tmp_path: Path, tool: dict[str, str]) -> None:
    (meter,), _ = find(around(tmp_path, "ipmi", environ=tool))
    assert isinstance(meter, WattMeter)
    assert (meter.device, meter.read()) == ("host-ipmi", 220.0)


@pytest.mark.parametrize("answer", ["", "DCMI request failed", "Instantaneous power reading: N/A"])
def test_ipmi_without_a_reading_is_absent(tmp_path: Path, tool: dict[str, str], answer: str) -> None:
    counters, absences = find(around(tmp_path, "ipmi", environ=tool, run=lambda _: answer))
    assert counters == ()
    assert "no instantaneous power" in absences["energy"]


def test_no_ipmitool_is_a_reason(tmp_path: Path) -> None:
    assert "not installed" in find(around(tmp_path, "ipmi", environ={"PATH": ""}))[1]["energy"]
