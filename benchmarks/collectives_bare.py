"""Is a bandwidth that assay reports the one that a bare loop of torch.distributed has?

In one process group, loops of assay's worker (every call's data written before and checked after) and bare loops of as many calls over
the same memory, which write ones before; each is led into by calls of its kind and begun at a barrier, and its time is that of its
slowest rank.
The bare loop is taken twice, so that the ratio of the two tells what this machine can tell at all.  A round holds each of the three
twice, forwards and then backwards (ABCCBA), in an order drawn anew: what drifts or disturbs hits neighbours alike.  A round's ratio is
that of the products; the estimate is the median of the rounds' ratios, with the exact interval of a median.
Promise: within 2 % of the bare loop, for every operation and size.  Kept: the 95 % interval lies inside; broken: it lies outside; else
the machine is too busy to say.  For knowledge a fourth loop sends the same tensor again and again, which caches help: nccl-tests does not.

    chrt -f 10 python benchmarks/collectives_bare.py --seconds 20      (chrt: before everything else on the machine, for it must be quiet)
    python benchmarks/collectives_bare.py --whole 10       `assay comm` and a bare script, each in processes of its own, in turn
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

PROMISE = 0.02
CONFIDENCE = 0.95
LOOP_S, CALLS = 0.04, 100  # a loop of `assay comm`, unless told otherwise: so long at most, and so many calls
CELLS = {  # operation -> where its result lies, and bytes as powers of two
    "all_reduce": ("in", (10, 14, 18, 20, 22, 24, 26)),
    "all_gather": ("out", (10, 18, 22)),
    "broadcast": ("in", (10, 18, 22)),
}
WHOLE_SIZES = (2**10, 2**16, 2**20, 2**24)
LEAD_IN = 2
BLOCK_S = 0.5  # between two looks at the clock that all ranks agree on
INNER, SCRIPT = "--inner", "--script"
ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1"}


# ---- bare loops: nothing of assay's --------------------------------------------------------------------------------------


def calls_of(torch: Any, op: str, tensor: Any) -> Callable[[], Any]:
    """A call on so much memory: for a gathering the first half of all ranks' parts is the result."""
    distributed = torch.distributed
    if op == "all_reduce":
        return partial(distributed.all_reduce, tensor)
    if op == "broadcast":
        return partial(distributed.broadcast, tensor, 0)
    part = len(tensor) // (distributed.get_world_size() + 1)
    gather = getattr(distributed, "all_gather_single", None) or distributed.all_gather_into_tensor  # its name before torch 2.13
    return partial(gather, tensor[part:], tensor[:part])


def bare(
    torch: Any, calls: Sequence[Callable[[], Any]], lead_in: Callable[[], Any] | None, data: Any = None, times: int = LEAD_IN
) -> float:
    """Seconds of a call on this rank, as anybody would time it; `data` is written first, as whoever has something to send does."""
    if data is not None:
        data.fill_(1.0)
    for _ in range(times if lead_in else 0):
        lead_in()  # type: ignore[misc]
    torch.distributed.barrier()
    begin = time.perf_counter()
    for call in calls:
        call()
    return (time.perf_counter() - begin) / len(calls)


def calls_in_a_loop(torch: Any, op: str, places: Sequence[Any]) -> int:
    """As many as take the time of a loop, by the best of a few."""
    some = [calls_of(torch, op, one) for one in places[:5]]
    seconds = min(slowest(torch, bare(torch, some, None)) for _ in range(5))
    return max(1, min(CALLS, len(places), int(LOOP_S / seconds)))


def slowest(torch: Any, seconds: float) -> float:
    """Over the ranks."""
    found = torch.tensor([seconds], dtype=torch.float64)
    torch.distributed.all_reduce(found, op=torch.distributed.ReduceOp.MAX)
    return float(found.item())


