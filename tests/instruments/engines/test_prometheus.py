"""Are endpoints read on the load's clock, energy counted once, and does no endpoint do harm?"""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest

from fireassay.frames.costs import launch_joules
from fireassay.instruments.engines import prometheus
from fireassay.instruments.engines.prometheus import Row, Scraper, addresses, fetch
from fireassay.record.declared import EVENTS, TELEMETRY
from fireassay.spec.sections.energy import Energy
from tests.launchers.helpers import until

EVERY_S = 0.02
HOST = socket.gethostname()


class Pages(ThreadingHTTPServer):
    """Gives one page after the other (the last one for ever), and notes what it was asked."""

    daemon_threads = False

    def __init__(self, *pages: bytes | Callable[[Any], None]) -> None:
        super().__init__(("127.0.0.1", 0), _Answers)
        self.left = list(pages)
        self.headers: list[dict[str, str]] = []
        self.ended = threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/metrics"


class _Answers(BaseHTTPRequestHandler):
    server: Pages

    def do_GET(self) -> None:
        self.server.headers.append({name.lower(): value for name, value in self.headers.items()})
        page = self.server.left.pop(0) if len(self.server.left) > 1 else self.server.left[0]
        try:
            if callable(page):
                page(self)
                return
            self.send_response(200)
            self.end_headers()
            self.wfile.write(page)
        except OSError:
            return

    def log_message(self, *words: object) -> None:
        pass


@contextmanager
def pages(*given: bytes | Callable[[Any], None]) -> Iterator[Pages]:
    with Pages(*given) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server
        finally:
            server.ended.set()
            server.shutdown()
            thread.join()


def scraped(server: Pages, looks: int, **changes: Any) -> list[Row]:
    rows: list[Row] = []
    with Scraper((server.url,), 7, rows.append, every_s=EVERY_S, **changes):
        until(lambda: len(server.headers) >= looks, "the readings")
    return rows


def values(rows: list[Row], counter: str) -> list[float]:
    return [row[5] for row in rows if row[4] == counter]


def test_rows_are_telemetry_of_the_replica_on_the_monotonic_clock() -> None:
    begin = time.monotonic_ns()
    with pages(b"vllm:num_requests_running 3\n") as server:
        rows = scraped(server, 2)
    assert len(rows) >= 2
    for row in rows:
        assert (row[0], row[2], row[3], row[4], row[5], row[6], row[7]) == (
            7,
            HOST,
            "replica-0",
            "requests_running",
            3.0,
            "count",
            "scraped",
        )
    times = [row[1] for row in rows]
    assert begin < times[0]
    assert times == sorted(times)
    assert times[-1] < time.monotonic_ns()


def test_series_of_engines_are_added_and_an_old_name_is_not_counted_twice() -> None:
    page = b"""vllm:generation_tokens_total{engine="0"} 10
vllm:generation_tokens_total{engine="1"} 20
vllm:prefix_cache_hits_total 5
vllm:gpu_prefix_cache_hits_total 5
vllm:kv_cache_usage_perc{engine="0"} 0.5
vllm:kv_cache_usage_perc{engine="1"} 0.25
"""
    with pages(page) as server:
        rows = scraped(server, 1)
    assert values(rows, "tokens_generated")[0] == 30
    assert values(rows, "kv_cache_used")[0] == 0.5
    assert len(values(rows, "prefix_cache_hits")) == len(values(rows, "tokens_generated"))


def test_a_name_that_is_asked_for_is_kept_under_its_own_name() -> None:
    with pages(b'my_queue_bytes{q="a"} 4\nmy_queue_bytes{q="b"} 5\nother 1\n') as server:
        rows = scraped(server, 1, options={"metrics.my_queue_bytes": "B"})
    assert [row[4:7] for row in rows[:1]] == [("my_queue_bytes", 9.0, "B")]
    assert values(rows, "other") == []


# ---- energy

GPU = 'DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION{gpu="%d",UUID="GPU-%s",Hostname="box"} %d\n'


def gpu(first: int, second: int) -> bytes:
    return (GPU % (0, "aaaa-1", first) + GPU % (1, "bbbb-2", second)).encode()


def test_energy_is_joules_since_the_first_reading_by_gpu() -> None:
    # The exporter shows millijoules since long before; it is updated now and then. 5 J and 0.25 J are used.
    with pages(gpu(10**9, 500), gpu(10**9, 500), gpu(10**9 + 2000, 500), gpu(10**9 + 5000, 750)) as server:
        rows = scraped(server, 5)
    energy = [row for row in rows if row[4] == "energy"]
    assert {row[7] for row in energy} == {"counter"}
    assert {row[2] for row in energy} == {HOST}
    assert [row[5] for row in energy if row[3] == "GPU-aaaa-1"][:4] == [0.0, 0.0, 2.0, 5.0]
    assert [row[5] for row in energy if row[3] == "GPU-bbbb-2"][-1] == 0.25
    assert values(rows, "energy_doubts") == []


