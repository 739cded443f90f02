"""A collector gets what the files hold, and what it does not take is an error."""

from __future__ import annotations

import base64
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from fireassay.api.senders import otlp as sender
from fireassay.errors import EnvironmentLacks, SpecError
from fireassay.record.files import pieces
from fireassay.reports.exports import otlp
from fireassay.reports.exports.export import Subject
from tests.exporting import opentelemetry

KEY = "hunter2-canary-of-a-collector"


class Collector:
    """Reads what it is sent with protobuf's own classes, as an OTLP/HTTP receiver does."""

    def __init__(self, status: int = 200, answer: bytes = b"\x0a\x00", headers: tuple[tuple[str, str], ...] = ()) -> None:
        self.status, self.answer, self.headers = status, answer, headers
        self.heard: list[tuple[str, bytes, dict[str, str]]] = []
        self.url = ""


@contextmanager
def listening(collector: Collector) -> Iterator[Collector]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            collector.heard.append((self.path, body, {name.lower(): value for name, value in self.headers.items()}))
            self.send_response(collector.status)
            for name, value in collector.headers:
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(collector.answer)))
            self.end_headers()
            self.wfile.write(collector.answer)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        collector.url = f"http://127.0.0.1:{server.server_port}"
        try:
            yield collector
        finally:
            server.shutdown()
            thread.join()


def test_a_collector_reads_every_span_and_metric(late: Subject, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(otlp, "BATCH", 5)
    monkeypatch.setenv(sender.HEADERS, f"x-key={KEY},x-tenant=a%20b")
    with listening(Collector()) as collector:
        sent = sender.send(late, Path(), f"{collector.url.replace('//', '//me:pass%20word@')}/")
    assert (sent.where, sent.new) == (f"{collector.url}/", True)
    files = otlp.files(late).files
    trace, metric = opentelemetry("collector.trace"), opentelemetry("collector.metrics")
    bodies = {path: [body for one, body, _ in collector.heard if one == path] for path, *_ in collector.heard}
    assert bodies.keys() == {"/v1/metrics", "/v1/traces"}
    assert bodies["/v1/metrics"] == list(pieces(files["metrics.pb"]))
    assert metric.ExportMetricsServiceRequest.FromString(bodies["/v1/metrics"][0]).resource_metrics
    assert len(bodies["/v1/traces"]) > 1  # some spans at a time
    whole = trace.ExportTraceServiceRequest.FromString(b"".join(pieces(files["traces.pb"])))
    parts = [one for body in bodies["/v1/traces"] for one in trace.ExportTraceServiceRequest.FromString(body).resource_spans]
    assert parts == list(whole.resource_spans)
    for _, _, headers in collector.heard:
        assert base64.b64decode(headers["authorization"].removeprefix("Basic ")) == b"me:pass word"
        assert (headers["x-key"], headers["x-tenant"], headers["content-type"]) == (KEY, "a b", "application/x-protobuf")


def test_a_partial_success_is_a_failure(late: Subject, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(sender.HEADERS, f"authorization=Bearer%20{KEY}")
    module = opentelemetry("collector.metrics")
    rejected = module.ExportMetricsPartialSuccess(rejected_data_points=3, error_message=f"too old\x1b[31m {KEY}")
    answer = module.ExportMetricsServiceResponse(partial_success=rejected).SerializeToString()
    with (
        listening(Collector(answer=answer)) as collector,
        pytest.raises(EnvironmentLacks, match="rejected 3 of what it was sent: too old") as no,
    ):
        sender.send(late, Path(), collector.url)
    assert "\x1b" not in str(no.value)
    assert KEY not in str(no.value)


@pytest.mark.parametrize(
    ("collector", "message"),
    [
        (Collector(503, b"busy"), "answered 503 Service Unavailable: busy"),
        (Collector(401, b"bad key " + KEY.encode()), "answered 401"),
        (Collector(307, b"", (("Location", "http://192.0.2.1/"),)), "answered 307"),
        (Collector(200, b"<html>a page</html>"), r"in no protobuf. Is it an OTLP/HTTP receiver \(port 4318, not 4317\)\?"),
    ],
    ids=["busy", "key", "elsewhere", "a page"],
)
def test_what_is_not_taken_is_an_error(collector: Collector, message: str, late: Subject, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(sender.HEADERS, f"api-key={KEY}")
    with listening(collector), pytest.raises(EnvironmentLacks, match=message) as no:
        sender.send(late, Path(), collector.url)
    assert KEY not in str(no.value)
    assert len(collector.heard) == 1  # nothing is sent elsewhere, or again


@pytest.mark.parametrize(
    "address", ["ftp://127.0.0.1/", "file:///etc/passwd", "http://", "http://[::1", f"http://me:{KEY}@h:port", f"http:/me:{KEY}@h"]
)
def test_an_address_of_something_else_is_refused(address: str, late: Subject) -> None:
    with pytest.raises(SpecError, match="http://HOST:PORT or https://HOST") as no:
        sender.send(late, Path(), address)
    assert KEY not in str(no.value)


@pytest.mark.parametrize("address", ["http://127.0.0.1:1", f"http://user:{KEY}@127.0.0.1:1"])
def test_an_address_where_nothing_listens_is_an_error(address: str, late: Subject) -> None:
    with pytest.raises(EnvironmentLacks, match="cannot be reached") as no:
        sender.send(late, Path(), address)
    assert KEY not in str(no.value)


def test_headers_that_are_none_are_refused_without_showing_them(late: Subject, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(sender.HEADERS, KEY)
    with pytest.raises(SpecError, match="a part without NAME=") as no:
        sender.send(late, Path(), "http://127.0.0.1:1")
    assert KEY not in str(no.value)


def test_a_header_that_http_does_not_allow_is_an_error_that_does_not_show_it(late: Subject, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(sender.HEADERS, f"api-key={KEY}%0d%0ax")
    with pytest.raises(EnvironmentLacks, match="cannot be reached: Invalid header value") as no:
        sender.send(late, Path(), "http://127.0.0.1:1")
    assert KEY not in str(no.value)


@pytest.mark.parametrize(
    ("url", "headers", "answer"),
    [
        ("//me:pa%40s@", "", "user me, password pa@s or pa%40s"),  # what basic authentication says, decoded and in the address's form
        ("//somebody:x@", "", "c29tZWJvZHk6eA== is somebody:x"),
        ("//", "x-key=k3y!", "no such key k3y!"),
        ("//", "authorization=Bearer%20t0k3n", "Bearer t0k3n"),
    ],
)
@pytest.mark.parametrize("status", [400, 200])
def test_no_answer_shows_what_we_sent_to_sign_in(
    url: str, headers: str, answer: str, status: int, late: Subject, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(sender.HEADERS, headers)
    module = opentelemetry("collector.metrics")
    rejected = module.ExportMetricsPartialSuccess(rejected_data_points=1, error_message=answer)
    body = module.ExportMetricsServiceResponse(partial_success=rejected).SerializeToString() if status == 200 else answer.encode()
    with listening(Collector(status, body)) as collector, pytest.raises(EnvironmentLacks) as no:
        sender.send(late, Path(), collector.url.replace("//", url))
    said = str(no.value)
    assert "[redacted]" in said
    assert [part for part in ("pa@s", "pa%40s", "somebody", "c29tZWJvZHk6eA", "k3y!", "t0k3n") if part in said] == []
