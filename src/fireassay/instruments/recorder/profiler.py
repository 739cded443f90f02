"""What happens inside a few steps of this rank?

Runs torch.profiler over a bounded window, in launches that are never timed: it skips some steps, warms up in some, and keeps at most
three; then it is off. The trace is written between two steps as compressed Chrome trace events, under a name that TensorBoard's
plug-in recognises. If memory is tracked on a GPU, the allocator's history of the window is kept too: torch's snapshot for its viewer
(a pickle, written but never read) and a JSON summary. With Nsight Systems the window only marks the start and end of its capture.

If the script ends earlier, or receives SIGTERM without handling it, the trace so far is kept.
The result is the event `profile`: value = steps kept; detail = asked, seen (steps), first (number of the first step), file, trouble.
Cannot tell: the time of a step without the profiler.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from collections import Counter as Sums
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

TRACE: Final = "rank={rank}.pt.trace.json.gz"
MEMORY: Final = "rank={rank}.memory.json"
SNAPSHOT: Final = "rank={rank}.memory_snapshot.pickle"
HISTORY: Final = 100_000  # allocations in a snapshot
MAX_BLOCKS: Final = 10  # memory blocks listed


class Profiled:
    """The profiling window of this rank."""

    def __init__(self, settings: Mapping[str, Any], rank: int, event: Callable[..., None]) -> None:
        self._settings, self._rank, self._event = settings, rank, event
        self._folder = Path(settings["folder"])
        self._profiler: Any = None
        self._first = 0
        self._seen = 0  # steps that have ended
        self._file = ""
        self._kept = 0  # steps in the trace
        self._trouble = ""
        self._told = self._followed = False
        self.due = False  # whether a step has ended since `ended`

    def begin(self, step: int) -> None:
        """The first step begins."""
        torch = sys.modules.get("torch")
        if torch is None or self._profiler is not None or self._told:
            return
        self._first = step
        try:
            self._profiler = _Capture(torch, self._settings) if self._settings["tool"] == "nsys" else self._torchs(torch)
            if self._settings["tool"] == "torch":  # before the start: a window without a wait would otherwise miss these
                self._profiler.preset_metadata_json("assay_first_step", str(step))
                self._profiler.preset_metadata_json("assay_wall_minus_monotonic_ns", str(time.time_ns() - _now()))
            self._profiler.start()
            if self._settings["tool"] == "torch":
                self._follow_memory(torch)
            self._catch_end()
        except Exception as error:
            self._give_up(error)

    def _torchs(self, torch: Any) -> Any:
        kinds = torch.profiler.ProfilerActivity
        spec = self._settings
        return torch.profiler.profile(
            activities=[kinds.CPU, *([kinds.CUDA] if torch.cuda.is_available() else [])],
            schedule=torch.profiler.schedule(wait=spec["wait"], warmup=spec["warm_up"], active=spec["active"], repeat=1),
            on_trace_ready=self._write,
            profile_memory=spec["memory"],
        )

    def over(self) -> None:
        """A step has ended."""
        self.due = not self._told and self._profiler is not None
        self._seen += self.due

    def ended(self) -> None:
        """Between two steps: work here counts for neither."""
        self.due = False
        try:
            self._profiler.step()
            if self._seen >= self._settings["wait"] + self._settings["warm_up"] + self._settings["active"]:
                self._record()
        except Exception as error:
            self._give_up(error)

    def close(self) -> None:
        """The process ends: keep the window's contents."""
        if not self._told:
            try:
                self._record()
            except Exception as error:
                self._give_up(error)

    def _record(self) -> None:
        self._told = True
        if self._profiler is not None:
            self._profiler.stop()
            self._kept = max(0, min(self._seen - self._settings["wait"] - self._settings["warm_up"], self._settings["active"]))
        self._say()

    def _give_up(self, error: Exception) -> None:
        self._told, self._trouble = True, f"{type(error).__name__}: {error}"
        self._say()

    def _say(self) -> None:
        spec = {name: self._settings[name] for name in ("wait", "warm_up", "active", "tool")}
        detail = {"asked": spec, "seen": self._seen, "first": self._first, "file": self._file, "trouble": self._trouble}
        self._event("profile", _now(), step=self._first, value=float(self._kept), detail=detail)

    def _write(self, profiler: Any) -> None:
        """Write the trace, after the last step or at the end of the process."""
        self._folder.mkdir(parents=True, exist_ok=True)
        file = self._folder / TRACE.format(rank=self._rank)
        profiler.export_chrome_trace(str(file))
        self._file = file.name
        self._keep_memory(sys.modules["torch"])

    def _follow_memory(self, torch: Any) -> None:
        """Enable the GPU allocator's history."""
        if self._settings["memory"] and torch.cuda.is_available():
            torch.cuda.memory._record_memory_history(max_entries=HISTORY, stacks="python")
            self._followed = True

    def _keep_memory(self, torch: Any) -> None:
        if not (torch.cuda.is_available() and torch.cuda.is_initialized()):
            return
        memory = torch.cuda.memory
        summary = memory_summary(memory._snapshot()["segments"])
        (self._folder / MEMORY.format(rank=self._rank)).write_text(json.dumps(summary))
        if self._followed:
            memory._dump_snapshot(str(self._folder / SNAPSHOT.format(rank=self._rank)))
            memory._record_memory_history(enabled=None)
            self._followed = False

    def _catch_end(self) -> None:
        """Keep the trace when the launch is stopped by SIGTERM; respect the script's own handler."""
        if threading.current_thread() is not threading.main_thread() or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
            return

        def end(number: int, _: Any) -> None:
            self.close()
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)

        signal.signal(signal.SIGTERM, end)


