"""How is every collective of an unmodified script timed, those too that no Python asks for?

DistributedDataParallel's reducer asks its process group in C++; it is given a group of our own, a Python subclass of
`ProcessGroup` whose methods pass the call on and note when it was made and when its future was complete.  Everything else asks
through `torch.distributed` in Python (FSDP2's gathering and scattering, a script's own all_reduce): those functions are replaced.
A call's completion is told by its future's callback, in the engine's thread; the rows wait until the step ends.

Cost: two calls of Python for a collective; what they take is summed up (`own_ns`), but for what torch needs to call them.  What the
reducer asks for in a steady step's backward pass is noted in fewer calls (`Calls.steadily`), with the same result.  Every call goes through
Python: a group of ours that had the engine's backend registered instead would ask it with the interpreter's lock in its hand, and gloo's
thread may wait for that lock while it holds its queue (torch 2.13 hung in one loop of four).
Cannot tell: on CUDA the moment of completion (a future of NCCL is complete once it is enqueued): there the row has no end, and kernels
are read from a profiled window.
"""

from __future__ import annotations

import functools
import inspect
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

from assay.instruments.hooks.collective_calls import Call, Calls, group_name_and_size

# what the engine's own methods are called -> the operation
METHODS: Final = {
    "allreduce": "all_reduce",
    "allreduce_coalesced": "all_reduce",
    "broadcast": "broadcast",
    "allgather": "all_gather",
    "_allgather_base": "all_gather",
    "allgather_coalesced": "all_gather",
    "allgather_into_tensor_coalesced": "all_gather",
    "reduce_scatter": "reduce_scatter",
    "_reduce_scatter_base": "reduce_scatter",
    "reduce_scatter_tensor_coalesced": "reduce_scatter",
    "alltoall": "all_to_all",
    "alltoall_base": "all_to_all",
    "gather": "gather",
    "scatter": "scatter",
    "reduce": "reduce",
    "all_gather_single": "all_gather",
    "all_gather_single_coalesced": "all_gather",
    "reduce_scatter_single": "reduce_scatter",
    "reduce_scatter_single_coalesced": "reduce_scatter",
    "all_to_all_single": "all_to_all",
    "barrier": "barrier",
    "send": "send",
    "recv": "recv",
}
# functions of torch.distributed -> the operation, and which argument is as large as nccl-tests counts it (`TIMES_SIZE`: times the ranks)
FUNCTIONS: Final = {
    "all_reduce": ("all_reduce", 0),
    "broadcast": ("broadcast", 0),
    "reduce": ("reduce", 0),
    "barrier": ("barrier", -1),
    "all_gather": ("all_gather", 0),
    "all_gather_into_tensor": ("all_gather", 0),
    "all_gather_single": ("all_gather", 0),
    "reduce_scatter_single": ("reduce_scatter", 1),
    "reduce_scatter": ("reduce_scatter", 1),
    "reduce_scatter_tensor": ("reduce_scatter", 1),
    "all_to_all": ("all_to_all", 1),
    "all_to_all_single": ("all_to_all", 1),
    "gather": ("gather", 0),
    "scatter": ("scatter", 0),
    "send": ("send", 0),
    "recv": ("recv", 0),
}


def timed_group(torch: Any, inner: Any, calls: Calls) -> Any:
    """A process group that passes everything on to `inner` and notes every collective."""
    return _timed_class(torch)(inner, calls)


@functools.cache
def _timed_class(torch: Any) -> Any:
    base = torch.distributed.ProcessGroup

    def make(method: str, op: str) -> Any:
        largest = 0 if op not in ("reduce_scatter", "all_to_all", "gather") else 1

        def asked(self: Any, *arguments: Any, **words: Any) -> Any:
            calls, ask = self._calls, getattr(self._inner, method)
            if calls.under_way.any or not calls.taking:
                return ask(*arguments, **words)
            calls.asked_first()
            tensors = arguments[min(largest, len(arguments) - 1)] if arguments else ()
            call, work = calls.made(self._name, self._size, op, tensors, ask, arguments, words)
            calls.reduces(call)
            noted(torch, calls, call, work)
            return work

        asked.__name__ = method
        return asked

    def __init__(self: Any, inner: Any, calls: Calls) -> None:
        base.__init__(self, inner.rank(), inner.size())
        self._inner, self._calls = inner, calls
        self._name, self._size = group_name_and_size(inner)
        self._direct = inner.allreduce if type(inner) is base else None  # one in Python may call what is noted

    def steadily(general: Any) -> Any:
        main, current = threading.main_thread().ident, threading.get_ident

        def allreduce(self: Any, *arguments: Any, **words: Any) -> Any:
            calls = self._calls
            steady = calls.steady
            if steady is None or not steady.on or self._direct is None or words or len(arguments) != 2:
                return general(self, *arguments, **words)
            if current() != main or calls.under_way.any:
                return general(self, *arguments)
            call = calls.steadily(self._name, self._size, arguments[0])
            if call is None:
                return general(self, *arguments)
            try:
                work = self._direct(*arguments)
            except BaseException:
                call.timed = False
                raise
            calls.asked_steadily(call, work)
            return work

        return allreduce

    members: dict[str, Any] = {name: make(name, op) for name, op in METHODS.items() if hasattr(base, name)}
    members["allreduce"] = steadily(members["allreduce"])
    for member in members.values():
        _leave_uncompiled(torch, member)
    members |= {
        "__init__": __init__,
        "getBackendName": lambda _: "assay",  # by another name DDP's logger asks for what only the engine's own group has
        "group_name": property(lambda self: self._inner.group_name),
        "pg_name": property(lambda self: self._inner.group_name),
    }
    return type("TimedGroup", (base,), members)


