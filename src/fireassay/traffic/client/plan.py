"""Which data define a load, and which describe a request that became due?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

from fireassay.traffic.arrivals.schedule import Schedule
from fireassay.traffic.client.due import NEVER, Agenda
from fireassay.traffic.parts import Answer, Ask, Json, Prompt, Reply, Wire
from fireassay.traffic.wire.compiled import Core
from fireassay.traffic.wire.response import Exchange

NS: Final = 1_000_000_000


@dataclass(slots=True)
class Made:
    """A request's content."""

    prompt: Prompt
    ask: Ask
    wire: Wire | None  # None: there is no server

    @property
    def size(self) -> int:
        """Size of the body, bytes."""
        return 0 if self.wire is None else len(self.wire.body)


class Transport(Protocol):
    """The connection pool of one replica."""

    def send(self, exchange: Exchange) -> None:
        """Send the request now, or as soon as possible."""

    def payload(self, made: Made) -> Any:
        """The request in the transport's own form."""

    def arm(self, before: Exchange, exchange: Exchange, pause_ns: int) -> None:
        """Let a request follow another in flight; requires the core."""


@dataclass(kw_only=True)
class Plan:
    """The definition of a load. Times in ns."""

    schedule: Schedule
    agenda: Agenda
    make: Callable[[int, Sequence[Json]], Made]  # request, history -> its content
    after: Callable[[Prompt, str | None], Sequence[Json]]  # a turn and its answer -> history of the next turn
    read: Callable[[Reply, Ask], Answer]
    transports: Sequence[Transport]  # one per replica
    balance: str = "round_robin"
    warm_up_ns: int = 0
    lasts_ns: int = 0  # warm-up included
    drain_ns: int = 0
    timeout_ns: int = NEVER
    first_byte_ns: int | None = None
    room: int = 1 << 26  # maximum bytes of an answer
    client: int = 0
    stamped: bool = False  # whether the kernel timestamps each read's last bytes, however late the read
    noted: memoryview | None = None  # due time of each request, in memory that outlives the process
    first_pause_s: float = 0.25  # initial back-off after 429 or 503 without Retry-After
    most_pause_s: float = 60.0
    give_up_after: int | None = None  # identical refusals before any success; None: never
    dead_after_s: float | None = None  # None: never give up a target that refuses everything
    core: Core | None = None  # sends and timestamps outside the interpreter; writes `noted` itself


class Request:
    """A request that became due."""

    __slots__ = ("due_ns", "made", "number", "phase", "replica")

    def __init__(self, number: int, due_ns: int, phase: int, replica: int, made: Made) -> None:
        self.number, self.due_ns, self.phase, self.replica, self.made = number, due_ns, phase, replica, made
