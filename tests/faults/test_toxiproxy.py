"""The fault `toxiproxy` creates a proxy on a Toxiproxy server, adds a toxic and removes both. Against a local fake of its API."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from fireassay.errors import EnvironmentLacks, SpecError
from fireassay.faults import toxiproxy
from fireassay.faults.support.base import Struck
from fireassay.faults.support.under_load import check
from fireassay.spec.sections.serving import Target
from tests.faults.loaded import at_once, kinds
from tests.launchers.helpers import until
from tests.launchers.support.test_servers import Heard


class Fake(ThreadingHTTPServer):
    """The part of Toxiproxy's API that is used (its README, "HTTP API"): /version, /proxies, /proxies/NAME/toxics."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Answers)
        self.proxies: dict[str, dict[str, Any]] = {}
        self.asked: list[str] = []


class _Answers(BaseHTTPRequestHandler):
    server: Fake

    def _handle(self) -> None:
        length = int(self.headers.get("content-length") or 0)
        body = json.loads(self.rfile.read(length)) if length else {}
        self.server.asked.append(f"{self.command} {self.path}")
        status, said = self._answered(self.path.strip("/").split("/"), body)
        text = json.dumps(said).encode() if said is not None else b""
        self.send_response(status)
        self.send_header("content-length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    do_GET = do_POST = do_DELETE = _handle

    def _answered(self, words: list[str], body: dict[str, Any]) -> tuple[int, Any]:
        proxies = self.server.proxies
        match (self.command, *words):
            case ("GET", "version"):
                return 200, {"version": "2.9.0"}
            case ("GET", "proxies"):
                return 200, proxies
            case ("POST", "proxies"):
                if body["name"] in proxies:
                    return 409, {"error": "proxy already exists", "status": 409}
                proxies[body["name"]] = {**body, "listen": body["listen"].replace(":0", ":20001"), "toxics": []}
                return 201, proxies[body["name"]]
            case ("POST", "proxies", name, "toxics"):
                proxies[name]["toxics"].append(body)
                return 200, body
            case ("DELETE", "proxies", name, "toxics", toxic):
                proxies[name]["toxics"] = [one for one in proxies[name]["toxics"] if one["name"] != toxic]
                return 204, None
            case ("DELETE", "proxies", name):
                del proxies[name]
                return 204, None
        return 404, {"error": "not found", "status": 404}

    def log_message(self, *words: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[Fake]:
    with Fake() as fake:
        thread = threading.Thread(target=fake.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield fake
        fake.shutdown()
        thread.join()


def target_of(server: Fake) -> Target:
    api = f"http://127.0.0.1:{server.server_port}"
    return Target(urls=("http://127.0.0.1:8000/v1",), options={"toxiproxy.api": api})


def test_proxy_and_toxic_come_and_go(server: Fake) -> None:
    target, heard = target_of(server), Heard()
    asked = toxiproxy.Keys(kind="toxiproxy", delay_s=0.25, share=0.5)
    front = toxiproxy.front(asked, target, "", 0)
    url = front.before(target.urls[0])
    assert url == "http://127.0.0.1:20001/v1"
    (proxy,) = server.proxies.values()
    assert (proxy["upstream"], proxy["listen"]) == ("127.0.0.1:8000", "127.0.0.1:20001")

    struck = Struck(replica=0, url=target.urls[0], target=target, front=front, front_url=url)
    strike = at_once("toxiproxy", struck, heard, delay_s=0.25, share=0.5)
    until(lambda: proxy["toxics"], "the toxic")
    assert proxy["toxics"] == [
        {"name": "assay", "type": "latency", "stream": "downstream", "toxicity": 0.5, "attributes": {"latency": 250, "jitter": 0}}
    ]
    strike.close()
    assert proxy["toxics"] == []
    front.close()
    assert server.proxies == {}
    assert kinds(heard) == ["fault", "fault_end"]


def test_a_proxy_of_a_run_that_was_killed_is_replaced(server: Fake) -> None:
    for _ in range(2):
        toxiproxy.front(toxiproxy.Keys(kind="toxiproxy"), target_of(server), "", 0).before("http://127.0.0.1:8000")
    assert len(server.proxies) == 1


def test_any_toxic_may_be_asked_for() -> None:
    assert toxiproxy.toxic(toxiproxy.Keys(command='reset_peer {"timeout": 0}')) == ("reset_peer", {"timeout": 0})
    assert toxiproxy.toxic(toxiproxy.Keys(command="timeout")) == ("timeout", {})


@pytest.mark.parametrize("line", ["reset_peer {", "rm -rf {}", "bandwidth [1]", "../x {}"])
def test_a_toxic_that_makes_no_sense_is_refused(line: str) -> None:
    with pytest.raises(SpecError, match="reset_peer"):
        toxiproxy.toxic(toxiproxy.Keys(kind="toxiproxy", command=line))


def test_a_server_that_refuses_is_a_fault_that_was_missed(server: Fake) -> None:
    target, heard = target_of(server), Heard()
    front = toxiproxy.front(toxiproxy.Keys(kind="toxiproxy"), target, "", 0)
    url = front.before("http://127.0.0.1:8000")
    server.proxies.clear()
    server.RequestHandlerClass._answered = lambda *_: (500, {"error": "broken"})  # type: ignore[attr-defined]
    try:
        struck = Struck(replica=0, url=url, target=target, front=front, front_url=url)
        with at_once("toxiproxy", struck, heard) as strike:
            until(strike.done.is_set, "the end")
        front.close()  # does not raise either
    finally:
        server.RequestHandlerClass._answered = ANSWERED  # type: ignore[attr-defined]
    assert "answered 500" in strike.missed


ANSWERED = _Answers._answered


def test_without_a_server_it_is_told_before_anything_starts() -> None:
    with socket.create_server(("127.0.0.1", 0)) as gone:
        api = f"http://127.0.0.1:{gone.getsockname()[1]}"
    begin = time.monotonic()
    with pytest.raises(EnvironmentLacks, match="Start toxiproxy-server"):
        check(toxiproxy.FAULT, toxiproxy.Keys(kind="toxiproxy"), Target(urls=("http://x:1",), options={"toxiproxy.api": api}))
    assert time.monotonic() - begin < 60
