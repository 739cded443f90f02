"""What does the probe cost a training step?

Pairs of loops with the same fixed number of steps, one with the recording probe and one with the idle one that a script
has without assay, in the order A B B A, so that a drift of the machine cancels.  (Loops of a fixed duration would hide
the cost: the slower loop simply does fewer steps.)  The answer is the median difference per step over the pairs, with a
95 % interval for the median from its order statistics, in wall time and in CPU time of all threads.  The promise is
judged by CPU time: it holds the flushing thread too, and other programs on the machine hardly touch it.
Two loops: an empty step, fully marked, where nothing hides the cost; and the step of examples/digits, where it is
compared with the step.  One hash of the model is told apart: it is taken between steps, at steps 0, 1, 2, 4, 8, ...
The promise: at most 20 microseconds or 1 % of the digits step.

    python benchmarks/probe_overhead.py --pairs 40 --append benchmarks/results/probe_overhead.md
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from itertools import chain, islice, repeat
from pathlib import Path
from typing import Any

from fireassay.instruments.recorder.inactive import Probe
from fireassay.instruments.recorder.recorder import Recorder
from fireassay.instruments.recorder.sink import LaunchSink, MemorySink, identity_from

EMPTY_STEPS, DIGITS_STEPS = 2000, 4
PROMISE_US, PROMISE_SHARE = 20.0, 0.01
Loop = Callable[[Probe, int], None]


def empty_steps(p: Probe, steps: int) -> None:
    """As many marks as a step can have, and nothing between them."""
    import numpy

    ids = numpy.arange(256)
    for _ in p.steps(range(steps)):
        with p.phase("forward"):
            pass
        with p.phase("backward"):
            pass
        with p.phase("optimizer"):
            pass
        p.samples(ids)
        p.log(loss=0.5, grad_norm=1.0)


def digits_steps() -> tuple[Loop, Any]:
    """The step of examples/digits on one thread, and its model."""
    sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "examples" / "digits"))
    import numpy as np
    import torch
    import train  # type: ignore[import-not-found]
    from torch.nn.functional import cross_entropy

    torch.set_num_threads(1)
    torch.manual_seed(0)
    digits = torch.tensor(np.loadtxt(train.DIGITS, delimiter=",", dtype=np.int64))  # 64 pixels from 0 to 16, then the digit
    images, labels = digits[:, :64].reshape(-1, 1, 8, 8) / 16, digits[:, 64]
    model = train.network()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    rows = torch.arange(train.TRAIN)
    epochs: Iterator[Any] = chain.from_iterable(train.batches(rows, 0, epoch, 0, 1) for epoch, _ in enumerate(repeat(0)))

    def loop(p: Probe, steps: int) -> None:
        for ids in p.steps(islice(epochs, steps)):
            with p.phase("forward"):
                loss = cross_entropy(model(images[ids]), labels[ids])
            with p.phase("backward"):
                optimizer.zero_grad()
                loss.backward()
            with p.phase("optimizer"):
                norm = train.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
            p.samples(ids)
            p.log(loss=loss, grad_norm=norm)

    return loop, model


def compare(loop: Loop, recording: Probe, steps: int, pairs: int) -> dict[str, float]:
    """Microseconds per step: median differences with their intervals, and the step without assay."""
    idle = Probe()
    for p in (idle, recording):
        loop(p, steps)
    wall, cpu, bare = [], [], []
    for number in range(pairs):
        order = (idle, recording) if number % 2 == 0 else (recording, idle)
        took = {p.active: clocked(loop, p, steps) for p in order}
        for differences, clock in ((wall, 0), (cpu, 1)):
            differences.append((took[True][clock] - took[False][clock]) / steps * 1e6)
        bare.append(took[False][1] / steps * 1e6)
    found = {f"{name}_us{end}": value for name, values in (("wall", wall), ("cpu", cpu)) for end, value in summary(values)}
    step = statistics.median(bare)
    return {**found, "step_cpu_us": step, "share": found["cpu_us"] / step}


def clocked(loop: Loop, p: Probe, steps: int) -> tuple[float, float]:
    """Wall time of one loop, and the CPU time of this process's threads in it."""
    wall, cpu = time.perf_counter(), time.process_time()
    loop(p, steps)
    return time.perf_counter() - wall, time.process_time() - cpu


