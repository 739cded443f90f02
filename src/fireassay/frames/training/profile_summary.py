"""What took the time of the profiled steps of a rank?

From a trace of torch.profiler, as plain data:

    operators    of the processor, by self time: without the operators that they call
    kernels      of the device, by time
    classes      the same times by kind of work (`CLASSES`): kernels if there are any, otherwise self times of operators
    steps        partition of the steps by unions of intervals (`fireassay.frames.training.communication.kernel_trace`): computing, exposed
                 communication, copies, idle
    whole        the same partition from the first kernel to the last, for a trace without steps
    threads, categories   of a trace of another program than torch (`fireassay.frames.training.trace_threads`): their busy time
    collectives  their kernels one by one, for the record; their totals are in `steps`
    unread       events of categories that this knows nothing of, by category: perhaps work of another device
    memory       the most allocated on each device, if allocations were traced

Classes follow from names; unmatched names are "other". Summed times of concurrent kernels may exceed the steps.
Cannot tell: the steps' duration without the profiler; time in Python between operators, which looks idle.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from fireassay.frames.training.communication.kernel_trace import Kernel, Operator, Trace, Window, divided, intervals
from fireassay.frames.training.trace_threads import categories, threads

TOP: Final = 20
_NO_WORK: Final = frozenset({"", "trace", "cuda_profiler_range"})  # frames around other events
CLASSES: Final = ("matmul", "attention", "elementwise", "reduction", "communication", "copy", "other")
_RULES: Final = {  # the first match in the name, ignoring case
    "communication": r"nccl|rccl|^c10d::|gloo:|mpi:|allreduce|all_reduce|allgather|all_gather|reduce_scatter|record_param_comms",
    "attention": r"attention|flash|fmha|sdpa",
    "matmul": r"gemm|gemv|matmul|\bmm\b|addmm|\bbmm\b|baddbmm|linear|conv|cutlass|cublas|xmma|wgrad|dgrad|einsum|tensile|Cijk",
    "reduction": r"reduce|softmax|norm|\bsum\b|\bmean\b|argm(ax|in)|\bmax\b|\bmin\b|\bvar\b|loss|cumsum|topk|sort|welford",
    "copy": r"copy|memcpy|memset|\bcat\b|clone|contiguous|\bto\b|gather|scatter|index|embedding|pad|stack|fill|zero|empty|transpose",
    "elementwise": (
        r"elementwise|vectorized|\badd_?\b|\bmul_?\b|\bsub_?\b|\bdiv_?\b|relu|gelu|silu|sigmoid|tanh|dropout|threshold|exp|log"
        r"|sqrt|pow|clamp|where|foreach|adam|sgd|triton_poi|_fused_|lerp|addcmul|addcdiv|neg|ones"
    ),
}
_RULE: Final = tuple((kind, re.compile(pattern, re.IGNORECASE)) for kind, pattern in _RULES.items())


def summary(content: Mapping[str, Any]) -> dict[str, Any]:
    """Summarise a Chrome trace, as `json.load` returns it."""
    trace = intervals(content)
    torchs = bool(trace.kernels or trace.operators)
    others = () if torchs else trace.others
    operators = _operators(trace.operators or others)
    kernels = _kernels(trace.kernels)
    parts = kernels if trace.on_device else operators
    first = int(content.get("assay_first_step") or 0)  # the profiler numbers its steps from 0
    return {
        "rank": trace.rank,
        "workers": trace.workers,
        "on_device": trace.on_device,
        "torch": torchs,
        "steps": [{**_step(trace, window), "step": first + window.step} for window in trace.steps],
        "whole": _step(trace, _whole(trace, others)),
        "operators": _top(operators),
        "kernels": _top(kernels),
        "classes": {} if others else _classes(parts),
        "threads": threads(others, content.get("threads") or {}),
        "categories": categories(others),
        "unread": dict(Counter(event.category for event in trace.others if event.category not in _NO_WORK)) if torchs else {},
        "memory": _memory(trace.allocations),
        "collectives": list(_collectives(trace, first, content)),
    }


def windows_of(rank: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The steps of a summary, or the whole trace if it names none; empty if it knows neither kernels nor operators."""
    whole = rank.get("whole")
    return rank.get("steps") or ([whole] if whole and whole["window_ns"] and rank.get("torch") else [])


def kind_of(name: str, kind: str = "compute") -> str:
    """The class of a kernel or an operator, from its name and Kineto's category."""
    if kind in ("communication", "copy"):
        return kind
    bare = name.removeprefix("aten::")
    return next((class_name for class_name, rule in _RULE if rule.search(bare)), "other")


def _operators(operators: Iterable[Operator]) -> dict[str, dict[str, Any]]:
    """name -> calls, self time, total time, class."""
    rows: dict[str, dict[str, Any]] = {}
    for operator, self_ns in _self_times(operators):
        row = rows.setdefault(operator.name, _row(operator.name, kind_of(operator.name)))
        row["calls"] += 1
        row["ns"] += self_ns
        row["total_ns"] += operator.end - operator.begin
    return rows


