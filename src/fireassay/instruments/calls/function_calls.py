"""How long does a call of a Python function take, in a fresh process?

One process per launch of the runner `function`: `python -m fireassay.instruments.calls.function_calls JOB`. It imports "module:function", then
times trials with so many calls that each lasts at least `MIN_NS` and `RESOLUTIONS` times the clock's resolution (doubling, as pyperf
does; the doubling trials are kept as warm-up), until the round is full.

    synchronise devices;  begin = CLOCK_MONOTONIC;  `calls` times function(*args, **kwargs);  synchronise devices;  end = CLOCK_MONOTONIC

Which devices: `device_queues`. Work of other threads and of children that goes on after the return: `after_return`.

CPU time, memory and switches are read outside that interval. Arguments are JSON: nothing is ever unpickled. Writes the same lines as
`command_starts`; the loop's own cost, with an empty function, is the floor.
Cannot tell: the cost of a call in a process with other work, or without the garbage collector.
"""

from __future__ import annotations

import importlib
import inspect
import json
import os
import resource
import sys
import time
from collections.abc import Callable
from dataclasses import asdict
from itertools import repeat
from typing import Any

from fireassay.instruments.calls import after_return, device_queues

MIN_NS = 1_000_000
RESOLUTIONS = 1000
MAX_CALLS = 2**30
FOLLOWS_S = 0.1  # of processor time that the calls of a trial may leave behind: on a busy machine even that takes a second
MAX_TRIALS = 10_000
FLOOR_CALLS = 10_000
FLOOR_TRIALS = 11
_RSS_UNIT = 1 if sys.platform == "darwin" else 1024  # getrusage(2)

_ONLY_MADE: tuple[tuple[str, Callable[[Any], bool], str], ...] = (
    ("a coroutine", inspect.iscoroutinefunction, "with asyncio.run(...)"),
    ("a generator", inspect.isgeneratorfunction, "for example with list(...)"),
    ("an asynchronous generator", inspect.isasyncgenfunction, "with asyncio.run(...)"),
)

Timed = Callable[[int], tuple[int, int]]  # calls -> begin, end


def main(job: dict[str, Any]) -> None:
    """Import, find the number of calls, warm up, examine what goes on after the return, then time the counted trials."""
    function = found(job["target"])
    out = os.open(job["out"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    _write(out, {"floor": floor()})
    others = after_return.observer()
    process = Process(timer(function, job["args"], job["kwargs"]), job["device"], others, lambda row: _write(out, {"trial": row}))
    calls = job["calls"] or process.calibrated()
    last = MIN_NS
    for _ in range(max(1, job["warm_up"])):
        row = process.trial(calls, warm_up=1)
        last = row["end_ns"] - row["begin_ns"]
    after = process.examined(row)
    _write(out, {"after": None if after is None else asdict(after)})
    for device in process.devices:
        _write(out, {"device": {"name": device.name, "seconds": device_queues.cost_s(device)}})
    if after is not None and after.state == "follows":
        last += round(calls * after.processor_s * 1e9)  # each trial waits for what follows it
    trials = job["trials"] or max(1, min(MAX_TRIALS, -(-job["round_ns"] // max(1, last))))
    for _ in range(trials):
        process.trial(calls, warm_up=0)
    for name in sorted({device.name for device in device_queues.in_use("auto")} - {device.name for device in process.devices}):
        _write(out, {"not_waited_for": name})


class Process:
    """The calls of this process: each trial waits for the devices in use, and for work that is known to follow a return."""

    def __init__(self, timed: Timed, requested: str, others: after_return.Others | None, keep: Callable[[dict[str, Any]], None]) -> None:
        self.devices: tuple[device_queues.Device, ...] = device_queues.in_use(requested)
        self._timed, self._requested, self._others, self._keep = timed, requested, others, keep
        self._drains = False  # work follows the return: no trial begins before it has ended
        self._first = True
        self._worth_examining = False  # after any trial: a busy machine may give this thread a processor only when the work has ended
        self._after: after_return.Conclusion | None = None
        self._seen: dict[str, Any] = {}

    def trial(self, calls: int, *, warm_up: int) -> dict[str, Any]:
        """Make and keep one trial."""
        row = trial(self._synchronised, calls, warm_up=warm_up)
        if warm_up:  # the first calls may have initialised a device, whose work is then in none of the counted trials
            self.devices = device_queues.in_use(self._requested)
        row |= self._seen
        self._keep(row)
        if self._others is not None and (self._first or self._drains):
            followed = self._others.follow()
            self._drains = self._drains or after_return.worth_examining(followed, 0.0)
            self._worth_examining |= after_return.worth_examining(followed, (row["end_ns"] - row["begin_ns"]) / 1e9)
        self._first = False
        return row

    def _synchronised(self, calls: int) -> tuple[int, int]:
        devices = self.devices
        if not devices:
            begin, end = self._timed(calls)
            if self._first:
                device_queues.synchronise(device_queues.in_use(self._requested))
                end = time.monotonic_ns()
            self._seen = {}
            return begin, end
        device_queues.synchronise(devices)
        begins = device_queues.marks(devices)
        begin, returned = self._timed(calls)
        ends = device_queues.marks(devices)
        device_queues.synchronise(devices)
        end = time.monotonic_ns()
        self._seen = {
            "returned_s": (returned - begin) / 1e9 / calls,
            "device_s": {name: seconds / calls for name, seconds in device_queues.between_s(begins, ends).items()},
        }
        return begin, end

    def calibrated(self) -> int:
        """The smallest power of two of calls that makes a trial long enough, and leaves no more than `FOLLOWS_S` of work behind."""
        calls, most = 1, MAX_CALLS
        while True:
            row = self.trial(calls, warm_up=1)
            if row["end_ns"] - row["begin_ns"] >= least_ns():
                return calls
            if self._drains and calls > 1 and (after := self.examined(row)) is not None and after.state == "follows":
                most = max(calls, round(FOLLOWS_S / after.processor_s))
            if 2 * calls > most:
                return calls
            calls *= 2

    def examined(self, row: dict[str, Any]) -> after_return.Conclusion | None:
        """What follows the return of a call; None if it cannot be observed here."""
        if self._others is None or self._after is not None:
            return self._after
        self._after = self._examined(self._others, row)
        self._drains = self._after.state == "follows"
        return self._after

    def _examined(self, others: after_return.Others, row: dict[str, Any]) -> after_return.Conclusion:
        seconds = (row["end_ns"] - row["begin_ns"]) / 1e9
        worth = self._worth_examining or (not self._drains and after_return.worth_examining(others.follow(), seconds))
        self._drains = False
        if not worth:
            return after_return.Conclusion("quiet", returned_s=seconds / row["calls"])
        return after_return.examine(others, self._seconds, seconds / row["calls"])

    def _seconds(self, calls: int) -> float:
        row = self.trial(calls, warm_up=1)
        return float((row["end_ns"] - row["begin_ns"]) / 1e9)


def found(target: str) -> Callable[..., object]:
    """The function at "module:function"; dots after the colon go into classes."""
    module, _, name = target.partition(":")
    value: Any = importlib.import_module(module)
    for part in name.split("."):
        value = getattr(value, part)
    if not callable(value):
        raise TypeError(f"{target} is not callable: {type(value).__name__}")
    for made, is_one, fix in _ONLY_MADE:
        if is_one(value):
            raise TypeError(f"a call of {target} only makes {made}, which runs nothing: time a function that runs it, {fix}")
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
