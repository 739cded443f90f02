"""How do workers on one machine keep their rendezvous off the network?

Rank 0 of a job serves a `TCPStore` for the rendezvous. torch binds it to every interface, without authentication: anyone who reaches
the port can read and change what the ranks exchange. If all ranks run on this machine (`FIREASSAY_LOOPBACK`), torch gets a socket bound
to 127.0.0.1. The launcher does the rest: torchrun uses a file rendezvous, gloo and NCCL the loopback interface.
Does not cover a store that the script creates itself, or a script run with `workload.attach = false`.
"""

from __future__ import annotations

import errno
import os
import socket
import sys
import time
from typing import Any, Final

from fireassay.instruments.hooks.import_hook import when_there

VARIABLE: Final = "FIREASSAY_LOOPBACK"
LOCAL: Final = ("127.0.0.1", "localhost")
BACKLOG: Final = 1024
PORT_TAKEN_S: Final = 90.0  # torchrun chose the port while it was free; a connection of another program holds it up to 60 s after its end
RETRY_S: Final = 0.05


def arm() -> None:
    """Patch torch on import if the launcher says that all workers are local."""
    if os.environ.get(VARIABLE) == "1":
        when_there(_install, stays=True)


def _install(torch: Any) -> None:
    rendezvous = sys.modules.get("torch.distributed.rendezvous")
    if rendezvous is None or not hasattr(rendezvous, "TCPStore"):  # a build without torch.distributed
        return
    rendezvous.TCPStore = here(rendezvous.TCPStore)  # type: ignore[attr-defined]


def here(store: Any) -> Any:
    """Wrap `TCPStore` so that its server listens on the loopback interface only, if clients can reach it there."""

    def made(host_name: str, port: int, *rest: Any, **named: Any) -> Any:
        server = named.get("is_master", rest[1] if len(rest) > 1 else False)
        if not server or host_name not in LOCAL or named.get("master_listen_fd") is not None:
            return store(host_name, port, *rest, **named)
        with socket.socket() as listening:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            _bind(listening, port)
            listening.listen(BACKLOG)
            return store(host_name, port, *rest, **named, master_listen_fd=listening.detach())

    return made


def _bind(listening: socket.socket, port: int) -> None:
    """Bind to the port as soon as it is free; the other ranks wait for the store anyway."""
    deadline = time.monotonic() + PORT_TAKEN_S
    while True:
        try:
            return listening.bind((LOCAL[0], port))
        except OSError as error:
            if error.errno != errno.EADDRINUSE or time.monotonic() > deadline:
                raise
            time.sleep(RETRY_S)
