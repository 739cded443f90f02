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

import ctypes
import functools
import inspect
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, Protocol

from assay.instruments.hooks.communication_waits import Waits

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
TIMES_SIZE: Final = ("gather", "scatter")  # only the root has all of it


@dataclass(slots=True)
class Call:
    """A collective under way, or over."""

    group: str
    number: int
    op: str
    size: int
    nbytes: int
    dtype: str
    step: int | None  # in which it was made; None: in no step's training
    begin: int
    end: int | None = None
    blocked: int | None = None
    future: Any = None  # until it is over
    timed: bool = True  # whether its end can be known
    on_gpu: bool = False


class Calls:
    """Every collective of this process, by group, until a step takes what is over."""

    def __init__(self, now: Callable[[], int] = time.monotonic_ns) -> None:
        self.now = now
        self.step: int | None = None  # the one under way
        self.seen = False  # any
        self.wanted = True  # by somebody who would take them
        self.unwatched = False  # what reducers request in the step under way is not timed (`_watched_steps.py`)
        self.reduced_bytes = self.reduced_calls = 0  # of what they requested since somebody looked
        self.catch_up: Callable[[], None] = _nothing  # skips the numbers of calls that nobody noted
        self.recording: Callable[[], bool] = _always  # whether anybody still takes them
        self.paused: Callable[[], bool] = _never  # whether no training goes on, though a step is under way
        self.failed: Callable[[Exception], None] = self._unwanted  # whom an error of noting is told; it never reaches the script
        self.blocked_ns = 0  # the main thread, since somebody looked
        self.waits = Waits(now)
        self.under_way = _UnderWay()
        self.own_ns = 0  # what noting them took
        self.steady: Steady | None = None  # a steady step's one backward pass is under way in the main thread
        self.first: Callable[[], None] | None = None  # what to do when the reducer asks first in it
        self._open: deque[Call] = deque()
        self._numbers: dict[str, int] = {}
        self._skipped: dict[str, int] = {}  # those of them that were not noted
        self._threads = {threading.get_ident()}  # whose completions were told before

    def made(
        self, name: str, size: int, op: str, tensors: Any, ask: Callable[..., Any], arguments: Any, words: Any
    ) -> tuple[Call | None, Any]:
        """A collective of the group of that name is asked for: what is noted of it, if it can be, and what the engine gives for it."""
        entered, waits = self.now(), self.waits
        try:
            call = self.begun(name, size, op, tensors)
            self.under_way.any = True
            call.begin = begin = self.now()
            waits.asks(begin)
        except Exception as error:
            self.under_way.any = False
            self.failed(error)
            return None, ask(*arguments, **words)
        try:
            return call, ask(*arguments, **words)
        except BaseException:
            call.timed = False  # a script that goes on must not leave it waiting for an end that never comes
            raise
        finally:
            asked = self.now()
            waits.asked(asked)
            self.under_way.any = False
            self.own_ns += begin - entered + self.now() - asked

    def steadily(self, name: str, size: int, tensors: Any) -> Call | None:
        """`begun` and the begin of `made`, of a bucket that the reducer asks for in a steady step; None: it is not as expected."""
        entered = self.now()
        try:
            if len(tensors) != 1 or (tensor := tensors[0]).is_cuda or self.waits.nested:
                return None
            if self.first is not None:
                self.asked_first()
            number = self._numbers.get(name, 0)
            self._numbers[name] = number + 1
            self.reduced_bytes += tensor.nbytes
            self.reduced_calls += 1
            dtype = _name(tensor.dtype)
            call = Call(name, number, "all_reduce", size, tensor.nbytes, dtype, self.step, 0)
            self._open.append(call)
            call.begin = begin = self.now()
            self.own_ns += begin - entered
            return call
        except Exception as error:
            self.failed(error)
            return None

    def asked_first(self) -> None:
        """A reducer asks; whoever waits for the first time in a backward pass is told."""
        first, self.first = self.first, None
        if first is None:
            return
        try:
            first()
        except RuntimeError:  # it is not in the engine that it asks
            return
        except Exception as error:
            self.failed(error)

    def asked_steadily(self, call: Call, work: Any) -> None:
        """The engine has taken it."""
        asked = self.now()
        try:
            self.waits.asking("backward", asked - call.begin)
            call.future = future = work.get_future()
            future.add_done_callback(functools.partial(self.told, call))
            self.own_ns += self.now() - asked
        except RuntimeError:  # of this engine nobody knows when it is over
            call.timed = False
        except Exception as error:
            self.failed(error)

    @property
    def taking(self) -> bool:
        """Whether a call is noted; those that nobody takes would pile up."""
        return self.wanted and self.recording()

    def _unwanted(self, _: Exception) -> None:
        self.wanted = False

    def begin(self, group: Any, op: str, tensors: Any) -> Call:
        """A collective of a group is asked for now."""
        call = self.begun(*_called(group), op, tensors)
        call.begin = self.now()
        return call

    def reduces(self, call: Call | None) -> None:
        """A reducer requested it; only of a processor's is it known what watching costs."""
        if call is not None and not call.on_gpu:
            self.reduced_bytes += call.nbytes
            self.reduced_calls += 1

    def requested(self) -> tuple[int, int]:
        """Bytes and calls that reducers requested since this was last asked."""
        found, self.reduced_bytes, self.reduced_calls = (self.reduced_bytes, self.reduced_calls), 0, 0
        return found

    def noted(self, name: str) -> int:
        """How many calls of the group were noted."""
        return self._numbers.get(name, 0) - self._skipped.get(name, 0)

    def skip(self, name: str, calls: int) -> None:
        """So many of the group's calls were made and not noted."""
        self._numbers[name] = self._numbers.get(name, 0) + calls
        self._skipped[name] = self._skipped.get(name, 0) + calls

    def passed_over(self, name: str, calls: int, noted: int) -> bool:
        """Whether nothing was noted in the step that ends, and as many calls of the group as expected in all: then `calls` have their
        numbers.
        """
        numbers, skipped = self._numbers.get(name, 0), self._skipped.get(name, 0)
        if self._open or self.blocked_ns or self.reduced_calls or self.waits.asked_ns or self.waits.waited_ns or numbers - skipped != noted:
            return False
        self._numbers[name], self._skipped[name] = numbers + calls, skipped + calls
        return True

    def begun(self, name: str, size: int, op: str, tensors: Any) -> Call:
        """What is known of a collective before it is asked for."""
        if self.unwatched:
            self.catch_up()
        number = self._numbers.get(name, 0)
        self._numbers[name] = number + 1
        one = type(tensors) is list and len(tensors) == 1 and type(tensors[0]) is not list
        flat = tensors if one else list(_flat(tensors))
        nbytes, on_gpu = 0, False
        for tensor in flat:
            nbytes += tensor.numel() * tensor.element_size()
            on_gpu = on_gpu or tensor.is_cuda
        if op in TIMES_SIZE:
            nbytes *= size
        dtype = _name(flat[0].dtype) if flat else ""
        step = None if self.paused() else self.step
        call = Call(name, number, op, size, nbytes, dtype, step, 0, None, None, None, not on_gpu, on_gpu)
        self._open.append(call)
        self.seen = True
        return call

    def over(self, call: Call, _: Any = None) -> None:
        """It is complete on this rank; of a GPU's the host only knows that it was enqueued."""
        if call.end is None and call.timed:
            call.end = self.now()
        call.future = None

    def told(self, call: Call, _: Any) -> None:
        """The same, said by the thread that it was completed in: at once, for the script's own thread may need the interpreter."""
        if call.end is None and call.timed:
            call.end = self.now()
        call.future = None
        thread = threading.get_ident()
        if thread not in self._threads:
            self._threads.add(thread)
            _keep_thread()

    def look(self) -> None:
        """What is complete is over now at the latest: the callback that tells it may still wait for the interpreter's lock."""
        for call in tuple(self._open):
            if call.end is not None:
                continue
            future = call.future
            if future is not None and future.done():
                self.over(call)

    def outside(self) -> None:
        """What was made since the last step ended belongs to none: nothing of it is told of the next."""
        for call in tuple(self._open):
            if call.step == self.step:
                call.step = None
        self.waits.taken()
        self.blocked_ns = 0

    def end_at(self, ns: int, blocked_ns: int) -> None:
        """The last step was over then, and had blocked the main thread for so long: what was made later belongs to none."""
        for call in tuple(self._open):
            if call.begin >= ns:
                call.step = None
        self.blocked_ns = blocked_ns
        self.waits.at_most(blocked_ns)

    def over_now(self) -> list[Call] | None:
        """`taken`, where every call is over; None: not every one is."""
        for call in self._open:
            if call.end is None:
                return None
        found = list(self._open)
        self._open.clear()
        return found

    @property
    def open(self) -> int:
        """How many calls nobody has taken."""
        return len(self._open)

    def taken(self, *, everything: bool = False) -> list[Call]:
        """The calls that are over, in the order in which they were made; at the end the others too."""
        self.look()
        waiting, found = deque[Call](), []
        while self._open:
            call = self._open.popleft()
            if call.end is not None or not call.timed or everything:
                found.append(call)
            else:
                waiting.append(call)
        self._open.extendleft(reversed(waiting))
        return found


