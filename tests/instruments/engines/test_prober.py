"""Is an outage timed within 0.25 s of what was done to the server, however it fails, and is a single lost probe none?"""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fireassay.instruments.engines.prober import Fold, Probe, Prober
from fireassay.launchers.support.ports import Ports
from fireassay.spec.sections.serving import Target
from tests.launchers.helpers import until

pytestmark = pytest.mark.slow


SERVER = Path(__file__).parents[2] / "launchers" / "tiny_server.py"
WITHIN_NS = 250_000_000
MS = 1_000_000


@dataclass
class Heard:
    rows: list[tuple[str, int, int | None, dict[str, Any]]] = field(default_factory=list)

    def __call__(self, kind: str, ns: int, replica: int | None, detail: dict[str, Any]) -> None:
        self.rows.append((kind, ns, replica, detail))

    def kinds(self) -> list[str]:
        return [row[0] for row in list(self.rows)]

    def ns(self, kind: str) -> int:
        return next(row[1] for row in self.rows if row[0] == kind)


@contextmanager
def held_port() -> Iterator[int]:
    """A port for a server that asks for it by its number. Whoever connects there before could else be given it, and meet himself."""
    ports = Ports()
    try:
        yield ports.take()
    finally:
        ports.close()


@contextmanager
def serving(port: int) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen([sys.executable, "-S", str(SERVER), str(port)], stdout=subprocess.DEVNULL)
    try:
        until(lambda: listens(port), "the server")
        yield process
    finally:
        process.kill()
        process.wait()


