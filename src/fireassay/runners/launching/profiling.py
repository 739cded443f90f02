"""How is a launch profiled, and what is kept?  Traces in the record, with their summary.

    traces/launch=0000/rank=0.pt.trace.json.gz    a rank's torch.profiler trace, for Perfetto and TensorBoard
    rank=0.memory.json         state of its GPU's allocator at the end
    rank=0.memory_snapshot.pickle   allocations in the window, for torch's viewer; assay never opens it
    nsys.nsys-rep              with Nsight Systems: its capture of all ranks
    summary.json               summary of the above; `assay profile` and the reports read only this

The launch has a separate role, so that it enters no timing.

How is a Chrome trace read that is larger than memory?  Event by event, keeping only the needed ones.

The file is one JSON object whose `traceEvents` lists millions of small objects: they are parsed one at a time, and the result of
`keep` is stored.  All other keys are read whole.
Source: Google, Trace Event Format; torch.profiler writes metadata before and after the events.
"""

from __future__ import annotations

import codecs
import gzip
import json
import re
import shutil
import subprocess
import zlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, Protocol

from fireassay.errors import EnvironmentLacks
from fireassay.record import files
from fireassay.record.unsealed import launch_name
from fireassay.runners.experiment.context import Job, RunContext
from fireassay.spec.experiment import Experiment
from fireassay.spec.sections.workload import Profile
from fireassay.units import MIB

CHUNK: Final = 1 << 20
MAX_VALUE_LENGTH: Final = 64 << 20  # characters of one value; a longer one is damage, not an event
EVENTS: Final = "traceEvents"
_BLANK: Final = " \t\n\r"
_AFTER: Final = tuple(",:]}" + _BLANK)  # terminators of a value
Event = Mapping[str, Any]


class Stream(Protocol):
    """A source of bytes."""

    def read(self, size: int, /) -> bytes:
        """At most `size` bytes; none at the end."""


class TooLarge(Exception):
    """The trace exceeds the size limit."""


def read(stream: Stream, keep: Callable[[Event], Event | None], largest: int) -> dict[str, Any]:
    """The trace with only the events for which `keep` returns a value.

    Raises:
        TooLarge: the trace has more than `largest` bytes.
        ValueError: not a JSON object, or truncated.
    """
    text = _Text(stream, largest)
    sections: dict[str, Any] = {}
    for _ in text.inside("{}"):
        key = text.value()
        if not isinstance(key, str):
            raise ValueError(f"a key is {key!r}; allowed: a string")
        text.expect(":")
        if key == EVENTS and text.peek() == "[":
            events = (text.value() for _ in text.inside("[]"))
            sections[key] = [kept for event in events if isinstance(event, dict) and (kept := keep(event)) is not None]
        else:
            sections[key] = text.value()
    return sections


class _Text:
    """A sliding window over the file."""

    def __init__(self, stream: Stream, largest: int) -> None:
        self._stream, self._left = stream, largest
        self._decode = codecs.getincrementaldecoder("utf-8")(errors="replace").decode
        self._scan = json.JSONDecoder().raw_decode
        self._text, self._at, self._over = "", 0, False

    def peek(self) -> str:
        """The next non-blank character; empty at the end."""
        while True:
            while self._at < len(self._text) and self._text[self._at] in _BLANK:
                self._at += 1
            if self._at < len(self._text) or not self._more():
                return self._text[self._at : self._at + 1]

    def expect(self, character: str) -> None:
        """Consume this character. Raises ValueError if another follows."""
        actual = self.peek()
        if actual != character:
            raise ValueError(f"found {actual!r} where {character!r} belongs" if actual else "the file ends in the middle")
        self._at += 1

    def inside(self, brackets: str) -> Iterator[None]:
        """Once per member between these brackets, with the window at the member."""
        self.expect(brackets[0])
        separated = False
        while self.peek() != brackets[1]:
            if separated:
                self.expect(",")
            yield
            separated = True
        self.expect(brackets[1])

    def value(self) -> Any:
        """The next whole value."""
        if not self.peek():
            raise ValueError("the file ends in the middle")
        while True:
            try:
                value, end = self._scan(self._text, self._at)
            except json.JSONDecodeError:
                if len(self._text) - self._at > MAX_VALUE_LENGTH or not self._more():
                    raise
                continue
            if self._text[end : end + 1] not in _AFTER and len(self._text) - self._at <= MAX_VALUE_LENGTH and self._more():
                continue  # a number may continue
            self._at = end
            return value

    def _more(self) -> bool:
        if self._over:
            return False
        # doubling avoids rescanning a value longer than the window for every piece
        size = max(CHUNK, len(self._text) - self._at)
        read = self._stream.read(size)
        self._left -= len(read)
        if self._left < 0:
            raise TooLarge
        self._over = not read
        self._text, self._at = self._text[self._at :] + self._decode(read, final=not read), 0
        return not self._over


