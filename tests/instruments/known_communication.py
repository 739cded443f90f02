"""Trainings whose exposed communication is known beforehand: python -m tests.instruments.known_communication CLOCK BLOCKS
COMPUTE_MS,COMM_MS ...

Each of four layers computes its gradient for a known time, and each gradient is a bucket whose all_reduce is under way for a known
time, one after the other.  So the last all_reduce ends at a known moment after the last gradient: that is the truth, noted by those who
made it.  One process: the group is slow by itself.  Each regime has a training as any (launch 0), and one in which synchronising takes
turns with leaving it out (launch 1); what was recorded of both is printed, and goes through the metrics that a report goes through.

CLOCK is `made`: nobody sleeps, and the clock that the instruments read is moved on by those who work, in one thread, so that everything
is exact on the busiest machine; DDP's own log reads another clock and says nothing then.  Or `real`: a thread makes the all_reduces, and
everybody sleeps, holding neither a processor nor Python's lock.
"""

from __future__ import annotations

import json
import sys
import tempfile
import threading
import time
from collections import deque
from collections.abc import Mapping
from queue import SimpleQueue
from statistics import median
from typing import Any

from fireassay.estimates.estimate import Estimate
from fireassay.metrics.training.communication import by_method
from fireassay.record.tables import TABLES
from tests.builders import frame
from tests.handmade import Handmade

LAYERS, STEPS, SETTLED, WIDTH = 4, 14, 4, 64  # small weights: putting gradients into buckets takes no time to speak of
DATA_S, FORWARD_S, OPTIMIZER_S = 0.004, 0.001, 0.002  # waiting for a batch, a layer's forward pass, an optimizer's step
WARM = 6  # steps of the training in turns before it takes turns; BLOCKS without synchronising follow
REGIMES = {"hidden": (8.0, 2.0), "partial": (6.0, 8.0), "exposed": (2.0, 15.0)}  # ms of computing a layer, of an all_reduce


KEPT_TABLES = ("steps", "collectives", "communication", "waits")


def truth(compute: float, comm: float) -> float:
    """From the last gradient to the end of the last all_reduce, in the unit of both."""
    free = 0.0
    for layer in range(1, LAYERS + 1):
        free = max(free, layer * compute) + comm
    return free - LAYERS * compute


# ---- making (in a process of its own, for torch) -----------------------------------------------------------------------


def main(clock: str, blocks: int, regimes: list[tuple[float, float]]) -> list[dict[str, Any]]:
    """What was recorded of each regime, and the truth of each step of both of its trainings in ms."""
    import torch
    import torch.distributed as dist

    torch.set_num_threads(1)  # helpers of torch would spin on processors that others need
    sys.setswitchinterval(1e-4)
    with tempfile.TemporaryDirectory() as folder:
        dist.init_process_group("gloo", store=dist.FileStore(f"{folder}/store", 1), rank=0, world_size=1)
        return [_regime(torch, clock, blocks, compute / 1e3, comm / 1e3) for compute, comm in regimes]


def _regime(torch: Any, clock: str, blocks: int, compute_s: float, comm_s: float) -> dict[str, Any]:
    from fireassay.instruments.hooks import communication_differencing

    communication_differencing.WARM, communication_differencing.MAX_BLOCKS, communication_differencing.REPLAYS = (WARM, blocks, 0)  # type: ignore[misc]
    turns = WARM + 2 * blocks * communication_differencing.LENGTH
    rows: list[Any] = []
    truths: list[list[Known]] = []
    for launch, steps in ((0, STEPS if blocks < 4 else 3 * STEPS), (1, turns)):
        time_ = Made(torch, comm_s) if clock == "made" else Real(torch, comm_s)
        recorded, known = _training(torch, time_, compute_s, steps, launch)
        rows += recorded
        truths.append(known)
    return {"rows": rows, "truth_ms": truths}


def _training(torch: Any, clock: Made | Real, compute_s: float, steps: int, launch: int) -> tuple[list[Any], list[Known]]:
    from fireassay.instruments.hooks import communication_differencing, process_groups, torch_hooks
    from fireassay.instruments.hooks.steps import Attached
    from fireassay.instruments.recorder.recorder import Recorder
    from fireassay.instruments.recorder.sink import Identity, MemorySink

    sink = MemorySink()
    undo: list[Any] = []
    recorder = Recorder(Identity(launch=launch, rank=0, workers=2, incarnation=0, seed=0, host="here"), sink, now=clock.now)
    attached = Attached(torch, recorder, clock.now)
    attached.communication.others, attached.communication.check_ranks = True, lambda: None  # type: ignore[method-assign]
    torch_hooks.install(torch, attached, undo)
    if launch:
        communication_differencing.install(torch, attached, recorder, undo)
    group = process_groups.timed_group(torch, _slow_group(torch, clock), attached.calls)
    model = torch.nn.parallel.DistributedDataParallel(_model(torch, clock, compute_s), process_group=group, bucket_cap_mb=0.01)
    optimizer = _optimizer(torch, clock)(model.parameters(), lr=1e-3)
    known = []
    for batch in torch.utils.data.DataLoader(_data(torch, clock, steps), batch_size=None):
        optimizer.zero_grad()
        model(batch).sum().backward()
        optimizer.step()
        known.append(clock.noted())
    assert recorder.active, "a hook failed"
    attached.close()
    recorder.close()
    while undo:
        undo.pop()()
    KEPT.append(model)
    return sink.rows, known


