"""How many joules did the GPUs use, by NVIDIA's exporter?

dcgm-exporter's DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION at `energy.endpoint`: millijoules of each GPU since the driver was loaded, the same
count as NVML's, collected every 30 s by default.  A GPU is its UUID, so one that NVML counts too is not counted twice.
"""

from __future__ import annotations

from collections.abc import Callable
from http.client import HTTPException
from typing import Final

from fireassay.instruments.engines.exposition import parse
from fireassay.instruments.machine.energy.support.source import Around, Found, JouleCounter, Source
from fireassay.record.machine import Unread

METRIC: Final = "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION"
DELAY_S: Final = 60.0
MILLI: Final = 1e-3


def find(around: Around) -> Found:
    """Every GPU on the page that the workload may see."""
    if not around.energy.endpoint:
        return Found(absence='no DCGM: energy.endpoint is not given, such as "http://127.0.0.1:9400/metrics"')
    try:
        page = _page(around)
    except (OSError, HTTPException, ValueError) as error:
        return Found(absence=f"no DCGM: {str(error)[:160] or type(error).__name__}")
    visible = around.machine.environ.get("CUDA_VISIBLE_DEVICES")
    chosen = None if visible is None else {name.strip() for name in visible.split(",") if name.strip()}
    devices = [uuid for uuid, (number, _) in page.items() if chosen is None or number in chosen or _named(uuid, chosen)]
    if not devices:
        return Found(absence=f"no DCGM: the page has no {METRIC} of a GPU visible to the workload")
    return Found(counters=tuple(_counter(around, uuid) for uuid in devices))


def _named(uuid: str, chosen: set[str]) -> bool:
    return any(len(name) > len("GPU-") and uuid.startswith(name) for name in chosen)


def _page(around: Around) -> dict[str, tuple[str, float]]:
    """UUID -> (index, joules). Raises OSError, HTTPException."""
    series = parse(around.fetch(around.energy.endpoint or "", {}), (METRIC,))
    found: dict[str, tuple[str, float]] = {}
    for one in series:  # a GPU that several pods share has a line for each: the same count
        found.setdefault(one.labels.get("UUID") or f"gpu-{one.labels.get('gpu', '?')}", (one.labels.get("gpu", ""), one.value * MILLI))
    return found


def _counter(around: Around, uuid: str) -> JouleCounter:
    return JouleCounter(device=uuid, read=_reader(around, uuid), max_range=None, delay_s=DELAY_S, step=MILLI)


def _reader(around: Around, uuid: str) -> Callable[[], float]:
    def read() -> float:
        page = _page(around)
        if uuid not in page:
            raise Unread(f"the page has no {uuid}")
        return page[uuid][1]

    return read


SOURCE: Final = Source(name="dcgm", covers=frozenset({"nvidia"}), automatic=False, find=find)