def summary(values: list[float]) -> list[tuple[str, float]]:
    """The median and its interval."""
    low, high = median_interval(values)
    return [("", statistics.median(values)), ("_low", low), ("_high", high)]


def median_interval(values: list[float]) -> tuple[float, float]:
    """At least 95 % for the median without assuming a distribution: ranks n/2 -+ 0.98 sqrt(n), rounded outwards."""
    ordered, n = sorted(values), len(values)
    first = max(0, math.floor(n / 2 - 0.98 * math.sqrt(n)) - 1)
    return ordered[first], ordered[n - 1 - first]


def measure(pairs: int) -> dict[str, Any]:
    """All figures."""
    from fireassay.instruments.fingerprints.model_hash import Watch
    from fireassay.instruments.recorder.self_cost import cost_per_step

    identity = identity_from({})
    loop, model = digits_steps()
    with tempfile.TemporaryDirectory() as folder:
        sink = LaunchSink(Path(folder), identity, flush_s=0.5)
        recording = Recorder(identity, sink)
        empty = compare(empty_steps, recording, EMPTY_STEPS, pairs)
        flushed = (sink.flush_cpu_ns() or 0) / (EMPTY_STEPS * (pairs + 1)) / 1e3
        digits = compare(loop, recording, DIGITS_STEPS, 2 * pairs)
        recording.close()
    hashing = [clocked(lambda *_: Watch(model).hashes(0), recording, 1)[0] * 1e3 for _ in range(21)]  # type: ignore[arg-type,return-value]
    return {
        "empty_step": {name: round(value, 2) for name, value in empty.items() if name != "share"},
        "digits_step": {name: round(value, 5 if name == "share" else 1) for name, value in digits.items()},
        "self_measured_us": round(cost_per_step(Recorder(identity, MemorySink()))[0] / 1e3, 3),
        "flush_cpu_us_per_step": round(flushed, 2),
        "hash_ms": round(statistics.median(hashing), 3),
        "hash_bytes": sum(p.numel() * p.element_size() for p in model.parameters()),
    }


def main() -> int:
    """Print one JSON object; exit with 1 if the promise is broken."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=40, help="pairs of empty loops; twice as many of digits loops (default 40)")
    parser.add_argument("--append", type=Path, help="also append the result to this Markdown file")
    arguments = parser.parse_args()
    load = os.getloadavg()[0]
    result = {
        "benchmark": "probe_overhead",
        "utc": datetime.now(UTC).isoformat(timespec="seconds"),
        "python": platform.python_version(),
        "machine": f"{platform.platform()}, {os.cpu_count()} CPUs, load {load:.1f} at the start",
        "pairs": arguments.pairs,
        "steps_per_loop": {"empty": EMPTY_STEPS, "digits": DIGITS_STEPS},
        **measure(arguments.pairs),
        "promise": f"at most {PROMISE_US:.0f} us or {PROMISE_SHARE:.0%} of the digits step",
    }
    print(json.dumps(result, indent=2))
    if arguments.append:
        append(arguments.append, result)
    kept = result["empty_step"]["cpu_us"] <= PROMISE_US or result["digits_step"]["share"] <= PROMISE_SHARE
    return 0 if kept else 1


def append(path: Path, result: dict[str, Any]) -> None:
    """Add a dated section; what stands in the file stays."""
    head = "" if path.exists() else "# What the probe costs a step\n\nWritten by `benchmarks/probe_overhead.py`.\n"
    with path.open("a") as file:
        file.write(f"{head}\n## {result['utc']}\n\n```text\n{json.dumps(result, indent=2)}\n```\n")


if __name__ == "__main__":
    sys.exit(main())
