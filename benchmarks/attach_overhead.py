"""What does it cost a training step to be seen by assay's hooks?

The same loop, of a fixed number of steps, with the hooks in torch and without, in turn within one process and whichever first in turn;
medians of the rounds, paired; of each round the lower quartile of its steps, after the first ones, in which a model is found and hashed.
By the processors' time, which other programs on the machine disturb less, and by the clock on the wall.
Three models: a small one whose step takes a tenth of a millisecond or two, one of two hundred modules, and one whose step takes tens of
milliseconds; and the small one, some layers deeper, and a wider one, under DistributedDataParallel over gloo with two ranks on this machine, of which
rank 0's times are told (what an engine's threads take counts as the processors' time).
Promise: at most 1 % or 20 microseconds a step.  Beside it what the hooks say themselves, as a record holds it.  It is to be kept on a
machine that does nothing else: what others leave in the caches doubles the time that hooks need, and the step's too.

    python benchmarks/attach_overhead.py --rounds 20
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import platform
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

MOST_US = 20.0
MOST_SHARE = 0.01
WARM = 40  # steps at the beginning that are left out
TOGETHER = "DDP gloo, 2 ranks"
# width, batch size and steps of a round of the models that are trained together; a step of the second takes some 5 ms
WIDTHS = {TOGETHER: (64, 32, 200), "DDP gloo, 2 ranks, 5 ms": (384, 96, 100)}
RANKS = 2
Model = Callable[[], Any]  # a round's


def models(torch: Any) -> dict[str, tuple[Model, int, int]]:
    """Model, batch size, steps of a round, by name."""
    nn = torch.nn
    deep = nn.Sequential(*[nn.Sequential(nn.Linear(16, 16), nn.ReLU()) for _ in range(66)])
    wide = nn.Sequential(nn.Linear(1024, 2048), nn.ReLU(), nn.Linear(2048, 1024))
    small = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
    return {"small": (lambda: small, 32, 300), "200 modules": (lambda: deep, 32, 100), "large": (lambda: wide, 256, 15)}


def reduced(torch: Any, width: int) -> Any:
    """A model whose gradients are averaged over the ranks; a new one for every round, since the hooks are in when it is made."""
    nn = torch.nn
    inner = nn.Sequential(*[nn.Sequential(nn.Linear(width, width), nn.ReLU()) for _ in range(4)], nn.Linear(width, 10))
    return nn.parallel.DistributedDataParallel(inner)


def loop(torch: Any, make: Model, batch: int, steps: int) -> tuple[float, float]:
    """Seconds of a step, of the processors and of the wall, in a loop as scripts have it."""
    model = make()
    KEPT.append(model)
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


KEPT: list[Any] = []  # a reducer that is taken apart while another works may wait for ever (torch 2.13)


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
    rank, workers = int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))
    recorder = Recorder(Identity(launch=0, rank=rank, workers=workers, incarnation=0, seed=0, host="here"), sink)
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


def compared(torch: Any, name: str, make: Model, batch: int, steps: int, rounds: int) -> dict[str, Any]:
    """One model's rounds, in pairs."""

    def bare() -> tuple[float, float]:
        return loop(torch, make, batch, steps)

    bare()
    pairs = []
    for number in range(rounds):
        without = bare() if number % 2 else None
        seen = attached(torch, bare, steps)
        pairs.append((without or bare(), seen))
    step = median(one[0] for one, _ in pairs)
    more, wall = (median(seen[which] - one[which] for one, seen in pairs) for which in (0, 1))
    return {
        "model": name, "modules": sum(1 for _ in KEPT[-1].modules()), "step_us": round(step * 1e6, 1),
        "added_us": round(more * 1e6, 1), "added_percent": round(100 * more / step, 2),
        "kept": more * 1e6 <= MOST_US or more / step <= MOST_SHARE,
        "added_wall_us": round(wall * 1e6, 1), "said_us": round(median(seen[2] for _, seen in pairs) * 1e6, 1),
    }  # fmt: skip


def together(name: str, rounds: int) -> dict[str, Any]:
    """The same under DistributedDataParallel, in processes of their own."""
    spawning = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory() as folder:
        ranks = [spawning.Process(target=as_rank, args=(Path(folder), rank, name, rounds)) for rank in range(RANKS)]
        for one in ranks:
            one.start()
        for one in ranks:
            one.join()
        return dict(json.loads((Path(folder) / "found.json").read_text()))


def as_rank(folder: Path, rank: int, name: str, rounds: int) -> None:
    """One of the ranks."""
    os.environ.update(RANK=str(rank), WORLD_SIZE=str(RANKS))
    import torch

    torch.set_num_threads(1)
    meet = f"file://{folder / 'store'}"
    torch.distributed.init_process_group("gloo", init_method=meet, rank=rank, world_size=RANKS)
    width, batch, steps = WIDTHS[name]
    found = compared(torch, name, lambda: reduced(torch, width), batch, steps, rounds)
    if rank == 0:
        (folder / "found.json").write_text(json.dumps(found))
    torch.distributed.barrier()
    os._exit(0)


def main() -> int:
    """Print one JSON object; exit with 1 if the promise is broken."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=20, help="pairs of loops for each model (default 20)")
    parser.add_argument("--only", default="", help=f"the name of one model, such as {TOGETHER!r}")
    arguments = parser.parse_args()
    import torch

    torch.set_num_threads(1)
    cases = {name: case for name, case in models(torch).items() if arguments.only in ("", name)}
    results = [compared(torch, name, *case, arguments.rounds) for name, case in cases.items()]
    results += [together(name, arguments.rounds) for name in WIDTHS if arguments.only in ("", name)]
    whole = {
        "benchmark": "attach_overhead", "utc": datetime.now(UTC).isoformat(timespec="seconds"), "python": platform.python_version(),
        "torch": torch.__version__, "machine": platform.platform(), "processors": os.cpu_count(), "load_before": os.getloadavg()[0],
        "results": results,
    }  # fmt: skip
    print(json.dumps(whole, indent=2))
    return 0 if results and all(result["kept"] for result in results) else 1


if __name__ == "__main__":
    sys.exit(main())
