"""What do the kernels of a profiled step say about its communication?

From a Chrome trace of torch.profiler (Kineto). Per rank and step, with W the step's window, C the times in which a computing
kernel runs, M those in which a collective's kernel (gloo: a call) runs:

    total = |M|    hidden = |M and C|    exposed = |M without C|    computing = |C|
    copying = |copies without M and C|    idle = the rest of W;    exposed + computing + copying + idle = |W|

Intervals are united before they are measured: summing the durations of concurrent kernels counts time twice (marin#8053: a
bubble of 3.17 s was 1.02 s). Collectives are identified by all names that NCCL has used (HTA#360: `ncclKernel_`,
`ncclDevKernel_`, any case) and by PyTorch's metadata; waiting for events and streams is no work (HTA#162); copies are
separate. Source: HolisticTraceAnalysis (breakdown and overlap) and PyTorch's trace format, as of torch 2.13.

Assignment of kernels to steps: a device runs behind its host, so a step on a device lasts from the first kernel launched in
it to the first of the next; the host's marks apply if no kernel names its launch, and on a processor.

Cannot tell: waiting from transfer, as a collective's kernel runs while it waits for the slowest rank; on a processor only
operators count as computing, so Python between two operators looks exposed; nor the overhead of profiling.

How long does at least one of several intervals last, or two kinds at once?

Sets of times, represented as a sorted tuple of disjoint half-open [begin, end) that do not touch; `union` makes one from any
intervals.  Durations of concurrent events do not add: three kernels of 1 s on three streams keep a device busy for 1 s, not 3.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final, Literal

Span = tuple[int, int]
Spans = tuple[Span, ...]


def union(intervals: Iterable[Span]) -> Spans:
    """Times covered by at least one interval; empty or reversed intervals count for nothing."""
    merged: list[Span] = []
    for begin, end in sorted(intervals):
        if end <= begin:
            continue
        if merged and begin <= merged[-1][1]:
            if end > merged[-1][1]:
                merged[-1] = (merged[-1][0], end)
        else:
            merged.append((begin, end))
    return tuple(merged)


def both(some: Sequence[Span], others: Sequence[Span]) -> Spans:
    """Times in both sets."""
    overlaps: list[Span] = []
    i = j = 0
    while i < len(some) and j < len(others):
        begin, end = max(some[i][0], others[j][0]), min(some[i][1], others[j][1])
        if begin < end:
            overlaps.append((begin, end))
        if some[i][1] <= others[j][1]:
            i += 1
        else:
            j += 1
    return tuple(overlaps)


def without(some: Sequence[Span], others: Sequence[Span]) -> Spans:
    """Times in the first set but not in the second."""
    remaining: list[Span] = []
    first = 0
    for begin, end in some:
        while first < len(others) and others[first][1] <= begin:
            first += 1
        now, j = begin, first
        while now < end and j < len(others) and others[j][0] < end:
            if others[j][0] > now:
                remaining.append((now, others[j][0]))
            now = max(now, others[j][1])
            j += 1
        if now < end:
            remaining.append((now, end))
    return tuple(remaining)


def within(some: Sequence[Span], begin: int, end: int) -> Spans:
    """The part of the set inside a window."""
    return both(some, ((begin, end),)) if begin < end else ()


def length(some: Iterable[Span]) -> int:
    """Total length of a set of times."""
    return sum(end - begin for begin, end in some)


Kind = Literal["compute", "communication", "copy", "sync"]

_COLLECTIVE_KERNEL: Final = re.compile(
    r"^(void\s+)?(nccl|rccl|msccl)|(multimem|one_shot|two_shot)_all_reduce|cross_device_reduce|deep_ep::", re.IGNORECASE
)
_COLLECTIVE_RANGE: Final = re.compile(r"^(gloo|mpi|ucc):")  # calls of engines that run on the processor
# requests and waits, no work
_ASKING: Final = re.compile(r"^(c10d::|_?c10d_functional|record_param_comms|(gloo|mpi|ucc|nccl|xccl):)")
_SYNC: Final = re.compile(r"^(stream wait event|(context|device|stream|event) sync)", re.IGNORECASE)
_STEP: Final = re.compile(r"^ProfilerStep\s*#?\s*(\d+)$")
_DEVICE: Final = {"kernel": "compute", "gpu_memcpy": "copy", "gpu_memset": "copy", "memcpy": "copy", "memset": "copy", "cuda_sync": "sync"}
_TORCHS: Final = frozenset({"user_annotation", "cuda_runtime", "cuda_driver", "hip_runtime"})  # categories of no work of their own
_OPERATIONS: Final = {  # spellings of an operation in names, without case and separators -> the operation
    "allreduce": "all_reduce",
    "allgather": "all_gather",
    "reducescatter": "reduce_scatter",
    "alltoall": "all_to_all",
    "broadcast": "broadcast",
    "sendrecv": "send_recv",
    "gather": "gather",
    "scatter": "scatter",
    "barrier": "barrier",
    "reduce": "reduce",
    "send": "send",
    "recv": "recv",
}
_BYTES: Final = {
    "float": 4,
    "float32": 4,
    "int": 4,
    "int32": 4,
    "double": 8,
    "float64": 8,
    "long": 8,
    "int64": 8,
    "half": 2,
    "float16": 2,
    "bfloat16": 2,
    "short": 2,
    "int16": 2,
    "char": 1,
    "int8": 1,
    "byte": 1,
    "uint8": 1,
    "bool": 1,
    "float8_e4m3fn": 1,
    "float8_e5m2": 1,
}


@dataclass(frozen=True, slots=True)
class Kernel:
    """Work of a device; or, for engines on the processor, a collective from its call to its end."""

    kind: Kind
    name: str
    begin: int
    end: int
    stream: str
    device: str
    correlation: int | None = None  # shared with the call that launched it
    op: str = ""  # of a collective: as in the table `collectives`, or from its name
    group: str = ""
    nbytes: int | None = None
    dtype: str = ""
    size: int | None = None  # ranks of the group
    by_host: bool = False  # a call of an engine that runs on the processor


@dataclass(frozen=True, slots=True)
class Operator:
    """An operator that the processor ran."""

    name: str
    begin: int
    end: int
    thread: str
    category: str = ""  # of an event that is no operator of torch


@dataclass(frozen=True, slots=True)
class Window:
    """A step's begin and end, and the source of its marks."""

    step: int
    begin: int
    end: int
    source: Literal["device", "host", "trace"]


