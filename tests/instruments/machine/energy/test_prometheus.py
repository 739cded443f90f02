"""Are the series of an exporter read as joules or watts?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fireassay.clock import FakeClock
from fireassay.instruments.machine.energy.support.launch_energy import LaunchEnergy, find
from fireassay.instruments.machine.energy.support.source import JouleCounter, WattMeter
from tests.instruments.machine.energy_made import around, serving

KEPLER = b"""# HELP kepler_node_platform_joules_total Aggregated
# TYPE kepler_node_platform_joules_total counter
kepler_node_platform_joules_total{instance="n1",mode="dynamic",source="acpi"} 1000.5
kepler_node_platform_joules_total{instance="n1",mode="idle",source="acpi"} 500
"""
HWMON = b'node_hwmon_power_average_watt{chip="power_meter",sensor="power1"} 187.5\n'


def test_each_series_of_an_exporter_is_a_counter_of_joules(tmp_path: Path) -> None:
    with serving({"/metrics": KEPLER}) as url:
        keys = {"endpoint": f"{url}/metrics", "metric": "kepler_node_platform_joules_total"}
        counters, _ = find(around(tmp_path, "prometheus", **keys))
        chosen, _ = find(around(tmp_path, "prometheus", labels={"mode": "dynamic"}, **keys))
        name = "host-kepler_node_platform_joules_total"
        assert {counter.device: counter.read() for counter in counters} == {
            f"{name}{{mode=dynamic}}": 1000.5,
            f"{name}{{mode=idle}}": 500.0,
        }
        assert [(counter.device, counter.read()) for counter in chosen] == [(name, 1000.5)]
    assert all(isinstance(counter, JouleCounter) for counter in counters)


def test_the_most_that_a_host_can_draw_narrows_the_bound(tmp_path: Path) -> None:
    """Read once a second, a counter far from its begin is off by its delay of 10 s: at 20 kW 200 kJ, at 400 W 4 kJ."""
    for keys, bound in (({}, 200_001.0), ({"max_watts": 400.0}, 4001.0)):
        shown = iter([b"e_joules_total 5e6", b"e_joules_total 5e6", b"e_joules_total 5000080"])
        counters, _ = find(
            around(
                tmp_path, "prometheus", endpoint="http://h/m", metric="e_joules_total", fetch=lambda *_, shown=shown: next(shown), **keys
            )
        )
        clock, launch = FakeClock(), LaunchEnergy(counters)
        list(launch.read(clock))
        clock.advance(1.0)
        readings = {reading.counter: reading.value for reading in launch.read(clock)}
        assert (readings["energy"], readings["energy_bound"]) == (80.0, bound)


def test_watts_of_an_exporter_are_sampled(tmp_path: Path) -> None:
    with serving({"/metrics": HWMON}) as url:
        (meter,), _ = find(around(tmp_path, "prometheus", endpoint=f"{url}/metrics", metric="node_hwmon_power_average_watt"))
        assert isinstance(meter, WattMeter)
        assert meter.read() == 187.5


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"metric": "absent_joules_total"}, "no series"),
        ({"metric": "some_number"}, "give energy.unit"),
        ({"metric": "kepler_node_platform_joules_total", "labels": {"mode": "none"}}, "no series"),
    ],
)
def test_an_exporter_without_the_metric_is_absent(tmp_path: Path, keys: dict[str, Any], said: str) -> None:
    with serving({"/metrics": KEPLER}) as url:
        counters, absences = find(around(tmp_path, "prometheus", endpoint=f"{url}/metrics", **keys))
    assert counters == ()
    assert said in absences["energy"]


def test_an_exporter_that_is_gone_fails_a_reading_and_not_the_launch(tmp_path: Path) -> None:
    with serving({"/metrics": HWMON}) as url:
        counters, _ = find(around(tmp_path, "prometheus", endpoint=f"{url}/metrics", metric="node_hwmon_power_average_watt"))
    launch = LaunchEnergy(counters)
    assert [reading.counter for reading in launch.read(FakeClock())] == ["energy_errors"]
