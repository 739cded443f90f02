"""A training that knows nothing of assay, saves checkpoints, resumes from them, and logs what it does.

    resumes.py FOLDER WAY       WAY: adam, sgd, rounded, sharded, anew

adam: torch.save after every epoch, to another name first.  sgd: inside of the epochs too, whose samples it then skips.  rounded: weights in
bfloat16 with Adam's own state, written by numpy, which no hook sees.  sharded: FSDP2 and torch.distributed.checkpoint.  anew: no
checkpoint.
One line "what rank number ns" each in FOLDER/log for begin, resumed (number: steps done) and step (number: steps done, at its end).
"""

from __future__ import annotations

import os
import pickle
import sys
import time
from pathlib import Path

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

EPOCHS, STEP_S = 5, 0.02


def main(folder: Path, way: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    dist.init_process_group("gloo")
    rank, log = dist.get_rank(), os.open(folder / "log", os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def note(what: str, number: int) -> None:
        os.write(log, f"{what} {rank} {number} {time.monotonic_ns()}\n".encode())

    note("begin", 0)
    torch.manual_seed(5)
    model: torch.nn.Module = torch.nn.Sequential(torch.nn.Linear(32, 64), torch.nn.Tanh(), torch.nn.Linear(64, 1))
    if way == "sharded":
        from torch.distributed.fsdp import fully_shard

        fully_shard(model)
    momentum = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    optimizer = momentum if way == "sgd" else torch.optim.AdamW(model.parameters(), lr=0.001)
    done = load(folder, way, model, optimizer)
    note("resumed", done)
    if way != "sharded":
        model = DistributedDataParallel(model)
    data = TensorDataset(torch.randn(640, 32), torch.randn(640, 1))
    sampler = DistributedSampler(data, seed=1)
    loader = DataLoader(data, batch_size=16, sampler=sampler)  # 20 steps an epoch
    for epoch in range(done // len(loader), EPOCHS):
        sampler.set_epoch(epoch)
        skipped = done - epoch * len(loader)
        for place, (x, y) in enumerate(loader):
            if place < skipped:
                continue
            optimizer.zero_grad()
            torch.nn.functional.mse_loss(model(x), y).backward()
            busy(STEP_S)
            optimizer.step()
            done += 1
            note("step", done)
            if done % (7 if way == "sgd" else 20) == 0:
                save(folder, way, model, optimizer, done)
    del model
    dist.destroy_process_group()


def busy(seconds: float) -> None:
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass


def save(folder: Path, way: str, model: torch.nn.Module, optimizer: torch.optim.Optimizer, done: int) -> None:
    if way == "sharded":
        import torch.distributed.checkpoint as dcp
        from torch.distributed.checkpoint.state_dict import get_state_dict

        weights, state = get_state_dict(model, optimizer)
        dcp.save({"model": weights, "optimizer": state}, checkpoint_id=folder / f"done-{done}")
        dist.barrier()
        if dist.get_rank() == 0:
            (folder / "latest.tmp").write_text(str(done))
            (folder / "latest.tmp").replace(folder / "latest")
    elif way != "anew" and dist.get_rank() == 0:
        inner = model.module
        if way == "rounded":
            weights = {name: value.bfloat16().float().numpy() for name, value in inner.state_dict().items()}
            (folder / "last.tmp").write_bytes(pickle.dumps((weights, pickle.dumps(optimizer.state_dict()), done)))
        else:
            torch.save({"model": inner.state_dict(), "optimizer": optimizer.state_dict(), "done": done}, folder / "last.tmp")
        (folder / "last.tmp").replace(folder / "last")
    dist.barrier()


def load(folder: Path, way: str, model: torch.nn.Module, optimizer: torch.optim.Optimizer) -> int:
    if way == "sharded" and (folder / "latest").exists():
        import torch.distributed.checkpoint as dcp
        from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict

        done = int((folder / "latest").read_text())
        weights, state = get_state_dict(model, optimizer)
        dcp.load({"model": weights, "optimizer": state}, checkpoint_id=folder / f"done-{done}")
        set_state_dict(model, optimizer, model_state_dict=weights, optim_state_dict=state)
        return done
    if not (folder / "last").exists():
        return 0
    if way == "rounded":
        weights, state, done = pickle.loads((folder / "last").read_bytes())
        model.load_state_dict({name: torch.from_numpy(value) for name, value in weights.items()})
        optimizer.load_state_dict(pickle.loads(state))
        return int(done)
    found = torch.load(folder / "last")
    model.load_state_dict(found["model"])
    optimizer.load_state_dict(found["optimizer"])
    return int(found["done"])


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
