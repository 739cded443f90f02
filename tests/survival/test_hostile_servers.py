"""Does `assay load` end by itself, and at Ctrl-C, on servers that hang or lie, with each request in its right class?"""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

from fireassay.errors import WorkloadError
from fireassay.launchers.support import supervisor
from fireassay.record.reader import Record, open_record
from tests.survival.harness import DEADLINE_S, wait_for
from tests.traffic.engine import Behave, Heard, engine


async def hang(_: Heard, writer: asyncio.StreamWriter) -> None:
    """Take the request and never answer."""
    await asyncio.sleep(3600)


async def hang_after_the_head(_: Heard, writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
    await asyncio.sleep(3600)


async def page(_: Heard, writer: asyncio.StreamWriter) -> bool:
    """A proxy's page under a 200."""
    text = b"<html><script>alert(1)</script>welcome</html>"
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n%b" % (len(text), text))
    return True


async def nonsense(_: Heard, writer: asyncio.StreamWriter) -> None:
    """A mail server: a line, and no head of an answer."""
    writer.write(b"220 mail.example.org ESMTP\r\n")
    await writer.drain()


async def promise_more(_: Heard, writer: asyncio.StreamWriter) -> None:
    """A length that is never reached."""
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n\r\n{")
    await writer.drain()


def load(folder: Path, url: str, *more: str) -> list[str]:
    return [
        sys.executable,
        "-m",
        "fireassay",
        "load",
        url,
        "--model",
        "m",
        "--scenario",
        "D(8,4)",
        "--concurrency",
        "2",
        "--warm-up",
        "0s",
        "--duration",
        "1s",
        "--launches",
        "1",
        "--cold",
        "1",
        "--quiet",
        "--root",
        str(folder / "records"),
        *more,
    ]


def record_of(folder: Path) -> Record:
    [path] = (folder / "records").iterdir()
    assert supervisor.marked(f"{path.name}.") == []
    return open_record(path)


def classes(record: Record) -> Counter[str]:
    rows = record.table("requests")
    assert rows["request"].n_unique() == rows.height
    return Counter(rows["status"].to_list())


@pytest.mark.survival
@pytest.mark.slow
@pytest.mark.parametrize(
    ("behave", "limit", "expected"),
    [
        (hang, "400ms", {"timeout"}),
        (hang_after_the_head, "400ms", {"timeout"}),
        (page, "60s", {"malformed"}),  # who answers may be late on a busy machine
        (nonsense, "60s", {"reset"}),
        (promise_more, "60s", {"closed", "truncated"}),
    ],
)
def test_a_load_on_a_hostile_server_ends_and_says_why(tmp_path: Path, behave: Behave, limit: str, expected: Sequence[str]) -> None:
    """With --keep-going: without it, a silent server has no record, and ten equal errors end the load (tests/traffic/client)."""
    with engine(behave) as server:
        words = load(tmp_path, server.url, "--request-timeout", limit, "--keep-going")
        done = subprocess.run(words, capture_output=True, text=True, timeout=DEADLINE_S, check=False)
    record = record_of(tmp_path)
    found = classes(record)
    assert set(found) <= set(expected), done.stderr
    assert sum(found.values()) >= 2
    assert done.returncode == WorkloadError.exit_code
    assert "no request succeeded: " in done.stderr
    assert next(iter(found)) in done.stderr
    assert record.table("launches")["status"].to_list() == ["failed"]


@pytest.mark.survival
@pytest.mark.slow
def test_ctrl_c_before_the_load_says_that_nothing_is_kept(tmp_path: Path) -> None:
    with engine(hang) as server:
        process = subprocess.Popen(load(tmp_path, server.url), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        wait_for(lambda: bool(server.heard), "a request")
        process.send_signal(signal.SIGINT)
        _, told = process.communicate(timeout=DEADLINE_S)
    assert process.returncode == 130
    assert "nothing is kept" in told


@pytest.mark.survival
@pytest.mark.slow
@pytest.mark.parametrize("begun", [False, True])
def test_ctrl_c_ends_a_load_that_a_server_keeps_waiting(tmp_path: Path, begun: bool) -> None:
    """While a launch's first, cold request waits for its answer, and under load; nobody waits for the 600 s of a request.

    From a file, since `load` itself sends one request before it makes a record.
    """
    with engine(hang) as server:
        asked = load(tmp_path, server.url, *(("--cold", "0") if begun else ()), "--duration", "60s", "--toml")
        (tmp_path / "load.toml").write_bytes(subprocess.check_output(asked, timeout=DEADLINE_S))
        words = [*asked[:3], "run", str(tmp_path / "load.toml"), "--quiet", "--root", str(tmp_path / "records")]
        process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        wait_for(lambda: len(server.heard) >= (2 if begun else 1), "a request")
        process.send_signal(signal.SIGINT)
        _, told = process.communicate(timeout=DEADLINE_S)
    assert process.returncode == 130
    assert "assay resume" in told
    assert not any("/version" in heard.head for heard in server.heard)  # it is not asked what it is: it would not answer
    record = record_of(tmp_path)
    assert record.state == "interrupted"
    assert classes(record) == {"cancelled": 2 if begun else 1}
    assert record.table("launches")["reason"].to_list() == ["stopped by Ctrl-C"]
