"""How many joules did the AMD GPUs use?

amdsmi's energy accumulator of a GPU: a 64-bit count in steps of its `counter_resolution` (microjoules, 15.259 on Instinct), which begins
again at 0 with the driver.  Source: AMD SMI API reference, amdsmi_get_energy_count.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any, Final

from fireassay.instruments.machine.energy.support.source import Around, Found, JouleCounter, Source
from fireassay.record.machine import Unread

UPDATE_S: Final = 0.1
STEP_J: Final = 0.001


def import_amdsmi() -> Any:
    """The binding. Raises ImportError."""
    return importlib.import_module("amdsmi")  # of AMD's ROCm, without types


def find(around: Around) -> Found:
    """The energy counters of the AMD GPUs visible to a workload (ROCR_VISIBLE_DEVICES or HIP_VISIBLE_DEVICES)."""
    load = around.load_amdsmi or import_amdsmi
    try:
        library = load()
    except (ImportError, KeyError, OSError):  # without a driver the binding does not load
        return Found(absence="no amdsmi: the package amdsmi is not installed")
    try:
        library.amdsmi_init()
        handles = list(library.amdsmi_get_processor_handles())
        devices = [(handle, str(library.amdsmi_get_gpu_device_uuid(handle))) for handle in handles]
    except library.AmdSmiException as error:
        return Found(absence=f"no amdsmi: {error}")
    chosen = _visible(around.machine.environ)
    visible = [device for place, device in enumerate(devices) if chosen is None or str(place) in chosen or device[1] in chosen]
    counters, refused = [], []
    for handle, uuid in visible:
        read = _reader(library, handle)
        try:
            read()
        except Unread as error:
            refused.append(f"{uuid}: {error}")
            continue
        counters.append(JouleCounter(device=f"GPU-{uuid}", read=read, max_range=None, delay_s=UPDATE_S, step=STEP_J))
    if not visible:
        return Found(absence="amdsmi lists no GPU visible to the workload")
    return Found(counters=tuple(counters), absence=f"amdsmi counts no energy: {'; '.join(refused)}" if refused else None)


def _visible(environ: Mapping[str, str]) -> set[str] | None:
    text = environ.get("ROCR_VISIBLE_DEVICES", environ.get("HIP_VISIBLE_DEVICES"))
    return None if text is None else {part.strip().removeprefix("GPU-") for part in text.split(",") if part.strip()}


def _reader(library: Any, handle: Any) -> Callable[[], float]:
    def read() -> float:
        try:
            answer = library.amdsmi_get_energy_count(handle)
            count = answer.get("energy_accumulator", answer.get("power"))  # the older name of the same count
            return float(count) * float(answer["counter_resolution"]) / 1e6
        except library.AmdSmiException as error:
            raise Unread(f"amdsmi: {error}") from error
        except (KeyError, TypeError, ValueError) as error:
            raise Unread(f"amdsmi answers without a count: {error}") from error

    return read


SOURCE: Final = Source(name="amdsmi", covers=frozenset({"amd"}), automatic=True, find=find)
