"""What an engine says of itself is asked for in bounded time, whatever it answers."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest

from fireassay.runners.load import engines


@contextmanager
def answering(first: bytes, again: bytes = b"") -> Iterator[str]:
    """A server that says `first` to every request and then `again` and again, until it is ended."""
    over = threading.Event()
    threads: list[threading.Thread] = []

    def serve(connection: socket.socket) -> None:
        with connection, suppress(OSError):
            connection.recv(1 << 16)
            connection.sendall(first)
            while again and not over.wait(0.01):
                connection.sendall(again)

    def listen(server: socket.socket) -> None:
        with suppress(OSError):
            while True:
                connection, _ = server.accept()
                threads.append(threading.Thread(target=serve, args=(connection,)))
                threads[-1].start()

    with socket.create_server(("127.0.0.1", 0)) as server:
        listener = threading.Thread(target=listen, args=(server,))
        listener.start()
        try:
            yield f"http://127.0.0.1:{server.getsockname()[1]}"
        finally:
            over.set()
            server.shutdown(socket.SHUT_RDWR)
            for thread in (listener, *threads):
                thread.join()


HEAD = b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n"


def test_the_first_path_that_answers_with_json_is_kept() -> None:
    with answering(HEAD + b'{"version": "1.2"}') as url:
        assert engines.self_description([url]) == {"path": "/version", "said": json.dumps({"version": "1.2"})}


@pytest.mark.parametrize("said", [b"\0\xff garbage\r\n\r\n", HEAD + b"<html>", HEAD + b"[" * 100_000, b""])
def test_a_response_that_is_not_json_is_ignored(said: bytes) -> None:
    with answering(said) as url:
        assert engines.self_description([url]) == {}


@pytest.mark.parametrize("first", [HEAD, b"HTTP/1.1 200 OK\r\nx: "])
def test_a_response_that_never_ends_is_abandoned(first: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each byte comes within the socket's time-out: without an end for the whole, the load would never end."""
    monkeypatch.setattr(engines, "FETCH_S", 0.1)
    with answering(first, again=b":") as url:
        assert engines.self_description([url]) == {}


def test_a_silent_engine_is_queried_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def silent(url: str, headers: object, **_: object) -> bytes:
        asked.append(url)
        raise TimeoutError("no complete page within 2 s")

    monkeypatch.setattr(engines, "fetch", silent)
    assert engines.self_description(["http://127.0.0.1:1/"]) == {}
    assert len(asked) == 1
