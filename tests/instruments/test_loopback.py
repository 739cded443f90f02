"""Does a rendezvous on loopback wait for a port that another program holds for a moment?"""

from __future__ import annotations

import socket
from collections.abc import Iterator
from typing import Any

import pytest

from fireassay.instruments import loopback

pytestmark = pytest.mark.slow


@pytest.fixture
def holder() -> Iterator[socket.socket]:
    """A client's end of a connection: what a system assigns a port to between torchrun's choice and rank 0's bind."""
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as client:
        server.accept()[0].close()  # who closes first keeps the port for a minute (TIME_WAIT): here the other end
        assert client.recv(1) == b""
        yield client


def store(_host: str, port: int, **named: Any) -> int:
    """As torch's: it serves on the socket that it is given."""
    with socket.socket(fileno=named["master_listen_fd"]) as listening:
        assert listening.getsockname() == ("127.0.0.1", port)
    return port


def test_a_port_that_is_given_back_is_taken(holder: socket.socket, monkeypatch: pytest.MonkeyPatch) -> None:
    port = holder.getsockname()[1]
    waits: list[float] = []

    def given_back(seconds: float) -> None:
        waits.append(seconds)
        if len(waits) == 3:
            holder.close()

    monkeypatch.setattr(loopback.time, "sleep", given_back)
    assert loopback.here(store)("127.0.0.1", port, is_master=True) == port
    assert len(waits) >= 3


def test_a_port_that_stays_taken_is_an_error(holder: socket.socket, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loopback, "PORT_TAKEN_S", 0.0)
    with pytest.raises(OSError, match="Address already in use"):
        loopback.here(store)("localhost", holder.getsockname()[1], is_master=True)


def test_another_rank_only_connects() -> None:
    assert loopback.here(lambda host, port, **named: (host, port, named))("127.0.0.1", 1, is_master=False) == (
        "127.0.0.1",
        1,
        {"is_master": False},
    )
