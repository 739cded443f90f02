"""How is a client kept from looking at its sockets, so that it has to say by how much its times may be off?

    stopped   the client is stopped (SIGSTOP) for 100 ms again and again, at random distances that let it answer most requests late
    busy      a loop that does nothing on every processor: the client waits for its turn

Each is a context manager that is given the client's process number; afterwards everything runs, or has ended, as before.
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

from assay import isolated

STOPPED_S: Final = 0.1
BETWEEN_S: Final = (0.02, 0.1)  # from a stop to the next one, uniform: it meets every part of an answer

Disturb = Callable[[int], AbstractContextManager[None]]


@contextmanager
def stopped(pid: int, seed: int = 1) -> Iterator[None]:
    """Stop a process for `STOPPED_S` again and again until the block ends."""
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
    """Let a loop run on every processor until the block ends."""
    command = isolated.python("-S", "-c", "while True: pass")
    own = isolated.environment(os.environ)
    running: list[subprocess.Popen[bytes]] = []
    try:
        for _ in range(loops or os.cpu_count() or 1):
            running.append(subprocess.Popen(command, stdin=subprocess.DEVNULL, env=own))
        yield
    finally:
        for process in running:
            process.kill()
        for process in running:
            process.wait()


DISTURBANCES: Final[dict[str, Disturb]] = {"stopped": stopped, "busy": busy}
