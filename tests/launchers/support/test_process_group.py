"""Is the port of a launch's rendezvous kept until rank 0 listens on it?"""

from __future__ import annotations

import errno
import socket
import sys

import pytest

from fireassay.launchers.support.process_group import reserved_port


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a bound socket keeps rank 0 out as well")
def test_rank_0_may_listen_on_the_reserved_port_and_nobody_else_gets_it() -> None:
    with reserved_port() as holder:
        port = holder.getsockname()[1]
        with socket.socket() as stranger, pytest.raises(OSError, match="in use") as refused:
            stranger.bind(("127.0.0.1", port))
        assert refused.value.errno == errno.EADDRINUSE
        with (
            socket.create_server(("127.0.0.1", port)) as server,  # sets SO_REUSEADDR, as torch does
            socket.create_connection(server.getsockname()) as client,
        ):
            assert client.getpeername()[1] == port