class Steady(Protocol):
    """Who takes steady steps (`_ordinary.py`)."""

    on: bool  # the step under way is one


def _nothing() -> None:
    """None was missed."""


def _always() -> bool:
    return True


def _never() -> bool:
    return False


class _UnderWay(threading.local):
    """Whether this thread is inside of a call that is counted: torch's functions call one another, and a timed group."""

    any = False


@functools.cache
def _name(dtype: Any) -> str:
    return str(dtype).removeprefix("torch.")


def _keep_thread() -> None:
    """Let Python go on knowing this thread of the engine's, which it would forget after every call and meet anew at the next: that
    takes 20 microseconds, four times as long as what it is met for (stacks are mapped and unmapped).  CPython alone has this."""
    if threading.get_ident() in {thread.ident for thread in threading.enumerate()}:  # Python's own
        return
    with suppress(AttributeError):
        ctypes.pythonapi.PyGILState_Ensure()


def _flat(tensors: Any) -> Any:
    if hasattr(tensors, "element_size"):
        yield tensors
    elif isinstance(tensors, list | tuple):
        for one in tensors:
            yield from _flat(one)


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
        self._name, self._size = _called(inner)
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


def _called(group: Any) -> tuple[str, int]:
    return str(getattr(group, "group_name", "") or "default"), int(group.size())


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
                    name, size = _called(group)
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
