"""Is the process that writes a record still alive?

A process is named by its number and the time at which it was created: numbers are used again.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping
from typing import Any

# The kernel tells creation times through the wall clock, which may be stepped by a second or so.
_CLOCK_STEP_S = 2.0


def myself() -> dict[str, Any]:
    """This process, as it is written into the manifest."""
    import psutil

    return {"pid": os.getpid(), "create_time": psutil.Process().create_time(), "host": socket.gethostname()}


def is_alive(coordinator: Mapping[str, Any]) -> bool:
    """Whether that process still runs. A process of another host cannot be seen and counts as running."""
    import psutil

    if coordinator["host"] != socket.gethostname():
        return True
    try:
        created = psutil.Process(int(coordinator["pid"])).create_time()
    except psutil.NoSuchProcess:
        return False
    return bool(abs(created - float(coordinator["create_time"])) <= _CLOCK_STEP_S)
