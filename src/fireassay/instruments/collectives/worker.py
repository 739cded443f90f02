"""What does one rank do in a launch of `assay comm`?

It times every operation at every size and writes a row per call. The launcher starts it like a training script, with one argument:
the settings as JSON. The order of cells is drawn from the launch's seed, equal on every rank, so that drift is not confounded with
size. Before a loop, data are written and the ranks meet at a barrier (with its own row). After a second barrier the data are checked
and the rows written, all outside the timed interval. The slowest rank's warm-up sets the number of calls for all ranks.
"""

from __future__ import annotations

import json
import os
import random
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from fireassay.instruments.collectives import operations, pairs
from fireassay.instruments.collectives.corruption import Checked, check
from fireassay.instruments.collectives.data import RankCall, right
from fireassay.instruments.recorder.sink import Identity, LaunchSink, Sink, identity_from, process_start_ns
from fireassay.spec.sections.collectives import Cell, Collectives, cells
from fireassay.units import MIB, NS_PER_S

GROUP: Final = "world"
PART: Final = "group"  # followed by its number, if there are several
LEAD_IN: Final = 2  # calls
LEAD_IN_SMALL: Final = 10  # for messages so small that a cold path matters
SMALL: Final = 2**16  # bytes
UNSUPPORTED: Final = ("not support", "not implement", "no backend", "unsupported", "does not have")


