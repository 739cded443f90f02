"""Which collectives were asked for, and when was each of them over?  By group, until the step under way takes them.

What noting them takes is summed up (`Calls.own_ns`), but for what torch needs to call it.  What the reducer asks for in a steady step's
backward pass is noted in fewer calls (`Calls.steadily`), with the same result.
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

from assay.instruments.hooks.communication_waits import Waits

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
        self.unwatched = False  # what reducers request in the step under way is not timed (`watched_steps`)
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
        call = self.begun(*group_name_and_size(group), op, tensors)
        call.begin = self.now()
        return call

    def reduces(self, call: Call | None) -> None:
        """A reducer requested it; only of a processor's is it known what watching costs."""
        if call is not None and not call.on_gpu:
            self.reduced_bytes += call.nbytes
            self.reduced_calls += 1

    def requested(self) -> tuple[int, int]:
        """Bytes and calls that reducers requested since this was last asked."""
        counts, self.reduced_bytes, self.reduced_calls = (self.reduced_bytes, self.reduced_calls), 0, 0
        return counts

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
        calls = list(self._open)
        self._open.clear()
        return calls

    @property
    def open(self) -> int:
        """How many calls nobody has taken."""
        return len(self._open)

    def taken(self, *, everything: bool = False) -> list[Call]:
        """The calls that are over, in the order in which they were made; at the end the others too."""
        self.look()
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
    """Who takes steady steps (`fast_step`)."""

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


def group_name_and_size(group: Any) -> tuple[str, int]:
    """What a process group is called, and how many ranks are in it."""
    return str(getattr(group, "group_name", "") or "default"), int(group.size())
