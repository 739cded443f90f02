"""How far away is another host, how fast is the link in each direction, and what limits it?

Measured with ping and iperf3, where installed.

    echo      `ping`; if missing or not permitted, the time of a TCP connection (a refusal counts as a reply)
    stream    `iperf3 -c HOST -J`, and with -R for the reverse direction: received payload per second, retransmitted segments
    path      `ping -M do` with packets of the interface's MTU: whether they arrive unfragmented

Every tool runs with a time limit. A failed measurement gives a `Lack`: the tool, the reason and the fix.
Sources: ping(8) of iputils, iperf3(1) (`-J`); RFC 4821 on why the path MTU must be probed.
Cannot tell: whether the network or the two machines limit bandwidth (`host_busy` gives this machine's load).
"""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

PORT: Final = 5201  # iperf3's default
ECHOES: Final = 10
SECONDS: Final = 2.0  # length of an iperf3 run
PATIENCE_S: Final = 10.0  # beyond a tool's requested run time
CONNECT_S: Final = 2.0
BUSY: Final = "server is busy"  # iperf3's message
BUSY_S: Final = (0.2, 1.0)  # delays before retrying a busy server
HEADERS: Final = 28  # bytes of IPv4 and ICMP headers

Stopped = Callable[[], bool]


@dataclass(frozen=True, kw_only=True)
class Target:
    """A host as given by the user, with the port of its iperf3 server."""

    host: str
    port: int = PORT

    @property
    def name(self) -> str:
        """The target as the user wrote it."""
        return self.host if self.port == PORT else f"{self.host}:{self.port}"


@dataclass(frozen=True, kw_only=True)
class Lack:
    """Something that could not be measured. `mend`: the fix, as a sentence or command; empty if unknown."""

    what: str
    why: str
    mend: str = ""


@dataclass(frozen=True, kw_only=True)
class Echo:
    """Round-trip times; `by` is ping or connect."""

    by: str
    sent: int
    seconds: tuple[float, ...]  # of the replies
    why: str = ""  # why no reply came, if the system reported it


@dataclass(frozen=True, kw_only=True)
class Stream:
    """A bulk transfer in one direction."""

    sent: float  # bytes per second sent
    received: float  # bytes per second received
    again: int | None  # retransmitted segments; None if the sender's system does not count them
    rtt_s: float | None  # mean round trip under load, from the sender's TCP
    host_busy: float | None  # CPU share used on this machine


@dataclass(frozen=True, kw_only=True)
class Answer:
    """A tool's output and exit code; `code` is None after a timeout or a stop."""

    code: int | None
    out: str
    err: str


# ---- targets


def target(text: str) -> Target:
    """Parse HOST, HOST:PORT or [ADDRESS]:PORT. Raises ValueError with the allowed forms."""
    match = re.fullmatch(r"\[([0-9a-fA-F:.]+)\](?::(\d+))?", text) or re.fullmatch(r"([^:\s/]+)(?::(\d+))?", text)
    bare = re.fullmatch(r"[0-9a-fA-F]*:[0-9a-fA-F]*:[0-9a-fA-F:.]*", text)
    host, port = (text, None) if bare else (match[1], match[2]) if match else ("", None)
    if not host or (port is not None and not 1 <= int(port) <= 65535):
        raise ValueError("a host's name or address, with the port of its iperf3 server where that is not 5201: node1, 10.0.0.2:5202")
    return Target(host=host, port=int(port) if port else PORT)


def resolve(host: str) -> str:
    """The first address of a host. Raises OSError if it does not resolve."""
    return str(socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)[0][4][0])


def way(address: str) -> tuple[str, str]:
    """(local address, interface) used to reach an address; the interface is empty if unknown.

    Raises:
        OSError: there is no route.
    """
    import psutil

    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        probe.connect((address, 9))  # sends nothing: the kernel only looks up the route
        local = str(probe.getsockname()[0])
    for name, addresses in psutil.net_if_addrs().items():
        if any(entry.address.partition("%")[0] == local for entry in addresses):
            return local, str(name)
    return local, ""


