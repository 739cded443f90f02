"""Which meters are read together, and which are refused?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fireassay import catalog
from fireassay.clock import FakeClock
from fireassay.instruments.machine.energy.support.launch_energy import find
from fireassay.instruments.machine.meter import Meter, Row
from fireassay.record.machine import Machine
from fireassay.spec.sections.energy import Energy, meters_exist
from tests.instruments.machine.energy_made import DCGM, around, ipmitool, no_binding, rapl_zone, serving


@pytest.fixture
def tool(tmp_path: Path) -> dict[str, str]:
    return ipmitool(tmp_path)


def test_every_source_is_found_by_its_file() -> None:
    assert {"amdsmi", "dcgm", "ipmi", "nvml", "prometheus", "rapl", "redfish"} <= set(catalog.names("instruments.machine.energy"))


def test_a_meter_of_the_whole_host_is_never_added_to_its_parts(tmp_path: Path, tool: dict[str, str]) -> None:
    rapl_zone(tmp_path)
    for source, device, left in (("ipmi,rapl", "host-ipmi", "energy_rapl"), ("rapl,ipmi", "package-0", "energy_ipmi")):
        counters, absences = find(around(tmp_path, source, environ=tool))
        assert [counter.device for counter in counters] == [device]
        assert absences[left].startswith("not read beside ")


def test_processors_and_gpus_of_different_sources_are_read_together(tmp_path: Path) -> None:
    rapl_zone(tmp_path)
    with serving({"/metrics": DCGM}) as url:
        counters, _ = find(around(tmp_path, "rapl,dcgm", endpoint=f"{url}/metrics"))
    assert [counter.device for counter in counters] == ["package-0", "GPU-aaaa1111", "GPU-bbbb2222"]


def test_the_default_needs_no_address_and_reads_no_whole_host(tmp_path: Path, tool: dict[str, str]) -> None:
    rapl_zone(tmp_path)
    counters, absences = find(around(tmp_path, "auto", environ=tool))
    assert [counter.device for counter in counters] == ["package-0"]
    assert "energy_ipmi" not in absences


@pytest.mark.parametrize(
    ("keys", "where"),
    [
        ({"source": "rapid"}, "energy.source"),
        ({"source": "rapl,rapl"}, "energy.source"),
        ({"source": "dcgm"}, "energy.endpoint"),
        ({"source": "prometheus", "endpoint": "http://h/metrics"}, "energy.metric"),
        ({"source": "redfish", "endpoint": "https://root:secret@bmc/redfish"}, "energy.endpoint"),
        ({"source": "redfish", "endpoint": "https://bmc/redfish?token=1"}, "energy.endpoint"),
        ({"source": "redfish", "endpoint": "file:///etc/passwd"}, "energy.endpoint"),
        ({"source": "redfish", "endpoint": "http://[bad"}, "energy.endpoint"),
    ],
)
def test_a_meter_that_cannot_be_read_is_refused_before_the_run(keys: dict[str, Any], where: str) -> None:
    (problem,) = meters_exist(Energy(**keys))
    assert problem.where == where
    assert "secret" not in str(problem)


# ---- idle power ----


def test_idle_power_is_measured_before_the_launch_and_only_on_request(tmp_path: Path) -> None:
    """A package that draws 50 W while nothing runs, for 4 s."""
    rapl_zone(tmp_path)
    clock = FakeClock()
    file = tmp_path / "sys/class/powercap/intel-rapl:0/energy_uj"

    class Drawing(FakeClock):
        def sleep(self, seconds: float) -> None:
            clock.advance(seconds)
            file.write_text(str(5_000_000 + round(50e6 * clock.ns / 1e9)))

        def now_ns(self) -> int:
            return clock.ns

    for idle, watts in (("subtract", [50.0]), ("include", [])):
        rows: list[Row] = []
        energy = Energy(source="rapl", idle=idle, idle_s=4.0, sample_every_s=1.0)
        meter = Meter(energy, rows.append, Drawing(), machine=Machine(root=tmp_path, environ={}), load_nvml=no_binding)
        meter.before_launch()
        meter.start(0, lambda: ())
        meter.stop()
        assert [row[5] for row in rows if row[4] == "idle_power"] == pytest.approx(watts)
