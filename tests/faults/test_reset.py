"""The fault `reset` resets connections through the proxy before the replica, and lets new ones live afterwards."""

from __future__ import annotations

import http.client
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from fireassay.errors import SpecError
from fireassay.faults import reset
from fireassay.faults.support.under_load import check
from fireassay.spec.sections.faults import Fault as FaultSpec
from fireassay.spec.sections.serving import Target
from tests.faults.loaded import at_once, kinds, one_replica, struck_at
from tests.launchers.helpers import until
from tests.launchers.support.test_servers import pid_at
from tests.limits import PROCESS_S


def open_through(url: str) -> http.client.HTTPConnection:
    """A connection that the proxy has, and keeps: the system alone accepts before a proxy that is slow to look does."""
    parts = urlsplit(url)
    kept = http.client.HTTPConnection("127.0.0.1", parts.port or 0, timeout=PROCESS_S)
    kept.request("GET", "/x")
    kept.getresponse().read()
    return kept


def test_connections_are_reset_until_the_fault_ends(tmp_path: Path) -> None:
    assert reset.FAULT.front is not None
    asked = FaultSpec.complete()(kind="reset", share=1.0)
    with one_replica(tmp_path) as (one, heard):
        front = reset.FAULT.front(asked, one.target, "", 0)
        try:
            url = front.before(one.urls[0])
            with closing(open_through(url)) as kept:
                strike = at_once("reset", struck_at(one, front=front, front_url=url), heard, share=1.0)
                with pytest.raises(ConnectionResetError):
                    kept.sock.recv(1)
            until(lambda: "fault" in kinds(heard), "the fault")
            with pytest.raises(ConnectionResetError):
                pid_at(url)
            strike.close()
            assert pid_at(url) == one.pids(0)[0]
        finally:
            front.close()


def test_an_address_with_a_certificate_is_refused_before_anything_starts() -> None:
    with pytest.raises(SpecError, match="http://"):
        check(reset.FAULT, FaultSpec(kind="reset"), Target(urls=("https://127.0.0.1:1",)))