def _self_times(operators: Iterable[Operator]) -> Iterator[tuple[Operator, int]]:
    """Each operator with its time minus that of its direct children, thread by thread."""
    threads: dict[str, list[Operator]] = {}
    for operator in operators:
        threads.setdefault(operator.thread, []).append(operator)
    for operators_of_thread in threads.values():
        stack: list[list[Any]] = []  # [operator, time of its children]
        for operator in sorted(operators_of_thread, key=lambda o: (o.begin, -o.end)):
            while stack and stack[-1][0].end <= operator.begin:
                yield _popped(stack)
            if stack:
                stack[-1][1] += min(operator.end, stack[-1][0].end) - operator.begin
            stack.append([operator, 0])
        while stack:
            yield _popped(stack)


def _popped(stack: list[list[Any]]) -> tuple[Operator, int]:
    operator, children = stack.pop()
    return operator, max(0, operator.end - operator.begin - children)


def _kernels(kernels: Iterable[Kernel]) -> dict[str, dict[str, Any]]:
    rows: dict[str, dict[str, Any]] = {}
    for kernel in kernels:
        if kernel.kind == "sync":
            continue
        row = rows.setdefault(kernel.name, _row(kernel.name, kind_of(kernel.name, kernel.kind)))
        row["calls"] += 1
        row["ns"] += kernel.end - kernel.begin
        row["total_ns"] += kernel.end - kernel.begin
    return rows


def _row(name: str, kind: str) -> dict[str, Any]:
    return {"name": name, "class": kind, "calls": 0, "ns": 0, "total_ns": 0}


def _top(rows: Mapping[str, dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(rows.values(), key=lambda row: (-row["ns"], row["name"]))[:TOP]


def _classes(rows: Mapping[str, dict[str, Any]]) -> dict[str, int]:
    totals = dict.fromkeys(CLASSES, 0)
    for row in rows.values():
        totals[row["class"]] += row["ns"]
    return totals


def _whole(trace: Trace, others: Sequence[Operator]) -> Window:
    """From the first kernel to the end of the last, as HolisticTraceAnalysis counts; without a device, of all events."""
    events: Sequence[Kernel | Operator] = [kernel for kernel in trace.kernels if kernel.kind != "sync" and not kernel.by_host]
    if not trace.on_device:
        events = (*trace.kernels, *trace.operators, *others)
    return Window(-1, min((event.begin for event in events), default=0), max((event.end for event in events), default=0), "trace")


def _step(trace: Trace, window: Window) -> dict[str, Any]:
    parts = divided(trace, window.begin, window.end)
    return {
        "step": window.step,
        "window_ns": parts.window_ns,
        "compute_ns": parts.compute_ns,
        "communication_ns": parts.total_ns,
        "exposed_ns": parts.exposed_ns,
        "copy_ns": parts.copy_ns,
        "idle_ns": parts.idle_ns,
        "bytes": _sent(trace, window),
    }


def _collectives(trace: Trace, first: int, content: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The kernels of collectives, on the host's monotonic clock if the trace gives the profiler's offset from it.

    Numbered step by step within a group, by begin: the same call has the same number on every rank. Calls of engines on the
    processor are not included: the hooks time them.
    """
    apart = int(content.get("assay_wall_minus_monotonic_ns") or 0)
    for window in trace.steps:
        numbers: Counter[str] = Counter()
        for kernel in trace.kernels:
            if kernel.kind != "communication" or not trace.on_device or not window.begin <= kernel.begin < window.end:
                continue
            number = numbers[kernel.group]
            numbers[kernel.group] += 1
            begin = trace.origin_ns + kernel.begin - apart
            yield {
                "step": first + window.step,
                "group": kernel.group,
                "number": number,
                "op": kernel.op,
                "size": kernel.size or trace.workers,
                "bytes": kernel.nbytes,
                "dtype": kernel.dtype,
                "begin_ns": begin,
                "end_ns": begin + kernel.end - kernel.begin,
            }


def _sent(trace: Trace, window: Window) -> int | None:
    """Bytes of the collectives that began in the window; None if one of them lacks its size, or there is none."""
    sizes = [kernel.nbytes for kernel in trace.kernels if kernel.kind == "communication" and window.begin <= kernel.begin < window.end]
    known = [size for size in sizes if size is not None]
    return sum(known) if sizes and len(known) == len(sizes) else None


def _memory(allocations: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """device -> peak allocation, and number of allocations."""
    rows: dict[tuple[int, int], dict[str, Any]] = {}
    for args in allocations:
        if "Total Allocated" not in args:
            continue
        key = (int(args.get("Device Type", 0)), int(args.get("Device Id", 0)))
        row = rows.setdefault(key, {"device": _device(*key), "peak_bytes": 0, "allocations": 0})
        row["peak_bytes"] = max(row["peak_bytes"], int(args["Total Allocated"]))
        row["allocations"] += int(args.get("Bytes", 0)) > 0
    return [rows[key] for key in sorted(rows)]


def _device(kind: int, number: int) -> str:
    return "cpu" if kind == 0 else f"cuda:{number}" if kind == 1 else f"device {kind}:{number}"
