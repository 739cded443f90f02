"""Is an engine that never ends its answer given up?"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from fireassay.runners.evaluating import echo_probe
from fireassay.spec.sections.serving import Target
from fireassay.traffic.backends.openai import BACKEND


@contextmanager
def dripping() -> Iterator[str]:
    """A server that sends a byte now and then, for ever."""
    ended = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

        def do_POST(self) -> None:
            self.send_response(200)
            self.end_headers()
            try:
                while not ended.wait(0.02):
                    self.wfile.write(b" ")
            except OSError:
                pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        ended.set()
        server.shutdown()
        thread.join()
        server.server_close()


def test_an_answer_that_never_ends_is_given_up_at_the_time_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(echo_probe, "TIMEOUT_S", 1.0)
    with dripping() as url:
        target = Target.model_validate({"name": "a", "urls": [url]})
        said = echo_probe.echo(BACKEND, target, url, "m", ("2+2=", " 4"))
    assert isinstance(said, str)
    assert "had not ended after 1 s" in said