@dataclass(frozen=True)
class Trace:
    """A rank's profiled window. All times in nanoseconds since the event that its file names first."""

    rank: int | None
    workers: int | None
    backend: str
    origin_ns: int  # time 0 by the profiler's clock (since 1970, to its rounding)
    steps: tuple[Window, ...]
    kernels: tuple[Kernel, ...]
    operators: tuple[Operator, ...]
    others: tuple[Operator, ...] = ()  # events of no category of torch
    allocations: tuple[Mapping[str, Any], ...] = ()  # the arguments of the events "[memory]", in file order

    @property
    def on_device(self) -> bool:
        """True if computing is recorded as kernels; if not, as operators of the processor."""
        return any(kernel.kind in ("compute", "communication") and not kernel.by_host for kernel in self.kernels)

    @cached_property
    def computing(self) -> Spans:
        """The intervals of computing."""
        if self.on_device:
            return union((k.begin, k.end) for k in self.kernels if k.kind == "compute")
        return _operating(self.operators)

    @cached_property
    def communicating(self) -> Spans:
        """The intervals with a collective under way."""
        return union((k.begin, k.end) for k in self.kernels if k.kind == "communication")

    @cached_property
    def copying(self) -> Spans:
        """The intervals of copies and memsets."""
        return union((k.begin, k.end) for k in self.kernels if k.kind == "copy")

    def window(self, step: int | None) -> Window:
        """A step's window; None: the whole trace.

        Raises:
            KeyError: this step was not profiled.
        """
        if step is None:
            spans = [(interval.begin, interval.end) for interval in self.kernels]
            spans += [(interval.begin, interval.end) for interval in self.operators]
            spans += [(interval.begin, interval.end) for interval in self.steps]
            return Window(-1, min((a for a, _ in spans), default=0), max((b for _, b in spans), default=0), "trace")
        for window in self.steps:
            if window.step == step:
                return window
        raise KeyError(f"step {step} was not profiled; profiled were {[window.step for window in self.steps]}")