@dataclass
class Worker:
    """One rank: its group, memory and sink."""

    torch: Any
    settings: Collectives
    identity: Identity
    sink: Sink
    device: Any
    made: int = 0  # calls in the group so far
    cells_done: int = 0
    memory: Any = None
    group: Any = None  # of torch.distributed; None: all ranks

    @property
    def size(self) -> int:
        """Ranks in this rank's group."""
        return self.settings.ranks(self.identity.workers)

    @property
    def name(self) -> str:
        """The group's name in the table."""
        return GROUP if self.size == self.identity.workers else f"{PART} {self.identity.rank // self.size}"

    @property
    def distributed(self) -> Any:
        """torch.distributed."""
        return self.torch.distributed

    # ---- running a launch

    def run(self) -> None:
        """Run every cell, in the launch's order."""
        if self.size < self.identity.workers:
            groups = [
                self.distributed.new_group(list(range(first, first + self.size))) for first in range(0, self.identity.workers, self.size)
            ]
            self.group = groups[self.identity.rank // self.size]
        todo = list(cells(self.settings, self.identity.workers))
        unsupported = {(op, placement): why for op, placement, why in self._missing({(cell.op, cell.place): None for cell in todo})}
        for (op, placement), why in unsupported.items():
            self.event("not_supported", {"op": op, "place": placement, "backend": self.settings.backend, "why": why})
        random.Random(self.identity.seed).shuffle(todo)
        for cell in todo:
            if (cell.op, cell.place) not in unsupported:
                self.time(cell)
            self.cells_done += 1
            self.sink.step(self.cells_done, time.monotonic_ns())
        if self.settings.matrix_size:
            self.memory = None  # pairs have their own buffers
            plan = pairs.plan_for(self.identity.workers, large=self.settings.matrix_size)
            pairs.write(self.sink, self.identity, pairs.Wire(self.torch, self.device), plan)

    def time(self, cell: Cell) -> None:
        """Time one cell: warm-up, then the loops."""
        spec = self._call_of(cell)
        memory = self._memory(operations.elements(cell.op, cell.ranks, cell.count, cell.place))
        capacity = operations.room(spec, memory)
        warm = min(self.settings.warm_up, capacity)
        first_s = self._loop(cell, spec, memory, 0, warm, "warm_up")
        second_s = self._loop(cell, spec, memory, 0, warm, "warm_up") if warm > 1 else first_s
        batches, calls = operations.loops(
            self._slowest(min(first_s, second_s)),
            slots=capacity,
            most=self.settings.calls,
            seconds=self.settings.seconds,
            least=self.settings.batches,
        )
        for batch in range(batches):
            self._loop(cell, spec, memory, batch * calls, calls, "timed")

    def _loop(self, cell: Cell, spec: RankCall, memory: Any, begin: int, number: int, phase: str) -> float:
        """One loop: write, barrier, time, check, record. Returns the seconds per call on this rank."""
        slots = operations.slots(self.distributed, spec, memory, begin, number, self.group)
        before, first, after = self.made, self.made + 1, self.made + 1 + len(slots)
        self.made = after + 1
        specs = [replace(spec, call=first + index) for index in range(len(slots))]
        for call_spec, slot in zip(specs, slots, strict=True):
            operations.prepare(call_spec, slot)
        calls = [slot.call for slot in slots]
        self._lead_in(spec, memory, begin, number)
        entry_times = self._barrier()
        stamps = operations.on_gpu(self.torch, calls) if self.device.type == "cuda" else operations.on_host(calls)
        # a rank that finishes early must not use the CPU for checks while others still run
        exit_times = self._barrier()
        checked = [_checked(call_spec, slot) for call_spec, slot in zip(specs, slots, strict=True)]
        self._row(cell, before, "barrier", 0, phase, entry_times, Checked(wrong=None))
        for index, outcome in enumerate(checked):
            self._row(cell, first + index, cell.op, cell.nbytes, phase, (stamps[index], stamps[index + 1]), outcome)
        self._row(cell, after, "barrier", 0, phase, exit_times, Checked(wrong=None))
        self.sink.flush()  # here, not in the flush thread during the next loop
        return (stamps[-1] - stamps[0]) / len(slots) / NS_PER_S

    def _lead_in(self, spec: RankCall, memory: Any, begin: int, number: int) -> None:
        """Make a few unrecorded calls outside the loop's slots, since writing the data has cooled the caches."""
        if operations.room(spec, memory) > number:
            (extra,) = operations.slots(self.distributed, spec, memory, begin + number, 1, self.group)
            for _ in range(lead_in(spec.count * self.settings.element_size)):
                extra.call()

    def _barrier(self) -> tuple[int, int]:
        begin = time.monotonic_ns()
        self.distributed.barrier(**({"device_ids": [self.device.index]} if self.device.type == "cuda" else {}))
        if self.device.type == "cuda":
            self.torch.cuda.synchronize()
        return begin, time.monotonic_ns()

    def _slowest(self, seconds: float) -> float:
        slowest = self.torch.tensor([seconds], dtype=self.torch.float64, device=self.device)
        self.distributed.all_reduce(slowest, op=self.distributed.ReduceOp.MAX)
        return float(slowest.item())

    # ---- unsupported operations

    def _missing(self, combinations: Mapping[tuple[str, Any], None]) -> Iterator[tuple[str, str, str]]:
        """(operation, placement, reason) of each unsupported combination, found by one small call each."""
        for op, placement in combinations:
            why = self._refusal(op, placement)
            agreed = self.torch.tensor([0 if why is None else 1], device=self.device)
            self.distributed.all_reduce(agreed, op=self.distributed.ReduceOp.MAX)
            if int(agreed.item()):
                yield op, placement, why or "another rank does not support it"

    def _refusal(self, op: str, placement: str) -> str | None:
        n = self.size
        if n == 1 and op == "send_recv":
            return "a group of one rank has no neighbour"
        spec = RankCall(
            op=op,
            ranks=n,
            rank=self.identity.rank % n,
            count=4,
            dtype=self.settings.dtype,
            call=0,
            root=self.settings.root,
            in_place=placement == "in",
        )
        (slot,) = operations.slots(self.distributed, spec, self._memory(operations.elements(op, n, 4, placement)), 0, 1, self.group)
        operations.prepare(spec, slot)
        try:
            slot.call()
            if self.device.type == "cuda":
                self.torch.cuda.synchronize()
        except (RuntimeError, NotImplementedError, TypeError, ValueError) as error:
            text = " ".join(str(error).split())
            if isinstance(error, NotImplementedError) or any(words in text.lower() for words in UNSUPPORTED):
                return text[:200]
            raise
        return None

    # ---- helpers

    def _call_of(self, cell: Cell) -> RankCall:
        return RankCall(
            op=cell.op,
            ranks=cell.ranks,
            rank=self.identity.rank % cell.ranks,
            count=cell.count,
            dtype=self.settings.dtype,
            call=0,
            root=self.settings.root,
            in_place=cell.place == "in",
        )

    def _memory(self, least: int) -> Any:
        """The memory that calls rotate through; reallocated only if a call needs more."""
        elements = max(least, int(self.settings.memory_mib * MIB) // self.settings.element_size)
        if self.memory is None or len(self.memory) < elements:
            self.memory = None  # free first
            self.memory = self.torch.zeros(elements, dtype=getattr(self.torch, self.settings.dtype), device=self.device)
        return self.memory

    def _row(self, cell: Cell, call: int, op: str, nbytes: int, phase: str, times: tuple[int, int], checked: Checked) -> None:
        key = (self.identity.launch, self.identity.rank, self.identity.incarnation)
        in_place = None if op == "barrier" else int(cell.place == "in")
        self.sink.append(
            "collectives",
            (
                *key,
                self.name,
                call,
                None,
                op,
                cell.ranks,
                nbytes,
                self.settings.dtype,
                phase,
                in_place,
                *times,
                None,
                checked.wrong,
                checked.fault or None,
                "host" if self.device.type == "cpu" or op == "barrier" else "cuda_event",
            ),
        )

    def event(self, kind: str, detail: Mapping[str, Any]) -> None:
        """Record an event of this rank."""
        who = self.identity
        self.sink.append(
            "events",
            (who.launch, time.monotonic_ns(), None, who.host, who.rank, who.incarnation, kind, None, None, json.dumps(dict(detail))),
        )


def lead_in(nbytes: int) -> int:
    """Unrecorded calls before a loop, by message size: equal on every rank."""
    return LEAD_IN_SMALL if nbytes <= SMALL else LEAD_IN


def _checked(spec: RankCall, slot: operations.Slot) -> Checked:
    """The fast check first; the cause is searched for only if something is wrong."""
    if slot.outputs is None:
        return Checked(wrong=None)
    if not (spec.op == "reduce" and spec.rank != spec.root) and right(spec, slot.outputs):
        return Checked(wrong=0)
    return check(spec, slot.outputs)


def engine(torch: Any, settings: Collectives) -> dict[str, Any]:
    """The engine and device that carried the calls."""
    nccl = ".".join(map(str, torch.cuda.nccl.version())) if settings.backend == "nccl" else None
    variable = "NCCL_SOCKET_IFNAME" if settings.backend == "nccl" else "GLOO_SOCKET_IFNAME"
    return {
        "backend": torch.distributed.get_backend(),
        "torch": torch.__version__,
        "nccl": nccl,
        "interface": os.environ.get(variable) or None,
        "threads": torch.get_num_threads(),
        "device": torch.cuda.get_device_name() if settings.backend == "nccl" else "cpu",
        "convention": "nccl-tests",
        "timing": "loops of calls after a barrier, the slowest rank",
    }


def main(argv: Sequence[str]) -> int:
    """Run one rank of a launch."""
    from fireassay.record.arrow_import import without_pandas

    without_pandas()
    spec = Collectives.model_validate_json(argv[0])
    import torch

    identity = identity_from(os.environ)
    local_rank, local_size = (int(os.environ.get(name) or default) for name, default in (("LOCAL_RANK", 0), ("LOCAL_WORLD_SIZE", 1)))
    if spec.backend == "auto":
        fits = torch.distributed.is_nccl_available() and torch.cuda.device_count() >= local_size
        spec = spec.model_copy(update={"backend": "nccl" if fits else "gloo"})
    if spec.backend == "nccl" and local_rank >= torch.cuda.device_count():
        print(f"assay: NCCL needs a GPU for every rank; this host has {torch.cuda.device_count()}", file=sys.stderr)
        return 1
    device = torch.device("cuda", local_rank) if spec.backend == "nccl" else torch.device("cpu")
    if device.type == "cuda":
        torch.cuda.set_device(device)
    torch.distributed.init_process_group(spec.backend)
    sink = LaunchSink(Path(os.environ["FIREASSAY_LAUNCH_DIR"]), identity, flush_s=float(os.environ.get("FIREASSAY_FLUSH_S") or 0.5))
    worker = Worker(torch, spec, identity, sink, device)
    try:
        worker.event("worker_start", {"pid": os.getpid(), "world_size": identity.workers, "process_start_ns": process_start_ns()})
        worker.event("engine", engine(torch, spec))
        worker.run()
        worker.event("worker_end", {})
    finally:
        sink.close()
    torch.distributed.destroy_process_group()
    return 0


if __name__ == "__main__":
    code = main(sys.argv[1:])
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)  # all is written; torch's teardown would cost each rank another second
