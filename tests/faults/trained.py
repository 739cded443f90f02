"""A real training of two ranks: DistributedDataParallel over gloo, checkpoints by rank 0, and what is true of it noted beside the record.

    trained.py FOLDER        settings of launch N stand in FOLDER/N.json: see SETTINGS

One line "what rank incarnation ns" each in FOLDER/N.truth for begin (of the process's script), first (step), step (the end of each), saving
(begins), asked (to end, or its communication broke) and fails (by itself); `from` holds
the first step's number instead.  No step waits by sleeping: it computes for so much processor time.
"""

from __future__ import annotations

import time

BEGUN = time.monotonic_ns()  # before torch, whose import takes long

import json  # noqa: E402
import os  # noqa: E402
import signal  # noqa: E402
import sys  # noqa: E402
from datetime import timedelta  # noqa: E402
from pathlib import Path  # noqa: E402
from typing import Any  # noqa: E402

from fireassay import probe  # noqa: E402

SETTINGS: dict[str, Any] = {
    "steps": 40,
    "step_ms": 20.0,
    "save_every": 10,
    "save_ms": 30.0,
    "load_s": 1.0,
    "fails": 0,  # so many incarnations after the first end before their first step
    "group_s": 600.0,  # after so long a rank no longer waits for the other
}


def main(folder: Path) -> None:
    launch, incarnation = os.environ["FIREASSAY_LAUNCH"], int(os.environ["TORCHELASTIC_RESTART_COUNT"])
    told = folder / f"{launch}.json"
    asked = {**SETTINGS, **(json.loads(told.read_text()) if told.exists() else {})}
    descriptor = os.open(folder / f"{launch}.truth", os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def note(what: str, ns: int | None = None) -> None:
        os.write(descriptor, f"{what} {os.environ['RANK']} {incarnation} {time.monotonic_ns() if ns is None else ns}\n".encode())

    def ended(*_: object) -> None:
        note("asked")
        os._exit(1)

    signal.signal(signal.SIGTERM, ended)
    note("begin", BEGUN)
    with probe.start() as p:
        try:
            train(p, folder / f"{launch}.pt", asked, incarnation, note)
        except RuntimeError:  # the other's end of the connection is gone
            ended()


def train(p: Any, saved: Path, asked: dict[str, Any], incarnation: int, note: Any) -> None:
    """What a user's script would do, and notes."""
    import torch
    from torch.nn.parallel import DistributedDataParallel

    torch.set_num_threads(1)
    torch.distributed.init_process_group("gloo", timeout=timedelta(seconds=asked["group_s"]))
    torch.manual_seed(0)
    model = DistributedDataParallel(torch.nn.Linear(32, 1))
    optimizer, first = torch.optim.SGD(model.parameters(), lr=0.01), 0
    if incarnation:
        time.sleep(asked["load_s"])
        if incarnation <= asked["fails"]:
            note("fails")
            os._exit(3)
    if saved.exists():
        state = torch.load(saved)
        model.module.load_state_dict(state["model"])
        first = state["step"]
    for step in p.steps(range(first, asked["steps"]), start=first):
        if step == first:
            note("first")
            note("from", first)
        with p.phase("forward"):
            until = time.process_time() + asked["step_ms"] / 1e3
            while time.process_time() < until:
                loss = model.module(torch.ones(8, 32)).square().mean()
            loss = model(torch.full((8, 32), 1.0 + p.rank)).square().mean()
        with p.phase("backward"):
            loss.backward()
        with p.phase("optimizer"):
            optimizer.step()
            optimizer.zero_grad()
        p.log(loss=float(loss.detach()), items=8)
        note("step")
        if (step + 1) % asked["save_every"] == 0 and p.rank == 0:
            note("saving")
            with p.checkpoint_save():
                fresh = saved.with_suffix(".new")
                torch.save({"model": model.module.state_dict(), "step": step + 1}, fresh)
                time.sleep(asked["save_ms"] / 1e3)
                fresh.replace(saved)
    torch.distributed.barrier()
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
