"""Which ports do servers that assay starts listen on, and who keeps others away from them meanwhile?

A server may take minutes until it listens, and a port that was free when it was chosen can be gone by then.  On Linux a
socket that is bound with SO_REUSEADDR and does not listen keeps the port from everybody who asks for any port, and lets
a server that sets SO_REUSEADDR itself (as nearly all do) bind it by number (socket(7), inet_csk_bind_conflict).
Elsewhere, and for a server that does not set it, the port is let go just before the server starts.
"""

from __future__ import annotations

import socket
import sys

HOST = "127.0.0.1"


class Ports:
    """Ports from the system, held until `close`."""

    def __init__(self) -> None:
        self._held: dict[int, socket.socket] = {}

    def take(self) -> int:
        """A port that nobody uses on any address.

        Raises:
            OSError: the system has none left.
        """
        one = socket.socket()
        try:
            one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            one.bind(("", 0))
        except OSError:
            one.close()
            raise
        port = int(one.getsockname()[1])
        self._held[port] = one
        return port

    def before_start(self, port: int) -> None:
        """A server is about to be started there."""
        if sys.platform != "linux":
            self.release(port)

    def release(self, port: int) -> None:
        """Let a port go, for a server that cannot bind it otherwise."""
        held = self._held.pop(port, None)
        if held is not None:
            held.close()

    def close(self) -> None:
        """Let all go."""
        for port in list(self._held):
            self.release(port)