def script() -> None:
    """What a user without assay writes: every size in turn, rotating through 64 MiB; the first rank prints seconds of a call."""
    import torch

    torch.distributed.init_process_group("gloo")
    memory = torch.zeros(2**24)
    found = {}
    for size in WHOLE_SIZES:
        places = [memory[begin : begin + size // 4] for begin in range(0, len(memory) - size // 4 + 1, size // 4)]
        bare(torch, [calls_of(torch, "all_reduce", one) for one in places[:5]], None)
        number = calls_in_a_loop(torch, "all_reduce", places)
        loops = [calls_of(torch, "all_reduce", one) for one in places[:number]]
        found[size] = median(slowest(torch, bare(torch, loops, calls_of(torch, "all_reduce", places[-1]))) for _ in range(15))
    if torch.distributed.get_rank() == 0:
        print(json.dumps(found))
    torch.distributed.destroy_process_group()


# ---- both in the same processes ------------------------------------------------------------------------------------------


def inner(seconds: float) -> None:
    """What each rank does; the first prints a line of JSON for each operation and size."""
    import torch

    from fireassay.instruments.collectives.worker import Worker
    from fireassay.instruments.recorder.sink import MemorySink, identity_from
    from fireassay.spec.sections.collectives import Collectives

    torch.distributed.init_process_group("gloo")
    identity = identity_from(os.environ)
    worker = Worker(torch, Collectives(), identity, MemorySink(), torch.device("cpu"))
    for op, (place, powers) in CELLS.items():
        for power in powers:
            found = rounds(torch, loops_of(torch, worker, op, place, 2**power), seconds)
            if identity.rank == 0:
                print(json.dumps({"op": op, "size": 2**power, **found}), flush=True)
    torch.distributed.destroy_process_group()


def loops_of(torch: Any, worker: Any, op: str, place: Any, size: int) -> dict[str, Callable[[], float]]:
    """The loops that are held against one another, over the same memory."""
    from fireassay.instruments.collectives import operations
    from fireassay.instruments.collectives.worker import lead_in
    from fireassay.spec.sections.collectives import cell

    one = cell(op, size, place, worker.identity.workers, 4)
    asked = worker._asked(one)
    each = operations.elements(op, one.workers, one.count, one.place)
    memory = worker._memory(each)
    room = len(memory) // each
    places = [memory[begin : begin + each] for begin in range(0, room * each, each)]
    number = calls_in_a_loop(torch, op, places)
    beside = calls_of(torch, op, places[number]) if room > number else None
    calls = [calls_of(torch, op, place) for place in places[:number]]
    plain = partial(bare, torch, calls, beside, memory[: number * each], lead_in(one.count * 4))
    return {
        "assay": partial(worker._loop, one, asked, memory, 0, number, "timed"),
        "bare": plain,
        "again": plain,
        "same": partial(bare, torch, calls[:1] * number, calls[0], places[0], lead_in(one.count * 4)),
    }


def rounds(torch: Any, ways: dict[str, Callable[[], float]], seconds: float) -> dict[str, list[float]]:
    """Seconds of a call by each way, two after each other for each round, for about so long."""
    found: dict[str, list[float]] = {name: [] for name in ways}
    order, chance = list(ways), random.Random(len(ways))
    for way in ways.values():
        way()
    end = time.monotonic() + seconds
    while slowest(torch, end - time.monotonic()) > 0:
        look = time.monotonic() + BLOCK_S
        while slowest(torch, look - time.monotonic()) > 0:
            chance.shuffle(order)
            for name in order + order[::-1]:
                found[name].append(slowest(torch, ways[name]()))
    return found


# ---- what is said --------------------------------------------------------------------------------------------------------


def ratios(above: Sequence[float], below: Sequence[float]) -> list[float]:
    """One for each round, of two loops of each."""
    pairs = zip(above[::2], above[1::2], below[::2], below[1::2], strict=True)
    return [math.sqrt(a * b / (c * d)) for a, b, c, d in pairs]


def verdict(low: float, high: float) -> str:
    """Of an interval of a ratio."""
    if low >= 1 - PROMISE and high <= 1 + PROMISE:
        return "kept"
    return "broken" if high < 1 - PROMISE or low > 1 + PROMISE else "too busy to say"


def said(found: dict[str, Any], ways: tuple[str, str, str]) -> str:
    """A line, and its verdict at the end."""
    from fireassay.stats.intervals.intervals import order_ranks

    ours, bare_, again = ways
    told = []
    for above in (ours, again):
        own = sorted(ratios(found[above], found[bare_]))
        first, last = order_ranks(len(own), 0.5, CONFIDENCE)
        low, high = (own[first - 1], own[last - 1]) if first and last else (0.0, math.inf)
        told.append((median(own), low, high))
    (ratio, low, high), (control, below, above_) = told
    return (
        f"{found['op']:>10} {found['size']:>9} B: assay {median(found[ours]) * 1e6:9.1f} us, bare {median(found[bare_]) * 1e6:9.1f} us, ratio "
        f"{ratio:.4f} [{low:.4f}, {high:.4f}]; bare to bare {control:.4f} [{below:.4f}, {above_:.4f}]; {len(found[ours]) // 2} rounds; {verdict(low, high)}"
    )


def torchrun(words: Sequence[str], workers: int, timeout: float) -> list[dict[str, Any]]:
    """The lines of JSON that the first rank prints."""
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(workers), __file__, *words]
    ran = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, check=False, timeout=timeout)
    if ran.returncode:
        raise SystemExit(ran.stderr)
    return [json.loads(line) for line in ran.stdout.splitlines() if line.startswith("{")]


