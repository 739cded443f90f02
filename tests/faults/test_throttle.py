"""The fault `throttle` holds an interface of the victim's own network back, and frees it."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import time
from functools import cache
from pathlib import Path

import pytest

from fireassay.faults import throttle
from fireassay.faults.support.base import Victim
from fireassay.spec.plan import PlannedFault
from tests.limits import PROCESS_S

ROOT = Path(__file__).resolve().parents[2]


def planned(interface: str, rate_mbit: float = 10.0) -> PlannedFault:
    asked = throttle.Keys(kind="throttle", interface=interface, rate_mbit=rate_mbit)
    return PlannedFault(kind="throttle", rank=0, after_checkpoints=0, delay_steps=1, signal="KILL", training=asked)


@cache
def has_namespaces() -> bool:
    if not all(shutil.which(one) for one in ("unshare", "nsenter", "tc")):
        return False
    return subprocess.run(["unshare", "--net", "true"], capture_output=True, check=False).returncode == 0


def rules(pid: int) -> str:
    line = ["nsenter", "-t", str(pid), "-n", "tc", "qdisc", "show", "dev", "lo"]
    return subprocess.run(line, capture_output=True, text=True, check=True).stdout


@pytest.mark.skipif(not has_namespaces(), reason="no network namespace may be made here, or there is no tc (iproute2)")
def test_a_throttled_interface_is_held_back_in_the_victims_own_network_and_freed() -> None:
    words = ["unshare", "--net", sys.executable, "-S", "-c", "print(flush=True); input()"]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()

        undo = throttle.strike(Victim(pid=process.pid, rank=0), planned("lo", 20.0))
        assert "tbf" in rules(process.pid)
        assert "rate 20Mbit" in rules(process.pid)
        with pytest.raises(OSError, match="already limited by a rule of kind tbf"):
            throttle.strike(Victim(pid=process.pid, rank=0), planned("lo"))
        undo()
        assert "tbf" not in rules(process.pid)
        with pytest.raises(OSError, match="nowhere0"):
            throttle.strike(Victim(pid=process.pid, rank=0), planned("nowhere0"))
        process.communicate(b"\n")


@pytest.mark.skipif(not has_namespaces(), reason="no network namespace may be made here, or there is no tc (iproute2)")
@pytest.mark.survival
def test_an_interface_is_freed_even_if_whoever_held_it_back_is_killed() -> None:
    words = ["unshare", "--net", sys.executable, "-S", "-c", "print(flush=True); input()"]
    held = (
        "import os, signal, sys; from fireassay.faults import throttle; from tests.faults.test_throttle import planned; "
        "throttle.strike(throttle.Victim(pid=int(sys.argv[1]), rank=0), planned('lo')); os.kill(os.getpid(), signal.SIGKILL)"
    )
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        killed = subprocess.run([sys.executable, "-c", held, str(process.pid)], check=False, cwd=ROOT)
        assert killed.returncode == -signal.SIGKILL
        deadline = time.monotonic() + PROCESS_S
        while "tbf" in rules(process.pid) and time.monotonic() < deadline:
            time.sleep(0.01)
        assert "tbf" not in rules(process.pid)
        process.communicate(b"\n")


def test_the_bucket_holds_ten_milliseconds_and_at_least_four_frames() -> None:
    assert throttle.rule("eth0", 100.0)[6:] == ["rate", "100000000bit", "burst", "125000b", "latency", "50ms"]
    assert throttle.rule("eth0", 1.0)[8:10] == ["burst", "6400b"]
