"""Two hosts on one machine: network namespaces with a shaped link and a delayed one, gone at the end whatever happens.

    with two_hosts(mbit=100, back_mbit=200, delay_s=0.01) as hosts:
        hosts[0].prefix, hosts[0].address, hosts[0].interface

`link0` is a veth pair, shaped by the kernel's token bucket: a frame carries 1448 bytes of payload in 1514 (Ethernet, IPv4, TCP
with time stamps), so a link of R bit/s carries R x PAYLOAD / 8 bytes of payload a second.  `slow0`, where a delay is asked for,
is a pair of TUN devices whose packets a thread hands on so much later (not every kernel has netem).
Needs root on Linux with `ip`, `tc`, veth and tbf; `why_not` says what is missing.
"""

from __future__ import annotations

import fcntl
import os
import re
import select
import shutil
import struct
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

PAYLOAD = 1448 / 1514
BURST = 128 * 1024  # a late timer loses nothing before the bucket is full
_TUNSETIFF, _TUN_WITHOUT_HEADER = 0x400454CA, 0x1001  # linux/if_tun.h


@dataclass(frozen=True)
class Host:
    """One of the two."""

    name: str
    address: str
    slow_address: str
    interface: str = "link0"
    slow_interface: str = "slow0"

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
        with two_hosts(mbit=100, tag="try"):
            return ""
    except subprocess.CalledProcessError as error:
        return f"{' '.join(error.cmd)}: {error.stderr.strip()}"


@contextmanager
def two_hosts(
    *, mbit: float | None = None, back_mbit: float | None = None, delay_s: float | None = None, tag: str = ""
) -> Iterator[tuple[Host, Host]]:
    """Two namespaces, joined.

    Args:
        mbit: shapes what leaves the first host.
        back_mbit: shapes what leaves the second; default: the same.
        delay_s: joins them by a second, delayed link, each way.
        tag: part of their names, where one test has several pairs.
    """
    _sweep()
    names = [f"assay-{os.getpid()}{tag}{end}" for end in "ab"]
    hosts = Host(names[0], "10.231.7.1", "10.231.8.1"), Host(names[1], "10.231.7.2", "10.231.8.2")
    with ExitStack() as stack:
        for host in hosts:
            stack.callback(subprocess.run, ["ip", "netns", "del", host.name], capture_output=True, check=False)
            _run("ip", "netns", "add", host.name)
        _run("ip", "link", "add", "link0", "netns", names[0], "type", "veth", "peer", "name", "link0", "netns", names[1])
        for host, rate in zip(hosts, (mbit, back_mbit or mbit), strict=True):
            _up(host, rate)
        if delay_s is not None:
            stack.enter_context(_delayed(hosts, delay_s))
        yield hosts


def _sweep() -> None:
    """Remove what a test that was killed has left behind."""
    for path in Path("/run/netns").glob("assay-[0-9]*"):
        found = re.match(r"assay-(\d+)", path.name)
        if found is not None and not Path(f"/proc/{found[1]}").exists():
            subprocess.run(["ip", "netns", "del", path.name], capture_output=True, check=False)


def _up(host: Host, mbit: float | None) -> None:
    _run("ip", "-n", host.name, "addr", "add", f"{host.address}/24", "dev", "link0")
    _run("ip", "-n", host.name, "link", "set", "link0", "up")
    _run("ip", "-n", host.name, "link", "set", "lo", "up")
    # the plainest sender there is: others pace themselves by what they believe of the link
    _run(*host.prefix, "sh", "-c", "echo reno > /proc/sys/net/ipv4/tcp_congestion_control")
    if mbit is not None:
        shape = ("root", "tbf", "rate", f"{mbit:g}mbit", "burst", str(BURST), "latency", "400ms")
        _run(*host.prefix, "tc", "qdisc", "add", "dev", "link0", *shape)


def _run(*words: str) -> None:
    subprocess.run(words, check=True, capture_output=True, text=True)


# ---- the delayed link --------------------------------------------------------------------------------------------


@contextmanager
def _delayed(hosts: tuple[Host, Host], delay_s: float) -> Iterator[None]:
    ends = [_tun(host) for host in hosts]
    for host, peer in (hosts, hosts[::-1]):
        _run("ip", "-n", host.name, "addr", "add", host.slow_address, "peer", peer.slow_address, "dev", "slow0")
        _run("ip", "-n", host.name, "link", "set", "slow0", "mtu", "9000", "txqueuelen", "10000", "up")
    stopped = threading.Event()
    thread = threading.Thread(target=_relay, args=(ends, delay_s, stopped), daemon=True)
    thread.start()
    try:
        yield
    finally:
        stopped.set()
        thread.join()
        for end in ends:
            os.close(end)


def _tun(host: Host) -> int:
    """A TUN device in the host's namespace. Only this thread visits it, and comes back; the device's file stays valid."""
    found: list[int] = []

    def open_there() -> None:  # in a thread of its own, which ends there: the others stay where they are
        with Path(f"/run/netns/{host.name}").open() as place:
            os_setns(place.fileno())
        end = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
        fcntl.ioctl(end, _TUNSETIFF, struct.pack("16sH22x", b"slow0", _TUN_WITHOUT_HEADER))
        found.append(end)

    thread = threading.Thread(target=open_there)
    thread.start()
    thread.join()
    return found[0]


def os_setns(descriptor: int) -> None:
    """setns(2) into a network namespace; Python has it from 3.12."""
    import ctypes

    if ctypes.CDLL(None, use_errno=True).setns(descriptor, 0x40000000) != 0:  # CLONE_NEWNET
        raise OSError(ctypes.get_errno(), "setns")


def _relay(ends: list[int], delay_s: float, stopped: threading.Event) -> None:
    """Hand every packet to the other end, so much later; one queue, since the delay is constant."""
    waiting: deque[tuple[float, int, bytes]] = deque()
    while not stopped.is_set():
        left = 0.05 if not waiting else max(0.0, waiting[0][0] - time.monotonic())
        for end in select.select(ends, [], [], min(left, 0.05))[0]:
            other = ends[1 - ends.index(end)]
            try:
                for _ in range(64):
                    waiting.append((time.monotonic() + delay_s, other, os.read(end, 65536)))
            except BlockingIOError:
                pass
        while waiting and waiting[0][0] <= time.monotonic():
            _, other, packet = waiting.popleft()
            os.write(other, packet)
