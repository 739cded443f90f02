"""Is a server that never comes to an answer given up in time, and is its reason fit to be shown?"""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import pytest

from fireassay.launchers.support.ports import trouble

pytestmark = pytest.mark.slow


@contextmanager
def serving(say: Callable[[socket.socket, threading.Event], None]) -> Iterator[str]:
    """A server on loopback that says this to whoever connects."""
    over = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as server:

        def run() -> None:
            with suppress(OSError):
                taken, _ = server.accept()
                with taken:
                    taken.recv(1 << 16)
                    say(taken, over)

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}"
        over.set()
        thread.join()


def once(answer: bytes) -> Callable[[socket.socket, threading.Event], None]:
    return lambda taken, over: taken.sendall(answer)


def again_and_again(piece: bytes, pause_s: float) -> Callable[[socket.socket, threading.Event], None]:
    def say(taken: socket.socket, over: threading.Event) -> None:
        while not over.wait(pause_s):
            taken.sendall(piece)

    return say


EVIL = {
    "interim answers without end": again_and_again(b"HTTP/1.1 100 Continue\r\n\r\n", 0.0),
    "a head that drips": again_and_again(b"H", 0.01),
    "a body that drips": lambda taken, over: (
        taken.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 60000\r\n\r\n"),
        again_and_again(b"x", 0.01)(taken, over),
    ),
    "nothing": lambda taken, over: over.wait(20),
}


@pytest.mark.parametrize("name", EVIL)
def test_a_server_that_never_comes_to_an_end_is_given_up(name: str) -> None:
    with serving(EVIL[name]) as url:  # type: ignore[arg-type]
        assert trouble(url, "/health", timeout_s=0.3) == "no answer within 0.3 s"


def test_a_reason_is_one_short_line_without_what_steers_a_terminal() -> None:
    with serving(once(b"HTTP/1.1 503 \x1b]0;title\x07" + b"x" * 5000 + b"\r\n\r\n")) as url:
        said = trouble(url, "/health")
    assert said.startswith("GET /health answered 503")
    assert len(said) <= 300
    assert said.isprintable()


def test_a_server_that_answers_well_is_ready() -> None:
    with serving(once(b"HTTP/1.1 204 No Content\r\n\r\n")) as url:
        assert trouble(url, "/health") == ""
