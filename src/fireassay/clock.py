"""What time is it?  The only module of assay that reads a clock.

Durations are integer nanoseconds of CLOCK_MONOTONIC, which all processes of a host share.
Wall time is read once per process as an anchor and never subtracted.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    """Monotonic nanoseconds, the wall clock, and waiting."""

    def now_ns(self) -> int:
        """Monotonic nanoseconds; comparable between processes of one host."""
        ...

    def utc(self) -> datetime:
        """The wall clock in UTC, for names and anchors only."""
        ...

    def sleep(self, seconds: float) -> None:
        """Wait."""
        ...


class SystemClock:
    """The real clock."""

    def now_ns(self) -> int:
        """Monotonic nanoseconds."""
        return time.monotonic_ns()

    def utc(self) -> datetime:
        """The wall clock in UTC."""
        return datetime.now(UTC)

    def sleep(self, seconds: float) -> None:
        """Wait."""
        time.sleep(seconds)


@dataclass
class FakeClock:
    """A clock for tests: time passes only through `sleep` and `advance`."""

    ns: int = 0
    start: datetime = field(default_factory=lambda: datetime(2026, 1, 1, tzinfo=UTC))

    def now_ns(self) -> int:
        """The fake monotonic time."""
        return self.ns

    def utc(self) -> datetime:
        """The start plus the elapsed fake time."""
        return datetime.fromtimestamp(self.start.timestamp() + self.ns / 1e9, UTC)

    def sleep(self, seconds: float) -> None:
        """Advance the clock without waiting."""
        self.advance(seconds)

    def advance(self, seconds: float) -> None:
        """Move the clock forward."""
        self.ns += round(seconds * 1e9)
