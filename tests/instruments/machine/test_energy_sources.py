"""Each source of energy readings on a fake of what it reads: a binding, a command, a page over HTTP on loopback."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from fireassay import catalog
from fireassay.clock import FakeClock
from fireassay.instruments.machine.energy.support.launch_energy import LaunchEnergy, find
from fireassay.instruments.machine.energy.support.source import Around, JouleCounter, WattMeter
from fireassay.instruments.machine.meter import Meter, Row
from fireassay.record.machine import Machine
from fireassay.spec.sections.energy import Energy, meters_exist

IPMI = """
    Instantaneous power reading:                   220 Watts
    Minimum during sampling period:                 40 Watts
    Average power reading over sample period:      180 Watts
    Power reading state is:                   activated
"""
POWER = {"PowerControl": [{"MemberId": "0", "PowerConsumedWatts": 344}, {"MemberId": "1", "Name": "CPU", "PowerConsumedWatts": 99}]}
METRICS = {"PowerWatts": {"Reading": 512.5}}


def no_binding() -> Any:
    raise ImportError("none")


def around(tmp_path: Path, source: str, *, environ: Mapping[str, str] | None = None, **keys: Any) -> Around:
    parts = {name: keys.pop(name) for name in ("run", "fetch", "load_amdsmi") if name in keys}
    machine = Machine(root=tmp_path, environ=environ or {}, folder=tmp_path)
    return Around(energy=Energy(source=source, **keys), machine=machine, load_nvml=no_binding, **parts)


@contextmanager
def serving(pages: dict[str, bytes], *, user: str = "") -> Iterator[str]:
    """An HTTP server on loopback with these pages, behind a password if there is a user."""

    class Pages(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            wanted = f"Basic {base64.b64encode(f'{user}:secret'.encode()).decode()}"
            status = 401 if user and self.headers["authorization"] != wanted else 200 if self.path in pages else 404
            body = pages.get(self.path, b"") if status == 200 else b""
            self.send_response(status)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Pages)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def test_every_source_is_found_by_its_file() -> None:
    assert {"amdsmi", "dcgm", "ipmi", "nvml", "prometheus", "rapl", "redfish"} <= set(catalog.names("instruments.machine.energy"))


# ---- amdsmi ----


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


# ---- IPMI ----


@pytest.fixture
def tool(tmp_path: Path) -> dict[str, str]:
    """A PATH with an ipmitool."""
    path = tmp_path / "ipmitool"
    path.write_text(f"#!/bin/sh\ncat <<'END'\n{IPMI}END\n")
    path.chmod(0o755)
    return {"PATH": f"{tmp_path}:/usr/bin:/bin"}


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


# ---- Redfish ----


@pytest.mark.parametrize(("document", "watts"), [(POWER, 344.0), (METRICS, 512.5)])
def test_redfish_gives_the_chassis_and_not_its_parts_again(tmp_path: Path, document: Any, watts: float) -> None:
    with serving({"/power": json.dumps(document).encode()}) as url:
        (meter,), _ = find(around(tmp_path, "redfish", endpoint=f"{url}/power"))
        assert (meter.device, meter.read()) == ("host-redfish", watts)


def test_redfish_credentials_come_from_the_environment(tmp_path: Path) -> None:
    secret = {"FIREASSAY_REDFISH_USER": "root", "FIREASSAY_REDFISH_PASSWORD": "secret"}
    with serving({"/power": json.dumps(POWER).encode()}, user="root") as url:
        (meter,), _ = find(around(tmp_path, "redfish", endpoint=f"{url}/power", environ=secret))
        assert meter.read() == 344.0
        counters, absences = find(around(tmp_path, "redfish", endpoint=f"{url}/power"))
    assert counters == ()
    assert "FIREASSAY_REDFISH_USER" in absences["energy"]


@pytest.mark.parametrize(
    "page", [b"", b"<html>", b"[]", b"{}", b'{"PowerControl": []}', b'{"PowerControl": [{"PowerConsumedWatts": null}]}', b"[" * 100_000]
)
def test_redfish_garbage_is_absent_with_a_reason(tmp_path: Path, page: bytes) -> None:
    with serving({"/power": page}) as url:
        counters, absences = find(around(tmp_path, "redfish", endpoint=f"{url}/power"))
    assert counters == ()
    assert absences["energy"].startswith("no Redfish: ")


# ---- exporters ----

KEPLER = b"""# HELP kepler_node_platform_joules_total Aggregated
# TYPE kepler_node_platform_joules_total counter
kepler_node_platform_joules_total{instance="n1",mode="dynamic",source="acpi"} 1000.5
kepler_node_platform_joules_total{instance="n1",mode="idle",source="acpi"} 500
"""
HWMON = b'node_hwmon_power_average_watt{chip="power_meter",sensor="power1"} 187.5\n'
DCGM = b"""DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION{gpu="0",UUID="GPU-aaaa1111",Hostname="n1"} 5000000
DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION{gpu="1",UUID="GPU-bbbb2222",Hostname="n1"} 7000
DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION{gpu="1",UUID="GPU-bbbb2222",Hostname="n1",pod="second"} 7000
"""


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


def test_dcgm_counts_each_gpu_once_whatever_pods_share_it(tmp_path: Path) -> None:
    with serving({"/metrics": DCGM}) as url:
        counters, _ = find(around(tmp_path, "dcgm", endpoint=f"{url}/metrics"))
        assert {counter.device: counter.read() for counter in counters} == {"GPU-aaaa1111": 5000.0, "GPU-bbbb2222": 7.0}
        one, _ = find(around(tmp_path, "dcgm", endpoint=f"{url}/metrics", environ={"CUDA_VISIBLE_DEVICES": "1"}))
        assert [counter.device for counter in one] == ["GPU-bbbb2222"]


# ---- what is read together ----


def rapl_zone(tmp_path: Path) -> None:
    folder = tmp_path / "sys/class/powercap/intel-rapl:0"
    folder.mkdir(parents=True)
    for name, text in {"name": "package-0", "energy_uj": "5000000", "max_energy_range_uj": "65712999613"}.items():
        (folder / name).write_text(text)


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
