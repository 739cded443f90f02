"""Peaks of memory: as the system and torch tell them, and nothing where they do not."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from fireassay.instruments.recorder.peak_memory import peaks, resident_peak

MIB = 1024 * 1024


def status(folder: Path, text: str) -> Path:
    path = folder / "status"
    path.write_text(text)
    return path


def cuda(*, initialised: bool = True) -> Any:
    """Two devices, of which the second was used."""
    return SimpleNamespace(
        cuda=SimpleNamespace(
            is_available=lambda: True,
            is_initialized=lambda: initialised,
            device_count=lambda: 2,
            max_memory_reserved=(0, 64 * MIB).__getitem__,
            max_memory_allocated=(0, 40 * MIB).__getitem__,
            get_device_properties=lambda index: SimpleNamespace(total_memory=(80 + index) * MIB),
        )
    )


def test_the_host_s_peak_is_the_kernel_s_high_water_mark(tmp_path: Path) -> None:
    path = status(tmp_path, "Name:\tpython\nVmPeak:\t  900 kB\nVmHWM:\t  512 kB\nVmRSS:\t  100 kB\n")
    assert list(peaks(None, path)) == [("host", "memory_peak", 512 * 1024)]


def test_a_peak_is_at_least_what_the_process_holds() -> None:
    block = bytearray(b"x") * (32 * MIB)
    resident = int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    found = resident_peak()
    assert found is not None
    assert len(block) < resident <= found + MIB  # statm may run ahead by what each processor has not told yet


def test_devices_that_were_used_tell_what_was_allocated_and_reserved(tmp_path: Path) -> None:
    found = list(peaks(cuda(), status(tmp_path, "VmHWM:\t 1 kB\n")))
    assert found[1:] == [
        ("cuda:1", "memory_allocated_peak", 40 * MIB),
        ("cuda:1", "memory_reserved_peak", 64 * MIB),
        ("cuda:1", "memory_device_total", 81 * MIB),
    ]


def test_a_gpu_that_was_never_started_is_not_started_for_this(tmp_path: Path) -> None:
    assert len(list(peaks(cuda(initialised=False), status(tmp_path, "VmHWM:\t 1 kB\n")))) == 1
