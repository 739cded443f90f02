"""Looks at another host's clock: an offset and a drift that were put in come out, inside of their bounds."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fireassay.instruments.recorder import clock_pings
from fireassay.instruments.recorder.clock_pings import Answering, Asking, begin, needed
from fireassay.record.streams import to_batch
from fireassay.stats.groups.clocks import Ping, linear_drift
from tests.launched import Launched, environment
from tests.limits import PROCESS_S

DRIFT = 50e-6
DEADLINE_S = PROCESS_S


def shifted(offset_ns: int, drift: float, base: int) -> Callable[[], int]:
    """A clock that is off, and drifts from the true one since `base`."""

    def now() -> int:
        true = time.monotonic_ns()
        return true + offset_ns + round((true - base) * drift)

    return now


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clock_pings, "REST_S", 0.02)
    monkeypatch.setattr(clock_pings, "FIND_EVERY_S", 0.01)


def wait_for(happened: Callable[[], bool]) -> None:
    until = time.monotonic() + DEADLINE_S
    while not happened() and time.monotonic() < until:
        time.sleep(0.01)
    assert happened()


@pytest.mark.slow
@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("offset_ms", [0.5, -3.0, 80.0, 5000.0, -5000.0])
def test_an_offset_and_a_drift_of_50_ppm_are_recovered_within_a_fifth_of_a_millisecond(tmp_path: Path, offset_ms: float) -> None:
    """The helper's clock is shifted, and everything else real. Looks go on until they bound well enough: machines are busy."""
    base = time.monotonic_ns()
    now = shifted(round(offset_ms * 1e6), DRIFT, base)
    place, looks = tmp_path / "clocks" / "here.json", list[Ping]()
    answering = Answering(place, "a")
    peers = set()

    def take(peer: str, t: tuple[int, int, int, int]) -> None:
        peers.add(peer)
        looks.append(Ping(t0=t[0], t1=t[1], t2=t[2], t3=t[3]))

    asking = Asking(place, "127.0.0.1", take, now)

    def bound() -> float:
        line = linear_drift(looks)
        return line.at((line.begin + line.end) / 2).bound

    wait_for(lambda: len(looks) >= 60 and bound() < 150_000)
    asking.close()
    answering.close()
    line = linear_drift(looks)
    for share in (0.0, 0.3, 0.5, 0.8, 1.0):
        own = line.begin + share * (line.end - line.begin)
        true = (own - round(offset_ms * 1e6) + base * DRIFT) / (1.0 + DRIFT)
        found = line.at(own)
        assert abs(found.offset - (true - own)) <= found.bound + 2.0  # nanoseconds of rounding
    middle = (line.begin + line.end) / 2
    true = (middle - round(offset_ms * 1e6) + base * DRIFT) / (1.0 + DRIFT)
    assert abs(line.at(middle).offset - (true - middle)) <= 200_000
    assert abs(line.slope + DRIFT) <= line.slope_bound + 1e-7
    assert peers == {"a"}


@pytest.mark.parametrize(
    ("environment", "several"),
    [
        ({}, False),
        ({"WORLD_SIZE": "4", "LOCAL_WORLD_SIZE": "4"}, False),
        ({"WORLD_SIZE": "4", "LOCAL_WORLD_SIZE": "2"}, True),
        ({"WORLD_SIZE": "4"}, False),  # who does not say how many are here is believed to be alone
        ({"WORLD_SIZE": "four", "LOCAL_WORLD_SIZE": "2"}, False),
        ({"WORLD_SIZE": "1", "LOCAL_WORLD_SIZE": "1", "FIREASSAY_CLOCKS": "1"}, True),
    ],
)
def test_clocks_are_looked_at_where_there_are_several_hosts(environment: dict[str, str], several: bool) -> None:
    assert needed(environment) is several


def kept() -> tuple[list[tuple[str, tuple[Any, ...]]], Callable[[str, tuple[Any, ...]], None]]:
    rows: list[tuple[str, tuple[Any, ...]]] = []
    return rows, lambda table, row: rows.append((table, row))


