"""Is a bandwidth that assay reports the one that a bare loop of torch.distributed has?

In one process group, loops of assay's worker (data written before, checked after every call) and bare loops of the same number of calls
in turn, whichever first in turn; each loop's time is that of its slowest rank.  Two bare loops: one that rotates through as much memory, as
nccl-tests does and assay, and one that sends the same tensor again and again, which caches help.  Medians of paired ratios.
A machine with other work adds to whichever loop it hits, so the fastest tenths are compared as well; they decide.
Promise: within 2 % of the bare loop that does the same, at every size.

    python benchmarks/collectives_bare.py --rounds 200
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from statistics import median
from typing import Any

PROMISE = 0.02
SIZES = {2**10: 50, 2**14: 50, 2**18: 20, 2**20: 10, 2**22: 4}  # bytes -> calls of a loop
INNER = "--inner"


def bare(torch: Any, tensors: list[Any], calls: int) -> float:
    """Seconds of a call on this rank, as anybody would time it."""
    distributed = torch.distributed
    distributed.barrier()
    begin = time.perf_counter()
    for place in range(calls):
        distributed.all_reduce(tensors[place % len(tensors)])
    return (time.perf_counter() - begin) / calls


def slowest(torch: Any, seconds: float) -> float:
    """Over the ranks."""
    found = torch.tensor([seconds], dtype=torch.float64)
    torch.distributed.all_reduce(found, op=torch.distributed.ReduceOp.MAX)
    return float(found.item())


def fast(seconds: list[float]) -> float:
    """The middle of the fastest tenth: what nothing disturbed."""
    return median(sorted(seconds)[: max(1, len(seconds) // 10)])


def inner(rounds: int) -> None:
    """What each rank does; the first prints."""
    import torch

    from assay.instruments._sink import MemorySink, identity_from
    from assay.instruments.collectives.worker import Worker
    from assay.spec.collectives import Collectives, cell

    torch.distributed.init_process_group("gloo")
    identity = identity_from(os.environ)
    worker = Worker(torch, Collectives(calls=max(SIZES.values())), identity, MemorySink(), torch.device("cpu"))
    found: dict[int, dict[str, list[float]]] = {size: {"assay": [], "rotating": [], "same": []} for size in SIZES}
    for size, calls in SIZES.items():
        one = cell("all_reduce", size, "in", identity.workers, 4)
        asked, memory = worker._asked(one), worker._memory(one.count)
        rotating: Any = torch.zeros(len(memory))
        tensors = [rotating[begin : begin + one.count] for begin in range(0, len(memory) - one.count + 1, one.count)][
            :calls
        ]
        ways: dict[str, Callable[[], float]] = {
            "assay": partial(worker._loop, one, asked, memory, 0, calls, "timed"),
            "rotating": partial(bare, torch, tensors, calls),
            "same": partial(bare, torch, tensors[:1], calls),
        }
        for turn in range(rounds + 3):
            names = list(ways)[turn % 3 :] + list(ways)[: turn % 3]
            for name in names:
                seconds = slowest(torch, ways[name]())
                if turn >= 3:
                    found[size][name].append(seconds)
    if identity.rank == 0:
        print(json.dumps(found))
    torch.distributed.destroy_process_group()


def main() -> int:
    """Measure, print, and say whether the promise is kept."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument(INNER, action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.inner:
        inner(arguments.rounds)
        return 0
    command = [
        sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(arguments.workers), __file__, INNER,
        "--rounds", str(arguments.rounds),
    ]  # fmt: skip
    ran = subprocess.run(
        command, env={**os.environ, "OMP_NUM_THREADS": "1"}, capture_output=True, text=True, check=False, timeout=1800
    )
    if ran.returncode:
        print(ran.stderr, file=sys.stderr)
        return 2
    found = json.loads(next(line for line in ran.stdout.splitlines() if line.startswith("{")))
    print(
        f"{datetime.now(UTC):%Y-%m-%d} {platform.node()}, {os.cpu_count()} processors, {arguments.workers} workers, gloo, {arguments.rounds} rounds"
    )
    worst = 0.0
    for size, ways in found.items():
        best = {name: fast(seconds) for name, seconds in ways.items()}
        paired = median(a / b for a, b in zip(ways["assay"], ways["rotating"], strict=True))
        ratio = best["assay"] / best["rotating"]
        worst = max(worst, abs(ratio - 1.0))
        print(
            f"{int(size):>9} bytes: assay {best['assay'] * 1e6:9.1f} us, bare {best['rotating'] * 1e6:9.1f} us, ratio {ratio:.4f} "
            f"(median of pairs {paired:.4f}); the same tensor again and again {best['same'] * 1e6:9.1f} us"
        )
    print(f"farthest from the bare loop: {worst:.2%}; promised: {PROMISE:.0%}")
    return 0 if worst <= PROMISE else 1


if __name__ == "__main__":
    sys.exit(main())
