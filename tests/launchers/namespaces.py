"""Two hosts with a slow link on one machine: network namespaces joined by a veth pair, shaped by a token bucket, gone at the end.

    with two_hosts(mbit=100) as hosts:
        hosts[0].prefix, hosts[0].address, hosts[0].interface

Frames carry 1448 bytes of payload in 1514 (Ethernet, IPv4, TCP with time stamps), so that a link of R bit/s carries
R * 1448 / 1514 / 8 bytes of payload a second.  Needs root on Linux with `ip`, `tc`, veth and tbf; `why_not` says what is missing.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache

PAYLOAD = 1448 / 1514


@dataclass(frozen=True)
class Host:
    """One of the two."""

    name: str
    address: str
    interface: str = "link0"

    @property
    def prefix(self) -> tuple[str, ...]:
        """Words before a command that is to run there."""
        return ("ip", "netns", "exec", self.name)


@cache
def why_not() -> str:
    """Why there can be no namespaces here; empty if there can."""
    if sys.platform != "linux" or os.geteuid() != 0:
        return "network namespaces need root on Linux"
    missing = [tool for tool in ("ip", "tc") if shutil.which(tool) is None]
    if missing:
        return f"{' and '.join(missing)} not installed (iproute2)"
    try:
        with two_hosts(mbit=100, names=(f"assay-try{os.getpid()}a", f"assay-try{os.getpid()}b")):
            return ""
    except subprocess.CalledProcessError as error:
        return f"{' '.join(error.cmd)}: {error.stderr.strip()}"


@contextmanager
def two_hosts(
    *, mbit: float | None = None, back_mbit: float | None = None, names: tuple[str, str] | None = None
) -> Iterator[tuple[Host, Host]]:
    """Two namespaces, joined; `mbit` shapes what leaves the first, `back_mbit` (default: the same) what leaves the second."""
    a, b = names or (f"assay-{os.getpid()}a", f"assay-{os.getpid()}b")
    hosts = Host(a, "10.231.7.1"), Host(b, "10.231.7.2")
    try:
        for name in (a, b):
            _run("ip", "netns", "add", name)
        _run("ip", "link", "add", "link0", "netns", a, "type", "veth", "peer", "name", "link0", "netns", b)
        for host, rate in zip(hosts, (mbit, back_mbit or mbit), strict=True):
            _run("ip", "-n", host.name, "addr", "add", f"{host.address}/24", "dev", "link0")
            _run("ip", "-n", host.name, "link", "set", "link0", "up")
            _run("ip", "-n", host.name, "link", "set", "lo", "up")
            # one frame at a time: segments of 64 KB made on the way would pass a bucket of that size unseen
            if rate is not None:
                _shape(host, rate)
        yield hosts
    finally:
        for name in (a, b):
            subprocess.run(["ip", "netns", "del", name], capture_output=True, check=False)


def _shape(host: Host, mbit: float) -> None:
    burst = ("burst", "32kb", "latency", "400ms")
    _run(
        "ip",
        "netns",
        "exec",
        host.name,
        "tc",
        "qdisc",
        "add",
        "dev",
        "link0",
        "root",
        "tbf",
        "rate",
        f"{mbit:g}mbit",
        *burst,
    )


def _run(*words: str) -> None:
    subprocess.run(words, check=True, capture_output=True, text=True)
