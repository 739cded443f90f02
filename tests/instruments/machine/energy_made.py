"""Fakes of what the sources of energy readings read."""

from __future__ import annotations

import base64
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from fireassay.instruments.machine.energy.support.source import Around
from fireassay.record.machine import Machine
from fireassay.spec.sections.energy import Energy

IPMI = """
    Instantaneous power reading:                   220 Watts
    Minimum during sampling period:                 40 Watts
    Average power reading over sample period:      180 Watts
    Power reading state is:                   activated
"""
DCGM = b"""DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION{gpu="0",UUID="GPU-aaaa1111",Hostname="n1"} 5000000
DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION{gpu="1",UUID="GPU-bbbb2222",Hostname="n1"} 7000
DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION{gpu="1",UUID="GPU-bbbb2222",Hostname="n1",pod="second"} 7000
"""


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


def zone(root: Path, name: str, device: str, energy_uj: int | str, range_uj: int | str = 65_712_999_613) -> None:
    """One powercap zone."""
    folder = root / "sys/class/powercap" / name
    folder.mkdir(parents=True)
    for file, value in (("name", device), ("energy_uj", energy_uj), ("max_energy_range_uj", range_uj)):
        (folder / file).write_text(f"{value}\n")


def bare(root: Path, **environ: str) -> Machine:
    return Machine(root=root, environ=environ, folder=root)


def rapl_zone(tmp_path: Path) -> None:
    folder = tmp_path / "sys/class/powercap/intel-rapl:0"
    folder.mkdir(parents=True)
    for name, text in {"name": "package-0", "energy_uj": "5000000", "max_energy_range_uj": "65712999613"}.items():
        (folder / name).write_text(text)


class FakeNvmlError(Exception):
    """Like pynvml.NVMLError."""


class FakeNvml:
    """A binding that shows GPUs with these counters, in millijoules; an exception is raised instead of shown."""

    NVMLError = FakeNvmlError

    def __init__(self, counters: dict[str, int | Exception], init: Exception | None = None) -> None:
        self.counters, self.init = counters, init

    def nvmlInit(self) -> None:
        if self.init is not None:
            raise self.init

    def nvmlDeviceGetCount(self) -> int:
        return len(self.counters)

    def nvmlDeviceGetHandleByIndex(self, index: int) -> str:
        return list(self.counters)[index]

    def nvmlDeviceGetUUID(self, handle: str) -> bytes:
        return handle.encode()

    def nvmlDeviceGetTotalEnergyConsumption(self, handle: str) -> int:
        value = self.counters[handle]
        if isinstance(value, Exception):
            raise value
        return value


def missing() -> Any:
    raise ImportError("No module named 'pynvml'")


def ipmitool(folder: Path) -> dict[str, str]:
    """A PATH with an ipmitool."""
    path = folder / "ipmitool"
    path.write_text(f"#!/bin/sh\ncat <<'END'\n{IPMI}END\n")
    path.chmod(0o755)
    return {"PATH": f"{folder}:/usr/bin:/bin"}