# uncompressed bytes of a trace to summarise: takes minutes, and memory for the needed events
MAX_TRACE_BYTES: Final = 4096 * MIB
_UNNEEDED: Final = ("python_function", "ac2g", "fwdbwd", "overhead")  # event categories that no summary uses
# errors that a damaged trace raises; RecursionError if deeply nested
_UNREADABLE: Final = (OSError, EOFError, zlib.error, ValueError, KeyError, TypeError, AttributeError, RecursionError)
_PLAIN: Final = ("ph", "cat", "name", "pid", "tid", "ts", "dur")
_MEMORY: Final = ("Device Type", "Device Id", "Total Allocated", "Bytes")
A_STEP: Final = 1_000_000  # call numbers reserved per step, so that a call has the same number on every rank
REPORTS: Final = ("cuda_gpu_kern_sum", "cuda_gpu_mem_time_sum", "cuda_api_sum", "nvtx_sum")
# where a report begins, after nsys's messages
_LIST: Final = re.compile(r"^\s*(\[)\s*(?:[{\]]|$)", re.MULTILINE)
NSYS_S: Final = 300.0  # time limit of one `nsys stats` report
GET_NSYS: Final = (
    "Nsight Systems (`nsys`) is not installed, or not on the PATH. It comes with the CUDA toolkit, or separately: "
    "https://developer.nvidia.com/nsight-systems; with NVIDIA's repository: apt-get install nsight-systems-cli. "
    "To use torch's own profiler instead, leave out --tool nsys."
)


def profile_of(experiment: Experiment, job: Job) -> Profile | None:
    """The launch's profile settings; None if it is not profiled."""
    return experiment.profile if job.planned.role == "profile" else None


def check(experiment: Experiment) -> None:
    """Check that the requested profiler is installed. Raises EnvironmentLacks: it is not."""
    if experiment.profile is not None and experiment.profile.tool == "nsys" and shutil.which("nsys") is None:
        raise EnvironmentLacks(GET_NSYS)


def folder_of(record: Path, launch: int) -> Path:
    return record.resolve() / "traces" / launch_name(launch)


def environment(experiment: Experiment, record: Path, job: Job) -> dict[str, str]:
    """The environment variables that configure the workers' profilers."""
    profile = profile_of(experiment, job)
    if profile is None:
        return {}
    settings = {name: getattr(profile, name) for name in ("wait", "warm_up", "active", "memory", "tool")}
    return {"FIREASSAY_PROFILE": json.dumps({**settings, "folder": str(folder_of(record, job.number))})}


def at_once(experiment: Experiment, job: Job) -> bool:
    """True if the first step, in which operations are counted, is profiled."""
    profile = profile_of(experiment, job)
    return profile is not None and profile.wait + profile.warm_up == 0


def prefix(experiment: Experiment, record: Path, job: Job) -> tuple[str, ...]:
    """The Nsight Systems command that wraps the launcher's. The workers mark the window's begin and end."""
    profile = profile_of(experiment, job)
    if profile is None or profile.tool != "nsys":
        return ()
    folder = folder_of(record, job.number)
    folder.mkdir(parents=True, exist_ok=True)
    window = ("--capture-range", "cudaProfilerApi", "--capture-range-end", "stop") if _has_gpu() else ()
    options = ("--force-overwrite", "true", "--trace", "cuda,nvtx,osrt", "--sample", "none")
    return ("nsys", "profile", "--output", str(folder / "nsys"), *options, *window)


def _has_gpu() -> bool:
    return Path("/dev/nvidiactl").exists()


# ---- summaries ---------------------------------------------------------------------------------------------------------


def finish(context: RunContext, job: Job) -> None:
    """Summarise the launch's traces, and write their communication rows into the record."""
    folder = folder_of(context.record.path, job.number)
    summarise = context.advice.profiled if context.advice is not None else None
    ranks = [_of_rank(file, summarise) for file in sorted(folder.glob("rank=*.pt.trace.json.gz"))] if folder.is_dir() else []
    nsys = list(_of_nsys(folder)) if (profile := profile_of(context.experiment, job)) and profile.tool == "nsys" else []
    summary = {"configuration": job.planned.configuration, "ranks": ranks, "nsys": nsys}
    writer = context.record.writer(job.number)
    for rank in ranks:
        for row in _communication(rank, job.number):
            writer.append("communication", row)
        for row in _collectives(rank, job):
            writer.append("collectives", row)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        files.replace(folder / "summary.json", (json.dumps(summary, indent=1) + "\n").encode())
    except OSError as error:
        raise files.explain(error, folder, "write the summary of the profile into") from error


