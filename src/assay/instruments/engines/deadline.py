"""How does a conversation with a server end in time, whatever it drips?

A socket's own time-out begins anew with every byte, and an endless row of interim answers is never an answer.  A timer shuts the socket
when the time of the whole conversation is over: the read that is under way ends then.
"""

from __future__ import annotations

import http.client
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress


@contextmanager
def within(sock: socket.socket | None, timeout_s: float, what: str) -> Iterator[None]:
    """Shut the socket when the time is over; `sock` is named now, for an answer that closes takes it from its connection.

    Raises:
        TimeoutError: the time was over: no `what`.
    """
    late = threading.Event()
    ender = threading.Timer(timeout_s, _cut, (sock, late))
    ender.daemon = True
    try:
        ender.start()
        yield
    except (OSError, http.client.HTTPException):
        if not late.is_set():
            raise
    finally:
        ender.cancel()
    if late.is_set():
        raise TimeoutError(f"{what} within {timeout_s:g} s") from None


def _cut(sock: socket.socket | None, late: threading.Event) -> None:
    late.set()
    if sock is not None:
        with suppress(OSError):  # closed meanwhile
            socket.socket.shutdown(sock, socket.SHUT_RDWR)  # an SSLSocket's own would forget its keys under the reader
