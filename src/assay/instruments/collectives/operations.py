"""How is each operation asked of torch.distributed, and where do its data lie?

Nine operations as nccl-tests has them, each in the placements that torch offers.  Calls rotate through a rank's memory, as there: every
call of a loop has data of its own, which no cache holds from the call before, and which can be checked after the loop.
Nothing is emulated: an operation that the engine lacks raises, and is told as not supported.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from assay.instruments.collectives.data import STRIDE, Asked, fill, numbers, poison, sent

if TYPE_CHECKING:
    import torch

# elements that a rank sends and gets, in units of its count; of rooted operations those of the root
SENDS: Final = {"reduce_scatter": True, "all_to_all": True, "scatter": True}
GETS: Final = {"all_gather": True, "all_to_all": True, "gather": True}

Call = Callable[[], Any]


@dataclass(frozen=True)
class Slot:
    """The memory of one call, and the call."""

    inputs: torch.Tensor | None  # None: this rank sends nothing
    outputs: torch.Tensor | None  # None: it gets nothing; may be part of the inputs, or hold them
    call: Call


def elements(op: str, ranks: int, count: int, place: str) -> int:
    """Elements of memory that one call takes on a rank."""
    sends, gets = (count * (ranks if op in of else 1) for of in (SENDS, GETS))
    return max(sends, gets) if place == "in" else sends + gets


def room(asked: Asked, memory: torch.Tensor) -> int:
    """How many calls beside each other the memory holds."""
    return len(memory) // elements(asked.op, asked.ranks, asked.count, _place(asked))


def slots(distributed: Any, asked: Asked, memory: torch.Tensor, first: int, number: int, group: Any = None) -> list[Slot]:
    """The calls of a loop, beside each other from the `first` place on, and from the memory's begin again after its end."""
    each, places = elements(asked.op, asked.ranks, asked.count, _place(asked)), room(asked, memory)
    begins = [(first + place) % places * each for place in range(number)]
    return [_slot(distributed, asked, memory[begin : begin + each], group) for begin in begins]


def _place(asked: Asked) -> str:
    return "in" if asked.in_place else "out"


def _slot(distributed: Any, asked: Asked, memory: torch.Tensor, group: Any) -> Slot:
    op, n, rank, count, root = asked.op, asked.ranks, asked.rank, asked.count, asked.root
    sends, gets = (count * (n if op in of else 1) for of in (SENDS, GETS))
    if asked.in_place:
        inputs = memory[rank * count : (rank + 1) * count] if op == "all_gather" else memory[:sends]
        outputs = memory[rank * count : (rank + 1) * count] if op == "reduce_scatter" else memory[:gets]
    else:
        inputs, outputs = memory[:sends], memory[sends : sends + gets]
    call = _call(distributed, asked, inputs, outputs, group)
    if op in ("broadcast", "scatter") and rank != root:
        return Slot(None, outputs, call)
    if op == "gather" and rank != root:
        return Slot(inputs, None, call)
    return Slot(inputs, outputs, call)


def _named(d: Any, rank: int, group: Any) -> int:
    """What torch.distributed calls a rank of a group: its number among all."""
    return rank if group is None else int(d.get_global_rank(group, rank))


def _call(d: Any, asked: Asked, inputs: Any, outputs: Any, group: Any) -> Call:
    """Everything is looked up now: what a call does beside the engine's work counts as its time."""
    op, n, rank, root = asked.op, asked.ranks, asked.rank, _named(d, asked.root, group)
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
        return partial(d.gather, inputs, list(outputs.chunk(n)) if rank == asked.root else None, root, **within)
    if op == "scatter":
        return partial(d.scatter, outputs, list(inputs.chunk(n)) if rank == asked.root else None, root, **within)
    return _exchange(d, asked, inputs, outputs, group)


def _exchange(d: Any, asked: Asked, inputs: Any, outputs: Any, group: Any) -> Call:
    """To the next rank and from the one before, at once."""
    after, before = (_named(d, (asked.rank + step) % asked.ranks, group) for step in (1, -1))

    def call() -> None:
        asks = [d.P2POp(d.isend, inputs, after, group), d.P2POp(d.irecv, outputs, before, group)]
        for work in d.batch_isend_irecv(asks):
            work.wait()

    return call


def prepare(asked: Asked, slot: Slot) -> None:
    """Write what is sent, and poison where the result is to come: what a call left there must not pass for the next one's."""
    if slot.outputs is not None:
        slot.outputs.fill_(poison(asked.dtype))
    if slot.inputs is not None:
        sent(asked, slot.inputs)
    elif asked.in_place and slot.outputs is not None:
        # what a rank that only receives holds before: its own numbers, so that a stale result is known for one
        fill(slot.outputs, numbers(asked.rank, asked.ranks, asked.dtype), STRIDE * asked.call)
