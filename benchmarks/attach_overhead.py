"""What does it cost a training step to be seen by assay's hooks?

The same loop, of a fixed number of steps, once with the hooks in torch and twice without, in turn within one process and the hooks' in
each place in turn;
medians of the rounds, and how far two loops without hooks are apart: two of steps of 5 ms differ by more than the hooks cost, so take
many rounds. Of each loop the lower quartile of its steps, after the first ones, in which a model is found and hashed, and
their mean, in which are the steps at 2^k, that are looked at closer, and what is done for many steps at once (rows are written by another
thread). By the processors' time, which other programs on the machine disturb less, and by the clock on the wall.
Four models: a small one whose step takes a tenth of a millisecond or two, one of two hundred modules, and two whose steps take some five
and tens of milliseconds; and the small one, some layers deeper, and a wider one, under DistributedDataParallel over gloo with two ranks on
this machine, of which rank 0's times are told (what an engine's threads take counts as the processors' time).
Under DistributedDataParallel one step of eight is watched closer (after the first 256, which are left out): there the promise is about
the mean of all but the longest twentieth of the steps, in which both kinds are.
Promise: at most 1 % or 20 microseconds a step, else by the lower quartile.  Beside it what the hooks say themselves, as a record holds
it, and what the
small model costs in other loops, which take the same path: that accumulate, with two optimizers, without a loader, and with LBFGS; of
these nothing is promised.  It is to be kept on a
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
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

MAX_US = 20.0
MAX_SHARE = 0.01
WARM = 40  # steps at the beginning that are left out
SAMPLED = 264  # of a reducer's: until then more of them are watched
TOGETHER = "DDP gloo, 2 ranks"
# width, batch size and steps of a round of the models that are trained together; a step of the second takes some 5 ms
WIDTHS = {TOGETHER: (64, 32, 200), "DDP gloo, 2 ranks, 5 ms": (384, 96, 100)}
RANKS = 2
Model = Callable[[], Any]  # a round's
Loop = Callable[[Any, Model, int, int], Iterator[None]]
Times = tuple[
    float, float, float, float
]  # seconds of a step: of the processors, of the wall; the mean of the first, and without the longest


def models(torch: Any) -> dict[str, tuple[Model, int, int]]:
    """Model, batch size, steps of a round, by name."""
    nn = torch.nn
    deep = nn.Sequential(*[nn.Sequential(nn.Linear(16, 16), nn.ReLU()) for _ in range(66)])
    wide = nn.Sequential(nn.Linear(1024, 2048), nn.ReLU(), nn.Linear(2048, 1024))
    medium = nn.Sequential(nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 512))
    small = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
    return {
        "small": (lambda: small, 32, 300),
        "200 modules": (lambda: deep, 32, 100),
        "medium": (lambda: medium, 128, 100),
        "large": (lambda: wide, 256, 15),
    }


def reduced(torch: Any, width: int) -> Any:
    """A model whose gradients are averaged over the ranks; a new one for every round, since the hooks are in when it is made."""
    nn = torch.nn
    inner = nn.Sequential(*[nn.Sequential(nn.Linear(width, width), nn.ReLU()) for _ in range(4)], nn.Linear(width, 10))
    return nn.parallel.DistributedDataParallel(inner)


def ordinary(torch: Any, make: Model, batch: int, steps: int) -> Iterator[None]:
    """A loop as scripts have it; it stops where a step begins."""
    model, loader = begun(torch, make, batch, steps)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    for (x,) in loader:
        yield
        optimizer.zero_grad()
        model(x).square().mean().backward()
        optimizer.step()


def accumulating(torch: Any, make: Model, batch: int, steps: int) -> Iterator[None]:
    """Two batches a step."""
    model, loader = begun(torch, make, batch, WARM + 2 * steps)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    for number, (x,) in enumerate(loader):
        if number % 2 == 0:
            yield
            optimizer.zero_grad()
        model(x).square().mean().backward()
        if number % 2:
            optimizer.step()


def alternating(torch: Any, make: Model, batch: int, steps: int) -> Iterator[None]:
    """Two optimizers, as of a network and its adversary."""
    model, loader = begun(torch, make, batch, steps)
    optimizers = [torch.optim.SGD(list(one.parameters()), lr=1e-3) for one in (model[0], model[2])]
    for (x,) in loader:
        yield
        for optimizer in optimizers:
            optimizer.zero_grad()
            model(x).square().mean().backward()
            optimizer.step()


def by_hand(torch: Any, make: Model, batch: int, steps: int) -> Iterator[None]:
    """Without a loader: one batch made by hand."""
    model, _ = begun(torch, make, batch, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    x = torch.randn(batch, next(model.parameters()).shape[1])
    for _ in range(WARM + steps):
        yield
        optimizer.zero_grad()
        model(x).square().mean().backward()
        optimizer.step()


def by_closure(torch: Any, make: Model, batch: int, steps: int) -> Iterator[None]:
    """LBFGS, which asks for passes itself."""
    model, loader = begun(torch, make, batch, steps)
    optimizer = torch.optim.LBFGS(model.parameters(), lr=1e-3, max_iter=4)

    def loss(x: Any) -> Any:
        optimizer.zero_grad()
        found = model(x).square().mean()
        found.backward()
        return found

    for (x,) in loader:
        yield
        optimizer.step(lambda x=x: loss(x))


OTHERS = {
    "small, accumulating over 2 batches": accumulating,
    "small, 2 optimizers": alternating,
    "small, no loader": by_hand,
    "small, LBFGS": by_closure,
}


def begun(torch: Any, make: Model, batch: int, batches: int) -> tuple[Any, Any]:
    """The model, and what it is trained on."""
    model = make()
    KEPT.append(model)
    features = next(model.parameters()).shape[1]
    data = torch.utils.data.TensorDataset(torch.randn(batch * (WARM + batches), features))
    return model, torch.utils.data.DataLoader(data, batch_size=batch)


def timed(steps: Iterator[None]) -> Times:
    """The lengths of a loop's steps."""
    used, walls = [], []
    for _ in steps:
        used.append(time.process_time())
        walls.append(time.perf_counter())
    return low(used), low(walls), (used[-1] - used[WARM]) / (len(used) - 1 - WARM), trimmed(used)