@pytest.mark.slow
@pytest.mark.usefixtures("quick")
def test_one_rank_of_a_host_asks_and_its_rows_fit_the_table_with_their_bounds(tmp_path: Path) -> None:
    nodes = {"WORLD_SIZE": "4", "LOCAL_WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1"}
    rows, append = kept()
    ends = [begin(tmp_path, {**nodes, "LOCAL_RANK": str(rank % 2)}, append, (7, rank, 1), "ab"[rank // 2]) for rank in range(4)]
    wait_for(lambda: len(rows) >= 40)
    for end in reversed(ends):
        end()
    assert {table for table, _ in rows} == {"clocks"}
    assert {row[:5] for _, row in rows} == {(7, 2, 1, "b", "a")}
    assert to_batch("clocks", [row for _, row in rows]) is not None
    for *_, sent, heard, answered, received, bound in (row for _, row in rows):
        assert sent <= heard <= answered <= received, "one clock"
        assert 2 * bound >= (received - sent) - (answered - heard) >= 2 * bound - 1
    assert len(rows) >= 60, "there was a last burst"


@pytest.mark.slow
@pytest.mark.usefixtures("quick")
def test_the_asking_thread_may_be_faster_than_the_one_that_started_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows, append = kept()
    nodes = {"WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "1", "MASTER_ADDR": "127.0.0.1", "LOCAL_RANK": "0"}
    end = begin(tmp_path, nodes, append, (0, 0, 0), "a")
    start = threading.Thread.start

    def slow(thread: threading.Thread) -> None:
        start(thread)
        if thread.name == "assay-clock-asks":
            wait_for(lambda: len(rows) >= 3 or not thread.is_alive())

    monkeypatch.setattr(threading.Thread, "start", slow)
    begin(tmp_path, nodes, append, (0, 1, 0), "b")()
    end()
    assert {row[4] for _, row in rows} == {"a"}


def test_a_single_host_starts_nothing(tmp_path: Path) -> None:
    rows, append = kept()
    begin(tmp_path, {"WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "2"}, append, (0, 0, 0), "a")()
    assert (rows, list(tmp_path.iterdir())) == ([], [])


def test_who_does_not_know_the_word_gets_no_answer(tmp_path: Path) -> None:
    answering = Answering(tmp_path / "here.json", "a")
    told = json.loads((tmp_path / "here.json").read_text())
    with socket.create_connection(("127.0.0.1", told["port"]), timeout=DEADLINE_S) as connection:
        connection.sendall(bytes(8))
        assert connection.recv(24) == b""
    answering.close()


@pytest.mark.usefixtures("quick")
def test_a_rank_0_that_is_gone_ends_the_asking_quietly(tmp_path: Path) -> None:
    place = tmp_path / "here.json"
    with socket.create_server(("127.0.0.1", 0)) as server:
        place.write_text(json.dumps({"port": server.getsockname()[1], "word": bytes(8).hex(), "host": "a"}))
        looks: list[object] = []
        asking = Asking(place, "127.0.0.1", lambda *look: looks.append(look))
        server.settimeout(DEADLINE_S)
        connection, _ = server.accept()
        connection.close()
    asking._thread.join(DEADLINE_S)
    assert not asking._thread.is_alive()
    assert looks == []


@pytest.mark.usefixtures("quick")
def test_who_never_hears_of_rank_0_ends_when_asked_to(tmp_path: Path) -> None:
    asking = Asking(tmp_path / "nobody.json", "127.0.0.1", lambda *_: None)
    asking.close()
    assert not asking._thread.is_alive()


def test_two_processes_of_a_launch_leave_looks_in_the_record(tmp_path: Path) -> None:
    """As a script of the user's would be, recorded by the probe; rank 0 ends when the other has."""
    launch = Launched(tmp_path / "launch=0000")
    launch.folder.mkdir()
    source = tmp_path / "script.py"
    source.write_text("import sys\nfrom fireassay import probe\np = probe.start()\nprint('begun', flush=True)\nsys.stdin.read()\n")
    processes = []
    for rank in ("0", "1"):
        own = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1"}
        own |= {
            "FIREASSAY_LAUNCH_DIR": str(launch.folder),
            "FIREASSAY_LAUNCH": "0",
            "FIREASSAY_CLOCKS": "1",
            "FIREASSAY_HOST": f"host-{rank}",
        }
        processes.append(
            subprocess.Popen(
                [sys.executable, str(source)], env=environment(**own), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
            )
        )
    try:
        for process in processes:
            assert process.stdout is not None
            assert process.stdout.readline() == "begun\n"
        wait_for(lambda: launch.table("clocks").height >= clock_pings.FIRST)
        for process in processes:  # rank 0 first: it stays for the other's last questions
            assert process.stdin is not None
            process.stdin.close()
        for process in processes:
            process.wait(DEADLINE_S)
            assert process.returncode == 0
    finally:
        for process in processes:
            process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    pipe.close()
    looks = launch.table("clocks")
    assert looks.select("host", "peer", "rank").unique().rows() == [("host-1", "host-0", 1)]
    assert looks.height >= clock_pings.FIRST + clock_pings.LAST
    starts = launch.table("events")
    kernels = {json.loads(detail)["boot_id"] for kind, detail in starts.select("kind", "detail").iter_rows() if kind == "worker_start"}
    assert kernels == {clock_pings.boot_id()}