@dataclass(frozen=True, slots=True)
class Overlap:
    """The partition of a step's time: exposed + compute + copy + idle = window, and hidden + exposed = total."""

    total_ns: int
    hidden_ns: int
    exposed_ns: int
    compute_ns: int
    idle_ns: int
    copy_ns: int
    window_ns: int

    @property
    def share(self) -> float | None:
        """The hidden share of the communication; None: there is none."""
        return self.hidden_ns / self.total_ns if self.total_ns else None


def overlap(trace: Trace, step: int | None = None) -> Overlap:
    """Total and exposed communication of one step; without a step, of the whole trace.

    Raises:
        KeyError: this step was not profiled.
    """
    window = trace.window(step)
    return divided(trace, window.begin, window.end)


def divided(trace: Trace, begin: int, end: int) -> Overlap:
    """Total and exposed communication of any window of the trace."""
    computing, communicating = within(trace.computing, begin, end), within(trace.communicating, begin, end)
    busy = union((*computing, *communicating))
    copying = without(within(trace.copying, begin, end), busy)
    hidden = length(both(communicating, computing))
    total = length(communicating)
    return Overlap(
        total_ns=total,
        hidden_ns=hidden,
        exposed_ns=total - hidden,
        compute_ns=length(computing),
        copy_ns=length(copying),
        idle_ns=end - begin - length(busy) - length(copying),
        window_ns=end - begin,
    )


def intervals(trace: Mapping[str, Any]) -> Trace:
    """Read a Chrome trace of one rank, as `json.load` gives it.

    The events are taken once and first, so that they may be a stream of a file whose other keys are known at its end.
    """
    seen = _Seen()
    for event in trace.get("traceEvents") or ():
        seen.add(event)
    info = trace.get("distributedInfo") or {}
    kernels = tuple(sorted(seen.kernels, key=lambda event: (event.begin, event.end)))
    return Trace(
        rank=info.get("rank"),
        workers=info.get("world_size"),
        backend=str(info.get("backend") or ""),
        origin_ns=int(trace.get("baseTimeNanoseconds") or 0) + round((seen.base or 0.0) * 1000),
        steps=_steps(seen, kernels),
        kernels=kernels,
        operators=tuple(sorted(seen.operators, key=lambda event: event.begin)),
        others=tuple(seen.others),
        allocations=tuple(seen.allocations),
    )


class _Seen:
    """Events of a trace, by kind."""

    def __init__(self) -> None:
        self.base: float | None = None  # the first event's time, microseconds
        self.marks: list[Window] = []
        self.kernels: list[Kernel] = []
        self.operators: list[Operator] = []
        self.others: list[Operator] = []
        self.launched: dict[int, int] = {}  # correlation -> when the host launched it
        self.allocations: list[Mapping[str, Any]] = []

    def add(self, event: Mapping[str, Any]) -> None:
        """One event; only complete ones have a duration."""
        if event.get("name") == "[memory]":
            self.allocations.append(event.get("args") or {})
        elif event.get("ph") == "X" and "ts" in event:
            if self.base is None:
                self.base = float(event["ts"])
            self._add(event)

    def _add(self, event: Mapping[str, Any]) -> None:
        name, category = str(event.get("name", "")), str(event.get("cat", "")).lower()
        begin = self._ns(event["ts"])
        end = begin + max(0, round(float(event.get("dur") or 0) * 1000))
        args = event.get("args") or {}
        if category in _DEVICE:
            self.kernels.append(_kernel(_kind(category, name, args), name, begin, end, event, args))
        elif category in ("cuda_runtime", "cuda_driver", "hip_runtime") and "correlation" in args:
            self.launched[int(args["correlation"])] = begin
        elif category in ("user_annotation", "cpu_op") and _COLLECTIVE_RANGE.match(name):
            self.kernels.append(replace(_kernel("communication", name, begin, end, event, args), by_host=True))
        elif category == "user_annotation" and (marked := _STEP.match(name)):
            self.marks.append(Window(int(marked.group(1)), begin, end, "host"))
        elif category == "cpu_op":
            self.operators.append(Operator(name, begin, end, f"{event.get('pid')}/{event.get('tid')}"))
        elif category not in _TORCHS:
            self.others.append(Operator(name, begin, end, f"{event.get('pid')}/{event.get('tid')}", category))

    def _ns(self, ts: Any) -> int:
        # subtract first: microseconds since 1970 leave too few digits
        return round((float(ts) - (self.base or 0.0)) * 1000)