Known = tuple[float, float]  # of a step, in ms: from the last gradient to the end of the last all_reduce; from the first's begin to it
KEPT: list[Any] = []  # a reducer that is taken apart waits for its group


class Made:
    """A clock that those who work move on; all_reduces are over when it comes to their end."""

    def __init__(self, torch: Any, comm_s: float) -> None:
        self.torch, self.comm = torch, round(comm_s * 1e9)
        self.ns = 10**12
        self.begun: int | None = None
        self.computed = self.communicated = self.free = 0
        self.pending: deque[tuple[int, Any, Any]] = deque()
        self.asked_for_the_end = False

    def now(self) -> int:
        """Nanoseconds."""
        return self.ns

    def noted(self) -> Known:
        """Of the step that ends."""
        begun, self.begun = self.begun, None
        return _known(begun, self.computed, self.communicated)

    def spend(self, seconds: float) -> None:
        """So long something else is done."""
        self.until(self.ns + round(seconds * 1e9))

    def compute(self, seconds: float) -> None:
        """A gradient. At the end of the backward pass, before DDP waits, the clock goes on to the end of the last all_reduce."""
        if not self.asked_for_the_end:
            self.asked_for_the_end = True
            self.torch.autograd.Variable._execution_engine.queue_callback(self.wait)
            self.begun = self.ns
        self.spend(seconds)
        self.computed = self.communicated = self.ns

    def until(self, ns: int) -> None:
        """Time goes on, and what is over by then is over."""
        while self.pending and self.pending[0][0] <= ns:
            self.ns, future, tensors = self.pending.popleft()
            self.communicated = self.ns
            future.set_result(tensors)
        self.ns = max(self.ns, ns)

    def wait(self) -> None:
        """For everything."""
        self.asked_for_the_end = False
        if self.pending:
            self.until(self.pending[-1][0])

    def ask(self, future: Any, tensors: Any) -> None:
        """An all_reduce: after those before it."""
        self.free = max(self.free, self.ns) + self.comm
        self.pending.append((self.free, future, tensors))


class Real:
    """The machine's clock: computing sleeps, and a thread sleeps through one all_reduce after the other."""

    now = staticmethod(time.monotonic_ns)

    def __init__(self, _: Any, comm_s: float) -> None:
        self.comm_s = comm_s
        self.begun: int | None = None
        self.computed = self.communicated = 0
        self.asked = SimpleQueue[tuple[Any, Any]]()
        threading.Thread(target=self.work, daemon=True).start()

    def noted(self) -> Known:
        """Of the step that ends."""
        begun, self.begun = self.begun, None
        return _known(begun, self.computed, self.communicated)

    def spend(self, seconds: float) -> None:
        """So long something else is done."""
        time.sleep(seconds)

    def compute(self, seconds: float) -> None:
        """A gradient."""
        self.begun = self.begun or self.now()
        time.sleep(seconds)
        self.computed = time.monotonic_ns()

    def ask(self, future: Any, tensors: Any) -> None:
        """An all_reduce."""
        self.asked.put((future, tensors))

    def work(self) -> None:
        """One after the other."""
        while True:
            future, tensors = self.asked.get()
            time.sleep(self.comm_s)
            self.communicated = time.monotonic_ns()
            future.set_result(tensors)


def _known(begun: int | None, computed: int, communicated: int) -> Known:
    assert begun is not None
    return (communicated - computed) / 1e6, (max(computed, communicated) - begun) / 1e6


