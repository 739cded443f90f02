"""Which ports do servers that assay starts listen on, and how are the ports reserved until then?

A server may take minutes to listen, and a port that was free when chosen can be taken by then.  On Linux, a socket that is bound with
SO_REUSEADDR and does not listen keeps the port from automatic assignment, yet lets a server that also sets SO_REUSEADDR (nearly all do)
bind it by number (socket(7), inet_csk_bind_conflict).  On other systems, and for a server that does not set it, the port is released
just before the server starts.
"""

from __future__ import annotations

import socket
import sys

HOST = "127.0.0.1"


class Ports:
    """Ports assigned by the system, reserved until `close`."""

    def __init__(self) -> None:
        self._held: dict[int, socket.socket] = {}

    def take(self) -> int:
        """A port that is free on every address.

        Raises:
            OSError: no port is free.
        """
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
        """Release all ports."""
        for port in list(self._held):
            self.release(port)
