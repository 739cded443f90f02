"""Where is a request sent, as which bytes, and why did its connection fail?

HTTP/1.1, serialised in advance.  Source: RFC 9112.  Failures are worded so that equal ones compare equal.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from urllib.parse import urlsplit

from fireassay.traffic.parts import Wire


def closed_because(error: int, heard: bool) -> str:
    """Why an exchange lost its connection, from an errno (-1: unknown; 0: the peer closed it)."""
    if error:
        return f"reset: {os.strerror(error) if error > 0 else 'the connection was lost'}"
    if heard:
        return "the server closed the connection in the middle of its answer"
    return "reset: the server closed the connection without an answer"


def plain_reason(error: OSError) -> str:
    """A reason without addresses, so that equal failures are counted together."""
    if reason := getattr(error, "reason", None):  # TLS
        detail = getattr(error, "verify_message", "")
        return f"TLS: {str(reason).replace('_', ' ').lower()}{': ' if detail else ''}{detail}"
    if error.errno is not None and error.errno > 0:
        return os.strerror(error.errno)
    return (error.strerror or str(error))[:200]


@dataclass(frozen=True, kw_only=True)
class Address:
    """A parsed replica URL."""

    host: str
    port: int
    tls: bool
    path: str  # without a trailing slash
    authority: str  # for the Host header


def address_of(url: str) -> Address:
    """Parse a URL. Raises ValueError: it is not an HTTP URL."""
    parts = urlsplit(url if "://" in url else f"http://{url}")
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError("not a URL of http or https")
    tls = parts.scheme == "https"
    authority = parts.netloc.rpartition("@")[2]
    return Address(host=parts.hostname, port=parts.port or (443 if tls else 80), tls=tls, path=parts.path.rstrip("/"), authority=authority)


class Payloads:
    """Requests as bytes; the constant part is cached."""

    def __init__(self, address: Address) -> None:
        self._address = address
        self._heads: dict[tuple[object, ...], bytes] = {}

    def payload(self, wire: Wire) -> bytes:
        """Serialise a request. Raises ValueError: a header or the path contains a line break."""
        key = (wire.method, wire.path, wire.headers)
        head = self._heads.get(key)
        if head is None:
            head = self._head(wire)
            if len(self._heads) < 64:  # signed requests differ in every header: not worth caching
                self._heads[key] = head
        return b"%b%d\r\n\r\n%b" % (head, len(wire.body), wire.body)

    def _head(self, wire: Wire) -> bytes:
        headers = {"Host": self._address.authority, "Accept-Encoding": "identity", "User-Agent": "assay"}
        names = {name.lower(): name for name in headers}
        for name, value in wire.headers:
            headers.pop(names.get(name.lower(), ""), None)
            names[name.lower()] = name
            headers[name] = value
        lines = [f"{wire.method} {self._address.path}{wire.path} HTTP/1.1", *(f"{key}: {content}" for key, content in headers.items())]
        if any("\r" in line or "\n" in line or "\0" in line for line in lines):
            raise ValueError("a header or the path of a request contains a line break")
        return "\r\n".join([*lines, "Content-Length: "]).encode("latin-1", "replace")
