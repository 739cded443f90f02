"""A training whose exposed communication is known beforehand: python -m tests.instruments.known_communication COMPUTE_MS COMM_MS

Each of four layers computes its gradient for a known time, and each gradient is a bucket whose all_reduce is under way for a known
time, one after the other.  So the last all_reduce ends at a known moment after the last gradient: that is the truth.  One process:
the group is slow by itself.
"""

from __future__ import annotations

import json
import sys
import tempfile
import threading
import time
from queue import SimpleQueue
from typing import Any

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from assay.instruments import _groups, _hooks
from assay.instruments._attached import Attached
from assay.instruments._recorder import Recorder
from assay.instruments._sink import Identity, MemorySink
from assay.record.tables import TABLES

METHODS = ("engine", "ddp_logging")
LAYERS, STEPS, WIDTH = 4, 12, 512
COMPUTED: list[
    float
] = []  # when each layer had its gradient, and each all_reduce was over, by who made them last so long:
COMMUNICATED: list[float] = []  # sleeping takes longer than it was asked to


class Slow(torch.autograd.Function):
    """Nothing forward; backward takes a while."""

    @staticmethod
    def forward(context: Any, x: torch.Tensor, seconds: float) -> torch.Tensor:
        context.seconds = seconds
        return x.clone()

    @staticmethod
    def backward(context: Any, *gradients: torch.Tensor) -> Any:
        time.sleep(context.seconds)
        COMPUTED.append(time.monotonic())
        return gradients[0], None


class Layer(torch.nn.Module):
    def __init__(self, seconds: float) -> None:
        super().__init__()
        self.inner, self.seconds = torch.nn.Linear(WIDTH, WIDTH, bias=False), seconds

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return Slow.apply(self.inner(x), self.seconds)  # its gradient is there after the sleep


class SlowWork(dist.Work):
    def __init__(self, future: Any) -> None:
        super().__init__()
        self.future = future

    def get_future(self) -> Any:
        return self.future

    def wait(self, *_: Any) -> bool:
        self.future.wait()
        return True


class SlowGroup:
    """Passes everything on, but that an all_reduce is over only after a while, one at a time."""

    def __init__(self, inner: Any, seconds: float) -> None:
        self.inner, self.asked = inner, SimpleQueue[Any]()
        self.seconds = seconds
        threading.Thread(target=self.work, daemon=True).start()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def allreduce(self, tensors: Any, *_: Any) -> SlowWork:
        future: Any = torch.futures.Future()
        self.asked.put((future, tensors))
        return SlowWork(future)

    def work(self) -> None:
        while True:
            future, tensors = self.asked.get()
            time.sleep(self.seconds)
            COMMUNICATED.append(time.monotonic())
            future.set_result(tensors)


def truth(compute_s: float, comm_s: float) -> float:
    """Seconds from the last gradient to the end of the last all_reduce."""
    free = 0.0
    for layer in range(1, LAYERS + 1):
        free = max(free, layer * compute_s) + comm_s
    return free - LAYERS * compute_s


def main(compute_s: float, comm_s: float) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        dist.init_process_group("gloo", store=dist.FileStore(f"{folder}/store", 1), rank=0, world_size=1)
        sink, undo = MemorySink(), []
        recorder = Recorder(Identity(launch=0, rank=0, workers=1, incarnation=0, seed=0, host="here"), sink)
        attached = Attached(torch, recorder)
        attached._together = lambda: True  # type: ignore[method-assign]
        _hooks.install(torch, attached, undo)
        slow = _groups.timed_group(torch, SlowGroup(dist.group.WORLD, comm_s), attached.calls)
        plain = torch.nn.Sequential(*[Layer(compute_s) for _ in range(LAYERS)])
        model = DistributedDataParallel(plain, process_group=slow, bucket_cap_mb=0.5)
        optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
        truths = []
        for _ in range(STEPS):
            optimizer.zero_grad()
            model(torch.randn(2, WIDTH)).sum().backward()
            optimizer.step()
            truths.append((COMMUNICATED[-1] - COMPUTED[-1]) * 1e3)
        attached.close()
        recorder.close()
        rows = [dict(zip(TABLES["communication"].column_names, row, strict=True)) for row in sink.of("communication")]
        dist.destroy_process_group()
    late = [row for row in rows if row["step"] >= 4]  # buckets are put together anew in the first steps
    return {
        "asked_ms": truth(compute_s, comm_s) * 1e3, "truth_ms": {step: truths[step] for step in range(4, STEPS)},
        **{method: {row["step"]: row["exposed_ns"] / 1e6 for row in late if row["method"] == method} for method in METHODS},
    }  # fmt: skip


if __name__ == "__main__":
    import os

    print(json.dumps(main(float(sys.argv[1]) / 1e3, float(sys.argv[2]) / 1e3)), flush=True)
    os._exit(0)