def comm(workers: int, folder: Path) -> dict[str, float]:
    """Seconds of a call by size, as `assay comm` says them of one launch."""
    sizes = ",".join(str(size) for size in WHOLE_SIZES)
    words = ["comm", "--workers", str(workers), "--sizes", sizes, "--launches", "1", "--json", "--quiet", "--root", str(folder)]
    ran = subprocess.run(
        [sys.executable, "-m", "fireassay", *words], env=ENVIRONMENT, capture_output=True, text=True, check=False, timeout=300
    )
    rows = json.loads(ran.stdout)["metrics"]
    return {
        row["configuration"].rpartition("bytes=")[2]: row["value"] for row in rows if row["metric"] == "collective_time" and "value" in row
    }


def whole(pairs: int, workers: int) -> None:
    """`assay comm` as a user starts it and a bare script, in turn, each in processes of its own."""
    found: dict[str, list[tuple[float, float]]] = {str(size): [] for size in WHOLE_SIZES}
    with tempfile.TemporaryDirectory() as folder:
        for turn in range(pairs):
            ways: list[Callable[[], dict[str, float]]] = [partial(comm, workers, Path(folder)), lambda: torchrun([SCRIPT], workers, 300)[0]]
            told = [way() for way in (ways if turn % 2 else ways[::-1])]
            ours, plain = told if turn % 2 else told[::-1]
            for size, pair in found.items():
                pair.append((ours[size], plain[size]))
    from fireassay.stats.intervals.intervals import paired_log_ratio

    for size, both in found.items():
        interval = paired_log_ratio([a for a, _ in both], [b for _, b in both], CONFIDENCE)
        print(
            f"{size:>9} B, processes of their own: ratio {interval.value:.4f} [{interval.low:.4f}, {interval.high:.4f}], {pairs} pairs of launches"
        )


def main() -> int:
    """Measure, print, and say whether the promise is kept."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seconds", type=float, default=20.0, help="of an operation and size")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--whole", type=int, default=0, help="pairs of launches in processes of their own, instead")
    parser.add_argument(INNER, action="store_true", help=argparse.SUPPRESS)
    parser.add_argument(SCRIPT, action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.inner or arguments.script:
        inner(arguments.seconds) if arguments.inner else script()
        return 0
    print(
        f"{datetime.now(UTC):%Y-%m-%d} {platform.node()}, {os.cpu_count()} processors, {arguments.workers} workers, gloo; load {os.getloadavg()[0]:.1f}"
    )
    if arguments.whole:
        whole(arguments.whole, arguments.workers)
        return 0
    limit = (arguments.seconds + 10) * sum(len(powers) for _, powers in CELLS.values()) + 60
    lines = []
    for found in torchrun([INNER, "--seconds", str(arguments.seconds)], arguments.workers, limit):
        lines.append(said(found, ("assay", "bare", "again")))
        same = median(ratios(found["same"], found["bare"]))
        print(f"{lines[-1]}; the same tensor again and again {same:.2f}")
    broken = sum(line.endswith("broken") for line in lines)
    print(f"promised: within {PROMISE:.0%}; {sum(line.endswith('kept') for line in lines)} of {len(lines)} kept, {broken} broken")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
