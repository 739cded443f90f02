"""Which ports do servers that assay starts listen on, and how are the ports reserved until then?

A server may take minutes to listen, and a port that was free when chosen can be taken by then.  On Linux, a socket that is bound with
SO_REUSEADDR and does not listen keeps the port from automatic assignment, yet lets a server that also sets SO_REUSEADDR (nearly all do)
bind it by number (socket(7), inet_csk_bind_conflict).  On other systems, and for a server that does not set it, the port is released
just before the server starts.

Is a server ready to serve?

One GET of one path: 200 to 299 means ready; anything else means not ready, with a reason.
"""

from __future__ import annotations

import http.client
import socket
import ssl
import sys
from collections.abc import Mapping
from urllib.parse import urlsplit

from fireassay.instruments.engines.deadline import within
from fireassay.printable import one_line

HOST = "127.0.0.1"


class Ports:
    """Ports assigned by the system, reserved until `close`."""

    def __init__(self) -> None:
        self._held: dict[int, socket.socket] = {}

    def take(self) -> int:
        """A port that is free on every address. Raises OSError: no port is free."""
        listener = socket.socket()
        try:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(("", 0))
        except OSError:
            listener.close()
            raise
        port = int(listener.getsockname()[1])
        self._held[port] = listener
        return port

    def before_start(self, port: int) -> None:
        """Prepare the port for a server that is about to start."""
        if sys.platform != "linux":
            self.release(port)

    def release(self, port: int) -> None:
        """Release a port for a server that cannot bind it otherwise."""
        listener = self._held.pop(port, None)
        if listener is not None:
            listener.close()

    def close(self) -> None:
        for port in list(self._held):
            self.release(port)


TIMEOUT_S = 2.0
MAX_BYTES = 1 << 16  # response bytes to read and discard
MAX_SAID = 300  # characters of a reason


def trouble(url: str, path: str, *, headers: Mapping[str, str] | None = None, timeout_s: float = TIMEOUT_S, verify: bool = True) -> str:
    """Why the server at `url` is not ready; empty if it is. With an empty `path`, listening is enough."""
    parts = urlsplit(url)
    host, port = parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)
    try:
        if not path:
            socket.create_connection((host, port), timeout_s).close()
            return ""
        return _answer(_connection(parts.scheme, host, port, timeout_s, verify), path, headers or {}, timeout_s)
    except TimeoutError:
        return f"no answer within {timeout_s:g} s"
    except (OSError, http.client.HTTPException) as error:
        return one_line(str(error))[:MAX_SAID] or type(error).__name__


def _answer(connection: http.client.HTTPConnection, path: str, headers: Mapping[str, str], timeout_s: float) -> str:
    try:
        connection.connect()
        with within(connection.sock, timeout_s, "no answer"):
            connection.request("GET", path, headers={"connection": "close", **headers})
            answer = connection.getresponse()
            answer.read(MAX_BYTES)
        if 200 <= answer.status < 300:
            return ""
        return one_line(f"GET {path} answered {answer.status} {answer.reason}")[:MAX_SAID]
    finally:
        connection.close()


def _connection(scheme: str, host: str, port: int, timeout_s: float, verify: bool) -> http.client.HTTPConnection:
    if scheme != "https":
        return http.client.HTTPConnection(host, port, timeout=timeout_s)
    context = ssl.create_default_context() if verify else ssl._create_unverified_context()
    return http.client.HTTPSConnection(host, port, timeout=timeout_s, context=context)
