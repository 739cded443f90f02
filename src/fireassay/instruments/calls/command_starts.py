"""How long does a command take from just before its spawn until it is reaped?

One process per launch of the runner `command`: `python -I -S command_starts.py JOB` with the job as JSON (`Job`). For every start:

    begin = CLOCK_MONOTONIC;  posix_spawn(2);  wait4(2);  end = CLOCK_MONOTONIC

posix_spawn shares the parent's memory until the exec (vfork), so its cost does not grow with this process; nothing else happens between
the two readings. wait4 gives the command's own CPU time, memory and switches, including its reaped children. Standard library only and
without site-packages: a small process, because Linux counts the spawner's memory into the command's peak resident memory (exec keeps
the high-water mark). The instrument's own cost is measured with starts of an empty command, and never subtracted.

Writes one JSON object per line, each with one unbuffered write after its end was read: {"floor": ...}, {"trial": ...}.
Cannot tell: a command's work after its first process has ended (daemons), or memory below this process's own.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from typing import Any

EMPTY = ("/bin/true", "/usr/bin/true")
FLOOR_STARTS = 15
MAX_TRIALS = 10_000
PROBE_STARTS = 3  # minimum before the number of trials is fixed
FAILED = 1  # exit code: a start failed, and failures count
LAST_WORDS = 8192  # bytes of a failed command's stderr that go into the log


def main(job: dict[str, Any]) -> int:
    """Warm up, measure the floor, then make the counted starts. Returns the exit code.

    The floor follows the warm-up: while a launch begins its launcher is still busy, and the floor would exceed the measured time.
    """
    out = os.open(job["out"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    job["errors"] = _nameless(f"{job['out']}.errors")
    variables = dict(os.environ)
    durations: list[int] = []
    while _warming_up(job, durations):
        row = start(job, variables, warm_up=1)
        _write(out, {"trial": row})
        if not _ended_well(row, job):
            return FAILED
        durations.append(row["end_ns"] - row["begin_ns"])
    _write(out, {"floor": floor(variables)})
    planned = job["trials"] or (trials_for(min(durations), job["round_ns"]) if durations else 0)
    done, spent = 0, 0
    while done < (planned or PROBE_STARTS):
        row = start(job, variables, warm_up=0)
        _write(out, {"trial": row})
        if not _ended_well(row, job):
            return FAILED
        done, spent = done + 1, spent + row["end_ns"] - row["begin_ns"]
        if not planned:
            planned = trials_for(spent // done, job["round_ns"])
    return 0


def _nameless(path: str) -> int:
    """An unnamed file: a command's output may hold a secret and must not survive a kill."""
    errors = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_TRUNC, 0o600)
    os.unlink(path)
    return errors


def _warming_up(job: dict[str, Any], durations: list[int]) -> bool:
    """As many as requested; a few more if the number of trials depends on them, so that one slow start does not decide it."""
    if len(durations) < job["warm_up"]:
        return True
    finding = bool(durations) and not job["trials"]
    return finding and len(durations) < PROBE_STARTS and sum(durations) < 2 * job["round_ns"]


def trials_for(duration_ns: int, round_ns: int) -> int:
    """How many starts of this duration make a round: at least one."""
    return max(1, min(MAX_TRIALS, -(-round_ns // max(1, duration_ns))))


def start(job: dict[str, Any], variables: dict[str, str], *, warm_up: int) -> dict[str, Any]:
    """One start of the command: its row without launch and number."""
    actions = _actions(job)
    begin = time.monotonic_ns()
    try:
        pid = os.posix_spawn(job["path"], job["argv"], variables, file_actions=actions, setsigdef=_DEFAULT)
    except OSError as error:
        print(f"{job['path']}: {error.strerror}", file=sys.stderr, flush=True)
        raise SystemExit(126) from None
    _, status, usage = os.wait4(pid, 0)
    end = time.monotonic_ns()
    return {
        "begin_ns": begin,
        "end_ns": end,
        "warm_up": warm_up,
        "exit_code": os.waitstatus_to_exitcode(status),
        "user_ns": round(usage.ru_utime * 1e9),
        "system_ns": round(usage.ru_stime * 1e9),
        "max_rss_bytes": usage.ru_maxrss * _RSS_UNIT,
        "involuntary_switches": usage.ru_nivcsw,
    }


def floor(variables: dict[str, str]) -> dict[str, Any]:
    """Median seconds and bytes of starting an empty command; null without one."""
    path = next((path for path in EMPTY if os.access(path, os.X_OK)), None)
    if path is None:
        return {"seconds": None, "rss_bytes": None, "command": None}
    job = {"path": path, "argv": [path], "keep_output": True}
    rows = [start(job, variables, warm_up=1) for _ in range(FLOOR_STARTS)]
    seconds = sorted((row["end_ns"] - row["begin_ns"]) / 1e9 for row in rows)
    memory = sorted(row["max_rss_bytes"] for row in rows)
    return {"seconds": seconds[len(rows) // 2], "rss_bytes": memory[len(rows) // 2], "command": path}


def _ended_well(row: dict[str, Any], job: dict[str, Any]) -> bool:
    code, errors = row["exit_code"], job["errors"]
    if code == 0 or job["ignore_failure"]:
        os.ftruncate(errors, 0)  # between two starts, outside both
        return True
    size = os.fstat(errors).st_size
    os.write(2, os.pread(errors, LAST_WORDS, max(0, size - LAST_WORDS)))
    outcome = f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"
    os.write(2, f"\nassay: the command {outcome}\n".encode())
    return False


def _actions(job: dict[str, Any]) -> list[tuple[Any, ...]]:
    """stdin is empty; stdout is discarded, stderr goes into a file that is emptied between two starts.

    With `keep_output` both go to the launch's log instead, through a pipe that must be drained meanwhile.
    """
    actions: list[tuple[Any, ...]] = [(os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0)]
    if not job["keep_output"]:
        actions.append((os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0))
        actions.append((os.POSIX_SPAWN_DUP2, job["errors"], 2))
    return actions


def _write(out: int, line: dict[str, Any]) -> None:
    os.write(out, json.dumps(line).encode() + b"\n")


_RSS_UNIT = 1 if sys.platform == "darwin" else 1024  # getrusage(2)
# Signals that Python ignores (SIGPIPE, SIGXFSZ) would stay ignored in the command.
_DEFAULT = [number for name in ("SIGPIPE", "SIGXFSZ") if (number := getattr(signal, name, None)) is not None]

if __name__ == "__main__":
    sys.exit(main(json.loads(sys.argv[1])))
