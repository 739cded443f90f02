"""How do we time every collective of an unmodified script, including those requested from C++?

DistributedDataParallel's reducer calls its process group in C++. We give it a Python subclass of `ProcessGroup` whose methods forward
the call and record its creation and its future's completion. Everything else goes through `torch.distributed` in
Python (FSDP2's gathers and scatters, a script's own all_reduce): those functions are patched. The future's callback reports completion
in the engine's thread; the rows wait until the step ends.

Cost: two Python calls per collective, summed up (`own_ns`) except for torch's own dispatch. In a steady step's backward pass the
reducer's requests are recorded in fewer calls (`Calls.steadily`), with the same result. Every call goes through Python: our group
with the engine's backend registered would call it with the GIL held, and gloo's thread may wait for the GIL while it holds its queue's
lock (torch 2.13 hung in one loop of four).
Cannot tell: completion on CUDA (an NCCL future completes once enqueued): there the row has no end, and kernels are read from a
profiled window.
"""

from __future__ import annotations

import functools
import inspect
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

from fireassay.instruments.hooks.collective_calls import Call, Calls, group_name_and_size

# the engine's method names -> the operation
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
# functions of torch.distributed -> the operation, and the argument whose size nccl-tests counts (`TIMES_SIZE`: times the ranks)
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
    """A process group that forwards everything to `inner` and records every collective."""
    return _timed_class(torch)(inner, calls)


@functools.cache
def _timed_class(torch: Any) -> Any:
    base = torch.distributed.ProcessGroup

    def make(method: str, op: str) -> Any:
        largest = 0 if op not in ("reduce_scatter", "all_to_all", "gather") else 1

        def timed_method(self: Any, *arguments: Any, **words: Any) -> Any:
            calls, request = self._calls, getattr(self._inner, method)
            if calls.under_way.any or not calls.taking:
                return request(*arguments, **words)
            calls.first_requested()
            tensors = arguments[min(largest, len(arguments) - 1)] if arguments else ()
            call, work = calls.made(self._name, self._size, op, tensors, request, arguments, words)
            calls.reduces(call)
            noted(torch, calls, call, work)
            return work

        timed_method.__name__ = method
        return timed_method

    def __init__(self: Any, inner: Any, calls: Calls) -> None:
        base.__init__(self, inner.rank(), inner.size())
        self._inner, self._calls = inner, calls
        self._name, self._size = group_name_and_size(inner)
        self._direct = inner.allreduce if type(inner) is base else None  # a Python group may call recorded functions

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
            calls.requested_steadily(call, work)
            return work

        return allreduce

    members: dict[str, Any] = {name: make(name, op) for name, op in METHODS.items() if hasattr(base, name)}
    members["allreduce"] = steadily(members["allreduce"])
    for member in members.values():
        _leave_uncompiled(torch, member)
    members |= {
        "__init__": __init__,
        "getBackendName": lambda _: "assay",  # any other name makes DDP's logger read members that only the engine's group has
        "group_name": property(lambda self: self._inner.group_name),
        "pg_name": property(lambda self: self._inner.group_name),
    }
    return type("TimedGroup", (base,), members)


def _leave_uncompiled(torch: Any, function: Any) -> None:
    """Exempt this function and its callees from torch.compile.

    If a script compiles a DistributedDataParallel from outside, its reducer calls this group inside a compiled call, and the compiler,
    which treats a group as opaque, ends the training at our first attribute. `torch.compiler.disable` would do the same, but imports the
    compiler (a second).
    """
    with suppress(AttributeError):  # torch before 2.7 has no such call, and no opaque groups
        frames = torch._C._dynamo.eval_frame
        skip = frames._FrameAction.SKIP
        frames.set_code_exec_strategy(function.__code__, frames._FrameExecStrategy(skip, skip))


def noted(_: Any, calls: Calls, call: Call | None, work: Any) -> None:
    """Record the end of a collective when its future completes; on CUDA that would be the enqueue."""
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
    future.add_done_callback(functools.partial(calls.completed, call))
    calls.own_ns += calls.now() - begin


def functions(torch: Any, calls: Calls) -> list[tuple[str, Callable[[Any], Any]]]:
    """(name, maker of the replacement) for every function of torch.distributed that requests a collective."""
    distributed, main = torch.distributed, threading.main_thread()

    def replacing(op: str, index: int) -> Callable[[Any], Any]:
        def make(original: Any) -> Any:
            named = _named(original, index)

            def timed(arguments: tuple[Any, ...], words: dict[str, Any]) -> Any:
                try:
                    group = words.get("group") or next(
                        (argument for argument in arguments if isinstance(argument, distributed.ProcessGroup)), distributed.group.WORLD
                    )
                    tensors = arguments[index] if 0 <= index < len(arguments) else words.get(named, ())
                    name, size = group_name_and_size(group)
                except Exception as error:
                    calls.failed(error)
                    return original(*arguments, **words)
                call, work = calls.made(name, size, op, tensors, original, arguments, words)
                if hasattr(work, "get_future"):
                    noted(torch, calls, call, work)
                elif call is not None:  # a blocking function; recv returns the sender's rank
                    calls.over(call)
                    if threading.current_thread() is main and call.end is not None:
                        call.blocked = call.end - call.begin  # it waits in `Work.wait`, which counts the wait for the step
                return work

            def recorded(*arguments: Any, **words: Any) -> Any:
                if (
                    torch.compiler.is_compiling()
                    or not distributed.is_initialized()
                    or calls.under_way.any
                    or not calls.taking
                    or _is_outside(distributed, (*arguments, words.get("group")))
                ):
                    return original(*arguments, **words)
                return timed(arguments, words)

            return recorded

        return make

    return [(name, replacing(op, index)) for name, (op, index) in FUNCTIONS.items() if hasattr(distributed, name)]


def _is_outside(distributed: Any, arguments: tuple[Any, ...]) -> bool:
    """True if this rank is outside the group: torch then passes a number instead of a group, warns, and does nothing.

    Tensors are not compared: that would compute.
    """
    number = getattr(getattr(distributed, "GroupMember", None), "NON_GROUP_MEMBER", None)
    return number is not None and any(argument is number or (type(argument) is int and argument == number) for argument in arguments)


def _named(function: Any, index: int) -> str:
    """The name of the parameter at that position, for keyword calls."""
    try:
        names = list(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return ""
    return names[index] if 0 <= index < len(names) else ""
