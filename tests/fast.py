"""Which tests need only this process and its processor?  `make fast` runs them: a plugin that skips a test as soon as it does more.

A test that starts a process, sleeps, or imports torch is skipped at that moment, so that no list of fast tests has to be kept. The browser
is a process too. What takes long by computing carries the marker `slow` and is deselected. `Skipped` is a `BaseException`: code under
test that handles errors does not swallow it; where it was raised in a thread, the test's failure is reported as the skip that it is.
"""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import settings

EVENTS = {
    "subprocess.Popen": "starts a process",
    "os.posix_spawn": "starts a process",
    "os.fork": "starts a process",
    "os.exec": "starts a process",
    "time.sleep": "sleeps",
}


class Blocked:
    """What the running test did that makes it slow; empty between tests."""

    running = False
    reason = ""


def _stop(event: str, arguments: tuple[Any, ...]) -> None:
    if not Blocked.running:
        return
    reason = EVENTS.get(event, "")
    if event == "import" and arguments[0] == "torch":
        reason = "imports torch"
    if reason:
        Blocked.reason = reason
        if threading.current_thread() is not threading.main_thread():  # the test's body may wait for this thread
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGUSR2)
            raise SystemExit  # ends the thread without a word
        raise _skipped()


def _skipped(*_: object) -> pytest.skip.Exception:
    return pytest.skip.Exception(f"not fast: {Blocked.reason}", _use_item_location=True)


def _skip(*_: object) -> None:
    if Blocked.running:
        raise _skipped()


def pytest_configure(config: pytest.Config) -> None:
    """An audit hook cannot be removed: it stays for the life of the process, and acts only while a test runs."""
    config.option.markexpr = "not (slow or torch or deep or core)"
    signal.signal(signal.SIGUSR2, _skip)
    sys.addaudithook(_stop)
    settings.register_profile("fast", settings.get_profile("assay"), max_examples=10)
    settings.load_profile("fast")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol() -> Iterator[Any]:
    """Block from the first fixture to the end of the last one."""
    Blocked.running, Blocked.reason = True, ""
    try:
        return (yield)
    finally:
        Blocked.running = False


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[Any]:
    """A failure that follows from being blocked is no failure."""
    report = yield
    if Blocked.reason and report.failed:
        report.outcome, report.longrepr = "skipped", (str(item.path), 0, f"Skipped: not fast: {Blocked.reason}")
    return report
