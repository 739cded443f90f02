"""How is a launch profiled, and what is kept?  Traces in the record, with their summary.

    traces/launch=0000/rank=0.pt.trace.json.gz    a rank's torch.profiler trace, for Perfetto and TensorBoard
    rank=0.memory.json         state of its GPU's allocator at the end
    rank=0.memory_snapshot.pickle   allocations in the window, for torch's viewer; assay never opens it
    nsys.nsys-rep              with Nsight Systems: its capture of all ranks
    summary.json               summary of the above; `assay profile` and the reports read only this

The launch has a separate role, so that it enters no timing.
"""

from __future__ import annotations

import gzip
import json
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from fireassay.errors import EnvironmentLacks
from fireassay.record import trace_summaries
from fireassay.record.trace_summaries import folder_of
from fireassay.record.untrusted.chrome_trace import MAX_TRACE_BYTES, UNREADABLE, TooLarge, needed, read
from fireassay.runners.experiment.context import Job, RunContext
from fireassay.spec.experiment import Experiment
from fireassay.spec.sections.workload import Profile
from fireassay.units import MIB

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
    trace_summaries.write(context.record, job.number, summary, workers=job.planned.workers)


def _of_rank(file: Path, summarise: Callable[[Mapping[str, Any]], dict[str, Any]] | None) -> dict[str, Any]:
    """The summary of one trace, or why it cannot be read."""
    summary: dict[str, Any] = {"file": file.name, "bytes": file.stat().st_size, "absent": ""}
    if summarise is None:
        return {**summary, "absent": "the run had no trace reader: start it with `assay profile` or fireassay.run"}
    try:
        with gzip.open(file) as stream:
            summary |= summarise(read(stream, needed, MAX_TRACE_BYTES))
    except TooLarge:
        why = f"the trace is larger than {MAX_TRACE_BYTES // MIB} MiB: open it in a viewer, or profile fewer steps (--active 1)"
        return {**summary, "absent": why}
    except UNREADABLE as error:
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
