"""Do two nodes, and a ring of three, measure their links?  Real processes that meet over the loopback."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from typing import Any

import pytest

from fireassay.instruments.machine import link_tests
from fireassay.instruments.machine.link_tests import Meeting, read_line, receive, results_of, send_line
from tests.limits import PROCESS_S

ADDRESS = "127.0.0.1"


def met(world: int, transport: str, *tests: str) -> dict[str, Any]:
    words = [sys.executable, "-I", link_tests.__file__]
    started = [
        subprocess.Popen(
            [*words, str(rank), str(world), ADDRESS, transport, *tests], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for rank in range(world)
    ]
    try:
        first = started[0]
        assert first.stdin is not None
        assert first.stdout is not None
        first.stdin.write(json.dumps({"token": "t"}) + "\n")
        first.stdin.flush()
        port = json.loads(first.stdout.readline())["port"]
        for other in started[1:]:
            assert other.stdin is not None
            other.stdin.write(json.dumps({"token": "t", "address": ADDRESS, "port": port}) + "\n")
            other.stdin.flush()
        found: dict[str, Any] = json.loads(first.stdout.readline())
        assert [process.wait(PROCESS_S) for process in started] == [0] * world
        return found
    finally:
        for process in started:
            process.kill()
            process.communicate()


@pytest.mark.slow
def test_two_nodes_measure_both_directions_and_the_round_trip() -> None:
    found = met(2, "tcp", "bandwidth", "latency")
    assert all(1e6 < rate < 1e12 for rate in found["bandwidth"]["value"])
    assert 1e-6 < found["latency"]["value"] < 1.0


@pytest.mark.slow
def test_a_ring_of_three_shifts_its_blocks() -> None:
    assert 1e6 < met(3, "tcp", "ring")["ring"]["value"] < 1e12


@pytest.mark.deep
def test_torch_measures_the_same_and_trains() -> None:
    pytest.importorskip("torch")
    found = met(2, "gloo", "bandwidth", "latency", "training")
    assert all(1e5 < rate < 1e12 for rate in found["bandwidth"]["value"])
    assert found["latency"]["value"] > 0.0
    assert found["training"]["value"] > 0.0
    assert met(3, "gloo", "ring")["ring"]["value"] > 1e5


@pytest.mark.deep
def test_nccl_without_a_gpu_says_so() -> None:
    torch = pytest.importorskip("torch")
    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    assert met(1, "nccl", "ring") == {"ring": {"lack": "torch finds no GPU for nccl"}}


def test_a_stranger_is_turned_away() -> None:
    meeting = Meeting(ADDRESS, "t")
    strangers = [socket.create_connection((ADDRESS, meeting.port)) for _ in range(3)]
    for stranger, line in zip(strangers, (b'{"token": "x", "rank": 1, "role": "control"}\n', b"GET / HTTP/1.1\n", b"[]\n"), strict=True):
        stranger.sendall(line)
    with socket.create_connection((ADDRESS, meeting.port)) as friend:
        send_line(friend, {"token": "t", "rank": 1, "role": "control"})
        with meeting.accept(1, "control") as accepted:
            send_line(accepted, "hello")
            assert read_line(friend) == "hello"
    meeting.listener.close()
    for stranger in strangers:
        assert stranger.recv(1) == b""
        stranger.close()


def test_a_rate_leaves_out_the_beginning() -> None:
    """Received at 0, 0.05, 0.15, 0.35 and 0.6 s: the first two are warm-up, so bytes after 0.15 s over 0.45 s."""
    times = iter([0.0, 0.05, 0.15, 0.35, 0.6])
    ours, theirs = socket.socketpair()
    sent = iter([100, 100, 100, 300, 600])

    class Connection:
        def recv_into(self, buffer: bytearray) -> int:
            return next(sent)

        def close(self) -> None:
            ours.close()
            theirs.close()

    assert receive(Connection(), lambda: next(times)) == pytest.approx(900 / 0.45)  # type: ignore[arg-type]


def test_after_a_failed_test_no_other_follows() -> None:
    def run(test: str) -> float:
        if test == "latency":
            raise OSError(110, "Connection timed out")
        return 5.0

    assert results_of(["bandwidth", "latency", "training"], run) == {
        "bandwidth": {"value": 5.0},
        "latency": {"lack": "Connection timed out"},
        "training": {"lack": "Connection timed out"},
    }
