"""Does everything in a sandbox end with it, whoever ends?"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from fireassay.quality.sandbox.process import Sandbox, turn
from fireassay.quality.sandbox.tiers import Limits, Name
from tests.limits import PROCESS_S
from tests.quality.sandbox.available import TIERS, tier

pytestmark = pytest.mark.survival

SLEEPS = "import os, time\ndef add(a, b):\n    os.fork()\n    time.sleep(3600)\n"
PARENT = """
import sys, time
from fireassay.quality.sandbox.check import Program, check_program
from fireassay.quality.sandbox.tiers import Limits
from fireassay.quality.sandbox.probing import examined
tier = examined(sys.argv[1])
print("ready", flush=True)
check_program(Program(code=sys.argv[2], entry_point="add", test="def check(candidate): candidate(1, 2)"), Limits(wall_s=3000), tier)
"""


def marked(pid: int) -> list[int]:
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if f"FIREASSAY_SANDBOX={pid}".encode() in (folder / "environ").read_bytes().split(b"\0"):
                found.append(int(folder.name))
        except OSError:
            continue
    return found


def wait_for(pid: int, some: bool) -> None:
    until = time.monotonic() + PROCESS_S
    while bool(marked(pid)) != some:
        assert time.monotonic() < until
        time.sleep(0.05)


@pytest.mark.parametrize("name", TIERS)
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_a_sandbox_ends_with_its_parent(name: Name, number: signal.Signals) -> None:
    tier(name)
    parent = subprocess.Popen([sys.executable, "-c", PARENT, name, SLEEPS], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    with parent:
        assert parent.stdout is not None
        parent.stdout.readline()
        wait_for(parent.pid, some=True)
        parent.send_signal(number)
        parent.wait(PROCESS_S)
    wait_for(parent.pid, some=False)


@pytest.mark.parametrize("name", TIERS)
def test_closing_reports_how_it_ended(name: Name) -> None:
    with Sandbox(tier(name), Limits(), "candidate") as one:
        one.send({"code": "import os\nos._exit(7)\n", "entry_point": "add"})
        while one.open:
            turn([one], 1.0)
        ended = one.close()
    assert (ended.status, ended.words, ended.setup) == (7, "ended with exit code 7", "")
    assert ended.cpu_s is not None
    assert one.close() is ended


def test_descriptors_are_closed() -> None:
    used = tier("unshare")
    before = len(os.listdir("/proc/self/fd"))
    with Sandbox(used, Limits(), "candidate"):
        pass
    assert len(os.listdir("/proc/self/fd")) == before
