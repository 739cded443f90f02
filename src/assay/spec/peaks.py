"""What can a device do at most, in the precision that was used?  The table `peaks.toml`, and no guess beside it.

A device's name is looked for as a whole: "NVIDIA L40S" is neither an L40 nor an L4, a laptop's card is not the desktop's, a slice
of a GPU (MIG) is not the GPU.  What is not in the table is unknown, and so is a precision for which a device has no figure: there is
no device and no precision to fall back to.  Other tools give an L40S an A100's 312 or an L4's 121 (house research, 2.3).
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

TERA: Final = 1e12
QUANTISED: Final = ("float8", "int8", "uint8", "int4", "quint8", "qint8", "qint32")  # no model FLOP/s against a peak
_TABLE: Final = Path(__file__).with_suffix(".toml")
_OTHER_KEYS: Final = frozenset({"device", "source", "sparse_factor"})


@dataclass(frozen=True, kw_only=True)
class Peak:
    """The most that a device does in a precision, dense, and where that is from."""

    flops_per_s: float
    precision: str
    source: str
    sparse_factor: float = 1.0  # by which the maker's figure with sparsity is larger


@dataclass(frozen=True, kw_only=True)
class _Entry:
    device: re.Pattern[str]
    tflops: dict[str, float]
    source: str
    sparse_factor: float


def peak_of(device: str, precision: str) -> Peak | None:
    """The peak of a device by the name that it gives itself; None: not known."""
    found = [entry for entry in _entries() if entry.device.fullmatch(device.strip())]
    if len(found) != 1 or precision not in found[0].tflops:
        return None
    (entry,) = found
    return Peak(flops_per_s=entry.tflops[precision] * TERA, precision=precision, source=entry.source, sparse_factor=entry.sparse_factor)


def knows(device: str) -> bool:
    """Whether the table has the device at all."""
    return any(entry.device.fullmatch(device.strip()) for entry in _entries())


@cache
def _entries() -> tuple[_Entry, ...]:
    table = tomllib.loads(_TABLE.read_text())
    return tuple(
        _Entry(
            device=re.compile(one["device"], re.IGNORECASE),
            tflops={name: float(value) for name, value in one.items() if name not in _OTHER_KEYS},
            source=str(one["source"]),
            sparse_factor=float(one.get("sparse_factor", 1.0)),
        )
        for one in table["peak"]
    )
