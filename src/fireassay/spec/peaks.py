"""What is a device's peak in the precision that was used?

From the table `peaks.toml`, never guessed.  Device names match as a whole: "NVIDIA L40S" is neither an L40 nor an L4, a laptop
card is not the desktop card, a slice of a GPU (MIG) is not the GPU.  Devices and precisions missing from the table are unknown,
without a fallback: for an L40S, torchtitan falls back to an A100's 312 TFLOP/s, and Lightning matches an L4's 121.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

TERA: Final = 1e12
QUANTISED: Final = ("float8", "int8", "uint8", "int4", "quint8", "qint8", "qint32")  # no MFU is defined for these
_TABLE: Final = Path(__file__).with_suffix(".toml")
_OTHER_KEYS: Final = frozenset({"device", "source", "sparse_factor"})


@dataclass(frozen=True, kw_only=True)
class Peak:
    """A device's dense peak in a precision, and its source."""

    flops_per_s: float
    precision: str
    source: str
    sparse_factor: float = 1.0  # vendor figure with sparsity over the dense one


@dataclass(frozen=True, kw_only=True)
class _Entry:
    device: re.Pattern[str]
    tflops: dict[str, float]
    source: str
    sparse_factor: float


def peak_of(device: str, precision: str) -> Peak | None:
    """The peak of a device by its reported name; None: unknown."""
    entries = [entry for entry in _entries() if entry.device.fullmatch(device.strip())]
    if len(entries) != 1 or precision not in entries[0].tflops:
        return None
    (entry,) = entries
    return Peak(flops_per_s=entry.tflops[precision] * TERA, precision=precision, source=entry.source, sparse_factor=entry.sparse_factor)


def knows(device: str) -> bool:
    """True if the table has the device."""
    return any(entry.device.fullmatch(device.strip()) for entry in _entries())


@cache
def _entries() -> tuple[_Entry, ...]:
    table = tomllib.loads(_TABLE.read_text())
    return tuple(
        _Entry(
            device=re.compile(row["device"], re.IGNORECASE),
            tflops={name: float(value) for name, value in row.items() if name not in _OTHER_KEYS},
            source=str(row["source"]),
            sparse_factor=float(row.get("sparse_factor", 1.0)),
        )
        for row in table["peak"]
    )
