"""How fast is this node: matrix product, memory, disk, GPU?  The program that `assay fleet` starts on every node.

    python -I node_tests.py matrix memory disk     prints {"matrix": {"rate": 1.2e11}, "disk": {"lack": "No space left on device"}}

    matrix   FLOP/s of float32 products of 768 x 768, on all processors that numpy's library uses
    memory   bytes read and written per second by copies of 32 MiB
    disk     bytes per second written to the folder of temporary files and synced: a memory file system measures memory
    device   FLOP/s of `gemm_peak` on the first GPU, in bfloat16 (needs torch)
    copies   bytes per second from pinned memory of the host to the first GPU (needs torch)

The first repetition is not counted. A rate is all work over all time, so that pauses count.
Cannot tell: how the node performs hot, after minutes of load; several rounds show that.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Final

SECONDS: Final = 0.3  # of a test
SIZE: Final = 768
COPIED: Final = 32 << 20
WRITTEN: Final = 16 << 20


def rate_of(amount: float, repeat: Callable[[], object], seconds: float = SECONDS, now: Callable[[], float] = time.perf_counter) -> float:
    """Amount per second over repetitions of at least so many seconds together, after one that does not count."""
    repeat()
    begin, repetitions, end = now(), 0, 0.0
    while repetitions == 0 or end - begin < seconds:
        repeat()
        repetitions, end = repetitions + 1, now()
    return amount * repetitions / (end - begin)


def matrix() -> float:
    """FLOP/s."""
    import numpy as np

    factor = np.linspace(-1.0, 1.0, SIZE * SIZE, dtype=np.float32).reshape(SIZE, SIZE)
    product = np.empty_like(factor)
    return rate_of(2.0 * SIZE**3, lambda: np.matmul(factor, factor, out=product))


def memory() -> float:
    """Bytes per second, read and written."""
    import numpy as np

    source, target = np.ones(COPIED, dtype=np.uint8), np.zeros(COPIED, dtype=np.uint8)
    return rate_of(2.0 * COPIED, lambda: np.copyto(target, source))


def disk() -> float:
    """Bytes per second. Raises OSError."""
    block = os.urandom(WRITTEN)
    with tempfile.TemporaryFile(prefix="assay-fleet-") as file:

        def write() -> None:
            file.seek(0)
            file.write(block)
            file.flush()
            os.fsync(file.fileno())

        return rate_of(float(WRITTEN), write)


def device() -> float:
    """FLOP/s. Raises RuntimeError: no GPU."""
    import torch

    from fireassay.instruments.flops import gemm_peak

    if not torch.cuda.is_available():
        raise RuntimeError("torch finds no GPU")
    measured = gemm_peak.measure(torch, "cuda", "bfloat16")
    if measured["flops_per_s"] is None:
        raise RuntimeError(measured["absent"])
    return float(measured["flops_per_s"])


def copies() -> float:
    """Bytes per second. Raises RuntimeError: no GPU."""
    import torch

    if not torch.cuda.is_available():
        raise RuntimeError("torch finds no GPU")
    source = torch.ones(COPIED, dtype=torch.uint8).pin_memory()
    target = torch.empty(COPIED, dtype=torch.uint8, device="cuda")

    def copy() -> None:
        target.copy_(source, non_blocking=True)
        torch.cuda.synchronize()

    return rate_of(float(COPIED), copy)


RUN: Final = {"matrix": matrix, "memory": memory, "disk": disk, "device": device, "copies": copies}


def main(tests: list[str]) -> None:
    """Print the rates, and why a test gave none."""
    results: dict[str, dict[str, object]] = {}
    for test in tests:
        try:
            results[test] = {"rate": RUN[test]()}
        except (OSError, RuntimeError, ImportError, MemoryError) as error:
            results[test] = {"lack": (getattr(error, "strerror", None) or str(error) or type(error).__name__).partition("\n")[0]}
    print(json.dumps(results))


if __name__ == "__main__":
    main(sys.argv[1:])
