"""What does a load need to know, and what is a request that became due?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

from assay.traffic.arrivals.schedule import Schedule
from assay.traffic.client.due import NEVER, Agenda
from assay.traffic.parts import Answer, Ask, Json, Prompt, Reply, Wire
from assay.traffic.wire.compiled import Core
from assay.traffic.wire.response import Exchange

NS: Final = 1_000_000_000


@dataclass(slots=True)
class Made:
    """A request's content."""

    prompt: Prompt
    ask: Ask
    wire: Wire | None  # None: there is no server

    @property
    def size(self) -> int:
        """Bytes of the body."""
        return 0 if self.wire is None else len(self.wire.body)


class Transport(Protocol):
    """The way to one replica."""

    def send(self, exchange: Exchange) -> None:
        """Send the request now, or as soon as it can be."""

    def payload(self, made: Made) -> Any:
        """What will be sent, as the transport has it."""

    def arm(self, before: Exchange, exchange: Exchange, pause_ns: int) -> None:
        """Let a request follow another that is under way; only where there is a core."""


@dataclass(kw_only=True)
class Plan:
    """What a load needs to know. Times in ns."""

    schedule: Schedule
    agenda: Agenda
    make: Callable[[int, Sequence[Json]], Made]  # request, history -> its content
    after: Callable[[Prompt, str | None], Sequence[Json]]  # a turn and its answer -> the history for the next
    read: Callable[[Reply, Ask], Answer]
    transports: Sequence[Transport]  # one per replica
    balance: str = "round_robin"
    warm_up_ns: int = 0
    lasts_ns: int = 0  # warm-up included
    drain_ns: int = 0
    timeout_ns: int = NEVER
    first_byte_ns: int | None = None
    room: int = 1 << 26  # bytes of the largest answer
    client: int = 0
    stamped: bool = False  # the kernel says when a read's last bytes came, however late it is read
    noted: memoryview | None = None  # a place for the due time of each request, which outlives the process
    first_pause_s: float = 0.25  # of a stream behind 429 or 503 without Retry-After
    most_pause_s: float = 60.0
    dead_after_s: float | None = None  # None: a target that refuses everything is not given up
    core: Core | None = None  # what sends and stamps below the interpreter; it writes to `noted` itself


class Request:
    """A request that became due."""

    __slots__ = ("due_ns", "made", "number", "phase", "replica")

    def __init__(self, number: int, due_ns: int, phase: int, replica: int, made: Made) -> None:
        self.number, self.due_ns, self.phase, self.replica, self.made = number, due_ns, phase, replica, made
