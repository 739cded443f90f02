"""A training of two ranks that communicates in every way gloo has, and what torch's flight recorder lists of it.

`two_ranks` runs `main` of each rank, which leaves what was recorded.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch

from fireassay.instruments.hooks import torch_hooks
from fireassay.instruments.hooks.steps import Attached
from fireassay.instruments.recorder.recorder import Recorder
from fireassay.instruments.recorder.sink import Identity, MemorySink

STEPS = 4
dist: Any = torch.distributed


def everything(rank: int, own: Any) -> None:
    """Each of them once, by name or by place, waited for or not, in the world or in a group."""
    one, two, parts = torch.ones(6), torch.zeros(12), [torch.zeros(6), torch.zeros(6)]
    dist.all_reduce(one)
    dist.all_reduce(one, async_op=True, group=own).wait()
    dist.broadcast(one, src=0)
    dist.reduce(one, dst=0)
    dist.all_gather(parts, one)
    dist.all_gather_into_tensor(two, one)
    dist.all_gather_into_tensor(output_tensor=two, input_tensor=one)
    dist.all_to_all_single(output=two, input=torch.ones(12))
    dist.gather(one, parts if rank == 0 else None, dst=0)
    dist.scatter(one, parts if rank == 0 else None, src=0)
    dist.barrier()
    dist.broadcast_object_list([rank], src=0)


def main(folder: Path, rank: int) -> None:
    torch.set_num_threads(1)
    dist.init_process_group("gloo", store=dist.FileStore(str(folder / "store"), 2), rank=rank, world_size=2)
    sink = MemorySink()
    undo: list[Any] = []
    recorder = Recorder(Identity(launch=0, rank=rank, workers=2, incarnation=0, seed=0, host="here"), sink)
    attached = Attached(torch, recorder)
    torch_hooks.install(torch, attached, undo)
    own = dist.new_group([0, 1])
    inner = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.BatchNorm1d(64), torch.nn.Linear(64, 1))
    model = torch.nn.parallel.DistributedDataParallel(inner, bucket_cap_mb=0.01)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    batches: Any = torch.randn(8 * STEPS, 64)
    for batch in torch.utils.data.DataLoader(batches, batch_size=8):
        optimizer.zero_grad()
        model(batch).square().mean().backward()
        everything(rank, own)
        optimizer.step()
    attached.close()
    recorder.close()
    (folder / f"{rank}").write_text(json.dumps(sink.rows, default=list))
    dist.barrier()