def _kind(category: str, name: str, args: Mapping[str, Any]) -> Kind:
    if _SYNC.match(name):
        return "sync"
    if category == "kernel":
        return "communication" if "Collective name" in args or _COLLECTIVE_KERNEL.search(name) else "compute"
    return "copy" if _DEVICE[category] == "copy" else "sync"


def _kernel(kind: Kind, name: str, begin: int, end: int, event: Mapping[str, Any], args: Mapping[str, Any]) -> Kernel:
    stream, device = args.get("stream", event.get("tid")), args.get("device", event.get("pid"))
    correlation = int(args["correlation"]) if "correlation" in args else None
    if kind != "communication":
        return Kernel(kind, name, begin, end, str(stream), str(device), correlation)
    dtype = str(args.get("dtype") or "")
    elements = max((int(args[key]) for key in ("In msg nelems", "Out msg nelems") if key in args), default=None)
    return Kernel(
        kind,
        name,
        begin,
        end,
        str(stream),
        str(device),
        correlation,
        op=operation(str(args.get("Collective name") or name)),
        group=str(args.get("Process Group Name") or ""),
        dtype=dtype.lower(),
        size=int(args["Group size"]) if "Group size" in args else None,
        nbytes=elements * _BYTES[dtype.lower()] if elements is not None and dtype.lower() in _BYTES else None,
    )


def operation(name: str) -> str:
    """The collective named by a kernel, range or call: all_reduce for `ncclDevKernel_AllReduce_Sum_f32_RING_LL`; or none."""
    flat = re.sub(r"[^a-z]", "", name.split("(")[0].lower())
    return next((op for word, op in _OPERATIONS.items() if word in flat), "")


def _operating(operators: Iterable[Operator]) -> Spans:
    """When the processor computes: in operators, except while one of them calls or waits for a collective."""
    threads: dict[str, tuple[list[tuple[int, int]], list[tuple[int, int]]]] = {}
    for operator in operators:
        spans = threads.setdefault(operator.thread, ([], []))
        spans[1 if _ASKING.match(operator.name) else 0].append((operator.begin, operator.end))
    return union(span for working, asking in threads.values() for span in without(union(working), union(asking)))


def _steps(seen: _Seen, kernels: Iterable[Kernel]) -> tuple[Window, ...]:
    """The steps by the device's own times if kernels name their launches, otherwise by the host's marks."""
    marks = sorted(seen.marks, key=lambda window: window.begin)
    begins = [mark.begin for mark in marks]
    first: dict[int, int] = {}
    last: dict[int, int] = {}
    for kernel in kernels:
        if kernel.kind == "sync" or kernel.correlation is None:
            continue
        launched = seen.launched.get(kernel.correlation)
        index = bisect_right(begins, launched) - 1 if launched is not None else -1
        if index < 0 or launched is None or launched >= marks[index].end:
            continue
        first[index] = min(first.get(index, kernel.begin), kernel.begin)
        last[index] = max(last.get(index, kernel.end), kernel.end)
    if len(first) < len(marks):
        return tuple(marks)
    ends = [first[index] for index in range(1, len(marks))]
    ends += [max(last[index], marks[index].end) for index in range(len(marks))][-1:]
    return tuple(Window(mark.step, first[index], end, "device") for index, (mark, end) in enumerate(zip(marks, ends, strict=True)))
