"""Two hosts whose clocks are apart, joined by a link that can be unplugged; each with a power meter.

    with apart(folder, offset_s=5, ppm=50) as (first, second):
        assay runs on the first (`first.words`); the second is reached over the link, as through ssh

The second one's monotonic clock is that of a time namespace, offset, and runs fast by a library that is loaded before libc. It is reached by a
small server (this file), which closes a command's input when the connection breaks, as sshd does with ClientAliveInterval.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import IO

PORT, METER = 4022, 9100
ALIVE_S = 2  # seconds without an answer before a broken connection is noticed: twice that
WATTS = {"a": 60.0, "b": 140.0}
PRELOADED = r"""
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
static long long t0 = -1; static double rate = 0;
int clock_gettime(clockid_t id, struct timespec *t) {
    int code = syscall(SYS_clock_gettime, id, t);
    if (code == 0 && id == CLOCK_MONOTONIC) {
        if (t0 < 0) { char *from = getenv("DRIFT_FROM"), *ppm = getenv("DRIFT_PPM");
                      t0 = from ? atoll(from) : 0; rate = from && ppm ? atof(ppm) * 1e-6 : 0; }
        long long ns = t->tv_sec * 1000000000LL + t->tv_nsec;
        ns += (long long)((double)(ns - t0) * rate);
        t->tv_sec = ns / 1000000000LL; t->tv_nsec = ns % 1000000000LL;
    }
    return code;
}
"""


@dataclass(frozen=True)
class Place:
    """One of the two hosts."""

    name: str
    address: str
    prefix: tuple[str, ...]  # for the experiment's hosts
    words: tuple[str, ...]  # before a command that a test itself starts there
    environment: dict[str, str]

    def host(self) -> dict[str, object]:
        """As a table of launcher.hosts."""
        return {"name": self.name, "address": self.address, "prefix": list(self.prefix), "environment": self.environment}


def why_not() -> str:
    """Why there can be no such hosts here; empty if there can."""
    from tests.launchers import namespaces

    if reason := namespaces.why_not():
        return reason
    if shutil.which("cc") is None or shutil.which("unshare") is None:
        return "no C compiler or no unshare, of which a clock that drifts is made"
    tried = subprocess.run(["unshare", "--fork", "--time", "--monotonic", "5", "true"], capture_output=True, text=True, check=False)
    return tried.stderr.strip() if tried.returncode else ""


@contextmanager
def apart(folder: Path, *, offset_s: int = 5, ppm: float = 50.0, tag: str = "clk") -> Iterator[tuple[Place, Place]]:
    """The two hosts. The folder holds the library."""
    from tests.launchers.namespaces import two_hosts

    library = folder / "drift.so"
    (folder / "drift.c").write_text(PRELOADED)
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", str(library), str(folder / "drift.c")], check=True)
    faster = {"LD_PRELOAD": str(library), "DRIFT_FROM": str(time.monotonic_ns() + offset_s * 10**9), "DRIFT_PPM": str(ppm)}
    with two_hosts(tag=tag) as hosts, ExitStack() as stack:
        shift = ("unshare", "--kill-child", "--time", "--monotonic", str(offset_s), "--boottime", str(offset_s))
        words = (*hosts[1].prefix, *shift, "env", *(f"{name}={value}" for name, value in faster.items()))
        for name, host in zip("ab", hosts, strict=True):
            stack.enter_context(_running([*host.prefix, sys.executable, __file__, "watts", str(WATTS[name])]))
        stack.enter_context(_running([*words, sys.executable, __file__, "serve", hosts[1].address]))
        through = (sys.executable, "-I", __file__, "call", hosts[1].address)
        interface = {"GLOO_SOCKET_IFNAME": "link0"}
        yield (
            Place("a", hosts[0].address, (), hosts[0].prefix, interface),
            Place("b", hosts[1].address, through, words, {**interface, **faster}),
        )


def unplug(place: Place) -> None:
    """Take its link down."""
    namespace = place.words[3]
    subprocess.run(["ip", "-n", namespace, "link", "set", "link0", "down"], check=True)


@contextmanager
def _running(words: list[str]) -> Iterator[None]:
    """A server of this file, which says a line when it is ready; at the end it is killed with all that it has started."""
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stdin=subprocess.PIPE, start_new_session=True)
    assert process.stdout is not None
    assert process.stdin is not None
    try:
        assert process.stdout.readline() == b"ready\n"
        yield
    finally:
        process.stdin.close()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()


# ---- on the hosts


def watts(power: float) -> None:
    """A page with the power of its host."""

    class Page(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(f"node_power_watts {power}\n".encode())

        def log_message(self, *_: object) -> None:
            return

    server = HTTPServer(("127.0.0.1", METER), Page)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print("ready", flush=True)
    sys.stdin.buffer.read()
    os._exit(0)


def serve(address: str) -> None:
    """Run commands, until the end of this process's input; then kill what is left of them."""
    started: list[subprocess.Popen[bytes]] = []
    with socket.create_server((address, PORT)) as listener:
        threading.Thread(target=_accept, args=(listener, started), daemon=True).start()
        print("ready", flush=True)
        sys.stdin.buffer.read()
    for process in started:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, 9)
    os._exit(0)


def _accept(listener: socket.socket, started: list[subprocess.Popen[bytes]]) -> None:
    while True:
        connection, _ = listener.accept()
        threading.Thread(target=_command, args=(_alive(connection), started), daemon=True).start()


def _command(connection: socket.socket, started: list[subprocess.Popen[bytes]]) -> None:
    file = connection.makefile("rb", 0)
    words = json.loads(file.readline())
    process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True, bufsize=0)
    started.append(process)
    assert process.stdin is not None
    assert process.stdout is not None
    threading.Thread(target=_pump, args=(file, process.stdin), daemon=True).start()
    with contextlib.suppress(OSError):
        while data := process.stdout.read(1 << 16):
            connection.sendall(data)
    process.wait()
    with contextlib.suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)


def _pump(source: IO[bytes], sink: IO[bytes]) -> None:
    with contextlib.suppress(OSError):
        while data := source.read(1 << 16):
            sink.write(data)
    with contextlib.suppress(OSError):
        sink.close()


def call(address: str, words: list[str]) -> int:
    """Run a command there; 255 if the connection fails, as ssh."""
    try:
        connection = _alive(socket.create_connection((address, PORT)))
    except OSError as error:
        print(error, file=sys.stderr)
        return 255
    connection.sendall(json.dumps(words).encode() + b"\n")
    threading.Thread(target=_send_input, args=(connection,), daemon=True).start()
    try:
        while data := connection.recv(1 << 16):
            os.write(1, data)
    except OSError as error:
        print(error, file=sys.stderr)
        return 255
    return 0


def _send_input(connection: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := os.read(0, 1 << 16):
            connection.sendall(data)
        connection.shutdown(socket.SHUT_WR)


def _alive(connection: socket.socket) -> socket.socket:
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in ((socket.TCP_KEEPIDLE, ALIVE_S), (socket.TCP_KEEPINTVL, 1), (socket.TCP_KEEPCNT, ALIVE_S)):
        connection.setsockopt(socket.IPPROTO_TCP, option, value)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, 2000 * ALIVE_S)
    return connection


if __name__ == "__main__":
    if sys.argv[1] == "watts":
        watts(float(sys.argv[2]))
    elif sys.argv[1] == "serve":
        serve(sys.argv[2])
    else:
        os._exit(call(sys.argv[2], sys.argv[3:]))
