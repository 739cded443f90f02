"""How do we bound a conversation with a server that drips its bytes?

A socket's own timeout restarts with every byte, and an endless series of interim responses never completes. A timer shuts the socket
down at the deadline of the whole conversation, which ends the current read.
"""

from __future__ import annotations

import http.client
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress


@contextmanager
def within(sock: socket.socket | None, timeout_s: float, what: str) -> Iterator[None]:
    """Shut the socket down at the deadline.

    `sock` is passed in now, because a closing response removes it from its connection.

    Raises:
        TimeoutError: the deadline passed: no `what`.
    """
    late = threading.Event()
    timer = threading.Timer(timeout_s, _cut, (sock, late))
    timer.daemon = True
    try:
        timer.start()
        yield
    except (OSError, http.client.HTTPException):
        if not late.is_set():
            raise
    finally:
        timer.cancel()
    if late.is_set():
        raise TimeoutError(f"{what} within {timeout_s:g} s") from None


def _cut(sock: socket.socket | None, late: threading.Event) -> None:
    late.set()
    if sock is not None:
        with suppress(OSError):  # already closed
            socket.socket.shutdown(sock, socket.SHUT_RDWR)  # an SSLSocket's own shutdown would drop its keys under the reader