def _of_rank(file: Path, summarise: Callable[[Mapping[str, Any]], dict[str, Any]] | None) -> dict[str, Any]:
    """The summary of one trace, or why it cannot be read."""
    summary: dict[str, Any] = {"file": file.name, "bytes": file.stat().st_size, "absent": ""}
    if summarise is None:
        return {**summary, "absent": "the run had no trace reader: start it with `assay profile` or fireassay.run"}
    try:
        with gzip.open(file) as stream:
            summary |= summarise(read(stream, _needed, MAX_TRACE_BYTES))
    except TooLarge:
        why = f"the trace is larger than {MAX_TRACE_BYTES // MIB} MiB: open it in a viewer, or profile fewer steps (--active 1)"
        return {**summary, "absent": why}
    except _UNREADABLE as error:
        return {**summary, "absent": f"the trace cannot be read: {type(error).__name__}: {error}"}
    summary["rank"] = int(file.name.removeprefix("rank=").partition(".")[0])
    memory = file.with_name(f"rank={summary['rank']}.memory.json")
    if (allocator := _allocator(memory)) is not None:
        summary["allocator"] = allocator
    snapshot = file.with_name(f"rank={summary['rank']}.memory_snapshot.pickle")
    if snapshot.is_file():
        summary["snapshot"] = snapshot.name
    return summary


def _allocator(file: Path) -> dict[str, Any] | None:
    """The state of a rank's allocator; None if its file is unreadable, as after a full disk."""
    try:
        content = json.loads(file.read_text())
    except (OSError, ValueError, RecursionError):
        return None
    return content if isinstance(content, dict) else None


def _needed(event: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The part of an event that a summary needs: most of the millions in a trace are flow arrows or Python frames."""
    details = event.get("args") or {}
    if event.get("name") == "[memory]":
        return {"name": "[memory]", "args": {key: details[key] for key in _MEMORY if key in details}}
    if event.get("ph") != "X" or event.get("cat") in _UNNEEDED:
        return None
    if event.get("cat") != "cpu_op" or "Collective name" in details:
        return event
    return {key: event[key] for key in _PLAIN if key in event}


def _communication(rank: Mapping[str, Any], launch: int) -> Iterator[tuple[Any, ...]]:
    """Rows of the table `communication` for steps that have any; a profiler numbers steps from the first it recorded."""
    for step in rank.get("steps", ()):
        if step["communication_ns"]:
            times_ns = (step["communication_ns"], step["exposed_ns"], step["compute_ns"])
            yield (launch, rank["rank"], 0, step["step"], "kineto", *times_ns, step.get("bytes"))


def _collectives(rank: dict[str, Any], job: Job) -> Iterator[tuple[Any, ...]]:
    """Rows of the table `collectives`, removed from the summary: kernels, in separate groups since hooks record the same calls."""
    for call in rank.pop("collectives", ()):
        keys = (
            job.number,
            rank["rank"],
            0,
            f"{call['group'] or 'unnamed'} (kernels)",
            call["step"] * A_STEP + call["number"],
            call["step"],
        )
        size, nbytes = call["size"] or job.planned.workers, call["bytes"] or 0
        yield (*keys, call["op"], size, nbytes, call["dtype"], "kernel", None, call["begin_ns"], call["end_ns"], None, None, None, "kineto")


def _of_nsys(folder: Path) -> Iterator[dict[str, Any]]:
    """The `nsys stats` reports of every capture."""
    captures = sorted(folder.glob("*.nsys-rep"))
    if not captures:
        yield {"file": "", "absent": "nsys left no capture: the script may have made too few steps, or may have been killed"}
    for capture in captures:
        summary: dict[str, Any] = {"file": capture.name, "bytes": capture.stat().st_size, "absent": "", "reports": {}}
        for report in REPORTS:
            try:
                summary["reports"][report] = report_rows(_stats(capture, report))
            except (OSError, subprocess.SubprocessError, ValueError) as error:
                summary["absent"] = f"nsys stats {report}: {error}"
        yield summary
        # exported by `nsys stats`; several times as large and reproducible
        capture.with_suffix(".sqlite").unlink(missing_ok=True)


def _stats(capture: Path, report: str) -> str:
    command = ["nsys", "stats", "--format", "json", "--report", report, "--output", "-", "--quiet", str(capture)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=NSYS_S, check=False)
    if done.returncode != 0:
        raise ValueError((done.stderr or done.stdout).strip().splitlines()[-1] if (done.stderr or done.stdout).strip() else "failed")
    return done.stdout


def report_rows(text: str) -> list[dict[str, Any]]:
    """The rows of a report, largest first: name, calls, nanoseconds. Empty for a report without data, which is not a list."""
    begin = _LIST.search(text)
    if begin is None:
        return []
    rows: list[dict[str, Any]] = []
    for row in json.JSONDecoder().raw_decode(text, begin.start(1))[0]:
        name = row.get("Name") or row.get("Operation") or row.get("Range")
        total = row.get("Total Time (ns)", row.get("Total Time"))
        calls = row.get("Instances", row.get("Count", row.get("Num Calls")))
        if name is not None and total is not None:
            rows.append({"name": str(name), "calls": int(calls or 0), "ns": round(float(total))})
    return sorted(rows, key=lambda row: (-row["ns"], row["name"]))[:20]
