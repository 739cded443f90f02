"""How long does a call of a Python function take, in a fresh process?

One process per launch of the runner `function`: `python -m fireassay.instruments.calls.function_calls JOB`. It imports "module:function", then
times trials with so many calls that each lasts at least `MIN_NS` and `RESOLUTIONS` times the clock's resolution (doubling, as pyperf
does; the doubling trials are kept as warm-up), until the round is full.

    begin = CLOCK_MONOTONIC;  `calls` times function(*args, **kwargs);  end = CLOCK_MONOTONIC

CPU time, memory and switches are read outside that interval. Arguments are JSON: nothing is ever unpickled. Writes the same lines as
`command_starts`; the loop's own cost, with an empty function, is the floor.
Cannot tell: the cost of a call in a process with other work, or without the garbage collector.
"""

from __future__ import annotations

import importlib
import json
import os
import resource
import sys
import time
from collections.abc import Callable
from itertools import repeat
from typing import Any

MIN_NS = 1_000_000
RESOLUTIONS = 1000
MAX_CALLS = 2**30
MAX_TRIALS = 10_000
FLOOR_CALLS = 10_000
FLOOR_TRIALS = 11
_RSS_UNIT = 1 if sys.platform == "darwin" else 1024  # getrusage(2)

Timed = Callable[[int], tuple[int, int]]  # calls -> begin, end


def main(job: dict[str, Any]) -> None:
    """Import, find the number of calls, warm up, then time the counted trials."""
    function = found(job["target"])
    timed = timer(function, job["args"], job["kwargs"])
    out = os.open(job["out"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    _write(out, {"floor": floor()})
    calls = job["calls"] or calibrated(timed, lambda row: _write(out, {"trial": row}))
    last = MIN_NS
    for _ in range(max(1, job["warm_up"])):
        row = trial(timed, calls, warm_up=1)
        _write(out, {"trial": row})
        last = row["end_ns"] - row["begin_ns"]
    trials = job["trials"] or max(1, min(MAX_TRIALS, -(-job["round_ns"] // max(1, last))))
    for _ in range(trials):
        _write(out, {"trial": trial(timed, calls, warm_up=0)})


def found(target: str) -> Callable[..., object]:
    """The function at "module:function"; dots after the colon go into classes."""
    module, _, name = target.partition(":")
    value: Any = importlib.import_module(module)
    for part in name.split("."):
        value = getattr(value, part)
    if not callable(value):
        raise TypeError(f"{target} is not callable: {type(value).__name__}")
    return value  # type: ignore[no-any-return]


def timer(function: Callable[..., object], args: list[Any], kwargs: dict[str, Any]) -> Timed:
    """A function that times calls together; without arguments the direct call is cheapest."""

    def bare(calls: int) -> tuple[int, int]:
        again, now = repeat(None, calls), time.monotonic_ns
        begin = now()
        for _ in again:
            function()
        return begin, now()

    def full(calls: int) -> tuple[int, int]:
        again, now = repeat(None, calls), time.monotonic_ns
        begin = now()
        for _ in again:
            function(*args, **kwargs)
        return begin, now()

    return full if args or kwargs else bare


def least_ns() -> int:
    """The minimum length of a trial: the clock's resolution is at most a thousandth of it."""
    return max(MIN_NS, round(RESOLUTIONS * time.get_clock_info("monotonic").resolution * 1e9))


def calibrated(timed: Timed, keep: Callable[[dict[str, Any]], None]) -> int:
    """The smallest power of two of calls that makes a trial long enough."""
    calls = 1
    while True:
        row = trial(timed, calls, warm_up=1)
        keep(row)
        if row["end_ns"] - row["begin_ns"] >= least_ns() or calls >= MAX_CALLS:
            return calls
        calls *= 2


def trial(timed: Timed, calls: int, *, warm_up: int) -> dict[str, Any]:
    """One trial: its row without launch and number."""
    before = resource.getrusage(resource.RUSAGE_SELF)
    begin, end = timed(calls)
    after = resource.getrusage(resource.RUSAGE_SELF)
    return {
        "begin_ns": begin,
        "end_ns": end,
        "calls": calls,
        "warm_up": warm_up,
        "exit_code": None,
        "user_ns": round((after.ru_utime - before.ru_utime) * 1e9),
        "system_ns": round((after.ru_stime - before.ru_stime) * 1e9),
        "max_rss_bytes": after.ru_maxrss * _RSS_UNIT,
        "involuntary_switches": after.ru_nivcsw - before.ru_nivcsw,
    }


def floor() -> dict[str, Any]:
    """Median seconds per iteration of the timing loop with an empty function."""
    timed = timer(_nothing, [], {})
    rows = [trial(timed, FLOOR_CALLS, warm_up=1) for _ in range(FLOOR_TRIALS)]
    seconds = sorted((row["end_ns"] - row["begin_ns"]) / 1e9 / FLOOR_CALLS for row in rows)
    return {"seconds": seconds[FLOOR_TRIALS // 2], "rss_bytes": None, "command": "an empty function"}


def _nothing() -> None:
    """The cheapest callable."""


def _write(out: int, line: dict[str, Any]) -> None:
    os.write(out, json.dumps(line).encode() + b"\n")


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
