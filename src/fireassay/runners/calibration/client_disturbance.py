"""How is a client kept from reading its sockets, so that it must report the uncertainty of its times?

    stopped   the client is repeatedly stopped (SIGSTOP) for 100 ms at random intervals, so that it stamps most requests late
    busy      a busy loop on every processor: the client waits to be scheduled

Each is a context manager that takes the client's pid and undoes the disturbance at its end.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import Final

from fireassay import isolated

STOPPED_S: Final = 0.1
BETWEEN_S: Final = (0.02, 0.1)  # between stops, uniform: they hit every part of a response

Disturb = Callable[[int], AbstractContextManager[None]]


@contextmanager
def stopped(pid: int, seed: int = 1) -> Iterator[None]:
    """Repeatedly stop a process for `STOPPED_S` until the block ends."""
    over, distances = threading.Event(), random.Random(seed)

    def act() -> None:
        while not over.wait(distances.uniform(*BETWEEN_S)):
            try:
                os.kill(pid, signal.SIGSTOP)
                over.wait(STOPPED_S)
            except ProcessLookupError:
                return
            finally:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGCONT)

    thread = threading.Thread(target=act, name="assay-stops")
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


@contextmanager
def busy(_: int, loops: int | None = None) -> Iterator[None]:
    """Run a busy loop on every processor until the block ends."""
    command = isolated.python("-S", "-c", "while True: pass")
    environment = isolated.environment(os.environ)
    running: list[subprocess.Popen[bytes]] = []
    try:
        for _ in range(loops or os.cpu_count() or 1):
            running.append(subprocess.Popen(command, stdin=subprocess.DEVNULL, env=environment))
        yield
    finally:
        for process in running:
            process.kill()
        for process in running:
            process.wait()


DISTURBANCES: Final[dict[str, Disturb]] = {"stopped": stopped, "busy": busy}
