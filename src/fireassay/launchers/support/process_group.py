"""How does the `plain` launcher run N copies of a script?

Together: if one fails, all are ended and restarted.

    python -I -S process_group.py WORKERS MAX_RESTARTS GRACE_S COMMAND...

Each copy gets the variables of torchrun: RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE, MASTER_ADDR, MASTER_PORT,
TORCHELASTIC_RESTART_COUNT and TORCHELASTIC_RUN_ID.
Standard library only.  Returns the exit code of the worker that failed first; 128 + signal if a signal killed it.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time

_asked_to_end: list[int] = []


def reserved_port() -> socket.socket:
    """A bound socket: while it is open the system gives its port to nobody, yet rank 0 may listen there (socket(7), SO_REUSEADDR)."""
    holder = socket.socket()
    holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    holder.bind(("127.0.0.1", 0))
    return holder


def start_all(command: list[str], workers: int, incarnation: int, port: int) -> dict[int, int]:
    """Start the workers; returns process ID -> rank."""
    pids = {}
    for rank in range(workers):
        variables = {
            "RANK": str(rank),
            "WORLD_SIZE": str(workers),
            "LOCAL_RANK": str(rank),
            "LOCAL_WORLD_SIZE": str(workers),
            "MASTER_ADDR": "127.0.0.1",
            "MASTER_PORT": str(port),
            "TORCHELASTIC_RESTART_COUNT": str(incarnation),
            "TORCHELASTIC_RUN_ID": os.environ["FIREASSAY_MARK"],
        }
        process = subprocess.Popen(command, env={**os.environ, **variables})
        process.returncode = 0  # reaped below
        pids[process.pid] = rank
    return pids


def wait_all(pids: dict[int, int], grace_s: float) -> int:
    """Wait until all workers exit; 0, or how the first one failed. The first failure ends the others."""
    failure, kill_at = 0, float("inf")
    while pids:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if pid in pids:
            del pids[pid]
            code = os.waitstatus_to_exitcode(status)
            failure = failure or (code if code >= 0 else 128 - code)
        elif time.monotonic() > kill_at:
            send(pids, signal.SIGKILL)
            kill_at = float("inf")
        else:
            time.sleep(0.01)
        if (failure or _asked_to_end) and pids and kill_at == float("inf"):
            send(pids, signal.SIGTERM)
            kill_at = time.monotonic() + grace_s
    return failure


def send(pids: dict[int, int], number: int) -> None:
    """Send a signal to every worker. None has been reaped yet, so no process ID can have been reused."""
    for pid in pids:
        os.kill(pid, number)


def main(words: list[str]) -> int:
    """Run the workers until they succeed, exhaust their restarts, or the engine is terminated."""
    workers, restarts, grace_s, command = int(words[0]), int(words[1]), float(words[2]), words[3:]
    signal.signal(signal.SIGTERM, lambda number, _: _asked_to_end.append(number))
    failure = 0
    for incarnation in range(restarts + 1):
        with reserved_port() as holder:
            failure = wait_all(start_all(command, workers, incarnation, holder.getsockname()[1]), grace_s)
        if not failure or _asked_to_end:
            break
    return 128 + _asked_to_end[0] if _asked_to_end else failure


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