KEPT: list[Any] = []  # a reducer that is taken apart while another works may wait for ever (torch 2.13)


def low(times: list[float]) -> float:
    """The lower quartile of the steps after the first ones: what else runs on the machine only makes steps longer."""
    lengths = sorted(after - before for before, after in pairwise(times[WARM:]))
    return lengths[len(lengths) // 4]


def trimmed(times: list[float]) -> float:
    """The mean of the steps after the first ones, without the longest twentieth: those at 2^k, that are looked at closer, and the
    machine's hiccups.
    """
    lengths = sorted(after - before for before, after in pairwise(times[WARM:]))
    kept = lengths[: len(lengths) - len(lengths) // 20]
    return sum(kept) / len(kept)


def attached(torch: Any, measured: Callable[[], Times]) -> tuple[Times, float, int]:
    """The same with the hooks, whose rows go to files as in a launch; what the hooks say that they took, and of how many steps rows were
    written.
    """
    from fireassay.instruments.hooks import torch_hooks
    from fireassay.instruments.hooks.steps import Attached
    from fireassay.instruments.recorder.recorder import Recorder
    from fireassay.instruments.recorder.sink import Identity, LaunchSink
    from fireassay.record.streams import read_stream

    undo: list[Any] = []
    rank, workers = int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))
    identity = Identity(launch=0, rank=rank, workers=workers, incarnation=0, seed=0, host="here")
    with tempfile.TemporaryDirectory() as folder:
        recorder = Recorder(identity, LaunchSink(Path(folder), identity, flush_s=0.5))
        hooked = Attached(torch, recorder)
        torch_hooks.install(torch, hooked, undo)
        try:
            times = measured()
            hooked.close()
        finally:
            while undo:
                undo.pop()()
        recorder.close()
        rows = {
            table: [row for file in Path(folder).glob(f"{table}.*") for one in read_stream(file).batches for row in one.to_pylist()]
            for table in ("steps", "telemetry")
        }
    own = next(float(row["value"]) for row in rows["telemetry"] if row["counter"] == "cost_per_step")
    return times, own / 1e9, len(rows["steps"])


def compared(torch: Any, name: str, case: tuple[Model, int, int], rounds: int, loop: Loop = ordinary) -> dict[str, Any]:
    """One model's rounds, in pairs."""

    def bare() -> Times:
        return timed(loop(torch, *case))

    bare()
    found = []
    for number in range(rounds):
        loops = []
        for place in range(3):
            if place == number % 3:
                seen, said, steps = attached(torch, bare)
                assert steps >= WARM + case[2], f"{steps} steps were seen"
            else:
                loops.append(bare())
        found.append((*loops, seen, said))
    step = median(one[0] for one, _, _, _ in found)
    more, wall, mean, most = ([seen[which] - (one[which] + other[which]) / 2 for one, other, seen, _ in found] for which in range(4))
    added = median(more)
    judged = median(most) if name in WIDTHS else added
    return {
        "model": name,
        "modules": sum(1 for _ in KEPT[-1].modules()),
        "step_us": round(step * 1e6, 1),
        "added_us": round(added * 1e6, 1),
        "added_percent": round(100 * added / step, 2),
        "added_trimmed_mean_us": round(median(most) * 1e6, 1),
        "kept": judged * 1e6 <= MAX_US or judged / step <= MAX_SHARE,
        "promised": loop is ordinary,
        "added_quartiles_us": [round(each * 1e6, 1) for each in quartiles(more)],
        "without_apart_us": round(median(abs(one[0] - other[0]) for one, other, _, _ in found) * 1e6, 1),
        "added_wall_us": round(median(wall) * 1e6, 1),
        "added_mean_us": round(median(mean) * 1e6, 1),
        "said_us": round(median(said for *_, said in found) * 1e6, 1),
    }


def quartiles(values: list[float]) -> tuple[float, float]:
    """The lower and the upper one."""
    ordered = sorted(values)
    return ordered[len(ordered) // 4], ordered[(3 * len(ordered)) // 4]


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

    global WARM
    WARM = SAMPLED
    torch.set_num_threads(1)
    meet = f"file://{folder / 'store'}"
    torch.distributed.init_process_group("gloo", init_method=meet, rank=rank, world_size=RANKS)
    width, batch, steps = WIDTHS[name]
    found = compared(torch, name, (lambda: reduced(torch, width), batch, steps), rounds)
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
    results = [compared(torch, name, case, arguments.rounds) for name, case in cases.items()]
    for name, loop in OTHERS.items():
        if arguments.only in ("", name):
            results.append(compared(torch, name, models(torch)["small"], arguments.rounds, loop))
    results += [together(name, arguments.rounds) for name in WIDTHS if arguments.only in ("", name)]
    whole = {
        "benchmark": "attach_overhead",
        "utc": datetime.now(UTC).isoformat(timespec="seconds"),
        "python": platform.python_version(),
        "torch": torch.__version__,
        "machine": platform.platform(),
        "processors": os.cpu_count(),
        "load_before": os.getloadavg()[0],
        "results": results,
    }
    print(json.dumps(whole, indent=2))
    return 0 if results and all(one["kept"] for one in results if one["promised"]) else 1


if __name__ == "__main__":
    sys.exit(main())
