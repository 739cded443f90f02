"""Which collectives did torch itself record?

Reads torch's flight recorder once, when the process ends. It keeps the last calls of every engine (2,000, or TORCH_FR_BUFFER_SIZE):
operation, sizes, types, group and creation time, including calls that no hook covers. This costs the training nothing. Only the JSON
form is read; the pickle is never loaded.
A call belongs to the step in which it was requested. Its wall-clock time is mapped to the monotonic clock by their offset, if that is the
same at start and end. The step of the ring's oldest call is left out, since earlier calls of it may be lost.

Cannot tell: durations, except for NCCL with TORCH_NCCL_ENABLE_TIMING; gloo's point-to-point calls, which are not recorded; gloo's
reduce_scatter, recorded as the all_reduce that implements it.
Source: torch 2.13, `FlightRecorder.hpp` (format version 2.10) and docs/source/distributed "Flight Recorder".
"""

from __future__ import annotations

import json
import os
import time
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

READERS: Final = ("_dump_nccl_trace_json", "_dump_fr_trace_json")  # in torch's C module, depending on its build
SIZES: Final = ("TORCH_FR_BUFFER_SIZE", "TORCH_NCCL_TRACE_BUFFER_SIZE")
MAX_CALLS: Final = 20_000  # calls of a ring that we read: half a kilobyte each
STEPS: Final = 4096  # steps whose times are kept: ample for a ring of 2,000 calls
APART_NS: Final = 1_000_000  # tolerated adjustment of the wall clock during the run
# An engine's operation name, without case and separators -> the operation; the first match wins.
_OPERATIONS: Final = {
    "barrier": "barrier",
    "allreduce": "all_reduce",
    "allgather": "all_gather",
    "reducescatter": "reduce_scatter",
    "alltoall": "all_to_all",
    "broadcast": "broadcast",
    "gather": "gather",
    "scatter": "scatter",
    "reduce": "reduce",
    "send": "send",
    "recv": "recv",
}
_BYTES: Final = {
    "float": 4,
    "double": 8,
    "half": 2,
    "bfloat16": 2,
    "long": 8,
    "int": 4,
    "short": 2,
    "char": 1,
    "byte": 1,
    "bool": 1,
    "uint16": 2,
    "uint32": 4,
    "uint64": 8,
    "complexfloat": 8,
    "complexdouble": 16,
    "complexhalf": 4,
}
_NAMES: Final = {
    "float": "float32",
    "double": "float64",
    "half": "float16",
    "long": "int64",
    "int": "int32",
    "short": "int16",
    "char": "int8",
    "byte": "uint8",
    "complexfloat": "complex64",
    "complexdouble": "complex128",
}


@dataclass(frozen=True, slots=True)
class Listed:
    """A call listed by the recorder."""

    group: str
    size: int | None  # ranks in the group
    op: str
    dtype: str
    nbytes: int | None  # as nccl-tests counts them
    created_ns: int  # wall clock
    ns: int | None  # duration


class Flights:
    """Times of this rank's steps, to which the recorder's calls are matched at the end."""

    def __init__(self, now: Callable[[], int], workers: int, wall: Callable[[], int] = time.time_ns) -> None:
        self._now, self._workers, self._wall = now, workers, wall
        self._apart = wall() - now()
        self._steps: deque[tuple[int, int, int]] = deque(maxlen=STEPS)
        self.ended = self._steps.append  # (step, begin, end); bound directly to save a call per step

    def listing(self, torch: Any, environ: Mapping[str, str]) -> tuple[list[tuple[Any, ...]], dict[str, Any]] | None:
        """(step, group, op, dtype, size, calls, bytes, total_ns) per kind of call and step, and details; None without communication."""
        contents = list(_read(torch, environ))
        if not contents:
            return None
        offset_ns = self._wall() - self._now()
        calls, lost = _all_of(contents, self._workers)
        detail: dict[str, Any] = {
            "version": str(contents[0].get("version", "")),
            "entries": len(calls),
            "lost": lost,
            "absent": _why_none(contents, environ),
        }
        if calls and abs(offset_ns - self._apart) > APART_NS:
            detail["absent"] = f"the wall clock was adjusted by {(offset_ns - self._apart) / 1e9:.3f} s during the run"
        if detail["absent"]:
            return [], {**detail, "in_steps": 0}
        in_steps = list(self._placed(calls, offset_ns, lost=lost))
        return list(_rows(in_steps)), {**detail, "in_steps": len(in_steps)}

    def _placed(self, calls: list[Listed], offset_ns: int, *, lost: bool) -> Iterator[tuple[int, Listed]]:
        """Each call with its step, except the step whose calls are partly lost."""
        steps = list(self._steps)
        begins = [begin for _, begin, _ in steps]
        indices = [bisect_right(begins, call.created_ns - offset_ns) - 1 for call in calls]
        broken = indices[0] if lost and indices else -1
        for index, call in zip(indices, calls, strict=True):
            if index > broken or (index >= 0 and not lost):
                step, _, end = steps[index]
                if call.created_ns - offset_ns <= end:
                    yield step, call


def _read(torch: Any, environ: Mapping[str, str]) -> Iterator[Mapping[str, Any]]:
    """The contents of each of this process's recorders; empty for an unused one."""
    library = torch._C._distributed_c10d
    sizes = [int(environ[name]) for name in SIZES if environ.get(name, "").isdigit()]
    if max(sizes, default=0) > MAX_CALLS:
        yield {"absent": f"its ring has room for {max(sizes)} calls; at most {MAX_CALLS} are read ({SIZES[0]})"}
        return
    for name in READERS:
        if hasattr(library, name):
            content = json.loads(getattr(library, name)())
            if content.get("entries") or content.get("pg_status") or content.get("pg_config"):
                yield content