# ---- running a tool ----------------------------------------------------------------------------------------------


def run(words: Sequence[str], limit_s: float, stopped: Stopped = lambda: False) -> Answer:
    """Run a tool in the C locale; kill it on timeout or when `stopped` says so."""
    environment = {**os.environ, "LC_ALL": "C", "LANG": "C"}
    pipe = subprocess.PIPE
    with subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe, env=environment) as process:
        deadline = time.monotonic() + limit_s
        while True:
            try:
                out, err = process.communicate(timeout=0.1)
                return Answer(code=process.returncode, out=_text(out), err=_text(err))
            except subprocess.TimeoutExpired:
                if time.monotonic() < deadline and not stopped():
                    continue
                process.kill()
                out, err = process.communicate()
                return Answer(code=None, out=_text(out), err=_text(err))


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


# ---- echoes ------------------------------------------------------------------------------------------------------

_TIME = re.compile(r"\btime[=<]([0-9.]+) ?ms")
_SENT = re.compile(r"(\d+) packets transmitted")


def parse_ping(text: str) -> Echo | None:
    """Parse ping's output (iputils, BusyBox, macOS); None if it sent nothing."""
    sent = _SENT.search(text)
    times = tuple(float(milliseconds) / 1e3 for milliseconds in _TIME.findall(text))
    return Echo(by="ping", sent=int(sent[1]), seconds=times) if sent and int(sent[1]) > 0 else None


def ping(address: str, *, count: int = ECHOES, stopped: Stopped = lambda: False, tool: Callable[..., Answer] = run) -> Echo | Lack:
    """Measure round trips with the system's ping."""
    if shutil.which("ping") is None:
        return Lack(what="ping", why="ping is not installed", mend="apt-get install iputils-ping")
    wait = "1000" if sys.platform == "darwin" else "1"
    answer = tool(["ping", "-n", "-c", str(count), "-i", "0.2", "-W", wait, address], count * 1.2 + PATIENCE_S, stopped)
    parsed = parse_ping(answer.out)
    if parsed is not None:
        return parsed
    message = _last(answer.err) or _last(answer.out) or "it printed nothing"
    if "not permitted" in message or "Permission denied" in message or "missing cap_net_raw" in message:
        return Lack(
            what="ping",
            why=f"ping is not permitted to open its socket ({message})",
            mend='sysctl -w net.ipv4.ping_group_range="0 2147483647"',
        )
    return Echo(by="ping", sent=count, seconds=(), why=message.removeprefix("ping: "))


def connect(
    address: str, port: int, *, count: int = ECHOES, stopped: Stopped = lambda: False, now: Callable[[], float] = time.monotonic
) -> Echo:
    """Measure round trips by opening TCP connections; a refusal is as fast as an accept."""
    times, why = [], ""
    for _ in range(count):
        if stopped():
            break
        begin = now()
        try:
            socket.create_connection((address, port), timeout=CONNECT_S).close()
        except ConnectionRefusedError:
            pass
        except OSError as error:
            why = error.strerror or str(error)
            continue
        times.append(now() - begin)
    return Echo(by="connect", sent=count, seconds=tuple(times), why="" if times else why)


def echo(where: Target, address: str, *, count: int = ECHOES, stopped: Stopped = lambda: False) -> Iterator[Echo | Lack]:
    """Ping; if ping is unavailable or gets no reply (some networks drop ICMP), also try TCP connections."""
    echoes = ping(address, count=count, stopped=stopped)
    yield echoes
    if isinstance(echoes, Lack) or not echoes.seconds:
        yield connect(address, where.port, count=min(count, 3), stopped=stopped)


def unbroken(address: str, mtu: int, *, stopped: Stopped = lambda: False, tool: Callable[..., Answer] = run) -> bool | Lack:
    """True if a packet of the interface's MTU arrives unfragmented, in three tries."""
    if not sys.platform.startswith("linux") or shutil.which("ping") is None or ":" in address:
        return Lack(what="path", why="measuring the path MTU needs Linux's ping and IPv4")
    words = ["ping", "-n", "-c", "3", "-i", "0.2", "-W", "1", "-M", "do", "-s", str(mtu - HEADERS), address]
    parsed = parse_ping(tool(words, 4 + PATIENCE_S, stopped).out)
    return Lack(what="path", why="ping sent nothing") if parsed is None else bool(parsed.seconds)


