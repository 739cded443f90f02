"""Does the proxy pass every byte on, reset and delay what it is told to, and end with whoever started it?"""

from __future__ import annotations

import os
import random
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from urllib.parse import urlsplit

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fireassay.launchers.support import supervisor
from fireassay.traffic.proxy import Proxies
from tests.launchers.helpers import until
from tests.limits import PROCESS_S

WAIT_S = PROCESS_S


@contextmanager
def echoing() -> Iterator[str]:
    """A server that sends back what it gets, in pieces, and ends when its client has."""
    threads: list[threading.Thread] = []

    def serve(one: socket.socket) -> None:
        with one:
            try:
                while data := one.recv(65536):
                    one.sendall(data)
            except OSError:
                return

    def accept() -> None:
        while True:
            try:
                one, _ = listening.accept()
            except OSError:
                return
            one.settimeout(WAIT_S)
            threads.append(threading.Thread(target=serve, args=(one,)))
            threads[-1].start()

    listening = socket.create_server(("127.0.0.1", 0))
    accepting = threading.Thread(target=accept)
    accepting.start()
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/base"
    finally:
        listening.shutdown(socket.SHUT_RDWR)
        listening.close()
        accepting.join()
        for thread in threads:
            thread.join()


@pytest.fixture(scope="module")
def upstream() -> Iterator[str]:
    with echoing() as url:
        yield url


@pytest.fixture(scope="module")
def proxies() -> Iterator[Proxies]:
    with Proxies(seed=1) as found:
        yield found


def connected(url: str) -> socket.socket:
    parts = urlsplit(url)
    return socket.create_connection(("127.0.0.1", parts.port or 0), WAIT_S)


def everything(one: socket.socket) -> bytes:
    found = b""
    while data := one.recv(65536):
        found += data
    return found


def is_reset(one: socket.socket) -> bool:
    """Whether the connection does not echo any more."""
    try:
        one.sendall(b"x")
        return one.recv(1) != b"x"
    except ConnectionError:
        return True


def test_the_url_before_a_replica_keeps_its_path(upstream: str, proxies: Proxies) -> None:
    assert urlsplit(proxies.before(upstream)).path == "/base"


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(pieces=st.lists(st.binary(max_size=5000), max_size=20))
def test_bytes_pass_unchanged_however_they_are_cut(upstream: str, proxies: Proxies, pieces: list[bytes]) -> None:
    with connected(proxies.before(upstream)) as one:
        for piece in pieces:
            one.sendall(piece)
        one.shutdown(socket.SHUT_WR)  # a half-close passes too: the rest still comes back
        assert everything(one) == b"".join(pieces)


def test_ten_megabytes_pass_when_the_reader_is_slow(upstream: str, proxies: Proxies) -> None:
    data = random.Random(0).randbytes(10_000_000)
    with connected(proxies.before(upstream)) as one:
        sender = threading.Thread(target=lambda: (one.sendall(data), one.shutdown(socket.SHUT_WR)))
        sender.start()
        time.sleep(0.05)  # so that buffers fill; the rule holds without it
        assert everything(one) == data
        sender.join()


def test_a_reset_hits_open_connections_at_once_and_new_ones_when_they_send(upstream: str, proxies: Proxies) -> None:
    front = proxies.before(upstream)
    with connected(front) as one:
        one.sendall(b"x")
        assert one.recv(1) == b"x"
        told = proxies.control(front, reset_share=1.0)
        assert (told["open"], told["hit"]) == (1, 1)
        with pytest.raises(ConnectionResetError):
            one.recv(1)
    with connected(front) as one:
        assert is_reset(one)
    proxies.control(front)
    with connected(front) as one:
        assert not is_reset(one)


def test_a_share_of_the_connections_is_reset(upstream: str, proxies: Proxies) -> None:
    front = proxies.before(upstream)
    with ExitStack() as stack:
        many = [stack.enter_context(connected(front)) for _ in range(60)]
        assert not any(is_reset(one) for one in many)
        told = proxies.control(front, reset_share=0.25)
        hit = sum(is_reset(one) for one in many)
    assert told["open"] == 60
    assert told["hit"] == hit
    assert 3 <= hit <= 30  # binomial(60, 0.25): outside with a probability below 1e-4; the seed is fixed
    proxies.control(front)


def test_delayed_answers_come_complete_in_order_and_not_too_soon(upstream: str, proxies: Proxies) -> None:
    front = proxies.before(upstream)
    proxies.control(front, delay_s=0.2)
    with connected(front) as one:
        begin = time.monotonic()
        for number in range(10):
            one.sendall(b"%03d\n" % number)
        one.shutdown(socket.SHUT_WR)
        assert everything(one) == b"".join(b"%03d\n" % number for number in range(10))
        assert time.monotonic() - begin >= 0.2
    proxies.control(front)


def test_what_is_held_back_comes_at_once_when_the_delay_ends(upstream: str, proxies: Proxies) -> None:
    front = proxies.before(upstream)
    proxies.control(front, delay_s=3600.0)
    with connected(front) as one:
        one.sendall(b"x")
        one.settimeout(0.1)
        with pytest.raises(TimeoutError):
            one.recv(1)
        proxies.control(front)
        one.settimeout(WAIT_S)
        assert one.recv(1) == b"x"


def test_an_upstream_that_is_down_is_a_reset(proxies: Proxies) -> None:
    with socket.create_server(("127.0.0.1", 0)) as gone:
        url = f"http://127.0.0.1:{gone.getsockname()[1]}"
    front = proxies.before(url)
    try:
        with connected(front) as one:
            assert is_reset(one)
    except ConnectionResetError:
        return  # already while it connected


def test_an_upstream_that_dies_ends_its_connections(proxies: Proxies) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        front = proxies.before(f"http://127.0.0.1:{listening.getsockname()[1]}")
        one = connected(front)
        upstream, _ = listening.accept()
        upstream.close()
        with one:
            assert one.recv(1) == b""


def test_an_address_with_a_certificate_is_refused(proxies: Proxies) -> None:
    with pytest.raises(ValueError, match="only http://"):
        proxies.before("https://127.0.0.1:1")


def test_a_proxy_that_is_gone_is_told() -> None:
    with Proxies() as proxies:
        proxies._process.kill()
        with pytest.raises(RuntimeError, match="has exited"):
            proxies.before("http://127.0.0.1:1")


def test_it_ends_when_its_coordinator_is_killed() -> None:
    mark = f"test.{os.getpid()}.proxy."
    code = (
        "import time\nfrom fireassay.traffic.proxy import Proxies\n"
        f"proxies = Proxies(mark={mark!r})\nprint(proxies.pid, proxies.before('http://127.0.0.1:1'), flush=True)\ntime.sleep(600)\n"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline()
        assert len(supervisor.marked(mark)) == 1
        process.kill()
    until(lambda: not supervisor.marked(mark), "the proxy's end")
