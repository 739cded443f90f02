"""What has a step contained so far?"""

from __future__ import annotations

from typing import Any


class Contents:
    """Times, work and losses of the current step, or of a part of it."""

    __slots__ = ("batches", "data", "end", "items", "losses", "ns", "pause", "pauses", "seen")

    def __init__(self) -> None:
        self.data: int | None = None  # waiting for batches
        self.pause: int | None = None
        self.items: float | None = None
        self.batches = 0
        self.ns, self.seen = [0, 0, 0], [False, False, False]  # of its phases
        self.losses: list[Any] = []
        self.pauses: list[tuple[int, int]] = []  # from when until when, set aside already
        self.end = 0  # of a part: where the step may have ended

    def wait(self, ns: int) -> None:
        """Add a wait for data."""
        self.data = (self.data or 0) + ns

    def exclude(self, ns: int) -> None:
        """Add time that is no training."""
        self.pause = (self.pause or 0) + ns

    def follow(self, part: Contents) -> None:
        """Add the part before this one."""
        self.data, self.pause, self.items = _sum(part.data, self.data), _sum(part.pause, self.pause), _sum(part.items, self.items)
        self.batches += part.batches
        self.ns = [before + since for before, since in zip(part.ns, self.ns, strict=True)]
        self.seen = [before or since for before, since in zip(part.seen, self.seen, strict=True)]
        self.losses, self.pauses = part.losses + self.losses, part.pauses + self.pauses


def _sum(first: Any, second: Any) -> Any:
    return second if first is None else first if second is None else first + second
