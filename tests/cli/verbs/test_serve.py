"""`assay serve` listens on this machine alone, and ends with 0."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Final

import pytest

from fireassay.cli import main
from fireassay.cli.verbs import serve
from tests.api.records.several import again
from tests.limits import PROCESS_S

ASKED: Final = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"


@pytest.mark.slow
@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM])
def test_it_serves_until_it_is_stopped_and_ends_with_0(tmp_path: Path, stop: signal.Signals) -> None:
    again("unsynced", tmp_path / "records", "aaaaaa", 1)
    command = [sys.executable, "-m", "fireassay", "serve", "--root", str(tmp_path / "records"), "--no-judge"]
    environment = os.environ | {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout
        line = process.stdout.readline()
        try:
            assert line.startswith(f"serving {tmp_path / 'records'} at http://127.0.0.1:")
            with urllib.request.urlopen(line.split()[3], timeout=PROCESS_S) as reply:
                assert b"unsynced-aaaaaa" in reply.read()
        finally:
            process.send_signal(stop)
            out, err = process.communicate(timeout=PROCESS_S)
    assert (process.returncode, out, err) == (0, "", "")


@pytest.mark.parametrize(
    ("flags", "code", "words"),
    [
        (["--host", "0.0.0.0"], 2, "Add --expose to let other machines read these records."),
        (["--port", "99999"], 2, "0 takes a free one"),
        (["--root", "/nothing/here"], 6, "is not a folder of records"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_listens(
    flags: list[str], code: int, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["serve", *flags]) == code
    assert words in capsys.readouterr().err


def test_without_its_packages_it_says_how_to_get_them(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(serve, "find_spec", lambda name: None)
    assert main(["serve"]) == 7
    assert "assay serve needs starlette and uvicorn: pip install 'fireassay[serve]'" in capsys.readouterr().err


def patiently(address: str) -> bytes:
    """The page, asked for again while the server has no place."""
    deadline = time.monotonic() + PROCESS_S
    while True:
        try:
            with urllib.request.urlopen(address, timeout=PROCESS_S) as reply:
                return bytes(reply.read())
        except urllib.error.HTTPError as error:
            error.close()
            if error.code != 503 or time.monotonic() > deadline:
                raise
        time.sleep(0.2)


@pytest.mark.deep
@pytest.mark.slow
@pytest.mark.parametrize("head", [b"", ASKED[:-2], ASKED, 500 * ASKED], ids=["nothing", "half a request", "a request", "many requests"])
def test_connections_that_do_not_end_do_not_lock_it(head: bytes, tmp_path: Path) -> None:
    """Two hundred connections that send no whole request, or read no answer: the next reader has its page all the same."""
    again("unsynced", tmp_path / "records", "aaaaaa", 1)
    command = [sys.executable, "-m", "fireassay", "serve", "--root", str(tmp_path / "records"), "--no-judge"]
    environment = os.environ | {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    with ExitStack() as stack, subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout
        address = process.stdout.readline().split()[3]
        try:
            port = int(address.rstrip("/").rpartition(":")[2])
            for _ in range(200):
                one = stack.enter_context(socket.socket())
                one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)  # before it connects: the system takes no answer in its stead
                with suppress(ConnectionError):  # it may have had enough already
                    one.connect(("127.0.0.1", port))
                    one.sendall(head)
            assert b"unsynced-aaaaaa" in patiently(address)
        finally:
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=PROCESS_S)


@pytest.mark.deep
@pytest.mark.slow
def test_a_connection_that_asks_nothing_is_closed(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "fireassay", "serve", "--root", str(tmp_path), "--no-judge"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        port = int(process.stdout.readline().split()[3].rstrip("/").rpartition(":")[2])
        try:
            for asked in (b"", b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\nGET /half"):
                with socket.create_connection(("127.0.0.1", port), timeout=PROCESS_S) as one:
                    one.sendall(asked)
                    received = 0
                    try:
                        while piece := one.recv(65536):  # until the server has had enough
                            received += len(piece)
                    except ConnectionResetError:
                        pass
                    assert bool(received) is bool(asked)
        finally:
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=PROCESS_S)
