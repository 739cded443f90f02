"""How does each operation call torch.distributed, where are its buffers, and how long do back-to-back calls take?

Nine operations as defined by nccl-tests, in each placement that torch offers. As in nccl-tests, calls rotate through a rank's memory:
each call of a loop has its own data, which no cache holds from the call before and which can be checked after the loop.
Nothing is emulated: an operation that the engine lacks raises and is reported as not supported.

A loop begins when every rank has passed a barrier and makes its calls without a pause, as nccl-tests does. The end of a call is the
begin of the next, so k calls cost k + 1 clock readings. On the host a call ends when it returns; on a GPU events in its stream mark
the ends and are read after the loop. Data are written before a loop and checked after it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from fireassay.instruments.collectives.data import STRIDE, RankCall, fill, numbers, poison, sent

if TYPE_CHECKING:
    import torch


# Elements that a rank sends and receives, in multiples of its count; for rooted operations, on the root.
SENDS: Final = {"reduce_scatter": True, "all_to_all": True, "scatter": True}
GETS: Final = {"all_gather": True, "all_to_all": True, "gather": True}

Call = Callable[[], Any]


@dataclass(frozen=True)
class Slot:
    """One call and its buffers."""

    inputs: torch.Tensor | None  # None: this rank sends nothing
    outputs: torch.Tensor | None  # None: this rank receives nothing; may alias the inputs
    call: Call


def elements(op: str, ranks: int, count: int, placement: str) -> int:
    """Elements of memory per call on a rank."""
    sends, gets = (count * (ranks if op in of else 1) for of in (SENDS, GETS))
    return max(sends, gets) if placement == "in" else sends + gets


def room(spec: RankCall, memory: torch.Tensor) -> int:
    """How many calls fit side by side into the memory."""
    return len(memory) // elements(spec.op, spec.ranks, spec.count, _placement(spec))


def slots(distributed: Any, spec: RankCall, memory: torch.Tensor, first: int, number: int, group: Any = None) -> list[Slot]:
    """The calls of a loop, side by side from index `first`, wrapping around at the end of the memory."""
    length, capacity = elements(spec.op, spec.ranks, spec.count, _placement(spec)), room(spec, memory)
    begins = [(first + index) % capacity * length for index in range(number)]
    return [_slot(distributed, spec, memory[begin : begin + length], group) for begin in begins]


def _placement(spec: RankCall) -> str:
    return "in" if spec.in_place else "out"


def _slot(distributed: Any, spec: RankCall, memory: torch.Tensor, group: Any) -> Slot:
    op, n, rank, count, root = spec.op, spec.ranks, spec.rank, spec.count, spec.root
    sends, gets = (count * (n if op in of else 1) for of in (SENDS, GETS))
    if spec.in_place:
        inputs = memory[rank * count : (rank + 1) * count] if op == "all_gather" else memory[:sends]
        outputs = memory[rank * count : (rank + 1) * count] if op == "reduce_scatter" else memory[:gets]
    else:
        inputs, outputs = memory[:sends], memory[sends : sends + gets]
    call = _call(distributed, spec, inputs, outputs, group)
    if op in ("broadcast", "scatter") and rank != root:
        return Slot(None, outputs, call)
    if op == "gather" and rank != root:
        return Slot(inputs, None, call)
    return Slot(inputs, outputs, call)


def _named(d: Any, rank: int, group: Any) -> int:
    """The global rank of a group's rank."""
    return rank if group is None else int(d.get_global_rank(group, rank))


def _call(d: Any, spec: RankCall, inputs: Any, outputs: Any, group: Any) -> Call:
    """Resolve everything now: lookups inside the call would count as its time."""
    op, n, rank, root = spec.op, spec.ranks, spec.rank, _named(d, spec.root, group)
    within = {} if group is None else {"group": group}
    if op == "all_reduce":
        return partial(d.all_reduce, outputs, **within)
    if op == "broadcast":
        return partial(d.broadcast, outputs, root, **within)
    if op == "reduce":
        return partial(d.reduce, outputs, root, **within)
    if op == "all_gather":
        gathered = getattr(d, "all_gather_single", None) or d.all_gather_into_tensor  # its name before torch 2.13
        return partial(gathered, outputs, inputs, **within)
    if op == "reduce_scatter":
        scattered = getattr(d, "reduce_scatter_single", None) or d.reduce_scatter_tensor
        return partial(scattered, outputs, inputs, **within)
    if op == "all_to_all":
        return partial(d.all_to_all_single, outputs, inputs, **within)
    if op == "gather":
        return partial(d.gather, inputs, list(outputs.chunk(n)) if rank == spec.root else None, root, **within)
    if op == "scatter":
        return partial(d.scatter, outputs, list(inputs.chunk(n)) if rank == spec.root else None, root, **within)
    return _exchange(d, spec, inputs, outputs, group)


def _exchange(d: Any, spec: RankCall, inputs: Any, outputs: Any, group: Any) -> Call:
    """Send to the next rank and receive from the previous one, concurrently."""
    after, before = (_named(d, (spec.rank + step) % spec.ranks, group) for step in (1, -1))

    def call() -> None:
        requests = [d.P2POp(d.isend, inputs, after, group), d.P2POp(d.irecv, outputs, before, group)]
        for work in d.batch_isend_irecv(requests):
            work.wait()

    return call


def prepare(spec: RankCall, slot: Slot) -> None:
    """Write the input and poison the output, so that an old result cannot pass for a new one."""
    if slot.outputs is not None:
        slot.outputs.fill_(poison(spec.dtype))
    if slot.inputs is not None:
        sent(spec, slot.inputs)
    elif spec.in_place and slot.outputs is not None:
        # a receive-only rank starts with its own numbers, so that a stale result is recognised
        fill(slot.outputs, numbers(spec.rank, spec.ranks, spec.dtype), STRIDE * spec.call)


Now = Callable[[], int]


def on_host(calls: Sequence[Callable[[], Any]], now: Now = time.monotonic_ns) -> list[int]:
    """The loop's start and each call's return time."""
    stamps = [0] * (len(calls) + 1)
    stamps[0] = now()
    for index, call in enumerate(calls, 1):
        call()
        stamps[index] = now()
    return stamps


def on_gpu(torch: Any, calls: Sequence[Callable[[], Any]], now: Now = time.monotonic_ns) -> list[int]:
    """The same from events in the current stream, offset by the host's time at the start."""
    events = [torch.cuda.Event(enable_timing=True) for _ in range(len(calls) + 1)]
    torch.cuda.synchronize()
    begin = now()
    events[0].record()
    for index, call in enumerate(calls, 1):
        call()
        events[index].record()
    torch.cuda.synchronize()
    return [begin + round(events[0].elapsed_time(event) * 1e6) for event in events]


def loops(seconds_of_a_call: float, *, slots: int, most: int, seconds: float, least: int) -> tuple[int, int]:
    """(loops, calls per loop) so that a cell takes about `seconds`, in at least `least` loops."""
    call_s = max(seconds_of_a_call, 1e-9)
    calls = max(1, min(slots, most, int(seconds / least / call_s)))
    return max(least, min(int(seconds / (calls * call_s)), 100 * least)), calls
