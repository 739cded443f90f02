"""Is a process stopped repeatedly, and does everything run again afterwards; do the busy loops end?"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import psutil
import pytest

from fireassay.runners.calibration import client_drill
from fireassay.runners.calibration.client_drill import busy, stopped
from tests.limits import PROCESS_S


def wait_until(pid: int, states: tuple[str, ...]) -> None:
    deadline = time.monotonic() + PROCESS_S
    while psutil.Process(pid).status() not in states:
        assert time.monotonic() < deadline
        time.sleep(0.001)


RUNS = (psutil.STATUS_SLEEPING, psutil.STATUS_RUNNING)


def test_a_process_is_stopped_and_runs_again_afterwards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_drill, "STOPPED_S", 0.02)
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"]) as process:
        try:
            with stopped(process.pid):
                for _ in range(2):
                    wait_until(process.pid, (psutil.STATUS_STOPPED,))
                    wait_until(process.pid, RUNS)
            wait_until(process.pid, RUNS)
        finally:
            process.send_signal(signal.SIGCONT)
            process.kill()


def test_a_process_that_ends_meanwhile_is_nobodys_error() -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        process.wait()
        with stopped(process.pid):
            time.sleep(0.0)


def test_the_busy_loops_end_with_the_block() -> None:
    before = {child.pid for child in psutil.Process().children()}
    with busy(os.getpid(), loops=2):
        loops = [child for child in psutil.Process().children() if child.pid not in before]
        assert len(loops) == 2
    assert not any(child.is_running() for child in loops)
