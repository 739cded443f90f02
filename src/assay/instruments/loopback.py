"""How do the workers of one machine keep their meeting place off the network?

Rank 0 of a job serves a `TCPStore`, over which the others find it.  torch lets it listen on every interface, and it asks nobody who
he is: whoever reaches the port can read and change what the ranks tell one another.  Where all of them are on this machine
(`ASSAY_LOOPBACK`), torch is given a socket that listens on 127.0.0.1 alone.  The rest is told by the launcher: torchrun meets in a file,
and gloo and NCCL use the loopback interface.
Cannot reach a store that a script makes itself, or one of a script that is not attached to (`workload.attach = false`).
"""

from __future__ import annotations

import os
import socket
import sys
from typing import Any, Final

from assay.instruments.hooks.import_hook import when_there

VARIABLE: Final = "ASSAY_LOOPBACK"
LOCAL: Final = ("127.0.0.1", "localhost")
BACKLOG: Final = 1024


def arm() -> None:
    """Do it as soon as the script has torch, if the launcher said that all workers are here."""
    if os.environ.get(VARIABLE) == "1":
        when_there(_install, stays=True)


def _install(torch: Any) -> None:
    rendezvous = sys.modules.get("torch.distributed.rendezvous")
    if rendezvous is None or not hasattr(rendezvous, "TCPStore"):  # a build without torch.distributed
        return
    rendezvous.TCPStore = here(rendezvous.TCPStore)  # type: ignore[attr-defined]


def here(store: Any) -> Any:
    """`TCPStore`, whose server listens on the loopback interface where it is reached by it."""

    def made(host_name: str, port: int, *rest: Any, **named: Any) -> Any:
        server = named.get("is_master", rest[1] if len(rest) > 1 else False)
        if not server or host_name not in LOCAL or named.get("master_listen_fd") is not None:
            return store(host_name, port, *rest, **named)
        with socket.socket() as listening:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listening.bind((LOCAL[0], port))
            listening.listen(BACKLOG)
            return store(host_name, port, *rest, **named, master_listen_fd=listening.detach())

    return made