# ---- streams -----------------------------------------------------------------------------------------------------


def stream(
    where: Target,
    address: str,
    *,
    reverse: bool = False,
    seconds: float = SECONDS,
    stopped: Stopped = lambda: False,
    tool: Callable[..., Answer] = run,
) -> Stream | Lack:
    """Run iperf3 from here, or with `reverse` to here."""
    if shutil.which("iperf3") is None:
        return Lack(what="iperf3", why="iperf3 is not installed here", mend="apt-get install iperf3, here and on the other host")
    words = ["iperf3", "-c", address, "-p", str(where.port), "-t", str(max(1, round(seconds))), "-J"]
    words += ["--connect-timeout", str(int(CONNECT_S * 1e3)), *(["-R"] if reverse else [])]
    for wait_s in (*BUSY_S, None):
        answer = tool(words, seconds + CONNECT_S + PATIENCE_S, stopped)
        if answer.code is None:
            why = f"iperf3 did not end within {PATIENCE_S:g} s after its run time and was killed"
            return Lack(what="iperf3", why=why, mend="check for a firewall that drops its packets")
        if wait_s is None or BUSY not in answer.out or stopped():
            break
        time.sleep(wait_s)  # a server needs a moment to release the previous test
    return parse_iperf3(answer.out or answer.err, where)


def parse_iperf3(text: str, where: Target) -> Stream | Lack:
    """Parse the output of `iperf3 -J`."""
    try:
        report = json.loads(text)
        if isinstance(report, Mapping) and report.get("error"):
            return _refused(str(report["error"]), where)
        end = report["end"]
        sent, received = end["sum_sent"], end["sum_received"]
        return Stream(
            sent=_rate(sent),
            received=_rate(received),
            again=_whole(sent.get("retransmits")),
            rtt_s=_rtt(end),
            host_busy=_share(end.get("cpu_utilization_percent")),
        )
    except (ValueError, LookupError, TypeError, AttributeError):
        begin = " ".join(text.split())[:80]
        return Lack(
            what="iperf3", why=f"iperf3's output cannot be parsed: {begin!r}", mend="check iperf3 --version; 3.1 or later is needed"
        )


def _refused(error: str, where: Target) -> Lack:
    start = f"start `iperf3 -s{'' if where.port == PORT else f' -p {where.port}'}` on {where.host}"
    if BUSY in error:
        return Lack(
            what="iperf3",
            why=f"the iperf3 server of {where.name} is busy with another test",
            mend="wait, or start another server and give its port: HOST:PORT",
        )
    if "refused" in error:
        return Lack(what="iperf3", why=f"no iperf3 server answers at {where.host}, port {where.port}", mend=start)
    return Lack(what="iperf3", why=f"iperf3: {error}", mend=f"{start}, and open port {where.port} in the firewall")


def _rate(part: Mapping[str, Any]) -> float:
    rate = float(part["bits_per_second"]) / 8
    if not 0 <= rate < float("inf"):
        raise ValueError("a rate must be finite")
    return rate


def _whole(value: Any) -> int | None:
    return int(value) if isinstance(value, int | float) and value >= 0 else None


def _rtt(end: Mapping[str, Any]) -> float | None:
    """Mean over the streams that report one; iperf3 counts microseconds, and 0 where it did not measure."""
    rtts = [part["sender"]["mean_rtt"] for part in end.get("streams", ()) if part.get("sender", {}).get("mean_rtt")]
    return sum(rtts) / len(rtts) / 1e6 if rtts else None


def _share(value: Any) -> float | None:
    with suppress(TypeError, KeyError, ValueError):
        return float(value["host_total"]) / 100
    return None


def _last(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else ""
