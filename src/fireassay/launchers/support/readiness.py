"""Is a server ready to serve?

One GET of one path: 200 to 299 means ready; anything else means not ready, with a reason.
"""

from __future__ import annotations

import http.client
import socket
import ssl
from collections.abc import Mapping
from urllib.parse import urlsplit

from fireassay.instruments.engines.deadline import within
from fireassay.printable import one_line

TIMEOUT_S = 2.0
MOST_BYTES = 1 << 16  # response bytes to read and discard
MOST_SAID = 300  # characters of a reason


def trouble(url: str, path: str, *, headers: Mapping[str, str] | None = None, timeout_s: float = TIMEOUT_S, verify: bool = True) -> str:
    """Why the server at `url` is not ready; empty if it is. With an empty `path`, listening is enough."""
    parts = urlsplit(url)
    host, port = parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)
    try:
        if not path:
            socket.create_connection((host, port), timeout_s).close()
            return ""
        return _asked(_connection(parts.scheme, host, port, timeout_s, verify), path, headers or {}, timeout_s)
    except TimeoutError:
        return f"no answer within {timeout_s:g} s"
    except (OSError, http.client.HTTPException) as error:
        return one_line(str(error))[:MOST_SAID] or type(error).__name__


def _asked(connection: http.client.HTTPConnection, path: str, headers: Mapping[str, str], timeout_s: float) -> str:
    try:
        connection.connect()
        with within(connection.sock, timeout_s, "no answer"):
            connection.request("GET", path, headers={"connection": "close", **headers})
            answer = connection.getresponse()
            answer.read(MOST_BYTES)
        if 200 <= answer.status < 300:
            return ""
        return one_line(f"GET {path} answered {answer.status} {answer.reason}")[:MOST_SAID]
    finally:
        connection.close()


def _connection(scheme: str, host: str, port: int, timeout_s: float, verify: bool) -> http.client.HTTPConnection:
    if scheme != "https":
        return http.client.HTTPConnection(host, port, timeout=timeout_s)
    context = ssl.create_default_context() if verify else ssl._create_unverified_context()
    return http.client.HTTPSConnection(host, port, timeout=timeout_s, context=context)
