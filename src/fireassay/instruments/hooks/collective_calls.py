"""Which collectives were requested, and when did each end?

Calls are kept per group until a step takes them. The cost of recording them is summed up (`Calls.own_ns`), except for torch's own
dispatch. In a steady step's backward pass the reducer's calls are recorded in fewer Python calls (`Calls.steadily`), with the same
result.
"""

from __future__ import annotations

import ctypes
import functools
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, Protocol

from fireassay.instruments.hooks.communication_waits import Waits

TIMES_SIZE: Final = ("gather", "scatter")  # only the root holds all of it


@dataclass(slots=True)
class Call:
    """A collective, pending or complete."""

    group: str
    number: int
    op: str
    size: int
    nbytes: int
    dtype: str
    step: int | None  # in which it was requested; None: outside any step's training
    begin: int
    end: int | None = None
    blocked: int | None = None
    future: Any = None  # cleared on completion
    timed: bool = True  # its end can be observed
    on_gpu: bool = False


class Calls:
    """Every collective of this process, by group, until a step takes the complete ones."""

    def __init__(self, now: Callable[[], int] = time.monotonic_ns) -> None:
        self.now = now
        self.step: int | None = None  # the current one
        self.seen = False  # any call was recorded
        self.wanted = True  # there is a consumer
        self.unwatched = False  # in the current step reducers' calls are not timed (`watched_steps`)
        self.reduced_bytes = self.reduced_calls = 0  # by reducers since the last `requested`
        self.catch_up: Callable[[], None] = _nothing  # skips the numbers of unrecorded calls
        self.recording: Callable[[], bool] = _always  # whether the calls still have a consumer
        self.paused: Callable[[], bool] = _never  # whether training is paused within a step
        self.failed: Callable[[Exception], None] = self._unwanted  # error handler; errors never reach the script
        self.blocked_ns = 0  # in the main thread, since the last read
        self.waits = Waits(now)
        self.under_way = _UnderWay()
        self.own_ns = 0  # cost of recording them
        self.steady: Steady | None = None  # set during a steady step's one backward pass in the main thread
        self.first: Callable[[], None] | None = None  # called at the reducer's first request in that pass
        self._open: deque[Call] = deque()
        self._numbers: dict[str, int] = {}
        self._skipped: dict[str, int] = {}  # calls not recorded
        self._threads = {threading.get_ident()}  # whose completions were handled before

    def made(
        self, name: str, size: int, op: str, tensors: Any, ask: Callable[..., Any], arguments: Any, words: Any
    ) -> tuple[Call | None, Any]:
        """Request a collective of the named group: returns its record, if any, and the engine's result."""
        entered, waits = self.now(), self.waits
        try:
            call = self.begun(name, size, op, tensors)
            self.under_way.any = True
            call.begin = begin = self.now()
            waits.begin_request(begin)
        except Exception as error:
            self.under_way.any = False
            self.failed(error)
            return None, ask(*arguments, **words)
        try:
            return call, ask(*arguments, **words)
        except BaseException:
            call.timed = False  # fire-and-forget calls must not wait for an end that never comes
            raise
        finally:
            requested_ns = self.now()
            waits.end_request(requested_ns)
            self.under_way.any = False
            self.own_ns += begin - entered + self.now() - requested_ns

    def steadily(self, name: str, size: int, tensors: Any) -> Call | None:
        """`begun` and the first half of `made` in one, for a reducer's bucket in a steady step; None if it is not as expected."""
        entered = self.now()
        try:
            if len(tensors) != 1 or (tensor := tensors[0]).is_cuda or self.waits.nested:
                return None
            if self.first is not None:
                self.first_requested()
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

    def first_requested(self) -> None:
        """A reducer requests a collective: run the callback for the first request of a backward pass."""
        first, self.first = self.first, None
        if first is None:
            return
        try:
            first()
        except RuntimeError:  # not called from within the engine
            return
        except Exception as error:
            self.failed(error)

    def requested_steadily(self, call: Call, work: Any) -> None:
        """The engine has accepted the call."""
        requested_ns = self.now()
        try:
            self.waits.add_request("backward", requested_ns - call.begin)
            call.future = future = work.get_future()
            future.add_done_callback(functools.partial(self.completed, call))
            self.own_ns += self.now() - requested_ns
        except RuntimeError:  # this engine does not report completion
            call.timed = False
        except Exception as error:
            self.failed(error)

    @property
    def taking(self) -> bool:
        """True if calls are recorded; without a consumer they would pile up."""
        return self.wanted and self.recording()

    def _unwanted(self, _: Exception) -> None:
        self.wanted = False

    def begin(self, group: Any, op: str, tensors: Any) -> Call:
        """Record the start of a group's collective."""
        call = self.begun(*group_name_and_size(group), op, tensors)
        call.begin = self.now()
        return call

    def reduces(self, call: Call | None) -> None:
        """Note that a reducer requested it; the cost of watching is known only for CPU collectives."""
        if call is not None and not call.on_gpu:
            self.reduced_bytes += call.nbytes
            self.reduced_calls += 1

    def requested(self) -> tuple[int, int]:
        """(bytes, calls) that reducers requested since the last read."""
        counts, self.reduced_bytes, self.reduced_calls = (self.reduced_bytes, self.reduced_calls), 0, 0
        return counts

    def noted(self, name: str) -> int:
        """How many calls of the group were recorded."""
        return self._numbers.get(name, 0) - self._skipped.get(name, 0)

    def skip(self, name: str, calls: int) -> None:
        """Account for calls of the group that were not recorded."""
        self._numbers[name] = self._numbers.get(name, 0) + calls
        self._skipped[name] = self._skipped.get(name, 0) + calls

    def passed_over(self, name: str, calls: int, noted: int) -> bool:
        """Account for an unwatched step's calls, if nothing was recorded in it and the group made as many calls as expected."""
        numbers, skipped = self._numbers.get(name, 0), self._skipped.get(name, 0)
        if self._open or self.blocked_ns or self.reduced_calls or self.waits.asked_ns or self.waits.waited_ns or numbers - skipped != noted:
            return False
        self._numbers[name], self._skipped[name] = numbers + calls, skipped + calls
        return True

    def begun(self, name: str, size: int, op: str, tensors: Any) -> Call:
        """The record of a collective before its request."""
        if self.unwatched:
            self.catch_up()
        number = self._numbers.get(name, 0)
        self._numbers[name] = number + 1
        single = type(tensors) is list and len(tensors) == 1 and type(tensors[0]) is not list
        flat = tensors if single else list(_flat(tensors))
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
        """The call is complete on this rank; on a GPU, only enqueued."""
        if call.end is None and call.timed:
            call.end = self.now()
        call.future = None

    def completed(self, call: Call, _: Any) -> None:
        """The same, from the completing thread: kept short, since the script's thread may need the GIL."""
        if call.end is None and call.timed:
            call.end = self.now()
        call.future = None
        thread = threading.get_ident()
        if thread not in self._threads:
            self._threads.add(thread)
            _keep_thread()

    def collect(self) -> None:
        """Cap the end of completed calls at now: their callbacks may still wait for the GIL."""
        for call in tuple(self._open):
            if call.end is not None:
                continue
            future = call.future
            if future is not None and future.done():
                self.over(call)

    def outside(self) -> None:
        """Detach calls made since the last step ended: they belong to no step."""
        for call in tuple(self._open):
            if call.step == self.step:
                call.step = None
        self.waits.taken()
        self.blocked_ns = 0

    def end_at(self, ns: int, blocked_ns: int) -> None:
        """Set the end of the last step and its blocked time: later calls belong to no step."""
        for call in tuple(self._open):
            if call.begin >= ns:
                call.step = None
        self.blocked_ns = blocked_ns
        self.waits.at_most(blocked_ns)

    def over_now(self) -> list[Call] | None:
        """`taken` if every call is complete, else None."""
        for call in self._open:
            if call.end is None:
                return None
        calls = list(self._open)
        self._open.clear()
        return calls

    @property
    def pending(self) -> list[Call]:
        """The calls not taken yet."""
        return list(self._open)

    def next_number(self, name: str) -> int:
        """The number of the group's next call, which is counted."""
        number = self._numbers.get(name, 0)
        self._numbers[name] = number + 1
        return number

    @property
    def open(self) -> int:
        """The number of calls not taken yet."""
        return len(self._open)

    def taken(self, *, everything: bool = False) -> list[Call]:
        """The completed calls in order of creation; at the end, all calls."""
        self.collect()
        waiting, calls = deque[Call](), []
        while self._open:
            call = self._open.popleft()
            if call.end is not None or not call.timed or everything:
                calls.append(call)
            else:
                waiting.append(call)
        self._open.extendleft(reversed(waiting))
        return calls