def _why_none(contents: Iterable[Mapping[str, Any]], environ: Mapping[str, str]) -> str:
    """Why there are no calls; empty if there are some."""
    reason = next((str(content["absent"]) for content in contents if content.get("absent")), "")
    if reason or any(content.get("entries") for content in contents):
        return reason
    zero_size = next((name for name in SIZES if environ.get(name) == "0"), None)
    return f"it is switched off: {zero_size}=0" if zero_size else "it lists no call"


def _all_of(contents: Iterable[Mapping[str, Any]], workers: int) -> tuple[list[Listed], bool]:
    """Every call once, in order of creation, and whether older ones were lost."""
    listed_calls: dict[tuple[Any, ...], Listed] = {}
    lost = False
    for content in contents:
        sizes = {str(entry.get("name")): _ranks(entry.get("ranks")) for entry in (content.get("pg_config") or {}).values()}
        entries = content.get("entries") or ()
        lost = lost or any(int(entry.get("record_id") or 0) > 0 for entry in entries[:1])
        for entry in entries:
            call = listed(entry, sizes, workers)
            if call is not None:
                key = (call.group, entry.get("collective_seq_id"), entry.get("p2p_seq_id"), entry.get("op_id"), call.op, call.created_ns)
                listed_calls.setdefault(key, call)
    return sorted(listed_calls.values(), key=lambda entry: entry.created_ns), lost


def _ranks(text: Any) -> int | None:
    """The size of a group given as "[0, 1]"; None if the recorder does not list its ranks."""
    names = json.loads(text) if isinstance(text, str) and text.startswith("[") else text
    return len(names) if isinstance(names, list) and names else None


def listed(entry: Mapping[str, Any], sizes: Mapping[str, int | None], workers: int) -> Listed | None:
    """Parse a call from the JSON form; None for the bracket around coalesced calls.

    `sizes`: ranks of each group. gloo lists none; then only the world's size, `workers`, is known.
    """
    op = _operation(str(entry.get("profiling_name", "")))
    if not op:
        return None
    group, about = [str(part) for part in (*(entry.get("process_group") or ()), "", "")][:2]
    size = sizes.get(group) or (workers if about == "default_pg" else None)
    inputs, outputs = _amount(entry, "input"), _amount(entry, "output")
    dtypes = entry.get("input_dtypes") or entry.get("output_dtypes") or [""]
    dtype = str(dtypes[0]).lower()
    duration = entry.get("duration_ms")
    return Listed(
        group=group,
        size=size,
        op=op,
        dtype=_NAMES.get(dtype, dtype),
        nbytes=_counted(op, inputs, outputs, size),
        created_ns=int(entry["time_created_ns"]),
        ns=None if duration is None else round(float(duration) * 1e6),
    )


def _operation(name: str) -> str:
    """all_gather of `nccl:_all_gather_base`, barrier of `nccl:all_reduce_barrier`, send of `nccl:send 0->1`."""
    flat = "".join(letter for letter in name.partition(":")[2].lower() if letter.isalpha())
    return next((op for pattern, op in _OPERATIONS.items() if pattern in flat), "")


def _amount(entry: Mapping[str, Any], side: str) -> int | None:
    """Bytes of the input or output tensors; None if a type's size is unknown."""
    total = 0
    shapes, types = entry.get(f"{side}_sizes") or [], entry.get(f"{side}_dtypes") or []
    for index, shape in enumerate(shapes):
        elements = 1
        for length in shape:
            elements *= int(length)
        dtype = str(types[min(index, len(types) - 1)]).lower() if types else ""
        width = _BYTES.get(dtype, 1 if dtype.startswith("float8") else None)
        if width is None:
            return None
        total += elements * width
    return total


def _counted(op: str, inputs: int | None, outputs: int | None, size: int | None) -> int | None:
    """The amount as nccl-tests counts it: for gathers and scatters, the total moved."""
    if inputs is None or outputs is None:
        return None
    if op == "all_gather":
        return outputs or (inputs * size if size else None)
    if op in ("gather", "scatter"):  # only the root holds all of it
        return (inputs if op == "gather" else outputs) * size if size else None
    return inputs or outputs


def _rows(placed: Iterable[tuple[int, Listed]]) -> Iterator[tuple[Any, ...]]:
    kinds: dict[tuple[Any, ...], list[Listed]] = {}
    for step, call in placed:
        kinds.setdefault((step, call.group, call.op, call.dtype, call.size), []).append(call)
    for (step, group, op, dtype, size), calls in kinds.items():
        sums = (_sum(call.nbytes for call in calls), _sum(call.ns for call in calls))
        yield (step, group, op, dtype, size, len(calls), *sums)


def _sum(values: Iterable[int | None]) -> int | None:
    """The sum; None if any value is None."""
    known = list(values)
    return None if None in known else sum(value for value in known if value is not None)


def read_at_end(flights: Flights, torch: Any) -> tuple[list[tuple[Any, ...]], dict[str, Any]] | None:
    """The calls of this process; an error becomes a reason."""
    distributed = getattr(torch, "distributed", None)
    if distributed is None or not distributed.is_available():
        return None
    try:
        return flights.listing(torch, os.environ)
    except Exception as error:
        return [], {"version": "", "entries": 0, "in_steps": 0, "lost": False, "absent": f"{type(error).__name__}: {error}"}