def _model(torch: Any, clock: Made | Real, seconds: float) -> Any:
    class Slow(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(_: Any, x: Any) -> Any:
            clock.spend(FORWARD_S)
            return x.clone()

        @staticmethod
        def backward(_: Any, *gradients: Any) -> Any:
            clock.compute(seconds)
            return gradients[0]

    class Layer(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.inner = torch.nn.Linear(WIDTH, WIDTH, bias=False)

        def forward(self, x: Any) -> Any:
            return Slow.apply(self.inner(x))  # its gradient is there after the work

    return torch.nn.Sequential(*[Layer() for _ in range(LAYERS)])


def _data(torch: Any, clock: Made | Real, steps: int) -> Any:
    class Batches(torch.utils.data.Dataset):  # type: ignore[misc]
        def __len__(self) -> int:
            return steps

        def __getitem__(self, _: int) -> Any:
            clock.spend(DATA_S)
            return torch.randn(2, WIDTH)

    return Batches()


def _optimizer(torch: Any, clock: Made | Real) -> Any:
    class Slower(torch.optim.SGD):  # type: ignore[misc]
        def step(self, *arguments: Any) -> Any:
            clock.spend(OPTIMIZER_S)
            return super().step(*arguments)

    return Slower


def _slow_group(torch: Any, clock: Made | Real) -> Any:
    """Passes everything on, but that an all_reduce is over only after a while, one at a time."""
    dist = torch.distributed

    class SlowWork(dist.Work):  # type: ignore[misc]
        def __init__(self, future: Any) -> None:
            super().__init__()
            self.future = future

        def get_future(self) -> Any:
            return self.future

        def wait(self, *_: Any) -> bool:
            self.future.wait()
            return True

    class SlowGroup:
        inner = dist.group.WORLD

        def __getattr__(self, name: str) -> Any:
            return getattr(self.inner, name)

        def allreduce(self, tensors: Any, *_: Any) -> Any:
            future = torch.futures.Future()
            clock.ask(future, tensors)
            return SlowWork(future)

    return SlowGroup()


# ---- reading -----------------------------------------------------------------------------------------------------------


def told(found: Mapping[str, Any]) -> dict[str, float]:
    """Way -> exposed communication in ms, by the metrics."""
    return {way: value.value * 1e3 for way, value in by_method(record(found), "workers=2").items() if isinstance(value, Estimate)}


def record(found: Mapping[str, Any]) -> Any:
    """The record of a regime: a timed launch, and one that calibrates communication."""
    made = Handmade(levels=(2,), blocks=1)
    made.launch(workers=2)
    made.launch(workers=2, role="communication")
    for table, row in found["rows"]:
        if table in KEPT_TABLES:
            made.rows[table].append(tuple(row))
    for table in KEPT_TABLES:
        assert frame(table, made.rows[table]).height
    return made.measured()


def truth_ms(found: Mapping[str, Any], way: str = "group") -> float:
    """What those who made it noted, of the steps after the first, in which buckets are put together anew: the median from the last
    gradient to the end of the last all_reduce; of steps in turn how much later that end came than in blocks without any all_reduce, by the
    medians of the blocks beside them without their first steps."""
    if way != "unsynchronised":
        return float(median(tail for tail, _ in found["truth_ms"][0][SETTLED:]))
    spans = [span for _, span in found["truth_ms"][1]]
    length = 4
    blocks = [median(spans[first + 1 : first + length]) for first in range(WARM - length, len(spans), length)]
    return median((before + after) / 2 - free for before, free, after in zip(blocks[::2], blocks[1::2], blocks[2::2], strict=False))


def steps_of(found: Mapping[str, Any], launch: int = 0) -> list[dict[str, Any]]:
    """The rows of a launch's steps after the first."""
    names = TABLES["steps"].column_names
    rows = [dict(zip(names, row, strict=True)) for table, row in found["rows"] if table == "steps"]
    return [row for row in rows if row["launch"] == launch and row["step"] >= SETTLED]


def unknown_share(row: Mapping[str, Any]) -> float:
    """Which share of a step is in no phase."""
    whole = row["end_ns"] - row["begin_ns"]
    phases = ("data_ns", "forward_ns", "backward_ns", "optimizer_ns", "checkpoint_ns")
    return float(whole - sum(row[phase] or 0 for phase in phases)) / whole


def by_step(found: Mapping[str, Any], way: str) -> dict[int, float]:
    """Step -> exposed communication in ms by one way, of the timed launch."""
    names = TABLES["communication"].column_names
    rows = [dict(zip(names, row, strict=True)) for table, row in found["rows"] if table == "communication"]
    return {row["step"]: row["exposed_ns"] / 1e6 for row in rows if row["launch"] == 0 and row["method"] == way and row["step"] >= SETTLED}


def right(value_ms: float, true_ms: float) -> bool:
    """Within 10 % or 2 ms, whichever is more."""
    return abs(value_ms - true_ms) <= max(0.1 * true_ms, 2.0)


if __name__ == "__main__":
    import os

    pairs = [word.split(",") for word in sys.argv[3:]]
    print(json.dumps(main(sys.argv[1], int(sys.argv[2]), [(float(a), float(b)) for a, b in pairs])), flush=True)
    os._exit(0)  # a thread that waits for the next all_reduce never ends
