"""What is each node of a launch like?  Its hardware, kernel and drivers, read there before the first launch.

One process per node, all at once, through the node's prefix and with this Python, as the workers are started.
"""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import fireassay
from fireassay import isolated
from fireassay.launchers.nodes import over
from fireassay.record.machine import absent
from fireassay.spec.sections.workload import Host

KEYS: Final = ("host.name", "host.os", "host.kernel", "cpu.model", "cpu.logical", "cpu.governors", "memory.total_bytes", "gpu.nvidia")
LIMIT_S: Final = 60.0
READ: Final = (
    "import json, sys; sys.path.insert(0, sys.argv[1]); from fireassay.record.environment import capture_keys; "
    "print(json.dumps(capture_keys(sys.argv[2:])))"
)


def captured(hosts: Sequence[Host]) -> dict[str, Any]:
    """Host -> key -> value, or why it is not known. Never raises for a node that cannot be read."""
    source = str(Path(fireassay.__file__).parents[1])
    words = isolated.python("-c", READ, source, *KEYS)
    started = {host.name: _started(over(host.prefix, words)) for host in hosts}
    deadline = time.monotonic() + LIMIT_S
    return {name: _answer(process, deadline) for name, process in started.items()}


def _started(words: list[str]) -> subprocess.Popen[bytes] | OSError:
    environment, pipe = isolated.environment(os.environ), subprocess.PIPE
    try:
        return subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe, env=environment)
    except OSError as error:
        return error


def _answer(process: subprocess.Popen[bytes] | OSError, deadline: float) -> dict[str, Any]:
    if isinstance(process, OSError):
        return absent(str(process))
    try:
        output, errors = process.communicate(timeout=max(0.0, deadline - time.monotonic()))
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        return absent(f"no answer within {LIMIT_S:g} s")
    for line in output.splitlines():  # others are banners of a login
        try:
            found = json.loads(line)
        except ValueError:
            continue
        if isinstance(found, dict):
            return found
    last = errors.decode(errors="replace").strip().splitlines()[-1:]
    return absent(f"the node answered nothing (exit code {process.returncode}{f': {last[0][:200]}' if last else ''})")