class _Capture:
    """The same window for Nsight Systems, which reacts to the CUDA profiler's start and stop."""

    def __init__(self, torch: Any, settings: Mapping[str, Any]) -> None:
        self._runtime = torch.cuda.cudart() if torch.cuda.is_available() else None
        self._before = settings["wait"] + settings["warm_up"]
        self._steps = 0

    def start(self) -> None:
        """The first step begins."""
        self._open_if_due()

    def step(self) -> None:
        """A step has ended."""
        self._steps += 1
        self._open_if_due()

    def stop(self) -> None:
        """The window ends."""
        if self._runtime is not None and self._steps > self._before:
            self._runtime.cudaProfilerStop()

    def _open_if_due(self) -> None:
        if self._runtime is not None and self._steps == self._before:
            self._runtime.cudaProfilerStart()


def memory_summary(segments: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Summarise a GPU allocator's snapshot: bytes reserved, in use and free inside segments, and the largest blocks."""
    states: Sums[str] = Sums()
    largest: list[tuple[int, str]] = []
    free: list[int] = []
    for segment in segments:
        for block in segment.get("blocks", ()):
            state = "in_use" if str(block["state"]).startswith("active_alloc") else "free"
            states[state] += int(block["size"])
            if state == "free":
                free.append(int(block["size"]))
            else:
                largest.append((int(block["size"]), _made_by(block.get("frames") or ())))
    reserved = sum(int(segment["total_size"]) for segment in segments)
    return {
        "reserved_bytes": reserved,
        "in_use_bytes": states["in_use"],
        "free_bytes": states["free"],
        "segments": len(segments),
        "largest_free_bytes": max(free, default=0),
        "largest": [{"bytes": size, "where": where} for size, where in sorted(largest, reverse=True)[:MAX_BLOCKS]],
    }


def _made_by(frames: Sequence[Mapping[str, Any]]) -> str:
    """The innermost Python line outside torch; empty without a history."""
    for frame in frames:
        name = str(frame.get("filename", ""))
        if name.endswith(".py") and "/torch/" not in name:
            return f"{Path(name).name}:{frame.get('line')} {frame.get('name')}"
    return ""


def _now() -> int:
    return time.monotonic_ns()


def requested_profile(environ: Mapping[str, str]) -> dict[str, Any] | None:
    """The launch's profiling settings; None if it is not profiled."""
    text = environ.get("FIREASSAY_PROFILE")
    return dict(json.loads(text)) if text else None
