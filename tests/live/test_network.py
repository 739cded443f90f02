"""Does `assay comm --net` find a shaped link's rate in each direction with the real tools, and say which way is slower?"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.launchers.namespaces import PAYLOAD, Host, two_hosts, why_not
from tests.limits import PROCESS_S

pytestmark = pytest.mark.deep

THERE, BACK = 100.0, 50.0  # Mbit/s


def look(here: Host, there: Host, root: Path) -> dict[str, Any]:
    """One round from the one to the other, as JSON says it: metric and findings by name."""
    words = [
        "-m",
        "fireassay",
        "comm",
        "--net",
        there.address,
        "--launches",
        "1",
        "--seconds",
        "1",
        "--json",
        "--quiet",
        "--root",
        str(root),
    ]
    done = subprocess.run([*here.prefix, sys.executable, *words], capture_output=True, text=True, timeout=PROCESS_S, check=False)
    assert done.returncode == 4, done.stderr  # one round carries no verdict
    found = json.loads(done.stdout)
    values = {f"{row['metric']} {row['configuration']}": row.get("value") for row in found["metrics"]}
    return {"values": values, "findings": {row["rule"]: row["evidence"] for row in found["findings"]}}


def listens(host: Host) -> bool:
    """Whether somebody listens at iperf3's port, without connecting: the server would take it for a test."""
    with subprocess.Popen([*host.prefix, "cat", "/proc/net/tcp6", "/proc/net/tcp"], stdout=subprocess.PIPE, text=True) as said:
        return ":1451 " in said.communicate()[0]  # 5201


def test_the_rates_of_both_directions_are_the_shaped_ones(tmp_path: Path) -> None:
    if reason := why_not():
        pytest.skip(reason)
    for needed in ("iperf3", "ping"):
        if shutil.which(needed) is None:
            pytest.skip(f"{needed} is not installed")
    with two_hosts(mbit=THERE, back_mbit=BACK, tag="n") as (here, there):
        server = subprocess.Popen([*there.prefix, "iperf3", "-s"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            deadline = time.monotonic() + PROCESS_S
            while not listens(there):
                assert time.monotonic() < deadline
                time.sleep(0.05)
            found = look(here, there, tmp_path)
        finally:
            server.kill()
            server.wait()
    rates = [found["values"][f"link_rate {there.address}{end}"] for end in ("", " back")]
    for rate, mbit in zip(rates, (THERE, BACK), strict=True):
        assert abs(rate / (mbit * 1e6 / 8 * PAYLOAD) - 1) < 0.25  # one second, of which the bucket gives a hundredth
    assert "times less than in the other direction" in found["findings"]["one_way_slower"]
    assert 0 < found["values"][f"round_trip {there.address}"] < 0.1
