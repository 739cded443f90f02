"""How does a `torch.utils.benchmark` Timer or Measurement become a record of calls?

A Measurement's raw times and number_per_run are the trials of one launch: this process.  A Timer is run here first (`blocked_autorange`), since its
statement and globals exist only in this process.  torch's Timer synchronises CUDA itself before each reading of its clock.
"""

from __future__ import annotations

import hashlib
import json
import platform
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from fireassay.clock import SystemClock
from fireassay.errors import refuse
from fireassay.importers.support.base import MAX_S, is_number
from fireassay.importers.timings.support.base import Benchmark, Figure, Timer, Timings, Trial
from fireassay.importers.timings.support.importing import Source, write
from fireassay.record.machine import Machine, Unread, cpu_model

MODULE: Final = "torch.utils.benchmark"
WHERE: Final = "fireassay.time"
MAX_NAME: Final = 80

TIMER: Final = Timer(
    name="torch_benchmark",
    title="torch.utils.benchmark",
    files="none: objects only",
    runs="function",
    meanings={
        "launch": "the process that made the Measurement",
        "trial": "a raw time of `number_per_run` runs",
        "time": "seconds of a run",
        "waits": "for CUDA, if torch finds it, else for the return of the statement",
    },
    read=lambda source, place: Timings(benchmarks=()),
    missing=("warm-up, processor time and memory",),
)


def is_torchs(value: object) -> bool:
    """True for a Timer or Measurement of torch.utils.benchmark; torch is not imported."""
    return type(value).__module__.startswith(MODULE) and type(value).__name__ in ("Timer", "Measurement")


def record_of(value: Any, *, root: Path, name: str | None, round_s: float) -> tuple[Path, str]:
    """Write the record of a Timer or Measurement; its path, and the name of what was timed.

    Raises:
        SpecError: the Measurement has no times, or times that are no durations.
    """
    measurement = value.blocked_autorange(min_run_time=round_s) if type(value).__name__ == "Timer" else value
    calls, seconds = measurement.number_per_run, list(measurement.raw_times)
    if not seconds or not all(is_number(one) and 0.0 <= one <= MAX_S for one in seconds) or not (is_number(calls) and calls >= 1):
        found = f"raw_times {seconds[:3]} of number_per_run {calls!r}"
        raise refuse(WHERE, found, "a Measurement with times", "Make it with Timer.blocked_autorange() or Timer.timeit().")
    calls = int(calls)
    title = _title(measurement.task_spec)
    timings = Timings(
        benchmarks=(
            Benchmark(
                name=title,
                processes=(tuple(Trial(seconds=one / calls, calls=calls) for one in seconds),),
                figures=(Figure(name="median", value=float(measurement.median)), Figure(name="mean", value=float(measurement.mean))),
                settings={"statement": str(measurement.task_spec.stmt)[:200]},
            ),
        ),
        version=str(getattr(sys.modules.get("torch"), "__version__", "")),
        conditions=_conditions(measurement.task_spec),
    )
    digest = hashlib.sha256(json.dumps([calls, seconds]).encode()).hexdigest()
    (made,) = write(TIMER, [timings], root, clock=SystemClock(), name=name or title[:MAX_NAME], sources=[Source("Measurement", digest)])
    return made.path, title


def _title(spec: Any) -> str:
    """The label, sub-label and description, else the first line of the statement."""
    parts = [part for part in (spec.label, spec.sub_label, spec.description) if part]
    words = " ".join(" ".join(map(str, parts)).split()) or str(spec.stmt).strip().partition("\n")[0] or "statement"
    return "".join(letter if letter.isprintable() else "?" for letter in words)[:MAX_NAME]


def _conditions(spec: Any) -> Mapping[str, str | int | float | bool]:
    named: dict[str, str] = {"environment": spec.env} if spec.env else {}
    with suppress(Unread):  # then two machines are never the same
        named["cpu"] = cpu_model(Machine())
    return {"python": platform.python_version(), "threads": int(spec.num_threads), **{key: str(text) for key, text in named.items()}}
