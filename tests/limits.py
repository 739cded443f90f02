"""How long may something take before a test calls it hung?  No limit measures the machine: a busy one is many times slower.

a test's body    `timeout` in pyproject.toml, or the test's own mark; fixtures do not count
inside a body    at most half of that, so that what hangs fails with what it said, and its test still cleans up
in a fixture     what the fixture says; all fixtures of a test together `FIXTURES_S`
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

import pytest

PROCESS_S = 300.0  # half of the suite's `timeout`: a process that a test waits for
TRAININGS_S = 1000.0  # a fixture's process that runs many trainings
FIXTURES_S = 1200.0


@contextmanager
def cut(seconds: float, what: str) -> Iterator[None]:
    """Fail in the main thread if the block takes longer; pytest-timeout's own alarm must not be set."""

    def ring(_number: int, _frame: FrameType | None) -> None:
        pytest.fail(f"{what} took more than {seconds:g} s")  # nothing that catches an Exception stops it

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds, PROCESS_S)  # again, for what a destructor raises is lost
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