def test_the_metrics_of_energy_take_the_rows_as_they_are() -> None:
    with pages(gpu(0, 0), gpu(5000, 250)) as server:
        rows = scraped(server, 3)
    rows.append((7, 0, HOST, "GPU-aaaa-1", "energy", 4.0, "J", "counter"))  # NVML saw the same GPU

    class RecordData:
        experiment = SimpleNamespace(energy=Energy())

        def table(self, name: str) -> pl.DataFrame:
            if name == "launches":
                return pl.DataFrame({"launch": [7], "end_ns": [2**62], "placement": ["{}"]})
            if name == "events":
                return pl.DataFrame(schema=dict.fromkeys(EVENTS.column_names, pl.String))
            return pl.DataFrame(rows, schema=list(TELEMETRY.column_names), orient="row")

        def once(self, _: object, fold: Callable[[RecordData], object]) -> object:
            return fold(self)

    assert launch_joules(RecordData()).rows() == [(7, 5.25)]  # type: ignore[arg-type]


def test_thirty_seconds_of_energy_in_one_update_are_no_jump() -> None:
    with pages(gpu(0, 0), gpu(21_000_000, 0)) as server:  # 700 W for 30 s
        rows = scraped(server, 3)
    assert max(values(rows, "energy")) == 21_000.0
    assert values(rows, "energy_doubts") == []


def test_a_counter_that_begins_again_is_a_doubt_and_never_negative() -> None:
    with pages(gpu(9_000, 0), gpu(1_000, 0)) as server:
        rows = scraped(server, 3)
    assert min(values(rows, "energy")) >= 0
    assert max(values(rows, "energy_doubts")) == 1


def test_only_the_gpus_that_are_named_are_counted() -> None:
    for chosen in ("1", "GPU-bb"):
        with pages(gpu(1, 1)) as server:
            rows = scraped(server, 1, options={"metrics.gpus": chosen})
        assert {row[3] for row in rows} == {"GPU-bbbb-2"}


# ---- harm


def test_a_bearer_token_comes_from_the_environment_and_reaches_no_row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCRAPED_KEY", "correct-horse")
    with pages(b"vllm:num_requests_running 1\n") as server:
        rows = scraped(server, 1, api_key_env="SCRAPED_KEY")
        assert server.headers[0]["authorization"] == "Bearer correct-horse"
    assert "correct-horse" not in str(rows)


def status_500(handler: Any) -> None:
    handler.send_error(500)


def endless(handler: Any) -> None:
    handler.send_response(200)
    handler.end_headers()
    while True:
        handler.wfile.write(b"vllm:num_requests_running 1\n" * 10_000)


def drip(handler: Any) -> None:
    handler.send_response(200)
    handler.end_headers()
    while not handler.server.ended.wait(0.01):
        handler.wfile.write(b"x")


@pytest.mark.parametrize("page", [status_500, lambda handler: handler.wfile.write(b"\0garbage\n")])
def test_what_fails_is_counted_and_the_next_reading_is_taken(page: Callable[[Any], None]) -> None:
    with pages(page, b"vllm:num_requests_running 2\n") as server:
        rows = scraped(server, 2)
    assert rows[0][4:8] == ("scrape_failures", 1.0, "count", "self")
    assert values(rows, "requests_running")[0] == 2


def test_a_page_without_end_is_given_up() -> None:
    with pages(endless) as server, pytest.raises(OSError, match="more than 1 MiB"):
        fetch(server.url, {}, most=1 << 20)


def test_a_page_that_drips_is_given_up() -> None:
    with pages(drip) as server, pytest.raises(TimeoutError, match="no complete page"):
        fetch(server.url, {}, timeout_s=0.1)


@pytest.mark.slow
def test_a_head_that_drips_is_given_up() -> None:
    """Every byte comes within the socket's time-out, and the head's end never."""
    gone = threading.Event()

    def head(server: socket.socket) -> None:
        connection, _ = server.accept()
        with connection, suppress(OSError):
            connection.sendall(b"HTTP/1.1 200 OK\r\nx: ")
            while not gone.wait(0.01):
                connection.sendall(b"y")

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=head, args=(server,))
        thread.start()
        try:
            with pytest.raises(TimeoutError, match="no complete page"):
                fetch(f"http://127.0.0.1:{server.getsockname()[1]}/", {}, timeout_s=0.2)
        finally:
            gone.set()
            thread.join()


def test_an_endpoint_that_is_not_there_is_told() -> None:
    with socket.create_server(("127.0.0.1", 0)) as gone:
        url = f"http://127.0.0.1:{gone.getsockname()[1]}/metrics"
    rows: list[Row] = []
    with Scraper((url,), 0, rows.append, every_s=EVERY_S) as scraper:
        until(lambda: len(rows) >= 2, "the failures")
        assert "ConnectionRefusedError" in scraper.troubles[url]


def test_without_endpoints_nothing_is_started() -> None:
    before = threading.active_count()
    with Scraper((), 0, lambda row: None):
        assert threading.active_count() == before


def test_an_endpoint_may_stand_for_every_replica() -> None:
    assert addresses(("{url}/metrics", "http://x:9400/metrics"), ("http://a:1", "http://b:2/")) == [
        "http://a:1/metrics",
        "http://b:2/metrics",
        "http://x:9400/metrics",
    ]


def test_the_reference_lists_every_name() -> None:
    assert "| `vllm:num_requests_running` | `requests_running` | count |" in prometheus.reference()
    assert "| `DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION` | `energy` | J |" in prometheus.reference()
