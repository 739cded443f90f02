"""Trainings of two ranks whose synchronising takes turns; `two_ranks` runs `main` of each rank.

plain    as every tutorial has it
flags    gradient accumulation that sets DDP's flag itself, before every forward pass, as nanoGPT does
Of each a rank leaves what was recorded, its weights before and after, and DDP's flag.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch

from fireassay.instruments.hooks import communication_differencing, torch_hooks
from fireassay.instruments.hooks.steps import Attached
from fireassay.instruments.recorder.recorder import Recorder
from fireassay.instruments.recorder.sink import Identity, MemorySink

STEPS = communication_differencing.WARM + 3 * communication_differencing.LENGTH + 1
KEPT: list[Any] = []


def plain(model: Any, optimizer: Any, batches: Any) -> None:
    """One batch a step."""
    for batch in batches:
        optimizer.zero_grad()
        model(batch).square().mean().backward()
        optimizer.step()


def flags(model: Any, optimizer: Any, batches: Any) -> None:
    """Two micro steps of one batch each; only the last synchronises."""
    for batch in batches:
        for micro in range(2):
            model.require_backward_grad_sync = micro == 1
            model(batch).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()


def main(folder: Path, rank: int) -> None:
    torch.set_num_threads(1)
    dist: Any = torch.distributed
    dist.init_process_group("gloo", store=dist.FileStore(str(folder / "store"), 2), rank=rank, world_size=2)
    for kind in (plain, flags):
        left = trained(kind, rank)
        (folder / f"{kind.__name__}.{rank}").write_text(json.dumps(left, default=list))
    torch.distributed.barrier()


def trained(kind: Any, rank: int) -> dict[str, Any]:
    torch.manual_seed(0)
    undo: list[Any] = []
    sink = MemorySink()
    recorder = Recorder(Identity(launch=0, rank=rank, workers=2, incarnation=0, seed=0, host="here"), sink)
    attached = Attached(torch, recorder)
    torch_hooks.install(torch, attached, undo)
    communication_differencing.install(torch, attached, recorder, undo)
    inner = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.BatchNorm1d(256), torch.nn.Linear(256, 64))
    model = torch.nn.parallel.DistributedDataParallel(inner, bucket_cap_mb=0.05)
    forward = torch.nn.parallel.DistributedDataParallel.forward
    KEPT.append(model)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    batches = torch.utils.data.DataLoader(torch.randn(8 * STEPS, 64) + rank, batch_size=8)
    kind(model, optimizer, batches)
    attached.close()
    recorder.close()
    while undo:
        undo.pop()()
    return {
        "rows": sink.rows,
        "weights": [round(float(p.double().sum()), 12) for p in model.parameters()],
        "flag": model.require_backward_grad_sync,
        "taken_out": torch.nn.parallel.DistributedDataParallel.forward is not forward,
    }