def _leave_uncompiled(torch: Any, function: Any) -> None:
    """Let torch.compile run this function, and what it calls, as it is.  Where a script compiles a DistributedDataParallel from outside,
    its reducer asks this group in the middle of a compiled call, and the compiler, which takes a group for opaque, ends the training
    at the first attribute of ours.  `torch.compiler.disable` would say the same, and import the compiler, a second's work."""
    with suppress(AttributeError):  # torch before 2.7 has no such call, and no opaque groups
        frames = torch._C._dynamo.eval_frame
        skip = frames._FrameAction.SKIP
        frames.set_code_exec_strategy(function.__code__, frames._FrameExecStrategy(skip, skip))


def noted(_: Any, calls: Calls, call: Call | None, work: Any) -> None:
    """Note the end of a collective when its future is complete; on CUDA that would be when it was enqueued."""
    try:
        if call is not None:
            _noted(calls, call, work)
    except Exception as error:
        calls.failed(error)


def _noted(calls: Calls, call: Call, work: Any) -> None:
    if work is None:
        calls.over(call)
        return
    if not call.timed:
        return
    begin = calls.now()
    try:
        future = work.get_future()
    except RuntimeError:  # an operation without a future (send, recv, barrier of some engines)
        call.timed = False
        return
    call.future = future
    future.add_done_callback(functools.partial(calls.told, call))
    calls.own_ns += calls.now() - begin


def functions(torch: Any, calls: Calls) -> list[tuple[str, Callable[[Any], Any]]]:
    """(name, maker of the replacement) for every function of torch.distributed that asks for a collective."""
    distributed, main = torch.distributed, threading.main_thread()

    def replacing(op: str, place: int) -> Callable[[Any], Any]:
        def make(original: Any) -> Any:
            named = _named(original, place)

            def timed(arguments: tuple[Any, ...], words: dict[str, Any]) -> Any:
                try:
                    group = words.get("group") or next(
                        (one for one in arguments if isinstance(one, distributed.ProcessGroup)), distributed.group.WORLD
                    )
                    tensors = arguments[place] if 0 <= place < len(arguments) else words.get(named, ())
                    name, size = group_name_and_size(group)
                except Exception as error:
                    calls.failed(error)
                    return original(*arguments, **words)
                call, work = calls.made(name, size, op, tensors, original, arguments, words)
                if hasattr(work, "get_future"):
                    noted(torch, calls, call, work)
                elif call is not None:  # the function waited itself; recv returns the sender's rank
                    calls.over(call)
                    if threading.current_thread() is main and call.end is not None:
                        call.blocked = call.end - call.begin  # it waits by `Work.wait`, which counts it for the step
                return work

            def asked(*arguments: Any, **words: Any) -> Any:
                if (
                    torch.compiler.is_compiling()
                    or not distributed.is_initialized()
                    or calls.under_way.any
                    or not calls.taking
                    or _is_outside(distributed, (*arguments, words.get("group")))
                ):
                    return original(*arguments, **words)
                return timed(arguments, words)

            return asked

        return make

    return [(name, replacing(op, place)) for name, (op, place) in FUNCTIONS.items() if hasattr(distributed, name)]


def _is_outside(distributed: Any, arguments: tuple[Any, ...]) -> bool:
    """Whether this rank is not in the group that is asked: torch hands such a rank a number instead of a group, warns, and does nothing.
    Tensors are not compared: that would compute."""
    number = getattr(getattr(distributed, "GroupMember", None), "NON_GROUP_MEMBER", None)
    return number is not None and any(one is number or (type(one) is int and one == number) for one in arguments)


def _named(function: Any, place: int) -> str:
    """What the argument at that place is called, for whoever gives it by name."""
    try:
        names = list(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return ""
    return names[place] if 0 <= place < len(names) else ""
