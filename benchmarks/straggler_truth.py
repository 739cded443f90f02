"""Is the slow rank named, and the phase in which it is slow, in real trainings over gloo?

A small DistributedDataParallel training, unmodified but for a sleep on one rank in one place: its data set, its forward pass, its
backward pass, its optimizer, or its communication (even seeds: a comm hook; odd seeds: the group's own call).  The steps of every rank
are seen by assay's hooks, as in a launch, and judged as a record's launch is.  Beside it the same without a sleep: nobody may be named.
`marked-backward`: the script marks its own steps and phases by assay's probe, and is slow in its backward pass.
`quota`: the whole rank is held to a share of a processor by a control group; any phase of its may be named.
The rank that is slow is the seed modulo the ranks.  Processors are few here, so ranks disturb each other: that is part of the test.

    python benchmarks/straggler_truth.py --workers 2,3,4 --seeds 20
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # the judge's rows are put together as the tests do it

CASES = ("clean", "data", "forward", "backward", "optimizer", "communication", "marked-backward", "quota")
QUOTA = 0.05  # of a processor, for the whole rank: by a control group; whatever it computes is slow, and any phase of it may be named
BATCH, WIDTH, LAYERS = 8, 256, 4
TABLES = ("steps", "waits", "communication", "collectives")


# ---- a rank ------------------------------------------------------------------------------------------------------------


def rank_main(folder: Path, seeds: range, delay_s: float, cases: list[str], steps: int) -> None:
    """Every case of every seed, one after the other in one start of torch; rows go to a file a rank."""
    import torch

    torch.set_num_threads(1)
    torch.distributed.init_process_group("gloo")
    rank, workers = torch.distributed.get_rank(), torch.distributed.get_world_size()
    alive = []  # a reducer that is taken apart early may wait for ever (torch 2.13)
    with (folder / f"rank={rank}.jsonl").open("a") as out:
        for seed in seeds:
            for case in cases:
                slow = delay_s if rank == seed % workers else 0.0
                free = held_back() if case == "quota" and slow else lambda: None
                try:
                    sink, model = training(torch, case, slow, seed, steps)
                finally:
                    free()
                alive.append(model)
                rows = {name: sink.of(name) for name in TABLES}
                out.write(json.dumps({"seed": seed, "case": case, "rank": rank, "rows": rows}, default=list) + "\n")
                out.flush()
    torch.distributed.barrier()
    sys.stdout.flush()
    os._exit(0)


def held_back() -> Callable[[], None]:
    """Give this process a share of a processor; what gives it back."""
    from fireassay.faults import slow

    return slow.limited(lambda: [os.getpid()], slow.home_of(), QUOTA)


def training(torch: Any, case: str, slow: float, seed: int, steps: int) -> tuple[Any, Any]:
    """One training with the hooks in; what was recorded of it, and its model."""
    from fireassay.instruments.hooks import torch_hooks
    from fireassay.instruments.hooks.marked_steps import Marked
    from fireassay.instruments.hooks.steps import Attached
    from fireassay.instruments.recorder.inactive import Probe
    from fireassay.instruments.recorder.recorder import Recorder
    from fireassay.instruments.recorder.sink import Identity, MemorySink

    rank, workers = torch.distributed.get_rank(), torch.distributed.get_world_size()
    sink, undo = MemorySink(), []  # type: ignore[var-annotated]
    recorder = Recorder(Identity(launch=0, rank=rank, workers=workers, incarnation=0, seed=seed, host="here"), sink)
    marked = case.startswith("marked-")
    attached: Any = Marked(torch, recorder) if marked else Attached(torch, recorder)
    (torch_hooks.install_communication if marked else torch_hooks.install)(torch, attached, undo)
    try:
        if marked:
            recorder.attach_communication(attached)
        model = loop(torch, case.removeprefix("marked-"), slow, seed, steps, recorder if marked else Probe())
        recorder.close() if marked else attached.close()
    finally:
        while undo:
            undo.pop()()
    assert recorder.active != marked, "a hook failed"
    return sink, model


def loop(torch: Any, case: str, slow: float, seed: int, steps: int, probe: Any) -> Any:
    """What a user's script would be; `slow` seconds where the case says. The probe does nothing where the script marks nothing."""
    torch.manual_seed(seed)
    late = {name: slow if case == name else 0.0 for name in CASES}

    class Data(torch.utils.data.Dataset):  # type: ignore[misc]
        def __len__(self) -> int:
            return steps * BATCH

        def __getitem__(self, place: int) -> Any:
            if place % BATCH == 0:
                time.sleep(late["data"])
            return torch.full((WIDTH,), place / (steps * BATCH))

    class Gradient(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(context: Any, x: Any) -> Any:
            return x.clone()

        @staticmethod
        def backward(context: Any, *gradients: Any) -> Any:
            time.sleep(late["backward"])
            return gradients[0]

    class Model(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.layers = torch.nn.ModuleList(torch.nn.Linear(WIDTH, WIDTH) for _ in range(LAYERS))

        def forward(self, x: Any) -> Any:
            time.sleep(late["forward"])
            for place, layer in enumerate(self.layers):
                x = torch.relu(layer(x))
                x = Gradient.apply(x) if place == LAYERS // 2 else x
            return x

    class Optimizer(torch.optim.SGD):  # type: ignore[misc]
        def step(self, closure: Any = None) -> Any:
            time.sleep(late["optimizer"])
            return super().step(closure)

    model = torch.nn.parallel.DistributedDataParallel(Model(), bucket_cap_mb=0.3)
    if case == "communication":
        (hooked if seed % 2 == 0 else grouped)(torch, model, late["communication"])
    optimizer = Optimizer(model.parameters(), lr=1e-3)
    for x in probe.steps(torch.utils.data.DataLoader(Data(), batch_size=BATCH)):
        optimizer.zero_grad()
        with probe.phase("forward"):
            loss = model(x).square().mean()
        with probe.phase("backward"):
            loss.backward()
        with probe.phase("optimizer"):
            optimizer.step()
    return model


def hooked(torch: Any, model: Any, slow: float) -> None:
    """A comm hook that is slow with the first bucket."""
    from torch.distributed.algorithms.ddp_comm_hooks import default_hooks

    def hook(state: Any, bucket: torch.distributed.GradBucket) -> torch.futures.Future[torch.Tensor]:
        time.sleep(slow if bucket.index() == 0 else 0.0)
        return default_hooks.allreduce_hook(state, bucket)

    hook.__annotations__ = {"bucket": torch.distributed.GradBucket, "return": torch.futures.Future[torch.Tensor]}
    model.register_comm_hook(None, hook)


def grouped(torch: Any, model: Any, slow: float) -> None:
    """A group whose own call is slow, once in a backward pass."""
    from fireassay.instruments.hooks.torch_hooks import _TIMED

    group = _TIMED[model]  # the group that the model's reducer calls; the model itself has its own
    inner = group._inner

    class Late:
        due = True

        def __getattr__(self, name: str) -> Any:
            return getattr(inner, name)

        def allreduce(self, *arguments: Any) -> Any:
            time.sleep(slow if self.due else 0.0)
            self.due = False
            return inner.allreduce(*arguments)

    group._inner = late = Late()
    model.module.register_forward_pre_hook(lambda *_: setattr(late, "due", True))


# ---- the judge ---------------------------------------------------------------------------------------------------------


def judged(folder: Path, workers: int) -> Iterator[dict[str, Any]]:
    """What was named in every case that all ranks have finished."""
    from fireassay.frames.training.rank_phases import own_times
    from tests.handmade import Handmade

    lines: dict[tuple[int, str], dict[int, dict[str, Any]]] = {}
    for file in folder.glob("rank=*.jsonl"):
        for line in file.read_text().splitlines():
            told = json.loads(line)
            lines.setdefault((told["seed"], told["case"]), {})[told["rank"]] = told["rows"]
    for (seed, case), ranks in sorted(lines.items()):
        if len(ranks) < workers:
            continue
        made = Handmade(levels=(workers,), blocks=1)
        made.launch(workers=workers)
        for rows in ranks.values():
            for name in TABLES:
                made.rows[name].extend(map(tuple, rows[name]))
        (own,) = own_times(made.measured())
        search = own.searched()
        walls = [median(row[8] for row in ranks[rank]["steps"]) / 1e6 for rank in sorted(ranks)]
        yield {
            "workers": workers,
            "seed": seed,
            "case": case,
            "truth": None if case == "clean" else (seed % workers, case.removeprefix("marked-")),
            "found": [
                (own.ranks[one.rank], one.phase, *(getattr(one.seconds, x) * 1e3 for x in ("value", "low", "high"))) for one in search.found
            ],
            "insufficient": search.insufficient,
            "method": own.method,
            "backward_ms": walls,
            "step_ms": median(own.step_s) * 1e3,
        }


def table(told: list[dict[str, Any]]) -> str:
    """Markdown."""
    head = ["| ranks | slow in | seeds | named first | named alone | excess, median [5 %, 95 %] | backward walls apart, median | step |"]
    rows = [*head, "|---|---|---|---|---|---|---|---|"]
    for workers in sorted({one["workers"] for one in told}):
        for case in CASES:
            own = [one for one in told if (one["workers"], one["case"]) == (workers, case)]
            if own:
                rows.append(row(workers, case, own))
    return "\n".join(rows)


def told_of(one: dict[str, Any]) -> list[tuple[int, str]]:
    """Who was named, and where; of a rank that is slow in all it does, wherever it was, once."""
    names = [(rank, phase) for rank, phase, *_ in one["found"]]
    return list(dict.fromkeys((rank, "quota") for rank, _ in names)) if one["case"] == "quota" else names


def row(workers: int, case: str, own: list[dict[str, Any]]) -> str:
    """Of one case: for clean runs, in how many nobody was named."""
    names = [told_of(one) for one in own]
    first = sum(found[:1] == ([one["truth"]] if one["truth"] else []) for found, one in zip(names, own, strict=True))
    alone = sum(found == ([one["truth"]] if one["truth"] else []) for found, one in zip(names, own, strict=True))
    sizes = sorted(found[2] for one in own for found in one["found"] if one["truth"] in ((found[0], found[1]), (found[0], "quota")))
    spread = f"{median(sizes):.1f} [{sizes[len(sizes) // 20]:.1f}, {sizes[-1 - len(sizes) // 20]:.1f}] ms" if sizes else "-"
    apart = median(max(one["backward_ms"]) - min(one["backward_ms"]) for one in own)
    step = median(one["step_ms"] for one in own)
    return f"| {workers} | {case} | {len(own)} | {first} | {alone} | {spread} | {apart:.1f} ms | {step:.0f} ms |"


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workers", default="2,3,4")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--first", type=int, default=0, help="number of the first seed")
    parser.add_argument("--delay-ms", type=float, default=50.0)
    parser.add_argument("--steps", type=int, default=36, help="of a training")
    parser.add_argument("--cases", default=",".join(CASES))
    parser.add_argument("--keep", type=Path, help="a folder for the raw rows and what was named (default: a temporary one)")
    parser.add_argument("--rank", type=Path, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    seeds = range(asked.first, asked.first + asked.seeds)
    if asked.rank:
        rank_main(asked.rank, seeds, asked.delay_ms / 1e3, asked.cases.split(","), asked.steps)
    with tempfile.TemporaryDirectory() as temporary:
        told = []
        for workers in map(int, asked.workers.split(",")):
            folder = (asked.keep or Path(temporary)) / f"workers={workers}"
            folder.mkdir(parents=True, exist_ok=True)
            started = subprocess.run(
                [
                    sys.executable,
                    "-W",
                    "ignore",
                    "-m",
                    "torch.distributed.run",
                    "--standalone",
                    "--nproc-per-node",
                    str(workers),
                    __file__,
                    "--rank",
                    str(folder),
                    *sys.argv[1:],
                ],
                env={**os.environ, "OMP_NUM_THREADS": "1"},
                check=False,
                timeout=240 + 30 * len(seeds) * workers,
            )
            told += list(judged(folder, workers))
            print(f"{workers} ranks: exit {started.returncode}, {len(told)} cases so far", file=sys.stderr, flush=True)
        print(
            f"{datetime.now(UTC):%Y-%m-%d}, {platform.machine()}, {os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}, {asked.steps} steps\n"
        )
        print(table(told))
        for one in told:
            names = told_of(one)
            if names != ([one["truth"]] if one["truth"] else []):
                print(f"not as it is: {one}")


if __name__ == "__main__":
    main()