def listens(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
    except OSError:
        return False
    return True


@contextmanager
def noise() -> Iterator[None]:
    """Two processes that take all of two processors."""
    burners = [subprocess.Popen([sys.executable, "-S", "-c", "while True: pass"]) for _ in range(2)]
    try:
        yield
    finally:
        for burner in burners:
            burner.kill()
            burner.wait()


def first_good(heard: Heard, prober: Prober) -> None:
    until(lambda: prober._replicas and all(one.fold.good_ns for one in prober._replicas), "the first answers")


def test_a_killed_server_is_down_and_its_successor_up_within_a_quarter_of_a_second() -> None:
    """In the median of four times and of three, as below."""
    heard = Heard()
    downs: list[int] = []
    ups: list[int] = []
    with held_port() as port, noise(), Prober((f"http://127.0.0.1:{port}",), Target(), heard) as prober:
        for _ in range(4):
            heard.rows.clear()  # the server is not there
            with serving(port) as process:
                back_ns = time.monotonic_ns()  # `serving` has seen it listen just before
                until(lambda: prober._replicas and prober._replicas[0].fold.good_ns, "an answer")
                if downs:
                    until(lambda: "replica_up" in heard.kinds(), "the recovery")
                    ups.append(abs(heard.ns("replica_up") - back_ns))
                heard.rows.clear()
                killed_ns = time.monotonic_ns()
                process.kill()
                until(lambda: "replica_down" in heard.kinds(), "the outage")
            downs.append(abs(heard.ns("replica_down") - killed_ns))
            down = next(row[3] for row in heard.rows if row[0] == "replica_down")
            assert down["why"] in ("ECONNREFUSED", "ECONNRESET", "closed without an answer")
            assert down["last_good_ns"] <= heard.ns("replica_down") <= down["known_ns"]
    assert median(downs) < WITHIN_NS
    assert median(ups) < WITHIN_NS


@pytest.mark.deep
def test_a_server_that_hangs_is_down_from_the_moment_it_hung() -> None:
    """In the median of three times: a busy machine may leave the prober, or the server, without a processor once."""
    heard = Heard()
    downs: list[int] = []
    ups: list[int] = []
    with held_port() as port, serving(port) as process, Prober((f"http://127.0.0.1:{port}",), Target(), heard, timeout_s=0.5) as prober:
        first_good(heard, prober)
        for _ in range(3):
            heard.rows.clear()
            stopped_ns = time.monotonic_ns()
            process.send_signal(signal.SIGSTOP)
            until(lambda: "replica_down" in heard.kinds(), "the outage")
            assert "replica_up" not in heard.kinds()
            continued_ns = time.monotonic_ns()
            process.send_signal(signal.SIGCONT)
            until(lambda: "replica_up" in heard.kinds(), "the recovery")
            downs.append(abs(heard.ns("replica_down") - stopped_ns))
            ups.append(abs(heard.ns("replica_up") - continued_ns))
    assert median(downs) < WITHIN_NS
    assert median(ups) < WITHIN_NS


def test_a_healthy_server_under_noise_has_no_outage() -> None:
    heard = Heard()
    with held_port() as port, noise(), serving(port), Prober((f"http://127.0.0.1:{port}",), Target(), heard) as prober:
        until(lambda: prober.probes >= 15, "fifteen probes")
    assert heard.kinds() == ["probed"]
    (told,) = heard.rows
    assert told[3]["probes"] >= 15
    assert told[3]["cpu_s"] > 0


@contextmanager
def scripted(*answers: bytes) -> Iterator[int]:
    """A server that gives each connection the next answer (the last one for ever) and closes it."""
    listening = socket.create_server(("127.0.0.1", 0))
    left = list(answers)

    def serve() -> None:
        while True:
            try:
                one, _ = listening.accept()
            except OSError:
                return
            with one:
                try:
                    one.recv(4096)
                    one.sendall(left.pop(0) if len(left) > 1 else left[0])
                except OSError:
                    continue

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield int(listening.getsockname()[1])
    finally:
        listening.shutdown(socket.SHUT_RDWR)
        listening.close()
        thread.join()


def probed(port: int, heard: Heard, probes: int = 12, scheme: str = "http") -> None:
    """So many probes ended; a busy machine may take its time for each."""
    with Prober((f"{scheme}://127.0.0.1:{port}",), Target(), heard, every_s=0.01, timeout_s=60.0) as prober:
        until(lambda: prober.probes - len(prober._open) >= probes, "the probes")


def status(code: int) -> bytes:
    return b"HTTP/1.1 %d x\r\nconnection: close\r\n\r\n" % code


def test_a_server_that_never_had_the_ready_path_is_held_to_what_it_answered_first() -> None:
    heard = Heard()
    with scripted(status(404)) as port:
        probed(port, heard)
    assert heard.kinds() == ["probed"]


def test_a_server_that_says_that_it_is_overloaded_is_down() -> None:
    heard = Heard()
    with scripted(status(200), status(200), status(503)) as port:
        probed(port, heard)
    assert heard.kinds()[0] == "replica_down"
    assert heard.rows[0][3]["why"] == "status 503"


@pytest.mark.parametrize("answer", [b"\xff\xfe\x00garbage\r\n", b"HTTP/1.1 2000 x\r\n", b"no line end", b"", b"HTTP/1.1\r\n"])
def test_what_is_no_http_is_down(answer: bytes) -> None:
    heard = Heard()
    with scripted(status(200), answer) as port:
        probed(port, heard)
    assert heard.kinds()[0] == "replica_down"


def test_an_answer_without_end_is_not_read_for_ever() -> None:
    heard = Heard()
    with scripted(status(200) + b"x" * 3_000_000) as port:
        probed(port, heard)
    assert heard.kinds() == ["probed"]


def test_behind_https_only_the_connection_is_probed() -> None:
    heard = Heard()
    with scripted(b"") as port:
        probed(port, heard, scheme="https")
    assert heard.kinds() == ["probed"]


def test_a_host_that_is_not_known_is_told_and_nothing_is_raised() -> None:
    heard = Heard()
    with Prober(("http://no-such-host.invalid:1",), Target(), heard) as prober:
        until(lambda: prober.trouble, "the trouble")
    assert "gaierror" in heard.rows[-1][3]["trouble"]


def test_the_key_goes_to_the_server_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROBED_KEY", "correct-horse")
    assert "correct-horse" in Prober((), Target(api_key_env="PROBED_KEY"), Heard())._headers()
    monkeypatch.setenv("PROBED_KEY", "two\r\nlines: x")
    assert Prober((), Target(api_key_env="PROBED_KEY"), Heard())._headers() == ""


# ---- the fold


def test_one_failed_probe_between_good_ones_is_no_outage() -> None:
    fold = Fold()
    probes = [Probe(0, 1), Probe(50, 52, "ECONNRESET"), Probe(100, 101), Probe(150, 151, "ECONNRESET"), Probe(200, 201)]
    assert [fold.feed(probe) for probe in probes] == [None] * 5


def test_a_lost_probe_whose_time_limit_ends_after_later_answers_is_no_outage() -> None:
    fold = Fold()
    probes = [Probe(0, 1), Probe(100, 101), Probe(20, 2020, "late"), Probe(40, 2040, "late"), Probe(150, 2041)]
    assert [fold.feed(probe) for probe in probes] == [None] * 5


def test_begin_and_end_of_an_outage_by_hand() -> None:
    fold = Fold()
    events = [
        fold.feed(probe)
        for probe in (
            Probe(0, 3),
            Probe(50, 53),
            Probe(100, 101, "refused"),
            Probe(150, 151, "refused"),
            Probe(200, 201, "refused"),
            Probe(250, 254),
        )
    ]
    assert events == [
        None,
        None,
        None,
        ("replica_down", 100, {"last_good_ns": 53, "first_bad_ns": 100, "known_ns": 151, "why": "refused"}),
        None,
        ("replica_up", 254, {"last_bad_ns": 200, "first_good_ns": 254}),
    ]


def test_a_slow_server_was_alive_at_its_last_answer() -> None:
    """Answers take 400: the probes of the last 400 before it hangs are not answered, though it was alive."""
    fold = Fold()
    probes = [Probe(0, 400), Probe(50, 450), Probe(100, 2100, "late"), Probe(150, 2150, "late")]
    down = [fold.feed(probe) for probe in probes][-1]
    assert down is not None
    assert down[1] == 450


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 80)), min_size=1, max_size=200))
def test_downs_and_ups_take_turns_and_enclose_failed_probes_alone(script: list[tuple[bool, int]]) -> None:
    """Probes every 50, known after at most 80: so the order of becoming known may differ from that of sending."""
    probes = sorted(
        (Probe(number * 50, number * 50 + after, "" if good else "x") for number, (good, after) in enumerate(script)),
        key=lambda probe: probe.known_ns,
    )
    fold = Fold()
    events = [event for probe in probes if (event := fold.feed(probe)) is not None]
    assert [event[0] for event in events] == ["replica_down", "replica_up"] * (len(events) // 2) + ["replica_down"] * (len(events) % 2)
    times = [event[1] for event in events]
    assert times == sorted(times)
    goods = sum(good for good, _ in script)
    if goods == len(script):
        assert events == []