class Steady(Protocol):
    """Watches a steady pass (`exposed_communication`)."""

    on: bool  # whether it is one


def _nothing() -> None:
    """No call was missed."""


def _always() -> bool:
    return True


def _never() -> bool:
    return False


class _UnderWay(threading.local):
    """True if this thread is inside a counted call: torch's functions call each other and the timed group."""

    any = False


@functools.cache
def _name(dtype: Any) -> str:
    return str(dtype).removeprefix("torch.")


def _keep_thread() -> None:
    """Keep Python's thread state of this engine thread alive (CPython only).

    Otherwise it is destroyed after every callback and recreated at the next: 20 microseconds, four times the callback itself (stacks are
    mapped and unmapped).
    """
    if threading.get_ident() in {thread.ident for thread in threading.enumerate()}:  # a Python thread
        return
    with suppress(AttributeError):
        ctypes.pythonapi.PyGILState_Ensure()


def _flat(tensors: Any) -> Any:
    if hasattr(tensors, "element_size"):
        yield tensors
    elif isinstance(tensors, list | tuple):
        for item in tensors:
            yield from _flat(item)


def group_name_and_size(group: Any) -> tuple[str, int]:
    """A process group's name and its number of ranks."""
    return str(getattr(group, "group_name", "") or "default"), int(group.size())
