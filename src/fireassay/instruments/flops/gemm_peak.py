"""What is the highest matrix-multiplication rate measurable on this device?

A square product of each size is repeated for a minimum time, three times; the fastest repetition of the best size counts. The factors
are numbers between -1 and 1 from no random generator, so the training's random numbers are unaffected.
It is a lower bound of the true peak: another size, layout or library may be faster. A share of it is thus an upper bound of the share
of the true peak, and has a separate name.
Cannot tell: the rate once the device is hot, or when all ranks of a host multiply at once and share its power and memory.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Final

METHOD: Final = "square matrix product, best of 3 repetitions"
CPU_SIZES: Final = (256, 512, 1024)
GPU_SIZES: Final = (4096, 8192)
REPETITION_S: Final = 0.05
REPETITIONS: Final = 3
MULTIPLIED: Final = {"float32": "float32", "tf32": "float32", "bfloat16": "bfloat16", "float16": "float16", "float64": "float64"}


def measure(
    torch: Any, device: str, precision: str, *, sizes: tuple[int, ...] | None = None, now: Callable[[], int] = time.monotonic_ns
) -> dict[str, Any]:
    """The best rate of a device in a precision: `flops_per_s` (None with a reason under `absent`), `size`, `method`, `threads`."""
    result: dict[str, Any] = {
        "device": device,
        "precision": precision,
        "method": METHOD,
        "flops_per_s": None,
        "size": None,
        "threads": torch.get_num_threads() if device.startswith("cpu") else None,  # the threads that a CPU's rate refers to
    }
    if why := _cannot(torch, device, precision):
        return {**result, "absent": why}
    best, best_size = 0.0, 0
    for size in sizes or (CPU_SIZES if device.startswith("cpu") else GPU_SIZES):
        try:
            speed = _speed(torch, device, getattr(torch, MULTIPLIED[precision]), size, now)
        except RuntimeError as error:  # out of memory, or an unsupported type
            result["absent"] = str(error).partition("\n")[0]
            continue
        if speed > best:
            best, best_size = speed, size
    return {**result, "flops_per_s": best, "size": best_size, "absent": ""} if best else result


def _cannot(torch: Any, device: str, precision: str) -> str:
    """Why this precision is unsupported; "" if it works. The script's tf32 setting is left as it is."""
    if precision not in MULTIPLIED:
        return f"matrix products in {precision} are not supported here"
    if device.startswith("cuda") and precision in ("float32", "tf32"):
        from fireassay.instruments.flops.flops import rounds_to_tf32

        effective = "tf32" if rounds_to_tf32(torch, device, convolution=False) else "float32"
        if effective != precision:
            return f"this process computes float32 products in {effective}, not in {precision}"
    return ""


def _speed(torch: Any, device: str, dtype: Any, size: int, now: Callable[[], int]) -> float:
    with torch.no_grad():
        left = torch.linspace(-1.0, 1.0, size * size, device=device).reshape(size, size).to(dtype)
        right, out = left.t().contiguous(), torch.empty(size, size, dtype=dtype, device=device)

        def repeat(times: int) -> int:
            _wait(torch, device)
            begin = now()
            for _ in range(times):
                torch.mm(left, right, out=out)
            _wait(torch, device)
            return max(1, now() - begin)

        repeat(1)  # libraries select their kernels in the first call
        times = max(1, round(REPETITION_S * 1e9 / repeat(1)))
        fastest = min(repeat(times) for _ in range(REPETITIONS))
    return 2.0 * size**3 * times / (fastest / 1e9)


def _wait(torch: Any, device: str) -> None:
    if device.startswith("cuda"):
        torch.cuda.synchronize(device)
