"""What does it cost a training step to be seen by assay's hooks?

The same loop, of a fixed number of steps, with the hooks in torch and without, in turn within one process and whichever first in turn;
medians of the rounds, paired; of each round the lower quartile of its steps, after the first ones, in which a model is found and hashed.
By the processors' time, which other programs on the machine disturb less, and by the clock on the wall.
Three models: a small one whose step takes a tenth of a millisecond or two, one of two hundred modules, and one whose step takes tens of
milliseconds.  Promise: at most 1 % or 100 microseconds a step.  Beside it what the hooks say themselves, as a record holds it.

    python benchmarks/attach_overhead.py --rounds 20
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from itertools import pairwise
from statistics import median
from typing import Any

MOST_US = 100.0
MOST_SHARE = 0.01
WARM = 40  # steps at the beginning that are left out


def models(torch: Any) -> dict[str, tuple[Any, int, int]]:
    """Model, batch size, steps of a round."""
    nn = torch.nn
    deep = nn.Sequential(*[nn.Sequential(nn.Linear(16, 16), nn.ReLU()) for _ in range(66)])
    wide = nn.Sequential(nn.Linear(1024, 2048), nn.ReLU(), nn.Linear(2048, 1024))
    return {
        "small": (nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10)), 32, 300),
        "200 modules": (deep, 32, 100),
        "large": (wide, 256, 15),
    }


def loop(torch: Any, model: Any, batch: int, steps: int) -> tuple[float, float]:
    """Seconds of a step, of the processors and of the wall, in a loop as scripts have it."""
    features = next(model.parameters()).shape[1]
    data = torch.utils.data.TensorDataset(torch.randn(batch * (WARM + steps), features))
    loader = torch.utils.data.DataLoader(data, batch_size=batch)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    used, walls = [], []
    for (x,) in loader:
        used.append(time.process_time())
        walls.append(time.perf_counter())
        optimizer.zero_grad()
        model(x).square().mean().backward()
        optimizer.step()
    return low(used), low(walls)


def low(times: list[float]) -> float:
    """The lower quartile of the steps after the first ones: what else runs on the machine only makes steps longer."""
    lengths = sorted(after - before for before, after in pairwise(times[WARM:]))
    return lengths[len(lengths) // 4]


def attached(torch: Any, measured: Callable[[], tuple[float, float]], steps: int) -> tuple[float, float, float]:
    """The same with the hooks, whose rows go to memory; and what the hooks say that they took."""
    from assay.instruments import _hooks
    from assay.instruments._attached import Attached
    from assay.instruments._recorder import Recorder
    from assay.instruments._sink import Identity, MemorySink

    undo: list[Any] = []
    sink = MemorySink()
    recorder = Recorder(Identity(launch=0, rank=0, workers=1, incarnation=0, seed=0, host="here"), sink)
    hooked = Attached(torch, recorder)
    _hooks.install(torch, hooked, undo)
    try:
        used, wall = measured()
        hooked.close()
    finally:
        while undo:
            undo.pop()()
    assert len(sink.of("steps")) == WARM + steps
    own = next(float(row[5]) for row in sink.of("telemetry") if row[4] == "cost_per_step")
    recorder.close()
    return used, wall, own / 1e9


def main() -> int:
    """Print one JSON object; exit with 1 if the promise is broken."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=20, help="pairs of loops for each model (default 20)")
    arguments = parser.parse_args()
    import torch

    torch.set_num_threads(1)
    results = []
    for name, (model, batch, steps) in models(torch).items():

        def bare(model: Any = model, batch: int = batch, steps: int = steps) -> tuple[float, float]:
            return loop(torch, model, batch, steps)

        bare()
        pairs = []
        for number in range(arguments.rounds):
            without = bare() if number % 2 else None
            seen = attached(torch, bare, steps)
            pairs.append((without or bare(), seen))
        step = median(one[0] for one, _ in pairs)
        more, wall = (median(seen[which] - one[which] for one, seen in pairs) for which in (0, 1))
        kept = more * 1e6 <= MOST_US or more / step <= MOST_SHARE
        results.append({
            "model": name, "modules": sum(1 for _ in model.modules()), "step_us": round(step * 1e6, 1),
            "added_us": round(more * 1e6, 1), "added_percent": round(100 * more / step, 2), "kept": kept,
            "added_wall_us": round(wall * 1e6, 1), "said_us": round(median(seen[2] for _, seen in pairs) * 1e6, 1),
        })  # fmt: skip
    whole = {
        "benchmark": "attach_overhead", "utc": datetime.now(UTC).isoformat(timespec="seconds"), "python": platform.python_version(),
        "torch": torch.__version__, "machine": platform.platform(), "processors": os.cpu_count(), "load_before": os.getloadavg()[0],
        "results": results,
    }  # fmt: skip
    print(json.dumps(whole, indent=2))
    return 0 if all(result["kept"] for result in results) else 1


if __name__ == "__main__":
    sys.exit(main())
