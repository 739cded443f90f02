"""A push gateway gets the whole file in the group of the experiment; what does not answer is said without the password."""

from __future__ import annotations

import base64
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from fireassay.api.senders.prometheus import send
from fireassay.errors import EnvironmentLacks, SpecError
from fireassay.reports.exports.export import Subject
from fireassay.reports.exports.prometheus import text
from tests.exporting import subject
from tests.statuses import RECORDS

pytestmark = pytest.mark.slow
Heard = list[tuple[str, str, str, bytes]]


@pytest.fixture(scope="module")
def network() -> Subject:
    return subject(RECORDS["network", "MEASURED"](Path()))


@pytest.fixture
def gateway() -> Iterator[tuple[str, Heard]]:
    """What it heard: method, path, authorization, body. It refuses who calls himself `bad`."""
    heard: Heard = []

    class Handler(BaseHTTPRequestHandler):
        def do_PUT(self) -> None:
            who = self.headers.get("Authorization", "")
            heard.append((self.command, self.path, who, self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(400 if who == f"Basic {base64.b64encode(b'bad:p@ss').decode()}" else 200)
            self.end_headers()
            self.wfile.write(b"no \x1b[31m")

        def log_message(self, *_: object) -> None: ...

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield f"127.0.0.1:{server.server_port}", heard
    server.shutdown()
    thread.join()
    server.server_close()


def test_the_file_is_put_into_the_group_of_the_experiment(network: Subject, gateway: tuple[str, Heard]) -> None:
    host, heard = gateway
    sent = send(network, Path(), f"http://me:p%40ss@{host}/prefix/")
    ((method, path, who, body),) = heard
    assert (method, path) == ("PUT", "/prefix/metrics/job/fireassay/experiment@base64/bmV0d29yaw==")  # base64 of "network"
    assert body.decode() == text(network)
    assert base64.b64decode(who.removeprefix("Basic ")) == b"me:p@ss"
    assert sent.where == f"http://{host}{path}"


def test_a_refusal_and_a_silence_are_said_without_the_password(network: Subject, gateway: tuple[str, Heard]) -> None:
    host, _ = gateway
    with pytest.raises(EnvironmentLacks, match="answered 400 Bad Request: no") as refused:
        send(network, Path(), f"http://bad:p%40ss@{host}")
    assert "ss@" not in str(refused.value)
    assert "\x1b" not in str(refused.value)
    with pytest.raises(EnvironmentLacks, match="http://127.0.0.1:1/metrics.* cannot be reached") as silent:
        send(network, Path(), "http://bad:p%40ss@127.0.0.1:1")
    assert "ss@" not in str(silent.value)


@pytest.mark.parametrize("address", ["ftp://host/", "http://"])
def test_what_is_no_address_of_a_gateway_is_refused(address: str, network: Subject) -> None:
    with pytest.raises(SpecError, match="http://HOST:PORT"):
        send(network, Path(), address)
